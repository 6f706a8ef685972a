"""The guided sweep's proof: against any response that grows with light, whatever the delays."""

import math
import random
from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.evidence import (
    WITNESS_FRACTION,
    Evidence,
    Judged,
    judged,
    light_sixths,
    require_rule,
)
from capture.guided import Guide
from schemas.exposure import (
    F_NUMBERS,
    ISO_SPEEDS,
    SHUTTER_SPEEDS,
    Exposure,
    parse_shutter_s,
    true_f_number,
    true_shutter_s,
)
from schemas.plan import SweepPlan
from schemas.records import Frame, Outcome

ACCEPTED, BLACK, WHITE = Outcome.ACCEPTED, Outcome.REJECTED_BLACK, Outcome.REJECTED_WHITE
EV_REFERENCE = 11


@dataclass(frozen=True)
class Response:
    """A scene: per ISO, the light (in stops) and steepness at which it turns black and white.

    `noise` is added to each fraction, drawn from the settings: half the room between rule and
    witness at most, so that a witness proves what it says.
    """

    black_at: dict[int, tuple[float, float]]
    white_at: dict[int, tuple[float, float]]
    noise: float = 0.0

    def __call__(self, exposure: Exposure) -> Judged:
        light = light_sixths(exposure) / 6
        draw = random.Random(exposure.stem)  # noqa: S311 - noise, not a secret
        black_at, black_slope = self.black_at[exposure.iso]
        white_at, white_slope = self.white_at[exposure.iso]
        black = _sigmoid((black_at - light) * black_slope) + draw.uniform(-1, 1) * self.noise
        white = _sigmoid((light - white_at) * white_slope) + draw.uniform(-1, 1) * self.noise
        black, white = min(1.0, max(0.0, black)), min(1.0, max(0.0, white))
        outcome = BLACK if black > 0.95 else WHITE if white > 0.95 else ACCEPTED
        return Judged(exposure, outcome, black, white)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, x))))


def subsets(values, least=1, most=None):
    return st.lists(st.sampled_from(values), min_size=least, max_size=most, unique=True).map(
        lambda chosen: tuple(v for v in values if v in chosen)
    )


@st.composite
def plans(draw):
    step = draw(st.sampled_from(("1", "1/2", "1/3")))
    return SweepPlan(
        step=step,
        shutter=draw(subsets(SHUTTER_SPEEDS[step], most=9)),
        iso=draw(subsets(ISO_SPEEDS, most=3)),
        f_number=draw(subsets(F_NUMBERS[step], most=4)),
        order=draw(st.sampled_from(("fewest_changes", "random"))),
        seed=draw(st.integers(0, 3)),
    )


@st.composite
def responses(draw, noise=0.0):
    black, white = {}, {}
    slopes = st.floats(0.3, 20)
    for iso in ISO_SPEEDS:
        # Light runs from -21 to 0 stops; white comes after black, but maybe at once after it.
        black[iso] = (draw(st.floats(-26, 3)), draw(slopes))
        white[iso] = (black[iso][0] + draw(st.floats(0.5, 25)), draw(slopes))
    return Response(black, white, noise)


@dataclass
class Swept:
    """What a sweep came to: rows by settings, in the order shot, and what was skipped."""

    rows: dict[Exposure, Judged]
    skipped: dict[Exposure, Judged]
    guide: Guide


def sweep(plan, response, *, delays=None, known=(), stop_after=None, give_up=(), **options):
    """Drive a guide as a run does: verdicts come `delays` shots late, in order."""
    guide = Guide(plan, EV_REFERENCE, known, **options)
    rows = {frame.exposure: frame for frame in known}
    out = deque()
    delays = delays or random.Random(0)  # noqa: S311
    while True:
        shot = guide.next()
        if shot is None and not out:
            break
        if shot is not None:
            assert shot.exposure not in rows
            assert shot.exposure not in out
            out.append(shot.exposure)
        late = delays.randint(0, 11)
        while out and (shot is None or len(out) > late):
            exposure = out.popleft()
            if exposure in give_up:
                guide.learn(exposure, None)
                continue
            rows[exposure] = response(exposure)
            guide.learn(exposure, rows[exposure])
            shot = shot or exposure
            if stop_after is not None and len(rows) >= stop_after:
                return Swept(rows, {}, guide)  # killed: what is out has no row
    return Swept(rows, {skip.shot.exposure: skip.witness for skip in guide.skips()}, guide)


