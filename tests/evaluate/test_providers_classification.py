"""Classifiers of every provider through the code that loads real ones, from tiny checkpoints."""

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import timm
import torch
import torchvision
import transformers as tf
from PIL import Image
from safetensors.torch import load_file, save_file
from timm.data import create_transform, resolve_data_config

from evaluate.any_model import row_of
from evaluate.errors import EvaluateError
from evaluate.imagenet import class_names, class_synsets
from evaluate.model import Asked
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.classifier import check_head
from evaluate.providers.open_clip_models import load as load_open_clip
from evaluate.providers.prompts import imagenet_names, templates
from evaluate.providers.timm_models import preprocessing_of as preprocessing_of_timm
from evaluate.providers.torchvision_models import preprocessing_of, weights_of
from evaluate.providers.weights import read_tensors
from evaluate.zoo import ModelRow, find_model
from tests.evaluate import tiny_classifiers as tiny

OFFLINE = LoadOptions(device="cpu", offline=True)
OPTIONS = ("cup", "water_bottle", "comic_book")
FOLDERS = {
    "timm": tiny.timm_folder,
    "open_clip": tiny.open_clip_folder,
    "transformers-classification": tiny.vit_folder,
    "transformers-zero-shot": tiny.clip_folder,
    "siglip": tiny.siglip_folder,
}
ZERO_SHOT = ("open_clip", "transformers-zero-shot", "siglip")


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("checkpoints")
    return {name: make(root / name) for name, make in FOLDERS.items()}


def row_in(folder: Path) -> ModelRow:
    row = row_of(str(folder))
    zero_shot = row.provider in ("open_clip", "transformers-zero-shot")
    return row.model_copy(update={"arguments": {"templates": tiny.PROMPT} if zero_shot else {}})


def picture(seed: int, size: tuple[int, int] = (96, 64)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), np.uint8)


def answers(model, pictures, task="classification"):
    return model.answer([Asked(model.prepare(one), task, OPTIONS, (96, 64)) for one in pictures])


def top5(given) -> list[int]:
    return [index for index, _, _ in given.payload["top5"]]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_tells_its_provider(folders, name):
    row = row_of(str(folders[name]))
    assert row.provider == ("transformers-zero-shot" if name == "siglip" else name)
    assert (row.task, row.name) == ("classification", name)


@pytest.mark.parametrize("name", FOLDERS)
def test_answers_do_not_depend_on_the_batch(folders, name):
    model = load_model(row_in(folders[name]), OFFLINE)
    pictures = [picture(seed) for seed in range(7)]
    for task in model.tasks:
        together = answers(model, pictures, task)
        alone = [given for one in pictures for given in answers(model, [one], task)]
        assert [g.text for g in together] == [g.text for g in alone]
        if task == "classification":
            assert [top5(given) for given in together] == [top5(given) for given in alone]
            assert all(len(top5(given)) == 5 for given in together)
        else:
            assert all(given.payload["scores"].keys() == set(OPTIONS) for given in together)


@pytest.mark.parametrize("name", FOLDERS)
def test_spec_is_the_same_at_every_load_and_json(folders, name):
    row = row_in(folders[name])
    first, second = (load_model(row, OFFLINE) for _ in range(2))
    assert json.loads(json.dumps(first.spec)) == second.spec
    assert first.transform_key == second.transform_key
    assert first.spec["dtype"] == "float32"
    assert str(folders[name]) not in json.dumps(first.spec)  # the same elsewhere is the same


def change_weights(folder: Path, change) -> None:
    (path,) = folder.glob("*.safetensors")
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


@pytest.fixture
def copies(folders, tmp_path):
    def copy(name: str) -> Path:
        target = tmp_path / name
        target.mkdir()
        for path in folders[name].iterdir():
            (target / path.name).write_bytes(path.read_bytes())
        return target

    return copy


@pytest.mark.parametrize("name", FOLDERS)
def test_other_weights_are_another_model(folders, copies, name):
    folder = copies(name)
    change_weights(folder, lambda tensors: tensors[next(iter(tensors))].add_(1))
    specs = [load_model(row_in(one), OFFLINE).spec for one in (folders[name], folder)]
    assert specs[0]["weights"] != specs[1]["weights"]
    assert {**specs[0], "weights": 0} == {**specs[1], "weights": 0}


