"""Every row's id is one that the installed library knows, as far as that shows offline."""

import pytest

from evaluate.paper_models import find_paper_model
from evaluate.zoo import load_zoo

ROWS = list(load_zoo().values())

#: Class that each transformers row is built by, as its checkpoint's configuration names it.
CLASSES = {
    "siglip-so400m-patch14-384": "SiglipModel",
    "clip-vit-large-patch14-336": "CLIPModel",
    "clip-vit-large-patch14": "CLIPModel",
    "vit-large-patch16-224": "ViTForImageClassification",
    "grounding-dino-base": "GroundingDinoForObjectDetection",
    "owlvit-large-patch14": "OwlViTForObjectDetection",
    "rtdetr_r101vd_coco_o365": "RTDetrForObjectDetection",
    "rtdetr_v2_r101vd": "RTDetrV2ForObjectDetection",
    "detr-resnet-50": "DetrForObjectDetection",
    "deformable-detr-two-stage-r50": "DeformableDetrForObjectDetection",
    "Qwen2-VL-7B-Instruct": "Qwen2VLForConditionalGeneration",
    "Qwen2-VL-2B-Instruct": "Qwen2VLForConditionalGeneration",
    "llava-v1.6-vicuna-7b": "LlavaNextForConditionalGeneration",
    "paligemma-3b-mix-448": "PaliGemmaForConditionalGeneration",
    "paligemma-3b-mix-224": "PaliGemmaForConditionalGeneration",
    "DeepSeek-VL-1.3B-chat": "DeepseekVLForConditionalGeneration",
    "DeepSeek-VL-7B-chat": "DeepseekVLHybridForConditionalGeneration",
    "InternVL3-2B-hf": "InternVLForConditionalGeneration",
    "InternVL3-8B-hf": "InternVLForConditionalGeneration",
}

#: Automatic class of each provider -> its table in transformers.
TABLES = {
    "transformers-classification": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "transformers-zero-shot": "MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "transformers-detection": "MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES",
    "transformers-zero-shot-detection": "MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES",
    "transformers-vlm": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
}


def of(*providers):
    return [row for row in ROWS if row.provider in providers]


def ids(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


@ids(of("timm"))
def test_timm_knows_it(row):
    timm = pytest.importorskip("timm")
    from timm.data import resolve_data_config

    assert timm.is_model(row.id)
    config = timm.get_pretrained_cfg(row.id)
    prepared = resolve_data_config(
        {}, pretrained_cfg=config.to_dict(), use_test_size=True, verbose=False
    )
    assert prepared["input_size"] == (3, row.input_px, row.input_px)
    if row.weights is None:
        assert row.id in timm.list_pretrained()
        assert config.hf_hub_id == f"timm/{row.id}"
        assert config.license.casefold() == row.license.casefold()
        # one without ImageNet's head says which file has it
        assert (config.num_classes == 1000) == (not row.needs_file)


@ids(of("open_clip"))
def test_open_clip_knows_it(row):
    open_clip = pytest.importorskip("open_clip")
    name, tag = row.id.split(":")
    assert (name, tag) in open_clip.list_pretrained()
    config = open_clip.get_pretrained_cfg(name, tag)
    model = open_clip.get_model_config(name)
    assert config["hf_hub"].rstrip("/") == row.hub
    assert bool(config.get("quick_gelu")) == bool(model.get("quick_gelu"))
    vision = model["vision_cfg"]
    assert vision["image_size"] == row.input_px


@ids(of("torchvision", "torchvision-detection"))
def test_torchvision_knows_it(row):
    models = pytest.importorskip("torchvision.models")
    name, tag = row.id.split(":")
    weights = models.get_model_weights(name)[tag]
    assert weights.url.rsplit("/", 1)[-1] == row.hub
    if row.provider == "torchvision":
        assert weights.transforms.keywords["crop_size"] == row.input_px
        assert len(weights.meta["categories"]) == 1000


@ids([row for row in ROWS if row.provider in TABLES])
def test_transformers_knows_its_class(row):
    modeling = pytest.importorskip("transformers.models.auto.modeling_auto")
    table = getattr(modeling, TABLES[row.provider])
    built = {name for names in table.values() for name in _all(names)}
    assert CLASSES[row.name] in built


def _all(names):
    return [names] if isinstance(names, str) else names


@ids(of("external"))
def test_no_library_here_builds_what_runs_in_its_own_process(row):
    # when one of them does, its row should use it
    modeling = pytest.importorskip("transformers.models.auto.modeling_auto")
    family = row.id.split("/")[-1].split("-")[0].split(":")[0].casefold()
    known = {"deta", "internimage_g_22kto1k_512", "dino", "vila1.5"}
    if family in known:
        assert family not in modeling.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES
        assert family not in modeling.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES
        assert family not in modeling.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    assert row.environment


@ids(of("ultralytics"))
def test_ultralytics_weights_are_named_as_it_publishes_them(row):
    assert row.id == f"{row.name}.pt"
    assert row.license == "AGPL-3.0"
    assert find_paper_model(row.name).task == row.task == "detection"
