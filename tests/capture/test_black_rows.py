"""Black rows that a later picture contradicts are taken back, and shot again once."""

import io
from dataclasses import replace
from functools import partial

import numpy as np
import piexif
import pytest
from PIL import Image

import capture.sweep
from capture.guidance import Guidance
from capture.reference import Schedule
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.records import Outcome


def plan_of(*shutter):
    return SweepPlan(shutter=shutter, iso=(100,), f_number=(22,))


#: Seven to nine stops under the reference frame. Two of them are predicted 3 stops and more below
#: blackness by its brightest parts, so that black is believed there at once.
PLAN = plan_of("1/1000", "1/2000", "1/4000")
FIRST, SECOND, THIRD = (shot.exposure.stem for shot in PLAN)


def black_but(share):
    """The same Exif around a picture of which this share shows something."""

    def spoiled(data):
        with Image.open(io.BytesIO(data)) as picture:
            pixels = np.zeros((picture.height, picture.width), np.uint8)
        pixels[: round(len(pixels) * share)] = 40
        bare, file = io.BytesIO(), io.BytesIO()
        Image.fromarray(pixels).convert("RGB").save(bare, "JPEG", quality=95)
        piexif.insert(piexif.dump(piexif.load(data)), bare.getvalue(), file)
        return file.getvalue()

    return spoiled


def nearly_black(data):
    """Accepted, but no evidence against a black neighbor: noise alone turns such ones over."""
    return black_but(0.12)(data)


def dead(data):
    """A picture of a shutter that stayed shut."""
    return black_but(0.0)(data)


@pytest.fixture
def spoil(lab):
    """Have pictures changed: by number, 0 is the first reference frame, or the first of a stem."""
    shoot, how = lab.camera.shoot, {}

    def spoiled(timeout_s):
        picture = shoot(timeout_s)
        number = len(lab.camera.taken) - 1
        change = how.get(number) or how.pop(lab.camera.taken[-1].stem, None)
        return replace(picture, data=change(picture.data)) if change else picture

    lab.camera.shoot = spoiled
    return how.update


def rows(lab):
    return {frame.setting: (frame.outcome, frame.attempt) for frame in lab.frames()}


def withdrawn(lab):
    return [setting for kind, setting in lab.events() if kind == "withdrawn_black"]


def references(lab):
    return list(list_frames(lab.catalog, scene="cups", kind="reference"))


def test_a_later_picture_that_shows_something_takes_a_black_one_back(lab, spoil):
    """Taken: reference, first, second (dead), third, reference, second."""
    spoil({1: nearly_black, 2: dead})
    summary = lab.sweep(PLAN, references=True)
    assert (summary.status, summary.accepted, summary.rejected_black) == ("done", 3, 0)
    assert withdrawn(lab) == [SECOND], lab.events()
    assert rows(lab)[SECOND] == (Outcome.ACCEPTED, 2)
    assert (len(references(lab)), len(lab.camera.taken)) == (2, 6)
    assert summary.retries == {"withdrawn_black": 1}


def test_what_is_black_again_stays_black(lab, spoil):
    spoil({1: nearly_black, 2: dead, 5: dead})
    summary = lab.sweep(PLAN, references=True)
    assert (summary.status, summary.accepted, summary.rejected_black) == ("done", 2, 1)
    assert rows(lab)[SECOND] == (Outcome.REJECTED_BLACK, 2)
    taken = len(lab.camera.taken)
    # Nor does another run doubt it.
    more = plan_of("1/500", *PLAN.shutter)
    assert lab.sweep(more, references=True).status == "done"
    assert len(lab.camera.taken) == taken + 2
    assert rows(lab)[SECOND] == (Outcome.REJECTED_BLACK, 2)


def test_evidence_reaches_back_to_an_earlier_run(lab, spoil):
    spoil({1: nearly_black, 2: dead})
    assert lab.sweep(PLAN, references=True, limit=2).status == "stopped"
    assert rows(lab)[SECOND] == (Outcome.REJECTED_BLACK, 1)
    assert lab.sweep(PLAN, references=True).status == "done"
    assert rows(lab)[SECOND] == (Outcome.ACCEPTED, 2)


