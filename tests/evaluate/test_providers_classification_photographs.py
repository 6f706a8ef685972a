"""The real classifier on real photographs."""

import hashlib
import re

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from timm.data import create_transform, resolve_data_config

from evaluate.errors import EvaluateError
from evaluate.images import read_pixels
from evaluate.model import Asked
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.devices import choose_device
from evaluate.providers.lite_names import rename_lite_keys
from evaluate.runnable import checked_weights
from evaluate.scores import score_observers
from evaluate.scoring import PAPER, score_catalog
from evaluate.vocabulary import load_vocabulary
from evaluate.zoo import find_model
from schemas.answer_store import CLASSIFICATION, list_answers, list_observers, list_responses
from schemas.exposure import Exposure
from schemas.frame_store import list_frames
from schemas.records import Outcome
from tests.evaluate.asking import ask

ROW = find_model("tf_efficientnet_lite2")


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def model():
    return load_model(ROW, LoadOptions(device="cpu"))


@pytest.fixture(scope="module")
def photographs(snaprig_data):
    return sorted((snaprig_data / "snap/annotations/images_SNAP").glob("*.jpg"))


@pytest.fixture
def snap(lab, photographs):
    """The photographs as frames of scenes of their own."""
    for path in photographs:
        scene = path.stem.removesuffix("_10_auto")
        category = re.sub(r"^\d+_", "", scene)
        data = path.read_bytes()
        lab.frame(scene, "dim", Exposure(1 / 8, 100, 5.6), data, category=category)
    return lab


def test_every_tensor_gets_its_own_name(model):
    state = torch.load(checked_weights(ROW), weights_only=True)
    renamed = rename_lite_keys(state, model.logits)
    assert set(renamed) == set(model.logits.state_dict())
    # both libraries list their layers in the same order: an independent check of the names
    assert list(renamed) == list(model.logits.state_dict())


def test_unknown_tensors_are_an_error(model):
    for key in ("_blocks.99._bn1.weight", "_blocks.1._new.weight", "extra.weight", "bias"):
        with pytest.raises(EvaluateError, match="unknown tensor"):
            rename_lite_keys({key: torch.zeros(1)}, model.logits)


def test_missing_tensors_are_an_error(monkeypatch):
    load = torch.load
    monkeypatch.setattr(torch, "load", lambda *a, **k: dict(list(load(*a, **k).items())[:-1]))
    with pytest.raises(EvaluateError, match=r"classifier\.bias"):
        load_model(ROW, LoadOptions(device="cpu"))


def test_an_absent_device_is_named():
    with pytest.raises(EvaluateError, match="no device 'cuda:7' here"):
        choose_device("cuda:7")


def test_spec_says_what_makes_it_reproducible(model):
    spec = model.spec
    assert spec["weights"]["sha256"] == ROW.weights.sha256
    assert spec["versions"] == {"torch": torch.__version__, "timm": timm.__version__}
    assert spec["preprocessing"]["input_size"] == [3, 260, 260]
    assert spec["preprocessing"]["interpolation"] == "bicubic"


def test_counts_on_the_snap_photographs(snap, model):
    done = ask(snap.catalog, snap.workspace, ROW.name, model, batch_size=8)
    assert (done.asked, done.responses, done.failed) == (20, 20, 0)
    score_catalog(snap.catalog, load_vocabulary())
    (observer,) = list_observers(snap.catalog)
    answers = list(list_answers(snap.catalog, observer.id, PAPER, CLASSIFICATION))
    (entry,) = score_observers(snap.catalog, PAPER)
    places = {answer.scene: answer.parsed["place"] for answer in answers}
    assert sum(place == 1 for place in places.values()) == 14
    assert sum(place is not None for place in places.values()) == 18
    assert (entry["metrics"]["top1"], entry["metrics"]["top5"]) == (0.7, 0.9)
    # what it takes them for: an iPod, a bow tie, a wallet
    mistaken = {a.scene: a.parsed["name"] for a in answers if not a.soft}
    assert mistaken["50_phone"] == "iPod"
    assert mistaken["82_tie"] == "bow tie"
    assert mistaken["6_comic_book"] == "wallet"


def test_known_photographs_top5(photographs, model):
    known = {
        "22_comic_book": [917, 921, 446, 454, 453],
        "11_mouse": [673, 761, 720, 722, 773],
    }
    for scene, expected in known.items():
        path = next(p for p in photographs if p.stem.startswith(scene))
        with Image.open(path) as image:
            prepared = model.prepare(np.array(image.convert("RGB")))
        (given,) = model.answer([Asked(prepared, "classification", (), image.size)])
        assert [label[0] for label in given.payload["top5"]] == expected


def test_predictions_equal_the_plain_timm_loop(snap, model):
    ask(snap.catalog, snap.workspace, ROW.name, model, batch_size=7)
    (observer,) = list_observers(snap.catalog)
    ours = {r.frame_sha256: r.payload["top5"] for r in list_responses(snap.catalog, observer.id)}
    # the loop of timm's documentation; the weights by position, not by our names
    network = timm.create_model(ROW.id)
    state = torch.load(checked_weights(ROW), weights_only=True)
    network.load_state_dict(dict(zip(network.state_dict(), state.values(), strict=True)))
    network.eval()
    transform = create_transform(**resolve_data_config({}, model=network))
    frames = list(list_frames(snap.catalog, outcome=Outcome.ACCEPTED))
    assert len(frames) == len(ours) == 20
    for frame in frames:
        with Image.open(snap.path_of(frame.path)) as image, torch.inference_mode():
            likely = network(transform(image.convert("RGB"))[None]).softmax(1)[0].topk(5)
        assert [label[0] for label in ours[frame.sha256]] == likely.indices.tolist()
        # a pixel of the resized picture differs from Pillow's by one gray level at most
        np.testing.assert_allclose(
            [label[2] for label in ours[frame.sha256]], likely.values, atol=5e-3
        )


def test_a_turned_picture_is_seen_upright(tmp_path, model):
    gradient = np.tile(np.arange(0, 240, 2, np.uint8)[:, None, None], (1, 80, 3))
    upright = Image.fromarray(gradient)
    plain, turned = tmp_path / "plain.png", tmp_path / "turned.png"
    upright.save(plain)
    exif = Image.Exif()
    exif[0x0112] = 6  # show it turned by 90 degrees clockwise
    upright.transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif)
    seen = [
        read_pixels(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in (plain, turned)
    ]
    np.testing.assert_array_equal(*seen)