def physical_light(exposure: Exposure) -> float:
    return true_shutter_s(exposure.shutter_s) / true_f_number(exposure.f_number) ** 2


def check_witnesses(swept):
    """Each witness is one by the issue's own words, checked with floats, not with our sixths."""
    for exposure, witness in swept.skipped.items():
        assert swept.rows[witness.exposure] == witness  # a row of its own
        assert witness.exposure.iso == exposure.iso
        mine, its = physical_light(exposure), physical_light(witness.exposure)
        if witness.outcome is WHITE:
            assert witness.white_fraction > WITNESS_FRACTION
            assert its <= mine * (1 + 1e-9)
        else:
            assert witness.outcome is BLACK
            assert witness.black_fraction > WITNESS_FRACTION
            assert its >= mine * (1 - 1e-9)


anything = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@anything
@given(plan=plans(), response=responses(noise=0.0099), delays=st.randoms(use_true_random=False))
def test_no_accepted_shot_is_skipped_and_every_shot_has_one_row(plan, response, delays):
    swept = sweep(plan, response, delays=delays)
    planned = {shot.exposure for shot in plan}
    assert swept.rows.keys() | swept.skipped.keys() == planned
    assert not swept.rows.keys() & swept.skipped.keys()
    check_witnesses(swept)
    for exposure, witness in swept.skipped.items():
        assert response(exposure).outcome is witness.outcome


@anything
@given(plan=plans(), response=responses(), delays=st.randoms(use_true_random=False))
def test_one_witness_a_side_and_the_cheapest_there_is(plan, response, delays):
    swept = sweep(plan, response, delays=delays)
    for iso in plan.iso:
        frames = [response(s.exposure) for s in plan if s.exposure.iso == iso]
        start = min(frames, key=lambda f: abs(f.light / 6 + math.log2(iso / 100) + EV_REFERENCE))
        if start.outcome is not ACCEPTED:
            continue  # the walk comes from the wrong side, and meets a witness at every step
        white, black = (
            [f for f in frames if f.outcome is outcome and _fraction(f) > 0.97]
            for outcome in (WHITE, BLACK)
        )
        met = [f for f in white if f.exposure in swept.rows]
        assert met == ([_cheapest(white)] if white else [])
        # A black witness proves what is darker than itself, so its equals are shot too.
        met = [f for f in black if f.exposure in swept.rows]
        assert met == [f for f in black if f.light > max(f.light for f in black) - 2]
        # Without a witness it had to be shot.
        assert all(
            f.exposure in swept.rows for f in frames if f.outcome is ACCEPTED or _fraction(f) < 0.97
        )


def _fraction(frame):
    return max(frame.black_fraction, frame.white_fraction)


def _cheapest(frames):
    return min(frames, key=lambda f: (f.light, f.exposure.shutter_s))


@anything
@given(
    plan=plans(),
    response=responses(noise=0.0099),
    kills=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    delays=st.randoms(use_true_random=False),
)
def test_kills_and_resumes_come_to_the_same_outcomes(plan, response, kills, delays):
    known = ()
    for more in kills:
        killed = sweep(plan, response, delays=delays, known=known, stop_after=len(known) + more)
        known = tuple(killed.rows.values())
    resumed, whole = sweep(plan, response, delays=delays, known=known), sweep(plan, response)
    check_witnesses(resumed)

    def outcomes(swept):
        shot = {exposure: frame.outcome for exposure, frame in swept.rows.items()}
        return shot | {exposure: witness.outcome for exposure, witness in swept.skipped.items()}

    assert outcomes(resumed) == outcomes(whole)
    assert outcomes(whole) == {s.exposure: response(s.exposure).outcome for s in plan}


