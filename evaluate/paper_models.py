"""The SNAP paper's 52 models: what is published about them, read from `paper_models.toml`.

Metadata only: the row of that name in `zoo.toml` is what makes a model run.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from evaluate.errors import EvaluateError
from evaluate.runnable import status_of
from evaluate.zoo import load_zoo
from schemas.plan import FrozenModel

Task = Literal["classification", "detection", "vqa"]

UNKNOWN = "unknown"
_METRIC = {"classification": "imagenet_top1", "detection": "coco_ap"}


class Parameters(FrozenModel):
    """Size of the whole checkpoint, in millions of parameters."""

    millions: float = Field(gt=0)
    sources: tuple[str, ...] = Field(min_length=1)


class Training(FrozenModel):
    """What the weights were trained on.

    Attributes
    ----------
    words : str
        The datasets, in order.
    unit : {"images", "pairs"}
        What `millions` counts.
    millions : float or None
        None where no source gives a number.
    sources : tuple of str
        Of `millions`; empty exactly if that is None.
    """

    words: str = Field(min_length=1)
    unit: Literal["images", "pairs"]
    millions: float | None = Field(default=None, gt=0)
    sources: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _number_has_a_source(self) -> Self:
        if (self.millions is None) == bool(self.sources):
            raise ValueError("`millions` and `sources` stand together or not at all")
        return self


class Accuracy(FrozenModel):
    """A published result, in percent; nothing that snaprig measured."""

    metric: Literal["imagenet_top1", "coco_ap"]
    percent: float = Field(gt=0, lt=100)
    sources: tuple[str, ...] = Field(min_length=1)


class PaperModel(FrozenModel):
    """One model of the paper; `paper_models.toml` explains each key."""

    paper_name: str
    paper_id: str
    task: Task
    parameters: Parameters | None = None
    training: Training
    accuracy: Accuracy | None = None

    @model_validator(mode="after")
    def _metric_is_the_tasks(self) -> Self:
        if self.accuracy is not None and self.accuracy.metric != _METRIC.get(self.task):
            raise ValueError(f"{self.accuracy.metric} is no result of a model for {self.task}")
        return self

    @property
    def source_keys(self) -> tuple[str, ...]:
        """Keys of the sources of all its numbers."""
        parts = (self.parameters, self.training, self.accuracy)
        return tuple(key for part in parts if part is not None for key in part.sources)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the values that no source gives for certain."""
        missing = {
            "parameters": self.parameters is None,
            "training": self.training.millions is None,
            "accuracy": self.accuracy is None and self.task in _METRIC,
        }
        return tuple(name for name, is_missing in missing.items() if is_missing)


class PaperModels(FrozenModel):
    """The whole file: the rows, and the sources that they name."""

    sources: dict[str, str]
    model: tuple[PaperModel, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for key in ("paper_name", "paper_id"):
            values = [getattr(row, key) for row in self.model]
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice:
                raise ValueError(f"{key} used twice: {', '.join(twice)}")
        named = {key for row in self.model for key in row.source_keys}
        if named != set(self.sources):
            raise ValueError(
                f"sources missing or never named: {', '.join(sorted(named ^ set(self.sources)))}"
            )
        return self


@cache
def load_paper_models() -> PaperModels:
    """The rows in the order of the paper's tables D.1, D.2 and D.3."""
    path = Path(__file__).with_name("paper_models.toml")
    return PaperModels.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def find_paper_model(observer: str) -> PaperModel:
    """The row of an observer that was imported from the release.

    Raises
    ------
    EvaluateError
        If the paper has no model of that id. Ids are compared as they are: `vit-large-patch16-224`
        and `vit_large_patch16_224.…` are different checkpoints.
    """
    for row in load_paper_models().model:
        if row.paper_id == observer:
            return row
    raise EvaluateError(
        f"{observer!r} is none of the paper's models; "
        "`snaprig evaluate models --paper` lists their ids"
    )


def paper_models_json() -> list[dict[str, Any]]:
    """One JSON object a row, sources spelled out, null for what is unknown."""
    models = load_paper_models()
    return [_row_json(row, models.sources) for row in models.model]


def _row_json(row: PaperModel, sources: dict[str, str]) -> dict[str, Any]:
    values = row.model_dump(mode="json")
    for part in ("parameters", "training", "accuracy"):
        if values[part] is not None:
            values[part]["sources"] = [sources[key] for key in values[part]["sources"]]
    values["unknown"] = list(row.unknown)
    values["status"], values["reason"] = status_of(load_zoo()[row.paper_id])
    return values


def paper_model_line(row: dict[str, Any]) -> str:
    """One line for people of an object of `paper_models_json`."""
    parameters, training, accuracy = row["parameters"], row["training"], row["accuracy"]
    size = f"{parameters['millions']:,.1f} M" if parameters else UNKNOWN
    count = UNKNOWN if training["millions"] is None else f"{training['millions']:,.4g} M"
    parts = [
        f"{row['paper_name']} ({row['paper_id']})  {row['task']}",
        f"parameters {size}",
        f"trained on {count} {training['unit']}",
    ]
    if row["task"] in _METRIC:
        result = f"{accuracy['percent']:.1f} %" if accuracy else UNKNOWN
        parts.append(f"{_METRIC[row['task']]} {result}")
    return f"{', '.join(parts)}: {row['status']}"
