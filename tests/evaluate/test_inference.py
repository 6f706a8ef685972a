"""The engine with a small model of its own: resume, broken pictures, interruption."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluate.model import Given, Label, top5_payload
from schemas.answer_store import (
    CLASSIFICATION,
    delete_failed_responses,
    list_observers,
    list_responses,
    pending_stimuli,
)
from schemas.exposure import Exposure
from schemas.frame_store import list_frames
from schemas.records import Outcome
from tests.evaluate import asking

ACCEPTED = 8  # of one lighting of PLAN


@dataclass
class MeanColor:
    """Answers with the mean red of a picture as its class."""

    version: str = "1"
    batches: list[int] = field(default_factory=list)
    fail_at: int | None = None

    @property
    def spec(self) -> dict[str, Any]:
        return {"version": self.version}

    tasks = (CLASSIFICATION,)
    device = "cpu"
    transform_key = None

    def prepare(self, pixels):
        assert pixels.dtype == np.uint8
        return pixels.mean(axis=(0, 1), dtype=np.float32)

    def answer(self, batch):
        if self.fail_at == len(self.batches):
            raise ValueError("no more")
        self.batches.append(len(batch))
        reds = [float(asked.prepared[0]) for asked in batch]
        return [Given(None, top5_payload([Label(int(red), "red", red / 255)])) for red in reds]


def ask(lab, model, **options):
    return asking.ask(lab.catalog, lab.workspace, "mean", model, **options)


def answers(lab):
    (observer,) = list_observers(lab.catalog)
    return {r.stimulus_id: r for r in list_responses(lab.catalog, observer.id)}


def test_every_accepted_frame_gets_one_response(lab):
    lab.fill("mugs", "bright")
    lab.fill("mugs", "dim")
    model = MeanColor()
    seen = []
    ask(lab, model, batch_size=5, watch=lambda run: seen.append((run.asked, run.done)))
    assert seen == [(0, 0), (16, 0), (16, 5), (16, 10), (16, 15), (16, 16)]
    assert model.batches == [5, 5, 5, 1]
    digests = {f.sha256 for f in list_frames(lab.catalog, outcome=Outcome.ACCEPTED)}
    assert {r.frame_sha256 for r in answers(lab).values()} == digests
    assert all(r.error == "" and len(r.payload["top5"]) == 1 for r in answers(lab).values())


def test_nothing_is_asked_twice_and_new_frames_are(lab):
    lab.fill("mugs", "bright")
    ask(lab, MeanColor())
    before = answers(lab)
    again = MeanColor()
    assert ask(lab, again).asked == 0
    assert again.batches == []
    lab.fill("mugs", "dim")
    assert ask(lab, MeanColor()).asked == ACCEPTED
    assert before.items() <= answers(lab).items()


def test_an_interrupted_and_a_crashed_run_go_on_where_they_were(make_lab):
    whole, broken = make_lab("whole"), make_lab("broken")
    for lab in (whole, broken):
        lab.fill("mugs", "bright")
    ask(whole, MeanColor(), batch_size=3)

    model = MeanColor()
    last = ask(broken, model, batch_size=3, stop=lambda: len(model.batches) == 1)
    assert last.interrupted
    assert last.responses == 3
    crashed = ask(broken, MeanColor(fail_at=1), batch_size=3)
    assert (crashed.responses, crashed.problem) == (3, "ValueError: no more")
    assert not crashed.interrupted
    assert len(answers(broken)) == 6
    assert not ask(broken, MeanColor(), batch_size=3).interrupted

    def told(lab):
        return {r.frame_sha256: r.payload for r in answers(lab).values()}

    assert told(broken) == told(whole)


def test_broken_pictures_are_recorded_and_the_rest_goes_on(lab):
    lab.fill("mugs", "bright")
    files = list(list_frames(lab.catalog, outcome=Outcome.ACCEPTED))
    missing, cut, changed = (lab.path_of(f.path) for f in files[:3])
    missing.unlink()
    cut.write_bytes(cut.read_bytes()[:200])
    changed.write_bytes(changed.read_bytes()[:-1] + b"\0")
    progress = ask(lab, MeanColor(), batch_size=3)
    assert (progress.responses, progress.failed) == (ACCEPTED - 3, 3)
    errors = [r for r in answers(lab).values() if r.error]
    assert "cannot read" in errors[0].error
    assert all("sha256" in r.error for r in errors[1:])
    # nothing was seen, nothing is claimed
    assert all(r.payload == {} and r.frame_sha256 == "" for r in errors)
    assert ask(lab, MeanColor()).asked == 0
    (observer,) = list_observers(lab.catalog)
    assert delete_failed_responses(lab.catalog, observer.id) == 3
    assert ask(lab, MeanColor()).failed == 3


def test_a_file_that_is_no_picture_is_a_failure(lab):
    lab.frame("mugs", "bright", Exposure(1 / 60, 100, 8.0), b"not a JPEG, but stored so")
    assert ask(lab, MeanColor()).failed == 1
    (only,) = answers(lab).values()
    assert "cannot be decoded" in only.error


def test_only_accepted_frames_are_asked(lab):
    lab.fill("mugs", "bright")
    ask(lab, MeanColor())
    assert len(answers(lab)) == ACCEPTED
    assert len(list(list_frames(lab.catalog))) == ACCEPTED + 4


def test_another_model_cannot_take_the_name(lab):
    lab.fill("mugs", "bright")
    ask(lab, MeanColor())
    other = ask(lab, MeanColor(version="2"))
    assert "give this one another name" in other.problem
    assert "--as NAME" in other.problem
    assert other.done == 0


def test_a_defect_of_the_model_is_not_a_broken_picture(lab):
    lab.fill("mugs", "bright")

    class Defect(MeanColor):
        def prepare(self, pixels):
            raise ZeroDivisionError

    assert ask(lab, Defect()).problem.startswith("ZeroDivisionError")
    (observer,) = list_observers(lab.catalog)
    assert len(pending_stimuli(lab.catalog, observer.id, CLASSIFICATION)) == ACCEPTED
