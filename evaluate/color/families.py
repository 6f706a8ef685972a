"""Model family, training and size of an observer: from its specification, else by its name."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from evaluate.paper_models import load_paper_models
from evaluate.zoo import load_zoo
from schemas.records import Observer

OTHER: Final = "other"
STANDARD, ADVANCED, SELF_SUPERVISED = "standard", "advanced", "self-supervised"

#: What follows the architecture in a model's name.
_RECIPE = re.compile(r"\..*|[_-](adv|imagenet1k_v[12])\b", re.IGNORECASE)


@dataclass(frozen=True)
class Lineage:
    """What a model is of.

    Attributes
    ----------
    training : str
        ``standard`` where nothing tells otherwise.
    base : str
        Its name without the training recipe: equal for two trainings of one architecture.
    parameters_millions : float or None
    """

    family: str
    training: str
    base: str
    parameters_millions: float | None

    @property
    def shown_family(self) -> str:
        """The family, with its training where that is the advanced one (Table I)."""
        return f"{self.family}, advanced" if self.training == ADVANCED else self.family


def lineage(observer: Observer) -> Lineage:
    """Keys ``family``, ``training`` and ``parameters_millions`` of a specification win."""
    spec = observer.spec
    known = f"{observer.name} {spec.get('id', '')} {spec.get('pretrained', '')}".lower()
    size = spec.get("parameters_millions", _published_size(observer.name, str(spec.get("id", ""))))
    return Lineage(
        _said(spec, "family") or _first("family", known) or OTHER,
        _said(spec, "training") or _first("training", known) or STANDARD,
        _RECIPE.sub("", observer.name),
        None if size is None else float(size),
    )


def _said(spec: Mapping[str, Any], key: str) -> str:
    value = spec.get(key)
    return value if isinstance(value, str) else ""


def _first(kind: str, name: str) -> str:
    return next((value for pattern, value in _rules()[kind] if pattern.search(name)), "")


@cache
def _rules() -> dict[str, list[tuple[re.Pattern[str], str]]]:
    """Rules by kind, in order: the first that fits counts."""
    text = files("evaluate.color").joinpath("families.csv").read_text("utf-8")
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {"family": [], "training": []}
    for row in csv.DictReader(text.splitlines()):
        found[row["kind"]].append((re.compile(row["pattern"]), row["value"]))
    return found


def _published_size(name: str, model_id: str) -> float | None:
    ids = {row.name: row.id.partition(":")[0] for row in load_zoo().values()}
    for row in load_paper_models().model:
        known = {row.paper_name, row.paper_id, ids.get(row.paper_id, "")}
        if row.parameters and known & ({name, model_id} - {""}):
            return row.parameters.millions
    return None