@pytest.mark.parametrize("name", FOLDERS)
def test_missing_and_unexpected_tensors_are_refused(copies, name):
    folder = copies(name)
    removed = {}

    def rename(tensors):
        key = sorted(tensors)[-1]
        removed[key] = tensors.pop(key)
        tensors["strange.weight"] = torch.zeros(2)

    change_weights(folder, rename)
    with pytest.raises(EvaluateError, match=r"do(es)? not fit") as raised:
        load_model(row_in(folder), OFFLINE)
    assert next(iter(removed)) in str(raised.value) or "strange" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [
        ("timm", "config.json", "pretrained_cfg"),
        ("open_clip", "open_clip_config.json", "preprocess_cfg"),
    ],
)
def test_other_preprocessing_is_another_model(folders, copies, name, file, key):
    folder = copies(name)
    config = json.loads((folder / file).read_text())
    config[key]["mean"] = [0.1, 0.2, 0.3]
    (folder / file).write_text(json.dumps(config))
    specs = [load_model(row_in(one), OFFLINE).spec for one in (folders[name], folder)]
    assert specs[0]["preprocessing"]["sha256"] != specs[1]["preprocessing"]["sha256"]


class Harmful:
    def __reduce__(self):
        return (open, ("harm-was-done", "w"))


@pytest.mark.parametrize(
    ("name", "file"),
    [("timm", "pytorch_model.bin"), ("open_clip", "open_clip_pytorch_model.bin")],
)
def test_pickles_are_refused_unread(copies, tmp_path, monkeypatch, name, file):
    monkeypatch.chdir(tmp_path)
    folder = copies(name)
    for path in folder.glob("*.safetensors"):
        path.unlink()
    torch.save({"weight": Harmful()}, folder / file)
    with pytest.raises(EvaluateError, match="refused: it is a pickle of more than tensors"):
        load_model(row_in(folder), OFFLINE)
    assert not (tmp_path / "harm-was-done").exists()


def test_a_file_of_weights_holds_tensors_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "weights.pth"
    torch.save(Harmful(), path)
    with pytest.raises(EvaluateError, match=r"refused|cannot be read"):
        read_tensors(path)
    assert not (tmp_path / "harm-was-done").exists()
    torch.save({"model": {"a": torch.ones(1)}, "epoch": 3}, path)
    assert read_tensors(path).keys() == {"a"}
    torch.save({"a": 1}, path)
    with pytest.raises(EvaluateError, match="named tensors"):
        read_tensors(path)
    with pytest.raises(EvaluateError, match="cannot be read"):
        read_tensors(tmp_path / "absent.safetensors")


# --- equal to what each library's own documentation computes


def test_timm_equals_its_plain_loop(folders):
    model = load_model(row_in(folders["timm"]), OFFLINE)
    network = timm.create_model(f"local-dir:{folders['timm']}", pretrained=True).eval()
    transform = create_transform(**resolve_data_config({}, model=network))
    for seed in range(5):
        pixels = picture(seed, (640, 480))
        with torch.inference_mode():
            plain = network(transform(Image.fromarray(pixels))[None]).softmax(1)[0]
        (given,) = answers(model, [pixels])
        assert top5(given)[0] == int(plain.argmax())
        got = [p for _, _, p in given.payload["top5"]]
        np.testing.assert_allclose(got, plain[top5(given)], atol=2e-5)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("resnet50.tv_in1k", (224, 0.875, "bilinear", "center", 0.485)),
        ("resnet50.a1_in1k", (288, 1.0, "bicubic", "center", 0.485)),
        ("convnext_large.fb_in22k_ft_in1k_384", (384, 1.0, "bicubic", "squash", 0.485)),
        ("vit_large_patch16_224.augreg_in21k_ft_in1k", (224, 0.9, "bicubic", "center", 0.5)),
    ],
)
def test_each_timm_checkpoint_has_its_own_preprocessing(name, wanted):
    with torch.device("meta"):
        network = timm.create_model(name)
    settings = preprocessing_of_timm(network).settings
    keys = ("crop_pct", "interpolation", "crop_mode")
    found = (settings["input_size"][1], *(settings[key] for key in keys), settings["mean"][0])
    assert found == wanted