def test_a_row_that_was_taken_back_is_shot_by_the_next_run(lab, spoil):
    """The run ends between taking back and shooting again."""
    spoil({1: nearly_black, 2: dead})

    def end(snapshot):
        if "contradicts" in snapshot.message:
            raise KeyboardInterrupt

    summary = lab.sweep(PLAN, references=True, watch=end)
    assert (summary.status, summary.failed, summary.remaining) == ("stopped", 1, 1)
    (failed,) = [frame for frame in lab.frames() if frame.outcome is Outcome.FAILED]
    assert "contradicts" in failed.reason
    summary = lab.sweep(PLAN, references=True)
    assert (summary.status, rows(lab)[SECOND]) == ("done", (Outcome.ACCEPTED, 2))


def test_a_shutter_found_dead_takes_back_what_was_black_since_it_worked(lab, spoil):
    plan = plan_of(*PLAN.shutter, "1/15")
    spoil({1: nearly_black, 2: dead, 3: dead, 4: dead})
    summary = lab.sweep(plan, references=True)
    assert (summary.status, summary.accepted) == ("done", 4)
    assert sorted(withdrawn(lab)) == sorted([SECOND, THIRD])


def test_a_frame_far_above_blackness_takes_nothing_back(lab, spoil):
    plan = plan_of("1/1000", "1/4000", "1/15")
    spoil({1: nearly_black, 2: dead})
    assert lab.sweep(plan, references=True).status == "done"
    assert withdrawn(lab) == []
    assert rows(lab)[THIRD] == (Outcome.REJECTED_BLACK, 1)


def test_a_reference_frame_shows_that_the_shutter_worked_until_then(lab, spoil, monkeypatch):
    """Reference, first, second (dead), reference, third (dead), 1/15 (dead, and seen to be)."""
    monkeypatch.setattr(capture.sweep, "Schedule", partial(Schedule, every=2))
    spoil({1: nearly_black, 2: dead, 4: dead, 5: dead, THIRD: dead})
    assert lab.sweep(plan_of(*PLAN.shutter, "1/15"), references=True).status == "done"
    assert withdrawn(lab) == [THIRD]


def test_the_rule_mean_rejects_what_shows_something_and_nothing_is_taken_back(lab):
    plan = PLAN.model_copy(update={"acceptance": "mean"})
    summary = lab.sweep(plan, references=True)
    assert (summary.status, summary.accepted, summary.rejected_black) == ("done", 2, 1)
    assert withdrawn(lab) == []
    more = plan_of("1/500", *PLAN.shutter).model_copy(update={"acceptance": "mean"})
    assert lab.sweep(more, references=True).status == "done"
    assert withdrawn(lab) == []
    assert {attempt for _, attempt in rows(lab).values()} == {1}


def test_a_run_of_so_many_shots_leaves_an_earlier_run_s_row_to_the_next(lab, spoil):
    spoil({1: nearly_black, 2: dead})
    lab.sweep(PLAN, references=True, limit=2)
    taken = len(lab.camera.taken)
    summary = lab.sweep(PLAN, references=True, limit=1)
    assert (summary.status, summary.failed, summary.remaining) == ("stopped", 1, 1)
    assert len(lab.camera.taken) == taken + 2  # the reference frame is no shot of the plan
    assert lab.sweep(PLAN, references=True).status == "done"
    assert rows(lab)[SECOND] == (Outcome.ACCEPTED, 2)


def test_what_a_row_proved_that_was_taken_back_is_not_refuted(lab, spoil):
    """The audit shoots what the dead picture had proven black."""
    spoil({FIRST: nearly_black, SECOND: dead})
    summary = lab.sweep(PLAN, references=True, guidance=Guidance(1.0))
    assert (summary.status, summary.accepted, summary.reason) == ("done", 3, "")
    assert withdrawn(lab) == [SECOND]


def test_a_guided_sweep_builds_nothing_on_a_row_that_was_taken_back(lab, spoil):
    """At ISO 200 as much light shows something: what ISO 100 proved black is shot after all."""
    plan = SweepPlan(shutter=("1/500", "1/2000", "1/4000"), iso=(100, 200), f_number=(22,))
    spoil({"1-2000_100_f22": dead})
    summary = lab.sweep(plan, references=True, guidance=Guidance())
    assert (summary.status, summary.accepted, summary.skipped) == ("done", 6, 0)
    assert withdrawn(lab) == ["1-2000_100_f22"]


def test_the_first_black_picture_is_taken_twice(lab, spoil):
    """One dead shutter is no witness, in a guided sweep as little as in another."""
    spoil({"1-1000_100_f22": dead})
    summary = lab.sweep(plan_of("1/500", "1/1000", "1/2000"), references=True, guidance=Guidance())
    assert (summary.status, summary.accepted) == ("done", 3)
    assert summary.retries == {"doubtful_black": 1}
