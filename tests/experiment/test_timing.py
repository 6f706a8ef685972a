"""Durations as refreshes, and what flip times prove."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.timing import (
    Mode,
    Schedule,
    Verdict,
    degrees,
    frames_for,
    judge_refresh,
    judge_trial,
)


@pytest.mark.parametrize(
    ("duration_s", "hz", "frames"),
    [
        (0.2, 60, 12), (0.2, 75, 15), (0.2, 120, 24), (0.2, 144, 29), (0.2, 59.94, 12),
        (1.0, 60, 60), (2.5, 60, 150), (0.001, 60, 1), (0.025, 60, 2),
    ],
)  # fmt: skip
def test_a_duration_is_the_nearest_number_of_refreshes(duration_s, hz, frames):
    assert frames_for(duration_s, hz) == frames


@given(st.floats(0.02, 5), st.floats(30, 360))
def test_the_achievable_duration_is_within_half_a_refresh(duration_s, hz):
    schedule = Schedule(Mode.FRAMES, hz)
    assert abs(schedule.achievable_s(duration_s) - duration_s) <= 0.5 / hz + 1e-9


def flips(hz, count=121, jitter=()):
    times = [n / hz for n in range(count)]
    for number, late_s in jitter:
        times[number] += late_s
    return times


def test_flips_at_the_declared_refresh_prove_it():
    refresh = judge_refresh(flips(59.95), 60)
    assert refresh.proven
    assert refresh.measured_hz == pytest.approx(59.95)
    assert (refresh.sd_s, refresh.intervals) == (pytest.approx(0, abs=1e-9), 120)


@pytest.mark.parametrize(
    ("times", "declared", "words"),
    [
        (flips(1000), 60, "do not wait"),
        (flips(144), 60, "do not wait"),
        (flips(30), 60, "half"),
        (flips(72), 144, "half"),
        (flips(75), 60, "75.00 Hz"),
        (flips(61.5), 60, "61.50 Hz"),
        (flips(60, jitter=[(n, 0.003) for n in range(0, 121, 3)]), 60, "scatter"),
        (flips(60, jitter=[(50, 0.0167), (51, 0.0167)]), 60, "scatter"),
    ],
)
def test_other_flips_do_not_and_say_why(times, declared, words):
    refresh = judge_refresh(times, declared)
    assert not refresh.proven
    assert words in refresh.fault


def test_two_flips_are_not_enough():
    with pytest.raises(ValueError, match="three"):
        judge_refresh([0, 0.0167], 60)


def test_where_the_refresh_is_proven_the_measured_one_counts_else_a_clock():
    proven = Schedule.on(judge_refresh(flips(59.5), 60), 1, 0.2, 0.2)
    assert (proven.mode, proven.refresh_hz) == (Mode.FRAMES, pytest.approx(59.5))
    unproven = Schedule.on(judge_refresh(flips(700), 60), 1, 0.2, 0.2)
    assert (unproven.mode, unproven.refresh_hz) == (Mode.CLOCK, 60)


def judged(schedule, image_frames, mask_frames, dropped_at=()):
    period = 1 / schedule.refresh_hz
    times, now = [], 10.0
    for number in range(image_frames + mask_frames + 1):
        now += period if number else 0
        now += period if number in dropped_at else 0
        times.append(now)
    return judge_trial(schedule, times, times[0], times[image_frames], times[-1])


@pytest.mark.parametrize("hz", [60, 75, 120, 144])
def test_the_right_number_of_refreshes_is_proven(hz):
    schedule = Schedule(Mode.FRAMES, hz)
    n = schedule.frames(0.2)
    evidence = judged(schedule, n, n)
    assert (evidence.verdict, evidence.dropped) == (Verdict.PROVEN, 0)
    assert evidence.image_s == pytest.approx(n / hz)
    assert len(evidence.intervals_s) == 2 * n


@pytest.mark.parametrize(("image", "mask"), [(11, 12), (13, 12), (12, 11), (12, 13)])
def test_one_refresh_more_or_less_is_not(image, mask):
    assert judged(Schedule(Mode.FRAMES, 60), image, mask).verdict is Verdict.FAILED


@given(st.sets(st.integers(1, 24), min_size=1, max_size=5))
def test_every_dropped_refresh_is_counted_and_fails_the_trial(where):
    evidence = judged(Schedule(Mode.FRAMES, 60), 12, 12, where)
    assert (evidence.verdict, evidence.dropped) == (Verdict.FAILED, len(where))


def test_a_clock_proves_nothing_however_exact():
    evidence = judged(Schedule(Mode.CLOCK, 60), 12, 12)
    assert evidence.verdict is Verdict.UNPROVEN
    assert evidence.image_s == pytest.approx(0.2)


def test_a_picture_that_stays_until_the_answer_has_an_onset_and_no_duration():
    evidence = judge_trial(Schedule(Mode.FRAMES, 60), [5.0], 5.0, None, None)
    assert (evidence.verdict, evidence.image_s, evidence.mask_s) == (Verdict.PROVEN, None, None)


def test_the_papers_picture_in_degrees():
    """960 px of a 22-inch 1680 x 1050 screen, 47.4 cm wide, at 60 cm."""
    assert degrees(960, 1680, 47.4, 60) == pytest.approx(25.44, abs=0.01)
    assert degrees(640, 1680, 47.4, 60) == pytest.approx(17.11, abs=0.01)
