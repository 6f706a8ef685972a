"""What is opened of a checkpoint, and what is refused: code, pickles, parts that are missing."""

import json
import pickle
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.hub import checkpoint_folder, preparation_digest, weight_digests
from tests.evaluate import tiny_checkpoints as tiny

CPU = LoadOptions(device="cpu", offline=True)


@pytest.fixture(scope="module")
def detr(tmp_path_factory):
    return tiny.detr(tmp_path_factory.mktemp("checkpoints") / "detr")


@pytest.fixture
def copy(detr, tmp_path):
    return Path(shutil.copytree(detr, tmp_path / "copy"))


def load(folder, options=CPU):
    return load_model(tiny.row("transformers-detection", folder), options)


def test_a_missing_part_is_not_filled_with_random_numbers(copy):
    state = load_file(copy / "model.safetensors")
    del state["class_labels_classifier.weight"]
    save_file(state, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EvaluateError, match=r"1 missing keys, such as class_labels_classifier"):
        load(copy)


def test_a_part_that_the_architecture_lacks_is_an_error(copy):
    state = load_file(copy / "model.safetensors")
    save_file({**state, "second_head.weight": torch.ones(2)}, copy / "model.safetensors")
    with pytest.raises(EvaluateError, match=r"1 unexpected keys, such as second_head.weight"):
        load(copy)


def test_counters_that_nothing_reads_may_be_there(copy):
    state = load_file(copy / "model.safetensors")
    extra = {"model.backbone.bn1.num_batches_tracked": torch.tensor(1)}
    save_file({**state, **extra}, copy / "model.safetensors", metadata={"format": "pt"})
    assert load(copy).answer([]) == []


def test_a_head_of_another_width_is_an_error(copy):
    state = load_file(copy / "model.safetensors")
    state["class_labels_classifier.weight"] = torch.ones(7, 32)
    save_file(state, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EvaluateError, match="class_labels_classifier"):
        load(copy)


class _Runs:
    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self):
        return (Path.touch, (self.proof,))


def test_a_pickle_in_place_of_tensors_never_runs(copy, tmp_path):
    (copy / "model.safetensors").unlink()
    proof = tmp_path / "it-ran"
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": _Runs(proof)}, protocol=2))
    with pytest.raises(EvaluateError, match="cannot be loaded"):
        load(copy)
    assert not proof.exists()


def test_tensors_in_a_bin_file_are_read_as_tensors(copy):
    before = load(copy)
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    after = load(copy)
    asked = [tiny.ask(before, tiny.pixels())]
    assert after.answer(asked) == before.answer(asked)
    assert set(after.spec["weights"]) == {"pytorch_model.bin"}


def test_a_folder_without_weights_is_no_checkpoint(copy):
    (copy / "model.safetensors").unlink()
    with pytest.raises(EvaluateError, match="has no weights"):
        load(copy)


def _with_code(folder: Path, proof: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "tiny_of_its_own"
    config["auto_map"] = {
        "AutoConfig": "own_code.OwnConfig",
        "AutoModelForObjectDetection": "own_code.OwnModel",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own_code.py").write_text(
        f"""
from pathlib import Path
from transformers import DetrConfig, DetrForObjectDetection
Path({str(proof)!r}).touch()
class OwnConfig(DetrConfig):
    model_type = "tiny_of_its_own"
class OwnModel(DetrForObjectDetection):
    config_class = OwnConfig
"""
    )


def test_code_of_a_checkpoint_runs_only_if_allowed(copy, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    proof = tmp_path / "it-ran"
    _with_code(copy, proof)
    with pytest.raises(EvaluateError, match="--trust-remote-code"):
        load(copy)
    assert not proof.exists()
    model = load(copy, replace(CPU, trust_remote_code=True))
    assert proof.exists()
    assert model.spec["architecture"] == "OwnModel"


def test_offline_nothing_leaves_the_machine(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    with pytest.raises(EvaluateError, match=r"hf download nobody/nothing --revision a{40}"):
        checkpoint_folder("nobody/nothing", "a" * 40, offline=True)


@pytest.mark.parametrize("more", [None, {"in_chans": 3, "out_indices": [1, 2, 3, 4]}])
def test_a_backbone_that_is_named_by_a_word_asks_nobody(tmp_path, monkeypatch, more):
    """As the published DETR names it; transformers would ask the hub for that word."""
    folder = tiny.detr(tmp_path / "detr", timm_backbone="resnet10t")
    config = json.loads((folder / "config.json").read_text())
    del config["backbone_config"]
    named = {"backbone": "resnet10t", "use_timm_backbone": True, "use_pretrained_backbone": True}
    (folder / "config.json").write_text(json.dumps({**config, **named, "backbone_kwargs": more}))
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    model = load(folder)
    (given,) = model.answer([tiny.ask(model, tiny.pixels())])
    assert given.payload["scores"]


def _refuse(*_):
    raise AssertionError("something asked the network")


def test_offline_holds_for_whatever_a_configuration_names(copy, monkeypatch):
    config = json.loads((copy / "config.json").read_text())
    del config["backbone_config"]
    named = {"backbone": "somebody/backbone", "backbone_kwargs": {"out_indices": [4]}}
    (copy / "config.json").write_text(json.dumps({**config, **named}))
    monkeypatch.setattr(socket, "getaddrinfo", _refuse)
    with pytest.raises(EvaluateError, match="cannot be loaded"):
        load(copy)


def test_a_folder_that_is_none_is_not_taken_for_an_id_of_a_hub():
    with pytest.raises(EvaluateError, match="is no folder"):
        checkpoint_folder("./nowhere")


def test_a_gated_model_tells_where_to_ask(monkeypatch):
    import httpx
    import huggingface_hub
    from huggingface_hub.errors import GatedRepoError

    def gated(*_, **__):
        request = httpx.Request("GET", "https://huggingface.co")
        raise GatedRepoError("403", response=httpx.Response(403, request=request))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", gated)
    with pytest.raises(EvaluateError, match=r"accept its licence at https://huggingface\.co/a/b"):
        checkpoint_folder("a/b")


def test_other_weights_and_other_preparation_have_other_digests(copy):
    weights, prepared = weight_digests(copy), preparation_digest(copy)
    settings = json.loads((copy / "preprocessor_config.json").read_text())
    (copy / "preprocessor_config.json").write_text(json.dumps({**settings, "do_pad": False}))
    assert weight_digests(copy) == weights
    assert preparation_digest(copy) != prepared
    with (copy / "model.safetensors").open("ab") as file:
        file.write(b" ")
    assert weight_digests(copy) != weights


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_dtype_is_the_one_asked_for_and_recorded(detr, dtype):
    model = load(detr, replace(CPU, dtype=dtype))
    assert {str(one.dtype) for one in model.checkpoint.network.parameters()} == {f"torch.{dtype}"}
    assert model.spec["dtype"] == dtype
    (given,) = model.answer([tiny.ask(model, tiny.pixels())])
    assert len(given.payload["labels"]) > 0
