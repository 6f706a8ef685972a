"""How the report chooses and reduces what it shows."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from evaluate.report.light_plot import BINS, trace
from evaluate.report.outcome_plot import count_cells, outcome_plot
from evaluate.report.pairs import choose_sets, find_sets
from evaluate.report.provenance import flatten, group_setups
from evaluate.report.sheet import make_strip
from evaluate.report.style import NOT_SHOT
from schemas.answer_store import Answer
from schemas.capture_store import Run, StoredReading
from schemas.exposure import Exposure
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, Outcome, Scene

START = datetime(2026, 1, 1, tzinfo=UTC)
BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
MUGS = Scene("mugs", "cup", 2)


def frame(number, exposure, outcome=Outcome.ACCEPTED, lighting="bright"):
    return Frame(
        scene="mugs",
        lighting=lighting,
        run_id=1,
        kind="manual",
        requested=exposure,
        outcome=outcome,
        attempt=1,
        ev_offset=exposure.ev_offset(11 if lighting == "bright" else 5),
        id=number,
    )


def answer(number, right):
    return Answer(number, "mugs", "cup", "bright", 0, 1.0, 100, 8.0, {}, right, right, "")


def run(number=1, devices=None):
    return Run(
        number, "mugs", "bright", "sweep", None, "", True, devices or {}, {}, START, None, None, ""
    )


def equal_exposures():
    """Four triplets of one EV: each stop of ISO against one of shutter speed."""
    triplets = [(1 / 60, 100), (1 / 125, 200), (1 / 250, 400), (1 / 500, 800)]
    return [Exposure(shutter_s, iso, 5.6) for shutter_s, iso in triplets]


def test_a_set_shows_the_settings_furthest_apart():
    frames = [frame(n, exposure) for n, exposure in enumerate(equal_exposures())]
    (found,) = find_sets(MUGS, frames, {})
    assert (found.size, found.judged, found.ev_offset) == (4, 0, 0)
    assert [shown.exposure.iso for shown in found.frames] == [100, 800]


def test_a_set_shows_right_beside_wrong():
    frames = [frame(n, exposure) for n, exposure in enumerate(equal_exposures())]
    answers = {n: answer(n, n == 1) for n in range(4)}
    (found,) = find_sets(MUGS, frames, answers)
    assert (found.right, found.judged) == (1, 4)
    assert {shown.answer.soft for shown in found.frames} == {True, False}
    assert [shown.exposure.iso for shown in found.frames] == [200, 800]


def test_both_lightings_stand_side_by_side():
    bright = [frame(n, exposure) for n, exposure in enumerate(equal_exposures())]
    dim = [frame(9, Exposure(1, 100, 5.6), lighting="dim")]
    (found,) = find_sets(MUGS, bright + dim, {})
    assert [shown.frame.lighting for shown in found.frames] == ["bright", "bright", "dim"]


def test_single_and_rejected_frames_make_no_set():
    exposures = equal_exposures()
    frames = [frame(0, exposures[0]), frame(1, exposures[1], Outcome.REJECTED_WHITE)]
    assert find_sets(MUGS, frames, {}) == []


def test_split_sets_come_first_and_every_scene_has_a_turn():
    dark = [frame(10 + n, Exposure(1 / 4000, iso, 5.6)) for n, iso in enumerate((100, 100))]
    frames = [frame(n, exposure) for n, exposure in enumerate(equal_exposures())] + dark
    answers = {n: answer(n, True) for n in range(4)} | {10: answer(10, True), 11: answer(11, False)}
    sets = find_sets(MUGS, frames, answers)
    assert [found.ev_offset for found in sets] == [-6, 0]
    assert len(choose_sets([sets, sets[:1]], limit=2)) == 2
    assert [s.ev_offset for s in choose_sets([sets], limit=1)] == [-6]


def test_a_strip_shows_the_middle_iso_and_counts_the_rest():
    frames = [frame(n, exposure) for n, exposure in enumerate(equal_exposures()[:3])]
    white = [frame(7, Exposure(30, 6400, 5.6), Outcome.REJECTED_WHITE)]
    answers = {0: answer(0, True), 1: answer(1, False), 2: answer(2, None)}
    strip = make_strip(MUGS, "bright", frames + white, [-1, 0, 17], answers, False)
    nothing, middle, rejected = strip.cells
    assert nothing is None
    assert middle.frame.requested.iso == 200
    assert (middle.accepted, middle.right, middle.judged) == (3, 1, 2)
    assert (rejected.frame, rejected.rejected) == (None, "1 white")


def test_planned_shots_without_a_frame_are_not_shot_yet():
    first, second = equal_exposures()[:2]
    planned = [(scene, "bright", e) for scene in "ab" for e in (first, second)]
    ended = [("bright", first, Outcome.ACCEPTED, 2), ("bright", second, Outcome.FAILED, 1)]
    cells = count_cells(planned, ended)
    assert cells["bright", first] == {Outcome.ACCEPTED: 2}
    assert cells["bright", second] == {Outcome.FAILED: 1, NOT_SHOT: 1}


@pytest.mark.parametrize("step", ["1", "1/3"])
def test_large_grids_stay_small_files(step):
    plan = SweepPlan(step=step)
    cells = count_cells([], [("bright", shot.exposure, Outcome.ACCEPTED, 1) for shot in plan])
    drawing = outcome_plot(cells, [BRIGHT], 1, True)
    assert len(drawing.rows) == len(plan)
    assert len(drawing.svg) < 1_500_000


def test_a_trace_keeps_the_peaks_that_it_bins():
    lux = 1000 + np.zeros(5000)
    lux[1234], lux[4000] = 1300, 700
    moments = [START + timedelta(seconds=n) for n in range(lux.size)]
    readings = [StoredReading(*pair, 0) for pair in zip(moments, lux.tolist(), strict=True)]
    found = trace(run(), BRIGHT, readings)
    assert found.minutes.size == BINS
    assert (found.high.max(), found.low.min(), found.readings) == (1300, 700, 5000)
    assert found.inside == pytest.approx(4998 / 5000)
    assert np.average(found.mean) == pytest.approx(lux.mean(), abs=0.2)


def test_short_and_empty_traces():
    one = trace(run(), BRIGHT, [StoredReading(START, 990.0, 1)])
    assert one.mean.tolist() == [990.0]
    assert trace(run(), BRIGHT, []).readings == 0


def test_runs_with_equal_devices_share_an_entry():
    first, other = {"camera": {"serial": "7", "iso": [100, 200]}}, {"camera": {"serial": "8"}}
    setups = group_setups([run(1, first), run(2, other), run(3, first)])
    assert [setup.runs for setup in setups] == [(1, 3), (2,)]
    assert setups[0].facts == (("camera serial", "7"), ("camera iso", "100, 200"))
    assert list(flatten({})) == []
