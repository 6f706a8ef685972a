"""The optional provider: what it asks of ultralytics, told by a stand-in."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions
from evaluate.providers.coco_labels import COCO_80
from evaluate.providers.ultralytics_detection import load
from evaluate.zoo import ModelRow
from tests.evaluate import tiny_checkpoints as tiny

TRUSTED = LoadOptions(device="cpu", trust_remote_code=True)


class _Yolo:
    """As ultralytics' class: pictures in, `boxes` with `xyxy`, `conf` and `cls` out."""

    def __init__(self, path):
        self.path = path
        self.names = dict(enumerate(COCO_80))
        self.calls = []

    def predict(self, pictures, **settings):
        self.calls.append((pictures, settings))
        boxes = SimpleNamespace(
            xyxy=torch.tensor([[1.0, 2, 11, 22], [0, 0, 4, 4]]),
            conf=torch.tensor([0.002, 0.75]),
            cls=torch.tensor([67.0, 41.0]),
        )
        return [SimpleNamespace(boxes=boxes) for _ in pictures]


class _RtDetr(_Yolo):
    pass


@pytest.fixture
def row(tmp_path, monkeypatch):
    stand_in = ModuleType("ultralytics")
    stand_in.YOLO, stand_in.RTDETR = _Yolo, _RtDetr
    monkeypatch.setitem(sys.modules, "ultralytics", stand_in)
    for name in ("YOLO_CONFIG_DIR", "YOLO_OFFLINE"):
        monkeypatch.setenv(name, "kept")
    path = tmp_path / "yolo11x.pt"
    path.write_bytes(b"weights")
    return ModelRow(
        name="yolo", task="detection", provider="ultralytics", id="yolo11x.pt", file=path
    )


def test_all_boxes_come_back_in_coco_names(row):
    model = load(row, TRUSTED)
    (given,) = model.answer([tiny.ask(model, tiny.pixels())])
    assert given.payload == {
        "labels": ["cup", "cell phone"],
        "scores": [0.75, 0.002],
        "boxes_xywh_px": [[0, 0, 4, 4], [1, 2, 10, 20]],
        "size_px": [96, 64],
    }
    ((_, settings),) = model.network.calls
    assert settings["conf"] == 0.001
    assert settings["max_det"] == 300


def test_red_is_handed_over_as_red(row):
    model = load(row, TRUSTED)
    red = np.zeros((8, 8, 3), np.uint8)
    red[..., 0] = 255
    model.answer([tiny.ask(model, red)])
    ((pictures, _),) = model.network.calls
    assert pictures[0].mode == "RGB"
    assert pictures[0].getpixel((0, 0)) == (255, 0, 0)


def test_pictures_of_one_shape_go_together(row):
    model = load(row, TRUSTED)
    model.answer([tiny.ask(model, tiny.pixels(0, size)) for size in ((9, 8), (8, 9), (9, 8))])
    assert [len(pictures) for pictures, _ in model.network.calls] == [2, 1]


def test_its_rt_detr_is_built_by_its_own_class(row, tmp_path):
    path = row.file.rename(tmp_path / "rtdetr-x.pt")
    assert type(load(row.model_copy(update={"file": path}), TRUSTED).network) is _RtDetr


def test_pickles_are_opened_only_if_allowed(row):
    with pytest.raises(EvaluateError, match=r"pickles.*--trust-remote-code"):
        load(row, replace(TRUSTED, trust_remote_code=False))


def test_what_is_missing_is_said(row, monkeypatch):
    with pytest.raises(EvaluateError, match="is not here: fetch it"):
        load(row.model_copy(update={"file": row.file.with_name("no.pt")}), TRUSTED)
    monkeypatch.setitem(sys.modules, "ultralytics", None)
    with pytest.raises(EvaluateError, match=r"AGPL-3\.0: pip install ultralytics"):
        load(row, TRUSTED)
