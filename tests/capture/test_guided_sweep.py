"""Guided sweeps over devices in memory: rows, witnesses, audits, kills, and what follows them."""

import shutil
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capture.storing
from capture.evidence import light_sixths
from capture.guidance import Guidance
from capture.guiding import recall_guidance
from capture.sweep import survey
from capture.unfinished import find_unfinished
from rig.errors import Abort
from schemas.capture_store import list_runs
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.records import Outcome
from schemas.summary import summarize
from tests.capture.lab import SMALL
from tests.devices import render

#: 32 shots. At 20,000 lux many are white, at 2 lux many black.
PLAN = SweepPlan(
    shutter=("1", "1/4", "1/15", "1/60", "1/250", "1/500", "1/1000", "1/4000"),
    iso=(100, 6400),
    f_number=(5.6, 22),
)
WHITE_LUX, BLACK_LUX = 20_000.0, 2.0
GUIDED = Guidance()


@pytest.fixture
def lit(lab):
    lab.camera.lux = WHITE_LUX
    return lab


@pytest.fixture(scope="module")
def outcomes_at(make_lab):
    """Outcomes of the exhaustive sweep by setting."""

    @cache
    def sweep(lux):
        lab = make_lab()
        lab.camera.lux = lux
        assert lab.sweep(PLAN).status == "done"
        return outcomes(lab)

    return sweep


@pytest.fixture
def exhaustive(outcomes_at):
    return outcomes_at(WHITE_LUX)


def outcomes(lab):
    return {frame.setting: frame.outcome for frame in lab.frames()}


def check_skipped(lab, exhaustive):
    """Each skipped row names a witness that is one, and would have been rejected as it says."""
    rows = {frame.setting: frame for frame in lab.frames()}
    skipped = [frame for frame in rows.values() if frame.outcome is Outcome.SKIPPED]
    for frame in skipped:
        name = frame.reason.removeprefix("witness ").partition(":")[0]
        witness = rows[name]
        assert witness.requested.iso == frame.requested.iso
        mine, its = light_sixths(frame.requested), light_sixths(witness.requested)
        if witness.outcome is Outcome.REJECTED_WHITE:
            assert witness.white_fraction > 0.97
            assert its <= mine
        else:
            assert witness.outcome is Outcome.REJECTED_BLACK
            assert witness.black_fraction > 0.97
            assert its >= mine
        assert exhaustive[frame.setting] is witness.outcome
        assert (frame.path, frame.camera_sha256, frame.exif) == ("", "", None)
        assert frame.ev is not None
    return skipped


@pytest.mark.parametrize(("lux", "least"), [(WHITE_LUX, 8), (BLACK_LUX, 5)])
def test_a_guided_sweep_gives_every_shot_its_row(lab, outcomes_at, lux, least):
    lab.camera.lux = lux
    summary = lab.sweep(PLAN, guidance=GUIDED)
    assert (summary.status, summary.sweep, summary.remaining) == ("done", "guided", 0)
    assert summary.next == ""
    skipped = check_skipped(lab, outcomes_at(lux))
    assert len(skipped) == summary.skipped >= least
    assert outcomes(lab).keys() == outcomes_at(lux).keys()
    shot = {setting: o for setting, o in outcomes(lab).items() if o is not Outcome.SKIPPED}
    assert shot.items() <= outcomes_at(lux).items()
    assert lab.snapshots[-1].finished == len(PLAN)
    counts = summarize(lab.catalog).frames
    assert (counts.skipped, counts.remaining) == (len(skipped), 0)


def test_the_exhaustive_sweep_skips_nothing(lit, exhaustive):
    assert Outcome.SKIPPED not in exhaustive.values()
    assert len(exhaustive) == len(PLAN)


def test_nothing_is_done_twice(lit):
    lit.sweep(PLAN, guidance=GUIDED)
    again = lit.sweep(PLAN, guidance=GUIDED)
    assert (again.run, again.status, again.reason) == (None, "done", "complete already")
    assert find_unfinished(lit.catalog) == []


def test_an_exhaustive_sweep_shoots_what_a_guided_one_skipped(lit, exhaustive):
    guided = lit.sweep(PLAN, guidance=GUIDED)
    summary = lit.sweep(PLAN)
    assert (summary.status, summary.skipped) == ("done", 0)
    assert summary.attempts == guided.skipped
    assert outcomes(lit) == exhaustive


def test_a_guided_sweep_uses_the_frames_of_another_plan(lit, exhaustive):
    lit.sweep(PLAN.subset(f_number=(5.6,)))
    lit.sweep(PLAN, guidance=GUIDED)
    check_skipped(lit, exhaustive)
    assert outcomes(lit).keys() == exhaustive.keys()


def test_a_limited_guided_sweep_goes_on_guided(lit, exhaustive):
    summary = lit.sweep(PLAN, guidance=Guidance(audit=0.1), limit=12)
    assert (summary.status, summary.attempts, summary.skipped) == ("stopped", 12, 0)
    (unfinished,) = find_unfinished(lit.catalog)
    assert unfinished.guidance == Guidance(audit=0.1)
    assert ", guided" in str(unfinished)
    summary = lit.sweep(unfinished.plan, guidance=unfinished.guidance)
    assert summary.status == "done"
    check_skipped(lit, exhaustive)


def test_how_a_run_was_guided_is_recorded(lit):
    lit.sweep(SMALL, guidance=Guidance(audit=0.25), limit=2)
    lit.sweep(SMALL)
    guided, plain = list_runs(lit.catalog)
    assert recall_guidance(lit.catalog, guided.id) == Guidance(audit=0.25)
    assert recall_guidance(lit.catalog, plain.id) is None