@anything
@given(
    plan=plans(),
    response=responses(),
    failing=st.randoms(use_true_random=False),
    delays=st.randoms(use_true_random=False),
)
def test_shots_that_are_given_up_prove_nothing(plan, response, failing, delays):
    given_up = {shot.exposure for shot in plan if failing.random() < 0.2}
    swept = sweep(plan, response, delays=delays, give_up=given_up)
    planned = {shot.exposure for shot in plan}
    assert planned - given_up <= swept.rows.keys() | swept.skipped.keys()
    assert not swept.rows.keys() & given_up
    check_witnesses(swept)


# ---- what proves, by example


def frame(shutter, f_number, black=0.0, white=0.0, iso=100):
    outcome = BLACK if black > 0.95 else WHITE if white > 0.95 else ACCEPTED
    return Judged(Exposure(parse_shutter_s(shutter), iso, f_number), outcome, black, white)


def proof(evidence, shutter, f_number, iso=100):
    exposure = Exposure(parse_shutter_s(shutter), iso, f_number)
    return evidence.witness(iso, light_sixths(exposure))


def test_marked_settings_are_compared_by_what_they_really_are():
    # 1/60 at f/5.6 is 2^-6 / 2^5, and 1/15 at f/11 is 2^-4 / 2^7: the same light, to the bit,
    # where the marked values differ: 1/60 / 31.36 is less than 1/15 / 121.
    evidence = Evidence([frame("1/15", 11.0, white=0.98)])
    assert 1 / 60 / 5.6**2 < 1 / 15 / 11.0**2
    assert proof(evidence, "1/60", 5.6) is not None
    assert proof(evidence, "1/125", 5.6) is None
    assert proof(evidence, "30", 5.6) is not None


def test_another_iso_proves_nothing():
    evidence = Evidence([frame("1/15", 11.0, white=1.0, iso=200)])
    assert proof(evidence, "30", 5.6, iso=100) is None
    assert proof(evidence, "30", 5.6, iso=400) is None


@pytest.mark.parametrize("fraction", [0.951, 0.97])
def test_a_rejection_without_margin_proves_nothing(fraction):
    evidence = Evidence([frame("1", 8.0, white=fraction), frame("1/500", 8.0, black=fraction)])
    assert proof(evidence, "30", 8.0) is None
    assert proof(evidence, "1/4000", 8.0) is None


def test_white_proves_upward_and_black_downward():
    evidence = Evidence([frame("1", 8.0, white=0.98), frame("1/500", 8.0, black=0.98)])
    assert proof(evidence, "2", 8.0).outcome is WHITE
    assert proof(evidence, "0.5", 8.0) is None
    assert proof(evidence, "1/250", 8.0) is None
    assert proof(evidence, "1/1000", 8.0).outcome is BLACK


def test_the_same_light_proves_white_but_not_black():
    evidence = Evidence([frame("1", 8.0, white=0.98), frame("1/500", 8.0, black=0.98)])
    assert proof(evidence, "2", 11.0).outcome is WHITE
    assert proof(evidence, "1/250", 11.0) is None
    assert proof(evidence, "1/500", 11.0).outcome is BLACK
    assert proof(evidence, "1/640", 8.0).outcome is BLACK


def test_a_contradicted_witness_stands_no_more():
    evidence = Evidence([frame("1", 8.0, white=0.98), frame("4", 8.0, white=0.99)])
    evidence.add(frame("2", 8.0, white=0.9))
    assert proof(evidence, "1", 11.0) is None
    assert proof(evidence, "4", 8.0).white_fraction == 0.99
    evidence.add(frame("8", 11.0, white=0.5))  # the same light as 4 s at f/8
    assert proof(evidence, "8", 8.0) is None


def test_only_judged_rows_are_evidence():
    exposure = Exposure(1.0, 100, 8.0)
    row = Frame(
        scene="cups",
        lighting="bright",
        run_id=1,
        kind="manual",
        requested=exposure,
        outcome=WHITE,
        attempt=1,
        black_fraction=0.0,
        white_fraction=0.99,
    )
    assert judged(row) == Judged(exposure, WHITE, 0.0, 0.99)
    for outcome in (Outcome.FAILED, Outcome.SKIPPED):
        assert judged(_with(row, outcome=outcome)) is None
    assert judged(_with(row, requested=None)) is None
    assert judged(_with(row, white_fraction=None)) is None


