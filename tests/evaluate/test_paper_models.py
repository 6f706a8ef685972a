"""The paper's 52 models: complete, consistent, sourced, and equal to what libraries say offline."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from evaluate.cli import evaluate
from evaluate.errors import EvaluateError
from evaluate.paper_models import (
    PaperModel,
    PaperModels,
    find_paper_model,
    load_paper_models,
    paper_models_json,
)
from evaluate.zoo import find_models

ROWS = load_paper_models().model
TRAINING = {"words": "ImageNet-1k", "unit": "images"}
# raw results in the release of models that the paper's tables do not list
NOT_IN_THE_PAPER = {
    "ViT-H-14_dfn5b",
    "cspresnext50",
    "internimage_xl_22kto1k_384",
    "resnet152.tv_in1k",
    "swin-large-patch4-window12-384",
    "vit_huge_patch14_mae",
}
# torchvision's own records of the same checkpoints: weights enum, metric's place in its metadata
TORCHVISION = {
    "resnet101.tv_in1k": ("ResNet101_Weights.IMAGENET1K_V1", "ImageNet-1K", "acc@1"),
    "resnet50.tv_in1k": ("ResNet50_Weights.IMAGENET1K_V1", "ImageNet-1K", "acc@1"),
    "vgg16.tv_in1k": ("VGG16_Weights.IMAGENET1K_V1", "ImageNet-1K", "acc@1"),
    "RetinaNet_ResNet50_FPN": ("RetinaNet_ResNet50_FPN_Weights.COCO_V1", "COCO-val2017", "box_map"),
    "FasterRCNN_ResNet50_FPN": (
        "FasterRCNN_ResNet50_FPN_Weights.COCO_V1",
        "COCO-val2017",
        "box_map",
    ),
}


def test_the_tables_are_complete():
    assert Counter(row.task for row in ROWS) == {"classification": 23, "detection": 17, "vqa": 12}
    assert len({row.paper_name for row in ROWS}) == len({row.paper_id for row in ROWS}) == 52


def test_the_tables_are_the_papers():
    # names and ids of tables D.1, D.2 and D.3 in their order, without citations
    with Path(__file__).with_name("paper_tables.csv").open(encoding="utf-8", newline="") as file:
        listed = [(row["paper_name"], row["paper_id"]) for row in csv.DictReader(file)]
    assert [(row.paper_name, row.paper_id) for row in ROWS] == listed


def test_every_number_has_a_source_with_a_year():
    sources = load_paper_models().sources
    for row in ROWS:
        for part in (row.parameters, row.training, row.accuracy):
            if part is not None and getattr(part, "millions", True) is not None:
                assert part.sources, row.paper_name
    assert all(re.search(r"\((?:.*\D)?20\d\d\)", source) for source in sources.values())


def test_unknown_is_said_not_filled_in():
    unknown = {row["paper_id"]: row["unknown"] for row in paper_models_json()}
    assert unknown["owlvit-large-patch14"] == ["training", "accuracy"]
    assert unknown["resnet50.tv_in1k"] == []
    # a model that only answers questions has no ImageNet or COCO result to be unknown
    assert not any("accuracy" in unknown[row.paper_id] for row in ROWS if row.task == "vqa")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"millions": 25.6, "sources": []}},
        {"parameters": {"millions": 0, "sources": ["a"]}},
        {"training": TRAINING | {"millions": 1.28}},
        {"training": TRAINING | {"sources": ["a"]}},
        {"accuracy": {"metric": "coco_ap", "percent": 40, "sources": ["a"]}},
        {"accuracy": {"metric": "imagenet_top1", "percent": 140, "sources": ["a"]}},
        {"task": "segmentation"},
        {"parameter": 1},
    ],
)
def test_a_wrong_row_is_refused(change):
    row = {"paper_name": "A", "paper_id": "a", "task": "classification", "training": TRAINING}
    assert PaperModel.model_validate(row).unknown == ("parameters", "training", "accuracy")
    with pytest.raises(ValidationError):
        PaperModel.model_validate(row | change)


def test_twins_and_loose_sources_are_refused():
    row = {"paper_name": "A", "paper_id": "a", "task": "vqa", "training": TRAINING}
    with pytest.raises(ValidationError, match="paper_id used twice: a"):
        PaperModels.model_validate({"sources": {}, "model": [row, row | {"paper_name": "B"}]})
    with pytest.raises(ValidationError, match="never named: spare"):
        PaperModels.model_validate({"sources": {"spare": "A book (2020)"}, "model": [row]})


def test_observers_of_the_release_have_their_row(snaprig_data):
    files = {
        "classification": "snap/raw_results/image_classification/*.xlsx",
        "vqa": "snap/raw_results/vqa/*.xlsx",
        "detection": "snap/raw_results/object_detection/*.json",
    }
    found = {
        path.stem: (task, find_paper_model(path.stem).task)
        for task, pattern in files.items()
        for path in Path(snaprig_data).glob(pattern)
        if path.stem not in NOT_IN_THE_PAPER
    }
    assert found
    assert all(task == of_row for task, of_row in found.values()), found


def test_an_observer_is_matched_exactly():
    assert find_paper_model("vit-large-patch16-224").paper_name == "ViT-L/16"
    for other in ("vit_large_patch16_224", *NOT_IN_THE_PAPER):
        with pytest.raises(EvaluateError, match="--paper"):
            find_paper_model(other)


def test_timm_builds_the_sizes():
    timm = pytest.importorskip("timm")
    torch = pytest.importorskip("torch")
    runs = [row for row in find_models([], ["snap"]) if row.provider == "timm"]
    assert len(runs) == 13
    for row in runs:
        with torch.device("meta"):
            model = timm.create_model(row.id, pretrained=False, **row.arguments)
        counted = sum(weight.numel() for weight in model.parameters()) / 1e6
        parameters = find_paper_model(row.name).parameters
        assert parameters.millions == pytest.approx(counted, abs=1e-6), row.name


@pytest.mark.parametrize("paper_id", TORCHVISION)
def test_torchvision_says_the_same(paper_id):
    models = pytest.importorskip("torchvision.models")
    weights, dataset, metric = TORCHVISION[paper_id]
    meta = models.get_weight(weights).meta
    row = find_paper_model(paper_id)
    assert row.parameters.millions * 1e6 == pytest.approx(meta["num_params"])
    assert row.accuracy.percent == meta["_metrics"][dataset][metric]


def call(*args):
    done = CliRunner().invoke(evaluate, ["models", *args, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["models"]


def test_the_command_lists_them():
    rows = call("--paper")
    assert len(rows) == 52
    resnet = next(row for row in rows if row["paper_id"] == "resnet50.tv_in1k")
    assert resnet["accuracy"]["sources"] == ["torchvision, metadata of the weight (2022)"]
    assert all((row["status"] == "runnable") == (row["reason"] == "") for row in rows)
    # none of the paper's models was run with its real weights
    assert {row["status"] for row in rows} == {"untested with real weights", "not runnable"}
    assert len(call("--paper", "--task", "detection")) == 17

    told = CliRunner().invoke(evaluate, ["models", "--paper"])
    assert told.exit_code == 0, told.output
    assert "GroundingDINO B (grounding-dino-base)  detection, parameters unknown" in told.output


#: What the checkpoints' own configurations say, as far as it differs from the class's defaults.
_QWEN2_VISION = {
    "depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "patch_size": 14,
    "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip


def _qwen2(hidden, inner, heads, groups, vocabulary, tied):
    return {
        "text_config": {
            "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": 28,
            "num_attention_heads": heads, "num_key_value_heads": groups,
            "vocab_size": vocabulary, "tie_word_embeddings": tied,
            "rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]},
        },
        "vision_config": {"hidden_size": hidden, **_QWEN2_VISION},
        "tie_word_embeddings": tied,
    }  # fmt: skip


def _paligemma(size_px):
    return {
        "text_config": {
            "model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384,
            "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1,
            "head_dim": 256, "vocab_size": 257216,
        },
        "vision_config": {
            "model_type": "siglip_vision_model", "hidden_size": 1152,
            "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
            "patch_size": 14, "image_size": size_px, "vision_use_head": False,
        },
        "projection_dim": 2048,
    }  # fmt: skip


_LLAVA = {
    "text_config": {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
    }
}  # fmt: skip

TRANSFORMERS = {
    "detr-resnet-50": ("Detr", "ObjectDetection", {"use_timm_backbone": False}),
    "Qwen2-VL-7B-Instruct": (
        "Qwen2VL", "ConditionalGeneration", _qwen2(3584, 18944, 28, 4, 152064, False)
    ),
    "Qwen2-VL-2B-Instruct": (
        "Qwen2VL", "ConditionalGeneration", _qwen2(1536, 8960, 12, 2, 151936, True)
    ),
    "llava-v1.6-vicuna-7b": ("LlavaNext", "ConditionalGeneration", _LLAVA),
    "paligemma-3b-mix-448": ("PaliGemma", "ConditionalGeneration", _paligemma(448)),
    "paligemma-3b-mix-224": ("PaliGemma", "ConditionalGeneration", _paligemma(224)),
}  # fmt: skip


def test_the_rows_counted_with_transformers_are_those_here():
    counted = {
        row.paper_id
        for row in ROWS
        if row.parameters and "transformers_count" in row.parameters.sources
    }
    assert counted == TRANSFORMERS.keys()


@pytest.mark.parametrize("paper_id", TRANSFORMERS)
def test_sizes_are_those_that_transformers_builds(paper_id):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    family, head, values = TRANSFORMERS[paper_id]
    config = getattr(transformers, f"{family}Config")(**values)
    with torch.device("meta"):  # shapes without memory
        model = getattr(transformers, f"{family}For{head}")(config)
    parameters = find_paper_model(paper_id).parameters
    assert parameters is not None
    assert sum(one.numel() for one in model.parameters()) == round(parameters.millions * 1e6)