def test_open_clip_equals_its_plain_loop(folders):
    model = load_model(row_in(folders["open_clip"]), OFFLINE)
    where = f"local-dir:{folders['open_clip']}"
    network, transform = open_clip.create_model_from_pretrained(where)
    network.eval()
    words = ["a photo of a cup.", "a photo of a water bottle.", "a photo of a comic book."]
    for seed in range(3):
        pixels = picture(seed, (640, 480))
        with torch.inference_mode():
            seen = network.encode_image(transform(Image.fromarray(pixels))[None], normalize=True)
            said = network.encode_text(open_clip.get_tokenizer(where)(words), normalize=True)
            plain = (network.logit_scale.exp() * seen @ said.T).softmax(1)[0].numpy()
        (given,) = answers(model, [pixels], "choice")
        np.testing.assert_allclose(list(given.payload["scores"].values()), plain, atol=2e-2)
        assert given.text == OPTIONS[int(plain.argmax())]


@pytest.mark.parametrize("name", ["transformers-zero-shot", "siglip"])
def test_transformers_equals_its_own_forward_pass(folders, name):
    model = load_model(row_in(folders[name]), OFFLINE)
    network = tf.AutoModel.from_pretrained(folders[name]).eval()
    processor = tf.AutoProcessor.from_pretrained(folders[name])
    words = ["a photo of a cup.", "a photo of a water bottle.", "a photo of a comic book."]
    pixels = picture(3, (640, 480))
    made = processor(
        text=words,
        images=pixels,
        padding="max_length",
        max_length=16,
        truncation=True,
        return_tensors="pt",
    )
    made.pop("token_type_ids", None)
    with torch.inference_mode():
        logits = network(**made).logits_per_image[0]
    plain = logits.sigmoid() if name == "siglip" else logits.softmax(0)
    (given,) = answers(model, [pixels], "choice")
    np.testing.assert_allclose(list(given.payload["scores"].values()), plain.numpy(), atol=1e-4)
    assert model.spec["probability"] == ("sigmoid" if name == "siglip" else "softmax")


def test_vit_equals_its_own_forward_pass(folders):
    folder = folders["transformers-classification"]
    model = load_model(row_in(folder), OFFLINE)
    network = tf.ViTForImageClassification.from_pretrained(folder).eval()
    pixels = picture(1, (640, 480))
    made = tf.ViTImageProcessor.from_pretrained(folder)(images=pixels, return_tensors="pt")
    with torch.inference_mode():
        likely = network(**made).logits.softmax(1)[0].topk(5)
    (given,) = answers(model, [pixels])
    assert top5(given) == likely.indices.tolist()


# --- heads, names, activations


@pytest.mark.parametrize(
    ("classes", "says"), [(0, "no classifier head"), (21843, "a head of 21843 classes")]
)
def test_a_head_of_other_classes_is_refused(tmp_path, classes, says):
    if classes == 0:
        with pytest.raises(EvaluateError, match=says):
            load_model(row_in(tiny.timm_folder(tmp_path / "headless", 0)), OFFLINE)
    with pytest.raises(EvaluateError, match=says):
        check_head(classes, "a model")


def test_class_names_tell_the_order(tmp_path):
    names = [one[0] for one in class_names()]
    check_head(1000, "in order", dict(enumerate(names)))
    with pytest.raises(EvaluateError, match="its order is another"):
        check_head(1000, "shifted", dict(enumerate(names[1:] + names[:1])))
    check_head(1000, "by synset", dict(enumerate(class_synsets())))
    with pytest.raises(EvaluateError, match="its order is another"):
        check_head(1000, "sorted otherwise", dict(enumerate(reversed(class_synsets()))))
    unnamed = [f"LABEL_{i}" for i in range(1000)]
    with pytest.raises(EvaluateError, match="does not name its 1000 classes"):
        load_model(row_in(tiny.vit_folder(tmp_path / "unnamed", unnamed)), OFFLINE)


