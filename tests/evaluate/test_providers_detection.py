"""Detectors of every library, from checkpoints made here through the code that opens real ones."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import get_model_weights
from transformers import AutoImageProcessor

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.boxes import detection_payload
from evaluate.providers.coco_labels import COCO_80, LabelMap, label_map
from evaluate.providers.zero_shot_detection import MAX_BOXES, TEMPLATE, token_shares
from tests.evaluate import tiny_checkpoints as tiny

CPU = LoadOptions(device="cpu", offline=True)
TRAINED, PROMPTED = "transformers-detection", "transformers-zero-shot-detection"

#: Maker, provider and the number of boxes that it gives of any picture, whatever their scores.
MADE = {
    "detr": (tiny.detr, TRAINED, 10),
    "rt_detr": (tiny.rt_detr, TRAINED, 20),
    "rt_detr_v2": (lambda folder: tiny.rt_detr(folder, second=True), TRAINED, 20),
    "owl_vit": (tiny.owl_vit, PROMPTED, 16),
    "owl_v2": (lambda folder: tiny.owl_vit(folder, second=True), PROMPTED, 16),
    "grounding_dino": (tiny.grounding_dino, PROMPTED, MAX_BOXES),
}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Each detector, made and loaded once."""
    root = tmp_path_factory.mktemp("detectors")
    return {
        name: load_model(tiny.row(provider, make(root / name)), CPU)
        for name, (make, provider, _) in MADE.items()
    }


def boxes_of(given):
    return np.array(given.payload["boxes_xywh_px"]).reshape(-1, 4)


@pytest.mark.parametrize("name", MADE)
def test_a_detector_answers_in_coco_names_and_pixels_of_the_frame(models, name):
    model = models[name]
    asked = [tiny.ask(model, tiny.pixels(0, size)) for size in ((96, 64), (70, 100))]
    answers = model.answer(asked)
    for given, size in zip(answers, ((96, 64), (70, 100)), strict=True):
        payload = given.payload
        assert given.text is None
        assert set(payload) == {"labels", "scores", "boxes_xywh_px", "size_px"}
        assert payload["size_px"] == list(size)
        assert set(payload["labels"]) <= set(COCO_80)
        assert payload["scores"] == sorted(payload["scores"], reverse=True)
        boxes = boxes_of(given)
        assert (boxes >= 0).all()
        assert (boxes[:, :2] + boxes[:, 2:] <= np.array(size) + 0.02).all()
        assert json.loads(json.dumps(payload)) == payload


@pytest.mark.parametrize("name", MADE)
def test_no_box_is_cut_for_its_score(models, name):
    """The libraries' thresholds of 0.1 to 0.5 are for drawing."""
    model = models[name]
    (given,) = model.answer([tiny.ask(model, tiny.pixels(1))])
    gaps = MADE[name][2] - len(given.payload["labels"])
    assert gaps == 0 or (name == "detr" and 0 < gaps < 10)
    # all pairs of box and class are likely to the tiny Grounding DINO
    assert min(given.payload["scores"]) < 0.5 or name == "grounding_dino"


@pytest.mark.parametrize("name", MADE)
def test_a_batch_gives_what_one_by_one_gives(models, name):
    model = models[name]
    asked = [tiny.ask(model, tiny.pixels(seed, (96, 64 + 16 * (seed % 2)))) for seed in range(4)]
    for given, one in zip(model.answer(asked), asked, strict=True):
        (alone,) = model.answer([one])
        np.testing.assert_allclose(given.payload["scores"], alone.payload["scores"], atol=2e-5)
        assert missing(given, alone) == missing(alone, given) == []


def missing(given, other):
    """Detections that another answer lacks; of equal scores the order and the last may differ."""
    there = list(
        zip(other.payload["labels"], other.payload["scores"], boxes_of(other), strict=True)
    )
    return [
        (label, score, box)
        for label, score, box in zip(
            given.payload["labels"], given.payload["scores"], boxes_of(given), strict=True
        )
        if score > min(given.payload["scores"]) + 4e-5
        and not any(
            label == its_label and abs(score - its) < 2e-5 and np.abs(box - its_box).max() < 0.05
            for its_label, its, its_box in there
        )
    ]


@pytest.mark.parametrize("name", MADE)
def test_what_a_detector_is_stands_in_its_specification(models, name):
    model = models[name]
    spec = model.spec
    assert json.loads(json.dumps(spec)) == spec
    assert spec["task"] == "detection"
    assert spec["score_threshold"] is None
    assert spec["dtype"] == "float32"
    (digest,) = spec["weights"].values()
    assert len(digest) == len(spec["preprocessing"]["sha256"]) == 64
    assert str(model.checkpoint.folder) not in json.dumps(spec)
    again = load_model(model.checkpoint.row, CPU)
    assert again.spec == spec
    assert again.transform_key == model.transform_key


