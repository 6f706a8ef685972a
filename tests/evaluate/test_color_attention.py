"""Attention over pictures: a network made so that where its evidence lies is known."""

import io

import numpy as np
import pytest
import timm
import torch
from click.testing import CliRunner
from PIL import Image
from torch import nn

from evaluate.color.attention import (
    Watched,
    attention,
    attention_maker,
    overlay,
    seen_box,
)
from evaluate.color.report import write_report
from evaluate.errors import EvaluateError
from rig.cli import snaprig
from schemas.color_store import SCENE, ColorLabel, list_color_frames, put_color_labels
from schemas.exposure import Exposure
from schemas.records import Observer
from tests.evaluate.color_catalog import PAIRS, answer
from tests.evaluate.conftest import jpeg

pytestmark = pytest.mark.usefixtures("one_thread")


def prepare(pixels):
    """The square in the middle, at 64 x 64."""
    side = min(pixels.shape[:2])
    top, left = (pixels.shape[0] - side) // 2, (pixels.shape[1] - side) // 2
    square = Image.fromarray(pixels[top : top + side, left : left + side]).resize((64, 64))
    return np.moveaxis(np.asarray(square, np.float32) / 255, 2, 0)


class RedOrBlue(nn.Module):
    """Class 0 by how red the picture is, class 1 by how blue."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 2, 8, stride=8, bias=False)
        self.head = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.features.weight.zero_()
            self.features.weight[0, 0] = 1
            self.features.weight[1, 2] = 1
            self.head.weight.copy_(torch.eye(2))

    def forward(self, pictures):
        return self.head(self.features(pictures).mean((2, 3)))


def picture():
    """Black, with a red patch at the upper left and a smaller blue one at the lower right."""
    pixels = np.zeros((128, 192, 3), np.uint8)
    pixels[8:56, 40:88, 0] = 255
    pixels[80:112, 120:152, 2] = 255
    return pixels


WATCHED = Watched("red or blue", RedOrBlue().eval(), prepare, 1.0)


@pytest.mark.parametrize(
    ("class_index", "there", "elsewhere"),
    [
        (None, np.s_[16:48, 48:80], np.s_[80:112, 120:152]),  # it takes it for red
        (0, np.s_[16:48, 48:80], np.s_[80:112, 120:152]),
        (1, np.s_[88:104, 128:144], np.s_[8:56, 40:88]),
    ],
)
def test_attention_lies_on_the_evidence_for_the_class(class_index, there, elsewhere):
    heat = attention(WATCHED, picture(), class_index)
    assert (heat.shape, heat.dtype) == ((128, 192), np.float32)
    assert heat[there].min() > 0.5
    assert heat[elsewhere].max() < 0.3
    assert not heat[:, :32].any()  # the network sees the square in the middle
    assert not heat[:, 160:].any()


def test_the_overlay_changes_the_picture_where_the_evidence_lies():
    pixels = picture()
    painted = overlay(pixels, attention(WATCHED, pixels))
    assert (painted.shape, painted.dtype) == (pixels.shape, np.uint8)
    changed = np.abs(painted.astype(int) - pixels).max(axis=2)
    assert changed[16:48, 48:80].min() > 20
    assert not changed[80:, :].any()
    assert not changed[:, :32].any()


def test_nothing_speaks_for_the_class():
    pixels = np.zeros((64, 64, 3), np.uint8)
    heat = attention(WATCHED, pixels)
    assert not heat.any()
    assert np.array_equal(overlay(pixels, heat), pixels)


@pytest.mark.parametrize(
    ("watched", "box"),
    [
        (Watched("", WATCHED.network, prepare, 1.0), (50, 0, 150, 100)),
        (Watched("", WATCHED.network, prepare, 0.8), (60, 10, 140, 90)),
        (Watched("", WATCHED.network, prepare, 0.8, squashed=True), (20, 10, 180, 90)),
    ],
)
def test_what_the_network_sees_of_a_picture(watched, box):
    assert seen_box(watched, 100, 200) == pytest.approx(box)


@pytest.mark.parametrize("name", ["test_resnet", "test_efficientnet", "test_convnext"])
def test_convolutional_networks_of_timm(name):
    torch.manual_seed(1)
    network = timm.create_model(name, pretrained=False, num_classes=10).eval()
    heat = attention(Watched(name, network, prepare, 0.9), picture(), 3)
    assert heat.shape == (128, 192)
    assert np.isfinite(heat).all()
    assert 0 <= heat.min() <= heat.max() <= 1
    assert all(parameter.grad is None for parameter in network.parameters())


def test_a_network_on_tokens_is_refused():
    network = timm.create_model("test_vit", pretrained=False, num_classes=10, img_size=64).eval()
    with pytest.raises(EvaluateError, match="my vit keeps no map of the picture"):
        attention(Watched("my vit", network, prepare, 0.9), picture())


def test_channels_that_come_last_are_the_same_evidence():
    class ChannelsLast(RedOrBlue):
        num_features = 2

        def __init__(self):
            super().__init__()
            first = self.features
            del self.features
            self.last = nn.Sequential(first, Permute())

        def forward(self, pictures):
            return self.head(self.last(pictures).mean((1, 2)))

    class Permute(nn.Module):
        def forward(self, maps):
            return maps.permute(0, 2, 3, 1)

    watched = Watched("", ChannelsLast().eval(), prepare, 1.0)
    assert np.allclose(attention(watched, picture(), 1), attention(WATCHED, picture(), 1))


def test_frames_of_a_workspace(lab):
    lab.frame("mug", "bright", Exposure(1 / 60, 100, 8.0), jpeg(3))
    make = attention_maker(lab.workspace, WATCHED)
    [frame] = list_color_frames(lab.catalog)
    small = make(frame, 48)
    with Image.open(io.BytesIO(small)) as shown:
        assert shown.size == (48, 32)
    lab.workspace.resolve(frame.path).write_bytes(b"cut")
    assert make(frame, 48) is None


def wrong_and_right(lab):
    """Two Hard frames with files, of which the model m got the first wrong."""
    frames = [
        lab.frame(scene, "bright", Exposure(1 / 60, 100, 8.0), jpeg(number))
        for number, scene in enumerate(("mug", "glass"))
    ]
    labels = [ColorLabel(one, SCENE, "human", *PAIRS["Hard"], "ann") for one in frames]
    put_color_labels(lab.catalog, labels)
    answer(lab, Observer("m", "model"), {frames[0]: False, frames[1]: True})
    answer(lab, Observer("other", "model"), dict.fromkeys(frames, False))
    return frames


def test_figure_11_shows_where_the_model_looks_on_what_it_got_wrong(lab, monkeypatch):
    wrong, _ = wrong_and_right(lab)
    loaded = []

    def load(name):
        loaded.append(name)
        return WATCHED

    monkeypatch.setattr("evaluate.color.attention.load_watched", load)
    page = lab.workspace.root / "color" / "index.html"
    done = write_report(lab.catalog, lab.workspace, page, lambda *_: None, "m")
    assert loaded == ["m"]
    [figure] = [one for one in done.figures if one.name == "figure-11-mistakes"]
    assert "where m looks" in page.read_text()
    rows = figure.csv.read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [str(wrong)]
    write_report(lab.catalog, lab.workspace, page, lambda *_: None)
    assert len(figure.csv.read_text().splitlines()) == 3  # without it, both frames


def test_a_model_without_answers_is_refused(lab):
    wrong_and_right(lab)
    command = ["-w", str(lab.workspace.root), "color", "report", "--attention", "resnet50"]
    done = CliRunner().invoke(snaprig, command)
    assert done.exit_code == 1
    assert "resnet50 has no answers in this catalog: `snaprig evaluate run" in done.output
