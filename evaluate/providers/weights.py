"""Read weights without running anything that lies in their file, and fill a network with them."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from evaluate.errors import EvaluateError

#: Where training scripts put the tensors in a file that holds more than them.
_WRAPPERS = ("model", "state_dict")


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Named tensors of a safetensors file, or of a torch file that holds tensors only.

    Raises
    ------
    EvaluateError
        If the file is missing, broken, or would have to run code to be read.
    """
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise EvaluateError(refused_pickle(path)) from error
    except (OSError, SafetensorError, RuntimeError, EOFError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EvaluateError(f"{path} cannot be read as weights: {reason}") from error
    for key in _WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
            break
    if not _are_tensors(found):
        raise EvaluateError(f"{path} does not hold named tensors")
    return dict(found)


def refused_pickle(path: Path) -> str:
    """What to say about a file that holds more than tensors."""
    return (
        f"{path} is refused: it is a pickle of more than tensors, and reading it could run any "
        "code; convert it to safetensors where you trust it"
    )


def fill(network: torch.nn.Module, tensors: Mapping[str, torch.Tensor], where: object) -> None:
    """Load named tensors, every key accounted for.

    Raises
    ------
    EvaluateError
        If one is missing, unexpected or of another shape: the answers would be those of a network
        that is partly random.
    """
    try:
        network.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        raise EvaluateError(does_not_fit(where, error)) from error


def does_not_fit(where: object, error: object) -> str:
    """One line about keys that are missing, unexpected or of another shape."""
    reason = " ".join(str(error).split())
    return f"{where} does not fit its network: {reason[:600]}"


def settings_digest(settings: Mapping[str, Any]) -> str:
    """Sha256 of settings of JSON values, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _are_tensors(found: object) -> bool:
    return (
        isinstance(found, Mapping)
        and bool(found)
        and all(isinstance(one, torch.Tensor) for one in found.values())
    )