def test_detectors_that_prepare_alike_share_what_they_prepare(models):
    assert models["rt_detr"].transform_key == models["rt_detr_v2"].transform_key
    assert models["rt_detr"].transform_key != models["detr"].transform_key


def test_the_answer_is_that_of_the_library_itself(models):
    model = models["detr"]
    picture = tiny.pixels(5, (100, 70))
    processor, network = model.checkpoint.processor, model.checkpoint.network
    with torch.inference_mode():
        outputs = network(**processor(images=Image.fromarray(picture), return_tensors="pt"))
    (plain,) = processor.post_process_object_detection(
        outputs, threshold=0.0, target_sizes=[(70, 100)]
    )
    (given,) = model.answer([tiny.ask(model, picture)])
    best = plain["scores"].argmax()
    assert given.payload["scores"][0] == pytest.approx(plain["scores"][best].item(), abs=1e-5)
    x0, y0, x1, y1 = plain["boxes"][best].clamp(min=0).tolist()
    corners = [x0, y0, min(x1, 100), min(y1, 70)]
    left, top, width, height = given.payload["boxes_xywh_px"][0]
    assert [left, top, left + width, top + height] == pytest.approx(corners, abs=0.05)


class _Says:
    """A network that gives one box whatever it sees: a quarter of the picture, right and low."""

    dtype = torch.float32

    def __init__(self, classes: int, chosen: int, config=None) -> None:
        self.logits = torch.full((1, 1, classes), -9.0)
        self.logits[0, 0, chosen] = 9.0
        self.config = config

    def __call__(self, **_):
        return SimpleNamespace(
            logits=self.logits, pred_boxes=torch.tensor([[[0.75, 0.75, 0.5, 0.5]]])
        )


@pytest.mark.parametrize(
    ("name", "classes", "chosen"), [("detr", 92, 50), ("rt_detr", 80, 44), ("owl_vit", 80, 44)]
)
def test_height_and_width_are_not_mistaken_for_each_other(models, name, classes, chosen):
    model = models[name]
    network = _Says(classes, chosen)
    known = replace(model, checkpoint=replace(model.checkpoint, network=network))
    (given,) = known.answer([tiny.ask(model, tiny.pixels(0, (1000, 700)))])
    assert given.payload["labels"][0] == "spoon"
    assert given.payload["boxes_xywh_px"][0] == [500, 350, 500, 350]


def test_a_picture_that_was_padded_to_a_square_keeps_its_proportions(models):
    """OWLv2 pads below and to the right: its boxes are parts of the longer side."""
    model = models["owl_v2"]
    known = replace(model, checkpoint=replace(model.checkpoint, network=_Says(80, 44)))
    (given,) = known.answer([tiny.ask(model, tiny.pixels(0, (1000, 700)))])
    # the padding is no part of the picture: 500 to 1000 ends at its lower border
    assert given.payload["boxes_xywh_px"][0] == [500, 500, 500, 200]


def test_grounding_dino_maps_tokens_back_to_classes(models):
    model = models["grounding_dino"]
    shares = model.family.shares
    chosen = COCO_80.index("baseball glove")
    logits = torch.where(shares[:, chosen] > 0, 9.0, -9.0)[None, None]
    network = _Says(1, 0, model.checkpoint.network.config)
    network.logits = logits
    known = replace(model, checkpoint=replace(model.checkpoint, network=network))
    (given,) = known.answer([tiny.ask(model, tiny.pixels(0, (1000, 700)))])
    assert given.payload["labels"][0] == "baseball glove"
    assert given.payload["scores"][0] > 0.99
    # the "baseball" of bat stands elsewhere in the text; joined by words, it would count as well
    assert given.payload["scores"][1] < 0.01
    assert given.payload["boxes_xywh_px"][0] == [500, 350, 500, 350]


def test_a_word_within_a_longer_one_is_another_class():
    text = "container. containernumber. t-shirt."
    spans = [(0, 0), (0, 9), (9, 10), (11, 20), (20, 26), (26, 27), (28, 29), (29, 30), (30, 35)]
    shares = token_shares(text, ["container", "containernumber", "t-shirt"], spans)
    assert shares.sum(dim=0).tolist() == pytest.approx([1, 1, 1])
    assert [column.nonzero().flatten().tolist() for column in shares.T] == [[1], [3, 4], [6, 7, 8]]
    with pytest.raises(EvaluateError, match="no token for 'cup'"):
        token_shares("cup.", ["cup"], [(0, 0), (0, 4)])


