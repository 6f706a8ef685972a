"""Classifiers built by torchvision, with the weights that it distributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torchvision
from torchvision.models import get_model, get_model_weights, list_models
from torchvision.transforms import CenterCrop, Compose, Normalize, Resize, ToTensor

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions
from evaluate.providers.classifier import ImageNetClassifier, check_head
from evaluate.providers.devices import choose_device, choose_dtype
from evaluate.providers.hub import file_digest
from evaluate.providers.pictures import Preprocessing
from evaluate.providers.weights import fill, read_tensors
from evaluate.zoo import ModelRow

_DEFAULT = "IMAGENET1K_V1"


def load(row: ModelRow, options: LoadOptions) -> ImageNetClassifier:
    """Build a network of torchvision and fill in its weights, every key accounted for.

    Raises
    ------
    EvaluateError
        If torchvision has no such model or weights, they are not to be had, or do not fit.
    """
    device, dtype = choose_device(options.device), choose_dtype(options.dtype)
    name, weights = weights_of(row.id)
    path = row.file or _fetched(row, weights, offline=options.offline)
    network = get_model(name, weights=None, **row.arguments)
    tensors = read_tensors(path)
    fill(network, tensors, path)
    check_head(_head_width(network), row.name)
    pictures = preprocessing_of(weights)
    spec = {
        "task": row.task,
        "provider": row.provider,
        "id": row.id,
        "weights": {"files": {path.name: file_digest(path)}},
        "preprocessing": pictures.spec,
        "dtype": options.dtype,
        "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__},
    }
    network.eval().to(device=device, dtype=dtype)
    return ImageNetClassifier(
        network, pictures=pictures, spec=spec, torch_device=device, dtype=dtype
    )


def weights_of(id_: str) -> tuple[str, Any]:
    """Architecture and weights entry of an id ``NAME[:WEIGHTS]``; first recipe by default.

    Raises
    ------
    EvaluateError
        If torchvision has none of that name; it lists those there are.
    """
    name, _, tag = id_.partition(":")
    if name not in list_models(module=torchvision.models):
        raise EvaluateError(f"this torchvision has no classifier called {name!r}")
    known = get_model_weights(name)
    try:
        return name, known[tag or _DEFAULT]
    except KeyError as error:
        tags = ", ".join(one.name for one in known)
        raise EvaluateError(
            f"torchvision's {name} has no weights {tag!r}; it has {tags}"
        ) from error


def preprocessing_of(weights: Any) -> Preprocessing:  # noqa: ANN401 - an enum of torchvision
    """The transform of these weights, spelled out as the steps that it runs."""
    preset = weights.transforms()
    settings = {
        "resize": list(preset.resize_size),
        "crop": list(preset.crop_size),
        "interpolation": preset.interpolation.value,
        "antialias": bool(preset.antialias),
        "mean": list(preset.mean),
        "std": list(preset.std),
    }
    steps = [
        Resize(preset.resize_size, preset.interpolation, antialias=preset.antialias),
        CenterCrop(preset.crop_size),
        ToTensor(),
        Normalize(preset.mean, preset.std),
    ]
    library = f"torchvision {torchvision.__version__}"
    return Preprocessing.of_transforms(Compose(steps), steps, settings, library)


def _fetched(row: ModelRow, weights: Any, *, offline: bool) -> Path:  # noqa: ANN401 - an enum
    name = str(weights.url).rsplit("/", 1)[-1]
    path = Path(torch.hub.get_dir()) / "checkpoints" / name
    if path.is_file():
        return path
    if offline:
        raise EvaluateError(
            f"{row.name}: offline, and {path} is not there; fetch {weights.url}, or name a `file`"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # the name ends with the first digits of the file's sha256
        torch.hub.download_url_to_file(weights.url, str(path), hash_prefix=path.stem[-8:])
    except (OSError, RuntimeError) as error:
        raise EvaluateError(f"{weights.url} cannot be fetched: {error}") from error
    return path


def _head_width(network: torch.nn.Module) -> int:
    layers = [
        one for one in network.modules() if isinstance(one, torch.nn.Linear | torch.nn.Conv2d)
    ]
    last = layers[-1] if layers else None
    if isinstance(last, torch.nn.Linear):
        return last.out_features
    return last.out_channels if last is not None else 0