def test_another_rule_is_refused_before_anything_is_shot(lit):
    plan = SMALL.model_copy(update={"acceptance": "mean"})
    with pytest.raises(Abort, match="pixels95") as refused:
        lit.sweep(plan, guidance=GUIDED)
    assert "--sweep guided" in refused.value.action
    assert list_runs(lit.catalog) == []


# ---- frames that prove nothing


def test_a_shot_that_is_given_up_proves_nothing(make_lab, lit, exhaustive):
    """The first white frame of an ISO cannot be read: another one has to prove the rest."""
    lit.sweep(PLAN, guidance=GUIDED)
    witness = next(f.reason.split()[1].rstrip(":") for f in lit.frames() if f.outcome == "skipped")
    target = next(shot.exposure for shot in PLAN if shot.exposure.stem == witness)
    lit = make_lab()
    lit.camera.lux = WHITE_LUX
    shoot = lit.camera.shoot

    def torn(timeout_s):
        picture = shoot(timeout_s)
        if lit.camera.taken[-1] == target:
            return type(picture)(**{**picture.__dict__, "data": picture.data[:500]})
        return picture

    lit.camera.shoot = torn
    summary = lit.sweep(PLAN, guidance=GUIDED, attempts=2)
    assert (summary.status, summary.failed) == ("failed", 1)
    assert summary.skipped > 0
    assert not any(f"witness {target.stem}:" in frame.reason for frame in lit.frames())
    lit.camera.shoot = shoot
    assert lit.sweep(PLAN, guidance=GUIDED).status == "done"
    check_skipped(lit, exhaustive)


# ---- the audit


def test_an_audit_turns_its_shots_into_frames(lit, exhaustive):
    plain = lit.sweep(PLAN, guidance=GUIDED)
    assert survey(lit.catalog, "cups", "bright", PLAN, GUIDED).remaining == ()
    audit = Guidance(audit=0.2)
    drawn = survey(lit.catalog, "cups", "bright", PLAN, audit).remaining
    assert 0 < len(drawn) < 0.3 * plain.skipped
    summary = lit.sweep(PLAN, guidance=audit)
    assert (summary.status, summary.attempts) == ("done", len(drawn))
    assert summary.skipped == plain.skipped - len(drawn)
    for shot in drawn:
        assert outcomes(lit)[shot.exposure.stem] is exhaustive[shot.exposure.stem]
    check_skipped(lit, exhaustive)


def test_an_audit_that_finds_an_acceptable_frame_fails_the_run(lit):
    lit.sweep(PLAN, guidance=GUIDED)
    audit = Guidance(audit=0.1)
    target = survey(lit.catalog, "cups", "bright", PLAN, audit).remaining[0].exposure
    shoot = lit.camera.shoot

    def surprising(timeout_s):
        picture = shoot(timeout_s)
        if lit.camera.taken[-1] != target:
            return picture
        fine = 250.0 / light_of(target) / target.iso
        data = render(target, fine, picture.commanded_at)
        return type(picture)(**{**picture.__dict__, "data": data})

    lit.camera.shoot = surprising
    summary = lit.sweep(PLAN, guidance=audit)
    assert summary.status == "failed"
    assert target.stem in summary.reason
    assert outcomes(lit)[target.stem] is Outcome.ACCEPTED
    assert summary.remaining > 0
    assert "capture resume" in summary.next
    # What that witness had proven is in doubt now, and is shot.
    lit.sweep(PLAN, guidance=GUIDED)
    assert outcomes(lit).keys() == {shot.exposure.stem for shot in PLAN}


def light_of(exposure):
    return 2 ** (light_sixths(exposure) / 6)


# ---- kills


class KilledError(Exception):
    """The run that is cut off ends with this; its image was taken before."""


def run_killed(make_lab, image, rows, to, guidance):
    """Run a copy of `image` until `rows` more rows are written; the disk as it lies then."""
    lab = make_lab(image)
    lab.camera.lux = WHITE_LUX
    left = [rows]

    def add(catalog, frame):
        number = ADD(catalog, frame)
        left[0] -= 1
        if left[0] == 0:
            shutil.copytree(lab.workspace.root, to)
            raise KilledError
        return number

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capture.storing, "add_frame", add)
        try:
            lab.sweep(PLAN, guidance=guidance)
        except KilledError:
            return to
    return None


ADD = capture.storing.add_frame


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kills=st.lists(st.integers(1, 30), min_size=1, max_size=2),
    audit=st.sampled_from((0.0, 0.1)),
)
def test_killed_anywhere_it_comes_to_the_same_rows(
    make_lab, exhaustive, uninterrupted, tmp_path_factory, kills, audit
):
    image = None
    for rows in kills:
        to = tmp_path_factory.mktemp("kill") / "image"
        image = run_killed(make_lab, image, rows, to, Guidance(audit)) or image
    lab = make_lab(image)
    lab.camera.lux = WHITE_LUX
    assert lab.sweep(PLAN, guidance=Guidance(audit)).status == "done"
    assert outcomes(lab) == uninterrupted[audit]
    check_skipped(lab, exhaustive)
    settings_ = [frame.setting for frame in list_frames(lab.catalog, scene="cups")]
    assert len(settings_) == len(set(settings_)) == len(PLAN)


@pytest.fixture(scope="module")
def uninterrupted(make_lab):
    found = {}
    for audit in (0.0, 0.1):
        lab = make_lab()
        lab.camera.lux = WHITE_LUX
        lab.sweep(PLAN, guidance=Guidance(audit))
        found[audit] = outcomes(lab)
    return found