@pytest.mark.parametrize(
    ("id_", "other"),
    [
        ("ViT-L-14:openai", "ViT-L-14-quickgelu:openai"),
        ("ViT-B-32:laion400m_e32", "ViT-B-32-quickgelu:laion400m_e32"),
    ],
)
def test_the_wrong_activation_is_refused_before_anything_is_fetched(id_, other):
    row = row_of(f"open_clip:{id_}")
    with pytest.raises(EvaluateError, match=other):
        load_open_clip(row, OFFLINE)


def test_prompts_are_those_of_open_clip():
    assert list(imagenet_names()) == list(open_clip.IMAGENET_CLASSNAMES)
    for ours, theirs in (
        ("openai", open_clip.OPENAI_IMAGENET_TEMPLATES),
        ("simple", open_clip.SIMPLE_IMAGENET_TEMPLATES),
    ):
        assert [one.replace("{}", "cup") for one in templates(ours)] == [t("cup") for t in theirs]
    assert templates() == templates("openai")
    for wrong in ("loud", ["a photo"], 3):
        with pytest.raises(EvaluateError, match="templates"):
            templates(wrong)


def test_classes_of_one_name_take_one_place(folders):
    # missile and sunglasses stand twice in CLIP's list: equal columns would fill two places
    model = load_model(row_in(folders["open_clip"]), OFFLINE)
    names = imagenet_names()
    assert (names[657], names[836]) == (names[744], names[837])
    for seed in range(20):
        (given,) = answers(model, [picture(seed)])
        assert not {744, 837} & set(top5(given))
        assert len({names[index] for index in top5(given)}) == 5


@pytest.mark.parametrize("name", ZERO_SHOT)
def test_the_order_of_options_does_not_matter(folders, name):
    model = load_model(row_in(folders[name]), OFFLINE)
    prepared = model.prepare(picture(5))
    asked = [Asked(prepared, "choice", order, (96, 64)) for order in (OPTIONS, OPTIONS[::-1])]
    first, second = model.answer(asked)
    assert first.text == second.text
    assert first.payload["scores"] == pytest.approx(second.payload["scores"], abs=1e-5)


def test_open_clip_by_architecture_and_weights(monkeypatch, tmp_path):
    # a tiny pair in open_clip's own registries, as its real ones stand there
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "Tiny-32", tiny.OPEN_CLIP)
    tag = {"hf_hub": "us/tiny/", "mean": (0.1, 0.2, 0.3), "resize_mode": "squash"}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "Tiny-32", {"web": tag})
    path = tmp_path / "open_clip_model.safetensors"
    save_file(tiny.open_clip_tensors(), path)
    row = row_of("open_clip:Tiny-32:web")
    row = row.model_copy(update={"file": path, "arguments": {"templates": tiny.PROMPT}})
    model = load_model(row, OFFLINE)
    assert model.spec["preprocessing"]["mean"] == [0.1, 0.2, 0.3]
    assert model.spec["preprocessing"]["resize_mode"] == "squash"
    (given,) = answers(model, [picture(0)])
    assert len(top5(given)) == 5
    # a tokenizer that its maker keeps on a hub is taken from the checkpoint's folder or not at all
    words = {**tiny.OPEN_CLIP["text_cfg"], "hf_tokenizer_name": "us/tiny"}
    config = {**tiny.OPEN_CLIP, "text_cfg": words}
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "Tiny-32", config)
    with pytest.raises(EvaluateError, match="lacks the tokenizer of Tiny-32"):
        load_model(row, OFFLINE)


def test_a_folder_of_another_architecture_is_not_taken_for_the_model(folders):
    row = find_model("resnet50.tv_in1k").model_copy(update={"folder": folders["timm"]})
    with pytest.raises(EvaluateError, match=r"holds a test_vit, resnet50.tv_in1k is a resnet50"):
        load_model(row, OFFLINE)


def test_timm_by_name_takes_the_checkpoint_of_the_hub(folders, monkeypatch):
    asked = []

    def fetch(name, revision="", *, offline=False):
        asked.append((name, revision, offline))
        return folders["timm"]

    monkeypatch.setattr("evaluate.providers.timm_models.checkpoint_folder", fetch)
    model = load_model(row_of("timm:test_vit.r160_in1k"), LoadOptions(device="cpu"))
    assert asked == [("timm/test_vit.r160_in1k", "", False)]
    assert model.spec["weights"]["files"].keys() == {"model.safetensors"}