def _with(row, **values):
    return Frame(**{**row.__dict__, **values})


def test_another_rule_is_refused():
    with pytest.raises(ValueError, match="pixels95"):
        require_rule(SweepPlan(acceptance="mean"))


# ---- the audit

GRAY = Response(
    {iso: (-18.0 - math.log2(iso / 100), 4) for iso in ISO_SPEEDS},
    {iso: (-7.0 - math.log2(iso / 100), 4) for iso in ISO_SPEEDS},
)


def test_an_audit_shoots_its_share_of_what_is_certain():
    plan = SweepPlan(iso=(100, 800))
    without, audited = sweep(plan, GRAY), sweep(plan, GRAY, audit=0.2)
    more = audited.rows.keys() - without.rows.keys()
    assert len(more) == math.ceil(0.2 * len(without.skipped))
    assert not audited.guide.refuted
    assert all(audited.rows[exposure].outcome is not ACCEPTED for exposure in more)
    assert sweep(plan, GRAY, audit=1.0).skipped == {}


def test_a_resumed_audit_draws_the_same_shots():
    plan = SweepPlan(iso=(100, 800))
    whole = sweep(plan, GRAY, audit=0.2)
    for stop_after in (20, len(whole.rows) - 3):
        killed = sweep(plan, GRAY, audit=0.2, stop_after=stop_after)
        resumed = sweep(plan, GRAY, audit=0.2, known=tuple(killed.rows.values()))
        assert resumed.rows.keys() == whole.rows.keys()
    other = sweep(plan.model_copy(update={"seed": 5}), GRAY, audit=0.2)
    assert other.rows.keys() != whole.rows.keys()


def test_an_audited_shot_that_would_be_accepted_refutes_the_claim():
    plan = SweepPlan(iso=(100,))
    honest = sweep(plan, GRAY)
    audited = next(iter(sweep(plan, GRAY, audit=0.01).rows.keys() - honest.rows.keys()))

    def lying(exposure):
        return Judged(exposure, ACCEPTED, 0.0, 0.5) if exposure == audited else GRAY(exposure)

    swept = sweep(plan, lying, audit=0.01)
    (refuted,) = swept.guide.refuted
    assert refuted.exposure == audited
    assert audited.stem in str(refuted)
    assert "is accepted" in str(refuted)
    # Its witness proves nothing any more, and a later guided sweep shoots the rest.
    assert swept.skipped == {}
    resumed = sweep(plan, lying, known=tuple(swept.rows.values()))
    assert resumed.rows.keys() | resumed.skipped.keys() == {shot.exposure for shot in plan}
    assert refuted.witness not in resumed.skipped.values()


# ---- order


def test_a_limit_is_kept():
    assert len(sweep(SweepPlan(), GRAY, limit=17).rows) == 17


def test_few_changes_of_the_aperture_where_verdicts_are_prompt():
    plan = SweepPlan()
    swept = sweep(plan, GRAY, delays=Prompt())
    shot = list(swept.rows)
    changes = sum(a.f_number != b.f_number for a, b in pairwise(shot))
    assert changes <= 3 * len(plan.f_number)


class Prompt(random.Random):
    def randint(self, a, b):
        return a


def test_a_random_plan_keeps_its_order_within_the_walks():
    plan = SweepPlan(iso=(100,), order="random", seed=4)
    shot = list(sweep(plan, GRAY).rows)
    index = {s.exposure: s.index for s in plan}
    rest = [index[e] for e in shot if e.f_number != 5.6]
    snake = list(sweep(SweepPlan(iso=(100,)), GRAY).rows)
    assert shot != snake
    rising = sum(a < b for a, b in pairwise(rest))
    assert rising > 0.8 * len(rest)


def test_it_begins_near_ev_offset_0():
    first = next(iter(sweep(SweepPlan(iso=(400,)), GRAY).rows))
    assert abs(first.ev_offset(EV_REFERENCE)) <= 1
