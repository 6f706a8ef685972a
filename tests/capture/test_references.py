"""Reference frames: which exposure, when, what they show, and what stops a run."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageOps

from capture.reference import (
    EVERY_SHOTS,
    MOVED_BELOW,
    Reference,
    Schedule,
    choose,
    creep_stops,
    fault,
    similarity,
)
from capture.rescue import Recovery
from rig.errors import Retry
from rig.protocols import OfferedSettings
from schemas.acceptance import Histogram
from schemas.exposure import F_NUMBERS, ISO_SPEEDS, SHUTTER_SPEEDS, Exposure, spell_shutter
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.records import Outcome
from schemas.summary import summarize
from tests.capture.lab import BRIGHT, SMALL

OFFERED = OfferedSettings(
    SHUTTER_SPEEDS["1/3"],
    ("Auto", *map(str, ISO_SPEEDS)),
    tuple(f"{n:g}" for n in F_NUMBERS["1/3"]),
)


def references(lab):
    return list(list_frames(lab.catalog, scene="cups", kind="reference"))


def kinds(lab):
    return [kind for kind, _ in lab.events()]


# ---- which exposure


@pytest.mark.parametrize("ev_reference", [11, 5])
def test_the_full_grid_holds_its_reference(ev_reference):
    exposure = choose(SweepPlan(), OFFERED, ev_reference)
    assert abs(exposure.ev - ev_reference) <= 0.5
    assert (exposure.iso, exposure.f_number) == (100, 8)
    assert exposure in {shot.exposure for shot in SweepPlan()}


@pytest.mark.parametrize(
    "plan",
    [
        SweepPlan(shutter=("1/4000",), iso=(100,), f_number=(22,)),
        SweepPlan(shutter=("30",), iso=(6400,), f_number=(5.6,)),
    ],
)
def test_a_plan_without_one_takes_the_nearest_that_the_body_offers(plan):
    exposure = choose(plan, OFFERED, 11)
    assert abs(exposure.ev - 11) < 0.2
    assert (exposure.iso, exposure.f_number) == (100, 8)


def test_a_body_without_the_settings_gives_the_nearest():
    dim = OfferedSettings(("1/4000", "1/2000"), ("100",), ("22",))
    assert choose(SweepPlan(shutter=("1/4000",), iso=(100,), f_number=(22,)), dim, 11) == (
        Exposure(1 / 2000, 100, 22.0)
    )


def test_a_planned_reference_that_is_not_offered_now_is_not_taken():
    zoomed = replace(OFFERED, f_number=("9", "10", "11", "13"))
    assert choose(SweepPlan(), zoomed, 11).f_number == 11


# ---- when


def test_one_before_the_first_shot_then_every_so_many():
    schedule, due = Schedule(Exposure(1 / 60, 100, 8.0), number=3, every=2), []
    for _ in range(5):
        due.append(schedule.next())
        assert schedule.next() is None
        schedule.count()
    assert due == [3, None, 4, None, 5]


def test_a_sweep_opens_with_a_reference_that_is_no_shot_of_the_plan(lab):
    summary = lab.sweep(references=True)
    assert (summary.status, summary.attempts, summary.planned) == ("done", 8, 8)
    (frame,) = references(lab)
    assert (frame.setting, frame.outcome, frame.number) == ("ref-000", Outcome.ACCEPTED, 0)
    assert frame.path == "frames/cups/bright/ref-000.jpg"
    assert lab.workspace.resolve(frame.path).exists()
    assert frame.requested == choose(SMALL, lab.bench().camera.offered(), 11)
    assert abs(frame.requested.ev - BRIGHT.ev_reference) < 0.5
    assert lab.camera.taken[0] == frame.requested
    assert len(lab.camera.taken) == 9
    assert len(lab.frames()) == 8
    assert summarize(lab.catalog).frames.planned == 8
    assert not lab.events()


def test_it_comes_back_every_hundred_shots(lab):
    plan = SweepPlan(shutter=SHUTTER_SPEEDS["1"][6:], f_number=(5.6, 8.0))
    summary = lab.sweep(plan, references=True)
    assert (summary.status, summary.attempts) == ("done", len(plan))
    assert len(plan) > EVERY_SHOTS
    assert [frame.setting for frame in references(lab)] == ["ref-000", "ref-001"]
    assert lab.camera.taken[EVERY_SHOTS + 1] == references(lab)[0].requested


def test_a_resumed_sweep_counts_on(lab):
    lab.sweep(references=True, limit=3)
    lab.sweep(references=True)
    lab.sweep(references=True)  # nothing left: no reference either
    assert [frame.setting for frame in references(lab)] == ["ref-000", "ref-001"]


def test_a_reference_is_shot_again_like_any_other(lab):
    lab.camera.faults.add("shoot", Retry("busy"))
    lab.camera.spoilers.append(lambda data: data[:600])
    summary = lab.sweep(references=True)
    assert (summary.status, summary.attempts) == ("done", 8)
    assert lab.events() == [("retry", "ref-000"), ("undecodable", "ref-000")]
    assert references(lab)[0].attempt == 3


# ---- what they show


def textured(shift=0, gain=1.0, noise=0):
    rng = np.random.default_rng(5)
    blocks = rng.uniform(30, 200, (20, 30))
    picture = np.roll(np.kron(blocks, np.ones((8, 8))), shift, axis=1) * gain
    picture = picture + np.random.default_rng(noise).normal(0, 3, picture.shape)
    return picture.clip(0, 255).astype(np.uint8)


def test_noise_and_light_are_no_bump():
    assert similarity(textured(), textured(noise=1)) > 0.99
    assert similarity(textured(), textured(gain=0.8, noise=2)) > 0.99


@pytest.mark.parametrize("shift", [2, 5, 40])
def test_a_shifted_scene_is_a_bump(shift):
    assert similarity(textured(), textured(shift)) < MOVED_BELOW


def test_a_plain_wall_cannot_move():
    wall = np.full((160, 240), 120, np.uint8)
    assert similarity(wall, wall + 1) == 1.0


def test_another_cut_is_another_scene():
    assert similarity(textured(), textured()[:-1]) == 0.0


def reference(stops, lux=1000.0) -> Reference:
    levels = np.linspace(0.05, 0.6, 500) * 2.0**stops
    counts = np.bincount((255 * np.clip(levels, 0, 1) ** (1 / 2.2)).astype(int), minlength=256)
    histogram: Histogram = counts.astype(np.uint32)
    return Reference(0, Exposure(1 / 60, 100, 8.0), lux, histogram, textured())


@pytest.mark.parametrize("creep", [-0.5, -0.25, 0.0, 0.3, 0.6])
def test_a_creep_is_measured_in_stops(creep):
    assert creep_stops(reference(0.0), reference(creep)) == pytest.approx(creep, abs=0.06)


def test_what_the_meter_explains_is_no_creep():
    assert creep_stops(reference(0.0), reference(-0.3, lux=1000 * 2**-0.3)) == pytest.approx(
        0, abs=0.06
    )


@pytest.mark.parametrize(("level", "word"), [(0, "black"), (255, "white")])
def test_a_useless_reference_is_named(level, word):
    assert word in fault(np.bincount([level] * 9, minlength=256).astype(np.uint32))
    assert not fault(reference(0.0).histogram)


# ---- what stops a run


def turned(data):
    """The same Exif around the same scene in a mirror."""
    import io

    import piexif

    file = io.BytesIO()
    with Image.open(io.BytesIO(data)) as image:
        ImageOps.mirror(image).save(file, "JPEG", quality=95, subsampling=0)
    out = io.BytesIO()
    piexif.insert(piexif.dump(piexif.load(data)), file.getvalue(), out)
    return out.getvalue()


def spoil_from(lab, first, how, last=10**9):
    """Let `how` have the pictures from number `first` on, from 0."""
    shoot = lab.camera.shoot

    def spoiled(timeout_s):
        picture = shoot(timeout_s)
        number = len(lab.camera.taken) - 1
        return replace(picture, data=how(picture.data)) if first <= number <= last else picture

    lab.camera.shoot = spoiled


def test_a_moved_scene_stops_the_resume_and_says_so(lab):
    lab.sweep(references=True, limit=3)
    spoil_from(lab, 4, turned)
    summary = lab.sweep(references=True)
    assert summary.status == "stopped"
    assert "the scene moved: reference frame 1" in summary.reason
    assert "--no-reference" in summary.next
    assert kinds(lab).count("scene_moved") == 3
    assert len(lab.frames()) == 3


def test_a_scene_that_is_put_back_goes_on_in_place(lab):
    lab.sweep(references=True, limit=3)
    spoil_from(lab, 4, turned, last=6)
    summary = lab.sweep(references=True, recovery=Recovery(ask=lambda _error: True))
    assert (summary.status, len(lab.frames())) == ("done", 8)
    assert "answered" in kinds(lab)


def test_somebody_who_walks_by_costs_an_attempt(lab):
    lab.sweep(references=True, limit=3)
    spoil_from(lab, 4, turned, last=4)
    assert lab.sweep(references=True).status == "done"
    assert kinds(lab) == ["scene_moved"]


def test_a_reference_in_the_dark_asks_for_lens_cap_and_lamp(lab):
    lab.camera.lux = 0.001
    summary = lab.sweep(references=True)
    assert summary.status == "stopped"
    assert "lens cap" in summary.reason
    assert not lab.frames()


# ---- what they let notice


def dark(data):
    """The same Exif around black."""
    return turned_to(data, 0)


def turned_to(data, level):
    import io

    import piexif

    file, out = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (96, 64), (level,) * 3).save(file, "JPEG", quality=95)
    piexif.insert(piexif.dump(piexif.load(data)), file.getvalue(), out)
    return out.getvalue()


def test_a_dead_shutter_costs_an_attempt_and_no_wrong_row(lab, make_lab):
    lab.sweep(references=True)
    truth = {frame.setting: frame.outcome for frame in lab.frames()}
    other = make_lab()
    spoil_from(other, 1, dark, last=3)
    summary = other.sweep(references=True)
    assert (summary.status, summary.failed) == ("done", 0)
    assert {frame.setting: frame.outcome for frame in other.frames()} == truth
    noticed = kinds(other).count("silent_black") + kinds(other).count("too_dark")
    assert noticed == 2  # 1/4000 s at f/5.6 is six stops under: black is what it may be


def test_without_references_black_is_taken_for_darkness(lab):
    spoil_from(lab, 1, dark, last=1)
    lab.sweep()
    (frame,) = [f for f in lab.frames() if f.outcome is Outcome.REJECTED_BLACK]
    assert spell_shutter(frame.requested.shutter_s) == "1/60"


def test_a_shutter_that_died_for_good_stops_the_run_and_leaves_no_wrong_row(lab):
    spoil_from(lab, 1, dark)
    summary = lab.sweep(references=True)
    assert summary.status == "stopped"
    assert "dead shutter" in summary.reason or "no picture was" in summary.reason
    # The first planned shots were bright: not even darkness is believed of a dead shutter.
    assert all(f.outcome is not Outcome.REJECTED_BLACK for f in lab.frames())


def test_darkness_near_the_border_is_confirmed_by_a_reference_in_between(lab):
    """Taken: the opening reference, 1/4000 (black), 1/60, another reference, 1/4000 (black)."""
    spoil_from(lab, 1, dark, last=1)
    spoil_from(lab, 4, dark, last=4)
    plan = SweepPlan(shutter=("1/4000", "1/60"), iso=(100,), f_number=(5.6,))
    summary = lab.sweep(plan, references=True)
    assert (summary.status, summary.retries) == ("done", {"doubtful_black": 1})
    outcomes = {frame.setting: (frame.outcome, frame.attempt) for frame in lab.frames()}
    assert outcomes["1-4000_100_f5-6"] == (Outcome.REJECTED_BLACK, 2)
    assert len(references(lab)) == 2


def test_a_moment_of_blackness_near_the_border_leaves_no_wrong_row(lab):
    spoil_from(lab, 1, dark, last=1)
    plan = SweepPlan(shutter=("1/4000", "1/60"), iso=(100,), f_number=(5.6,))
    assert lab.sweep(plan, references=True).status == "done"
    assert {frame.outcome for frame in lab.frames()} == {Outcome.ACCEPTED}
