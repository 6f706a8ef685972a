"""What detectors and vision-language models gave, from the frame to its metrics."""

import json

import pytest

from evaluate.metrics.detection_frames import DetectedFrame, frames_to_arrays
from evaluate.model import Given
from evaluate.providers import LoadOptions, load_model
from evaluate.questions import make_questions
from evaluate.scores import score_observers
from evaluate.scoring import PAPER, score_catalog
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import DETECTION, list_observers, list_responses
from schemas.exposure import Exposure
from schemas.import_store import put_instances, put_scenes
from schemas.questions import TASKS
from schemas.records import Instance
from tests.evaluate import tiny_checkpoints as tiny
from tests.evaluate import tiny_vlms
from tests.evaluate.asking import ask_all
from tests.evaluate.conftest import jpeg

CPU = LoadOptions(device="cpu", offline=True)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def marked(lab):
    """Two scenes of one object each, marked at twice the size of the stored pictures."""
    for scene, category in (("desk", "phone"), ("tea", "phone")):
        for shutter in (1 / 60, 1 / 250):
            seed = len(scene) + round(1 / shutter)
            lab.frame(scene, "bright", Exposure(shutter, 100, 5.6), jpeg(seed), category=category)
    with lab.catalog.write() as connection:
        ids = put_scenes(connection, ())
        for scene, category in (("desk", "phone"), ("tea", "phone")):
            box = (100.0, 60.0, 40.0, 20.0)
            put_instances(connection, ids[scene], [Instance(category, box, 800.0, (192, 128))])
    return lab


class Perfect:
    """A detector that finds the marked box on every frame, under COCO's names."""

    spec = {"name": "perfect"}  # noqa: RUF012
    tasks = (DETECTION,)
    device = "cpu"
    transform_key = None

    def prepare(self, pixels):
        return pixels

    def answer(self, batch):
        return [
            Given(
                None,
                {
                    "labels": ["cell phone"],
                    "scores": [0.9],
                    "boxes_xywh_px": [[50, 30, 20, 10]],
                    "size_px": list(one.size_px),
                },
            )
            for one in batch
        ]


def measured(lab):
    return {row["name"]: row for row in score_observers(lab.catalog, PAPER)}


def test_detectors_of_all_kinds_are_scored(marked, tmp_path):
    made = {
        "detr": tiny.row("transformers-detection", tiny.detr(tmp_path / "detr")),
        "owl": tiny.row("transformers-zero-shot-detection", tiny.owl_vit(tmp_path / "owl")),
    }
    models = {name: load_model(row, CPU) for name, row in made.items()}
    runs = ask_all(marked.catalog, marked.workspace, {**models, "perfect": Perfect()})
    assert [(run.responses, run.failed) for run in runs] == [(4, 0)] * 3
    found = measured(marked)
    assert found["perfect"]["metrics"]["ap"] == pytest.approx(1)
    assert found["perfect"]["metrics"]["olrp"] == pytest.approx(0, abs=1e-9)
    for name in made:
        assert found[name]["n"] == 4
        assert 0 <= found[name]["metrics"]["ap"] < 0.5
        assert 0.5 < found[name]["metrics"]["olrp"] <= 1


def test_a_vision_language_model_is_scored_on_what_people_are_asked(marked, tmp_path):
    make_questions(marked.catalog, seed=1)
    model = load_model(
        tiny.row("transformers-vlm", tiny_vlms.qwen2_vl(tmp_path / "vlm"), "vqa"), CPU
    )
    (run,) = ask_all(marked.catalog, marked.workspace, {"vlm": model})
    assert run.failed == 0
    (observer,) = list_observers(marked.catalog)
    responses = [
        response for task in TASKS for response in list_responses(marked.catalog, observer.id, task)
    ]
    assert len(responses) == run.responses >= 8
    assert all(response.text for response in responses)
    assert {response.payload["finish"] for response in responses} <= {"stop", "length"}
    scoring = score_catalog(marked.catalog, load_vocabulary(marked.workspace.root), PAPER)
    assert scoring.scored == len(responses)
    rows = [row for row in score_observers(marked.catalog, PAPER) if row["name"] == "vlm"]
    assert rows
    assert json.loads(json.dumps(rows)) == rows


def frame(category, label):
    instance = Instance(category, (10.0, 10.0, 20.0, 20.0), 400.0, (96, 64))
    payload = {
        "labels": [label],
        "scores": [0.5],
        "boxes_xywh_px": [[10, 10, 20, 20]],
        "size_px": [96, 64],
    }
    return DetectedFrame(1, (instance,), payload)


@pytest.mark.parametrize(
    ("category", "label", "same"),
    [
        ("phone", "cell phone", True),
        ("cell phone", "phone", True),
        ("water_bottle", "bottle", True),
        ("book", "book", True),
        ("book", "comic_book", True),
        ("cup", "bowl", False),
        ("cup", "cell phone", False),
    ],
)
def test_a_class_that_scenes_and_coco_call_differently_is_one(category, label, same):
    truth, found, names = frames_to_arrays([frame(category, label)])
    assert bool(truth.category_ids[0] == found.category_ids[0]) == same
    assert names[0] == category


def test_where_both_names_are_in_use_they_stay_apart():
    both = [frame("book", "book"), frame("comic_book", "book")]
    both[1] = DetectedFrame(2, both[1].instances, both[1].payload)
    truth, found, _ = frames_to_arrays(both)
    assert truth.category_ids.tolist() == [0, 1]
    assert found.category_ids.tolist() == [0, 0]
