"""Detectors of torchvision, with random weights under torchvision's own names."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torchvision.models import get_model, get_model_weights

from evaluate.errors import EvaluateError
from evaluate.model import Asked
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.coco_labels import COCO_80
from tests.evaluate import tiny_checkpoints as tiny

CPU = LoadOptions(device="cpu", offline=True)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def ssd(tmp_path_factory):
    """The smallest of torchvision's detectors, with random weights under its own names."""
    path = tmp_path_factory.mktemp("ssd") / "weights.safetensors"
    torch.manual_seed(0)
    network = get_model("ssdlite320_mobilenet_v3_large", weights=None, weights_backbone=None)
    save_file(network.state_dict(), path)
    return tiny.row("torchvision-detection", path.parent, file=path).model_copy(
        update={"id": "ssdlite320_mobilenet_v3_large:COCO_V1", "folder": None}
    )


def test_faster_r_cnn_has_its_own_limits(tmp_path):
    sizes = {"min_size": 64, "max_size": 96}
    torch.manual_seed(0)
    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    network = get_model(name, weights=None, weights_backbone=None, **sizes)
    save_file(network.state_dict(), tmp_path / "weights.safetensors")
    row = tiny.row(
        "torchvision-detection", tmp_path, file=tmp_path / "weights.safetensors", arguments=sizes
    ).model_copy(update={"id": f"{name}:COCO_V1", "folder": None})
    model = load_model(row, CPU)
    assert model.spec["limits"] == {
        "score_thresh": 0.05,
        "nms_thresh": 0.5,
        "detections_per_img": 100,
    }
    assert model.spec["preprocessing"]["longest_px"] == 96
    (given,) = model.answer([tiny.ask(model, tiny.pixels())])
    assert set(given.payload["labels"]) <= set(COCO_80)


def test_torchvision_answers_in_coco_names(ssd):
    model = load_model(ssd, CPU)
    asked = [tiny.ask(model, tiny.pixels(seed, (96, 64 + seed))) for seed in range(2)]
    answers = model.answer(asked)
    assert [given.payload["size_px"] for given in answers] == [[96, 64], [96, 65]]
    for given in answers:
        assert set(given.payload["labels"]) <= set(COCO_80)
        assert len(given.payload["labels"]) > 0
    assert model.answer(asked[:1]) == answers[:1]
    assert model.spec["limits"] == {
        "score_thresh": 0.001,
        "nms_thresh": 0.55,
        "detections_per_img": 300,
    }
    assert json.loads(json.dumps(model.spec)) == model.spec


def test_torchvision_sees_red_first_and_scaled_to_one(ssd):
    model = load_model(ssd, CPU)
    seen = []
    known = replace(model, network=lambda pictures: seen.extend(pictures) or [_NOTHING])
    red = np.zeros((4, 6, 3), np.uint8)
    red[..., 0] = 255
    known.answer([Asked(model.prepare(red), "detection", (), (6, 4))])
    assert seen[0].shape == (3, 4, 6)
    assert seen[0].mean(dim=(1, 2)).tolist() == [1, 0, 0]


_NOTHING = {
    "labels": torch.zeros(0, dtype=torch.long),
    "scores": torch.zeros(0),
    "boxes": torch.zeros(0, 4),
}


def test_a_picture_without_any_box_is_an_empty_answer(ssd):
    model = load_model(ssd, CPU)
    known = replace(model, network=lambda pictures: [_NOTHING for _ in pictures])
    (given,) = known.answer([tiny.ask(model, tiny.pixels())])
    assert given.payload == {"labels": [], "scores": [], "boxes_xywh_px": [], "size_px": [96, 64]}


def test_torchvision_says_what_it_cannot_open(ssd, tmp_path):
    with pytest.raises(EvaluateError, match="torchvision has no 'nonesuch'"):
        load_model(ssd.model_copy(update={"id": "nonesuch"}), CPU)
    with pytest.raises(EvaluateError, match="float32 only"):
        load_model(ssd, replace(CPU, dtype="bfloat16"))
    state = load_file(ssd.file)
    foreign = tmp_path / "foreign.safetensors"
    gone = next(name for name in state if name.endswith("weight"))
    save_file({name: value for name, value in state.items() if name != gone}, foreign)
    with pytest.raises(EvaluateError, match="does not fit"):
        load_model(ssd.model_copy(update={"file": foreign}), CPU)


@pytest.mark.parametrize("architecture", ["retinanet_resnet50_fpn", "fasterrcnn_resnet50_fpn"])
def test_the_published_weights_are_asked_for_by_their_digest(
    architecture, monkeypatch, tmp_path, ssd
):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    row = ssd.model_copy(update={"id": f"{architecture}:COCO_V1", "file": None})
    from evaluate.providers.torchvision_detection import load

    with pytest.raises(EvaluateError, match=f"{architecture}_coco-.*is missing: fetch https"):
        load(row, CPU)
    name = get_model_weights(architecture)["COCO_V1"].url.rpartition("/")[2]
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / name).write_bytes(b"other")
    with pytest.raises(EvaluateError, match="not the file that was published"):
        load(row, CPU)