# --- torchvision


def test_torchvision_from_a_file(tmp_path):
    torch.manual_seed(0)
    network = torchvision.models.squeezenet1_1().eval()
    path = tmp_path / "squeezenet.pth"
    torch.save(network.state_dict(), path)
    row = row_of("torchvision:squeezenet1_1").model_copy(update={"file": path})
    model = load_model(row, OFFLINE)
    pixels = picture(0, (640, 480))
    preset = torchvision.models.SqueezeNet1_1_Weights.IMAGENET1K_V1.transforms()
    with torch.inference_mode():
        plain = network(preset(Image.fromarray(pixels))[None]).softmax(1)[0]
    (given,) = answers(model, [pixels])
    assert top5(given)[0] == int(plain.argmax())
    np.testing.assert_allclose(
        [p for _, _, p in given.payload["top5"]], plain[top5(given)], atol=2e-5
    )
    torch.save({**network.state_dict(), "extra": torch.zeros(1)}, path)
    with pytest.raises(EvaluateError, match="extra"):
        load_model(row, OFFLINE)


@pytest.mark.parametrize(
    ("id_", "says"),
    [("resnet9000", "no classifier called"), ("resnet18:V9", "it has IMAGENET1K_V1")],
)
def test_torchvision_names_what_it_has(id_, says):
    with pytest.raises(EvaluateError, match=says):
        weights_of(id_)


def test_torchvision_takes_the_first_recipe_unless_told():
    assert weights_of("resnet50")[1].name == "IMAGENET1K_V1"
    assert weights_of("resnet50:IMAGENET1K_V2")[1].name == "IMAGENET1K_V2"
    assert preprocessing_of(weights_of("resnet50:IMAGENET1K_V2")[1]).settings["resize"] == [232]


# --- what is not here


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("timm:resnet10t.c3_in1k", "offline, and its weights are not on this machine"),
        ("open_clip:ViT-B-32:laion2b_s34b_b79k", "offline, and its weights are not on this"),
        ("open_clip:ViT-B-32:datacomp_xl_s13b_b90k", "is not in the cache"),
        ("torchvision:resnet18:IMAGENET1K_V1", "offline, and its weights are not on this"),
        ("torchvision:vgg11", r"offline, and .*vgg11-8a719046\.pth is not there"),
    ],
)
def test_offline_says_what_is_missing(monkeypatch, tmp_path, name, says):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(EvaluateError, match=says):
        load_model(find_model(name), OFFLINE)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("timm:resnet9000", "has no model called 'resnet9000'"),
        ("open_clip:ViT-B-32", "it has openai"),
        ("open_clip:ViT-Z:x", "nor any weights"),
    ],
)
def test_names_that_a_library_does_not_know(name, says):
    with pytest.raises(EvaluateError, match=says):
        load_model(row_of(name), LoadOptions(device="cpu"))


@pytest.mark.parametrize("name", FOLDERS)
def test_another_dtype_is_another_model_of_nearly_the_same_answers(folders, name):
    row = row_in(folders[name])
    half = load_model(row, LoadOptions(device="cpu", dtype="bfloat16", offline=True))
    whole = load_model(row, OFFLINE)
    assert (half.spec["dtype"], whole.spec["dtype"]) == ("bfloat16", "float32")
    if "choice" in whole.tasks:
        (rough,), (fine,) = (answers(model, [picture(2)], "choice") for model in (half, whole))
        assert rough.payload["scores"] == pytest.approx(fine.payload["scores"], abs=0.03)
    else:
        (rough,), (fine,) = (answers(model, [picture(2)]) for model in (half, whole))
        assert rough.payload["top5"][0][2] == pytest.approx(fine.payload["top5"][0][2], rel=0.05)
    with pytest.raises(EvaluateError, match="no dtype 'int3'"):
        load_model(row, LoadOptions(device="cpu", dtype="int3", offline=True))
