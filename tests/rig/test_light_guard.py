"""The light guard's diagram, arrow by arrow, and its judgement of an exposure."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.light_guard import (
    GAP_S,
    LEAD_S,
    MARGIN_S,
    Band,
    GuardState,
    Judgement,
    LightGuard,
    Sample,
    Verdict,
    judge,
)
from schemas.plan import Lighting

S = GuardState
#: 900 to 1100 lux; back within 920 to 1080, for 2 s.
BAND = Band.of(Lighting(name="bright", lux=1000, ev_reference=11))
READ_S = 0.01


def at(received_s: float, lux: float = 1000.0) -> Sample:
    return Sample(lux, received_s - READ_S, received_s)


def guard_in(state: GuardState) -> tuple[LightGuard, float]:
    """A guard in a state, and the moment of its last sample."""
    guard, now_s = LightGuard(BAND, 0.0), 0.0
    if state is S.STEADY:
        for now_s in (0.1, 0.7):
            guard.see(at(now_s))
    if state in (S.WRONG, S.SETTLING):
        now_s = 0.1
        guard.see(at(now_s, 500))
    if state is S.SETTLING:
        now_s = 0.2
        guard.see(at(now_s))
    assert guard.state is state
    return guard, now_s


def test_a_lighting_says_where_the_light_must_lie_and_where_it_is_back():
    assert (BAND.low, BAND.high) == pytest.approx((900, 1100))
    assert (BAND.narrow_low, BAND.narrow_high) == pytest.approx((920, 1080))
    assert BAND.settle_s == 2.0
    loose = Lighting(name="a", lux=10, tolerance=0.5, hysteresis=0, settle_s=0.5, ev_reference=5)
    assert loose.narrow_band_lux == loose.band_lux == (5, 15)


# ---- the diagram


def test_light_that_is_right_from_the_start_needs_no_settling():
    guard = LightGuard(BAND, 0.0)
    assert "not been read" in guard.reason
    guard.see(at(0.1, 1090))  # outside the narrowed band: good enough for light that never failed
    assert guard.state is S.STARTING
    guard.see(at(0.1 + LEAD_S, 1090))
    assert (guard.state, guard.reason) == (S.STEADY, "")


@pytest.mark.parametrize("state", list(S))
@pytest.mark.parametrize("lux", [899.0, 1101.0, 0.0, float("nan")])
def test_light_out_of_the_band_is_wrong_from_every_state(state, lux):
    guard, now_s = guard_in(state)
    guard.see(at(now_s + 0.2, lux))
    assert guard.state is S.WRONG
    assert f"{lux:.4g} lux, outside 900 to 1100 lux" in guard.reason


@pytest.mark.parametrize("state", list(S))
def test_silence_is_wrong_from_every_state(state):
    guard, now_s = guard_in(state)
    guard.wait(now_s + GAP_S, "unplugged")
    assert guard.state is state
    guard.wait(now_s + GAP_S + 0.01, "unplugged")
    assert (guard.state, guard.reason) == (S.WRONG, "unplugged")


@pytest.mark.parametrize("state", [S.STARTING, S.SETTLING, S.STEADY])
def test_a_sample_after_a_gap_does_not_fill_it(state):
    guard, now_s = guard_in(state)
    guard.see(at(now_s + GAP_S + 0.01))
    assert guard.state is S.SETTLING  # as from wrong


@pytest.mark.parametrize("lux", [910.0, 1090.0])
def test_steady_light_may_use_its_whole_band(lux):
    guard, now_s = guard_in(S.STEADY)
    guard.see(at(now_s + 0.2, lux))
    assert guard.state is S.STEADY


@pytest.mark.parametrize("state", [S.WRONG, S.SETTLING])
@pytest.mark.parametrize("lux", [910.0, 1090.0])
def test_light_that_was_wrong_must_come_back_further(state, lux):
    guard, now_s = guard_in(state)
    guard.see(at(now_s + 0.2, lux))
    assert guard.state is S.WRONG
    assert "not yet inside 920 to 1080 lux" in guard.reason
    guard.see(at(now_s + 0.4, 1000))
    assert guard.state is S.SETTLING
    assert "not yet for 2 s" in guard.reason


def test_light_settles_after_its_time_and_not_before():
    guard, _ = guard_in(S.WRONG)
    for step in range(8):
        guard.see(at(1.0 + 0.25 * step))
        assert guard.state is S.SETTLING
    guard.see(at(1.0 + BAND.settle_s))
    assert guard.state is S.STEADY


def test_a_relapse_starts_the_time_anew():
    guard, _ = guard_in(S.WRONG)
    for moment_s, lux in ((1.0, 1000), (2.0, 1000), (2.9, 915), (3.0, 1000), (4.0, 1000)):
        guard.see(at(moment_s, lux))
    assert guard.state is S.SETTLING
    guard.see(at(5.0))
    assert guard.state is S.STEADY


# ---- the judgement of an exposure from 10 to 12 s: its window is 9.5 to 12.5 s

QUARTERS = [9.3 + 0.25 * step for step in range(15)]  # 9.3 to 12.8


def verdict(samples, now_s=12.9):
    return judge(samples, BAND, 10.0, 12.0, now_s)


def test_an_exposure_is_proven_by_good_samples_from_before_to_after_its_window():
    assert verdict([at(s) for s in QUARTERS]) == Verdict(Judgement.PROVEN)


def test_without_a_sample_from_after_its_window_it_waits():
    inside = [at(s) for s in QUARTERS if s < 12.5]
    assert verdict(inside, now_s=12.6) == Verdict(Judgement.PENDING)


def test_a_sample_that_was_asked_for_before_the_end_of_the_window_closes_nothing():
    inside = [at(s) for s in QUARTERS if s < 12.5]
    slow = Sample(1000, 12.49, 12.7)  # may show the light of 12.24 s
    assert verdict([*inside, slow]).judgement is Judgement.PENDING
    assert verdict([*inside, slow, at(12.9)]).judgement is Judgement.PROVEN


def test_without_a_sample_from_before_its_window_it_is_refused():
    late = [at(s) for s in QUARTERS if s > 9.5]
    assert "before it" in verdict(late).reason
    assert verdict([]).judgement is Judgement.REFUSED
    assert verdict([at(9.5), *late]).judgement is Judgement.PROVEN


@pytest.mark.parametrize("wrong", range(15))
def test_one_bad_sample_in_the_window_or_next_to_it_refuses(wrong):
    # 12.55 s, the last but one, closes the window; 12.8 s is not looked at.
    samples = [at(s, 899 if i == wrong else 1000) for i, s in enumerate(QUARTERS)]
    expected = Judgement.PROVEN if wrong == 14 else Judgement.REFUSED
    assert verdict(samples).judgement is expected


def test_a_bad_sample_refuses_at_once():
    samples = [at(9.4), at(9.9), at(10.2, 2000)]
    found = judge(samples, BAND, 10.0, 12.0, 10.3)
    assert found == Verdict(Judgement.REFUSED, "2000 lux, outside 900 to 1100 lux")


@pytest.mark.parametrize("start", [8.6, 9.45, 10.5, 11.6, 12.4])
def test_a_gap_that_touches_the_window_refuses(start):
    dense = [8.0 + 0.1 * step for step in range(60)]
    samples = [at(s) for s in dense if not start < s < start + GAP_S + 0.15]
    assert "no light reading for 1." in verdict(samples, 14.0).reason


@pytest.mark.parametrize("start", [8.0, 12.7])
def test_a_gap_elsewhere_does_not(start):
    dense = [7.0 + 0.1 * step for step in range(80)]
    samples = [at(s) for s in dense if not start < s < start + GAP_S + 0.15]
    assert verdict(samples, 15.0).judgement is Judgement.PROVEN


def test_an_overdue_sample_is_a_gap_before_it_comes():
    inside = [at(s) for s in QUARTERS if s < 12.5]
    last_s = inside[-1].received_s
    assert verdict(inside, last_s + GAP_S).judgement is Judgement.PENDING
    assert verdict(inside, last_s + GAP_S + 0.01).judgement is Judgement.REFUSED
    # It came, too late: what was refused stays refused.
    assert verdict([*inside, at(last_s + GAP_S + 0.01)]).judgement is Judgement.REFUSED


steps = st.tuples(st.sampled_from([0.1, 0.25, 0.25, 0.25, 0.9, 1.1]), st.sampled_from([1000, 1300]))


@given(
    trace=st.lists(steps, min_size=1, max_size=60),
    start_s=st.floats(0, 10),
    length_s=st.floats(0, 3),
)
def test_what_is_proven_has_no_bad_reading_and_no_gap_within_half_a_second(
    trace, start_s, length_s
):
    samples, now_s = [], 0.0
    for step_s, lux in trace:
        now_s += step_s
        samples.append(at(now_s, lux))
    end_s = start_s + length_s
    if judge(samples, BAND, start_s, end_s, now_s).judgement is not Judgement.PROVEN:
        return
    window = (start_s - MARGIN_S, end_s + MARGIN_S)
    touched = [s for s in samples if window[0] <= s.received_s and s.asked_s <= window[1]]
    assert all(s.lux == 1000 for s in touched)
    moments = [s.received_s for s in samples]
    assert moments[0] <= window[0] <= window[1] <= moments[-1]
    for earlier, later in pairwise(moments):
        overlaps = earlier < window[1] and later > window[0]
        assert not (overlaps and later - earlier > GAP_S)


@given(trace=st.lists(steps, max_size=60))
def test_a_steady_guard_means_that_a_shot_of_now_has_its_lead(trace):
    guard, samples, now_s = LightGuard(BAND, 0.0), [], 0.0
    for step_s, lux in trace:
        now_s += step_s
        samples.append(at(now_s, lux))
        guard.see(samples[-1])
        if guard.state is S.STEADY:
            assert judge(samples, BAND, now_s, now_s, now_s).judgement is Judgement.PENDING
