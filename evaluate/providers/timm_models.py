"""Classifiers built by timm: the only module that imports timm."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import timm
import torch
from timm.data.config import resolve_data_config
from timm.data.transforms_factory import create_transform

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions
from evaluate.providers.classifier import ImageNetClassifier, check_head
from evaluate.providers.devices import choose_device, choose_dtype
from evaluate.providers.hub import checkpoint_folder, file_digest, weight_digests
from evaluate.providers.lite_names import rename_lite_keys
from evaluate.providers.pictures import Preprocessing
from evaluate.providers.weights import does_not_fit, fill, read_tensors, refused_pickle
from evaluate.runnable import checked_weights
from evaluate.zoo import ModelRow

#: Prefix of ids that are repositories of the hub, not names of timm.
_HUB = "hf-hub:"


def load(row: ModelRow, options: LoadOptions) -> ImageNetClassifier:
    """Build a network of timm and fill in its weights, every key accounted for.

    Weights come from the package that ships them, from the row's own file or folder, else from
    timm's repository on the hub.

    Raises
    ------
    EvaluateError
        If weights are missing, foreign or unsafe, the head is not ImageNet's, or the device is
        not there.
    """
    device, dtype = choose_device(options.device), choose_dtype(options.dtype)
    network, weights = _network(row, options)
    names = network.pretrained_cfg.get("label_names")
    check_head(network.num_classes, row.name, dict(enumerate(names)) if names else None)
    pictures = preprocessing_of(network)
    side = pictures.settings["input_size"]
    if row.input_px is not None and side != [3, row.input_px, row.input_px]:
        raise EvaluateError(
            f"this timm prepares {row.id} at {side}, the zoo says {row.input_px} px: install the "
            "versions in constraints.txt"
        )
    spec = {
        "task": row.task,
        "provider": row.provider,
        "id": row.id,
        "weights": weights,
        "preprocessing": pictures.spec,
        "dtype": options.dtype,
        "versions": {"torch": torch.__version__, "timm": version("timm")},
    }
    network.eval().to(device=device, dtype=dtype)
    return ImageNetClassifier(
        network, pictures=pictures, spec=spec, torch_device=device, dtype=dtype
    )


def preprocessing_of(network: Any) -> Preprocessing:  # noqa: ANN401 - timm is untyped
    """What timm prepares pictures with for a checkpoint, at the size that it is tested at."""
    config = resolve_data_config({}, model=network, use_test_size=True)  # type: ignore[no-untyped-call]  # timm's
    pipeline: Any = create_transform(**config, is_training=False)
    settings = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in sorted(config.items())
    }
    library = f"timm {version('timm')}"
    return Preprocessing.of_transforms(pipeline, pipeline.transforms, settings, library)


def _network(row: ModelRow, options: LoadOptions) -> tuple[Any, dict[str, Any]]:
    if row.weights is not None:
        path = checked_weights(row)
        network = _empty(row)
        tensors = read_tensors(path)
        if row.weights.key_names:
            tensors = rename_lite_keys(tensors, network)
        fill(network, tensors, path)
        shipped = row.weights
        return network, {
            "distribution": shipped.distribution,
            "file": shipped.file,
            "sha256": shipped.sha256,
        }
    if row.file is not None:
        network = _empty(row)
        fill(network, read_tensors(row.file), row.file)
        return network, {"files": {row.file.name: file_digest(row.file)}}
    folder = row.folder or checkpoint_folder(_hub_id(row), row.revision, offline=options.offline)
    network = _of_folder(folder, row.arguments)
    found, wanted = network.pretrained_cfg["architecture"], row.id.partition(".")[0]
    if timm.is_model(row.id) and found != wanted:
        raise EvaluateError(f"{folder} holds a {found}, {row.name} is a {wanted}")
    return network, {"files": weight_digests(folder)}


def _empty(row: ModelRow) -> Any:  # noqa: ANN401 - timm is untyped
    _require_known(row.id)
    return timm.create_model(row.id, pretrained=False, **row.arguments)


def _of_folder(folder: Path, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - timm is untyped
    try:
        return timm.create_model(f"local-dir:{folder}", pretrained=True, **arguments)
    except UnpicklingError as error:
        raise EvaluateError(refused_pickle(folder)) from error
    except RuntimeError as error:  # timm names an architecture it lacks, torch keys that differ
        if "weights_only" in str(error):
            raise EvaluateError(refused_pickle(folder)) from error
        raise EvaluateError(does_not_fit(folder, error)) from error


def _hub_id(row: ModelRow) -> str:
    if row.id.startswith(_HUB):
        return row.id.removeprefix(_HUB)
    _require_known(row.id)
    config = timm.get_pretrained_cfg(row.id)
    if config is None or not config.hf_hub_id:
        raise EvaluateError(
            f"timm has no weights of {row.id} on the hub: `timm.list_pretrained()` names those it "
            "has; or name a `file` in models.toml"
        )
    return str(config.hf_hub_id)


def _require_known(name: str) -> None:
    if not timm.is_model(name):
        raise EvaluateError(f"this timm ({version('timm')}) has no model called {name!r}")