def test_prompts_name_all_of_coco_in_its_order(models):
    assert models["owl_vit"].family.prompts == tuple(TEMPLATE.format(name) for name in COCO_80)
    (text,) = models["grounding_dino"].family.prompts
    assert text.startswith("person. bicycle. car.")
    assert text.endswith("hair drier. toothbrush.")


def test_a_class_is_the_same_whatever_number_a_library_gives_it(models):
    numbers = {
        "detr": models["detr"].names,
        "rt_detr": models["rt_detr"].names,
        "torchvision": label_map(
            get_model_weights("retinanet_resnet50_fpn")["COCO_V1"].meta["categories"]
        ),
    }
    spoons = {
        name: [key for key, label in names.names.items() if label == "spoon"]
        for name, names in numbers.items()
    }
    assert spoons == {"detr": [50], "rt_detr": [44], "torchvision": [50]}
    for names in numbers.values():
        assert names.missing == ()
        assert {name for name in names.names.values() if name} == set(COCO_80)


def test_coco_has_eighty_classes():
    assert len(COCO_80) == len(set(COCO_80)) == 80


def test_a_label_outside_the_list_is_an_error_and_a_declared_gap_is_none():
    names = LabelMap.of({0: "N/A", 1: "person"})
    assert names.name(0) is None
    with pytest.raises(EvaluateError, match="gave label 2"):
        names.name(2)
    payload = detection_payload([0, 1], [0.9, 0.8], [[0, 0, 1, 1]] * 2, (4, 4), names)
    assert payload["labels"] == ["person"]
    assert payload["scores"] == [0.8]


@pytest.mark.parametrize("labels", [{}, {0: "LABEL_0", 1: "LABEL_1"}, {0: "N/A"}])
def test_a_list_without_names_is_refused(labels):
    with pytest.raises(EvaluateError, match="no names"):
        LabelMap.of(labels)


def test_a_name_given_twice_is_refused():
    with pytest.raises(EvaluateError, match="tv twice"):
        LabelMap.of({0: "tv", 1: "tvmonitor"})


def test_a_detector_of_other_things_keeps_its_own_words():
    names = LabelMap.of({0: "Coffee_Cup", 1: "cup"})
    assert (names.name(0), names.name(1)) == ("coffee cup", "cup")
    assert len(names.missing) == 79


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_numbers_that_are_none_fail_the_picture(wrong):
    names = label_map(COCO_80)
    with pytest.raises(EvaluateError, match="score"):
        detection_payload([1, 2], [0.5, wrong], [[0, 0, 1, 1]] * 2, (4, 4), names)
    with pytest.raises(EvaluateError, match="box"):
        detection_payload([1], [0.5], [[0, 0, wrong, 1]], (4, 4), names)


def test_boxes_become_left_top_width_height_within_the_picture():
    names = label_map(COCO_80)
    payload = detection_payload(
        [0, 0], [0.1, 0.2], [[1, 2, 4, 8], [-5, 3, 99, 99]], (10, 20), names
    )
    assert payload["boxes_xywh_px"] == [[0, 3, 10, 17], [1, 2, 3, 6]]


@pytest.mark.parametrize("name", MADE)
def test_red_stays_in_the_first_channel(models, name):
    red = np.zeros((64, 96, 3), np.uint8)
    red[..., 0] = 255
    prepared = models[name].prepare(red)
    assert prepared[0].mean() > prepared[2].mean() + 0.5


def test_how_many_boxes_there_can_be_is_recorded(models):
    limits = {name: model.spec["max_boxes"] for name, model in models.items()}
    assert limits["detr"] == 10
    assert limits["rt_detr"] == limits["rt_detr_v2"] == 20
    assert limits["owl_vit"] == limits["grounding_dino"] == MAX_BOXES


def test_who_resizes_is_part_of_what_a_detector_is(models):
    """The two backends of transformers differ by up to 0.018 in normalized pixels."""
    model = models["detr"]
    other = AutoImageProcessor.from_pretrained(model.checkpoint.folder, backend="pil")
    known = replace(model, checkpoint=replace(model.checkpoint, processor=other))
    assert known.spec != model.spec
    assert known.transform_key != model.transform_key


def test_a_processor_that_pads_a_single_picture_is_refused(models):
    model = models["detr"]
    padding = AutoImageProcessor.from_pretrained(
        model.checkpoint.folder, pad_size={"height": 128, "width": 128}
    )
    known = replace(model, checkpoint=replace(model.checkpoint, processor=padding))
    with pytest.raises(EvaluateError, match="pads single pictures"):
        known.prepare(tiny.pixels())
