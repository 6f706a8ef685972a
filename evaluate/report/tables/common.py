"""What rows of several tables share: names, published values, intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from evaluate.metrics.bootstrap import Interval
from evaluate.report.curves import Curve
from evaluate.report.tables.table import Column
from evaluate.report.who import Who

MODEL = Column("model", "Model")
KNOWN = (
    Column("parameters_millions", "Params (M)", "number"),
    Column("training_millions", "Training (M)", "number"),
)

#: As `evaluate.scores.score_observers` gives them.
Entries = Sequence[dict[str, Any]]


def by_observer(curves: Sequence[Curve]) -> dict[str, dict[str, Curve]]:
    """Curves by name of the observer, then measure."""
    found: dict[str, dict[str, Curve]] = defaultdict(dict)
    for curve in curves:
        found[curve.who.name][curve.measure] = curve
    return found


def known(who: Who) -> dict[str, object]:
    """Name, size and training data, as far as published."""
    row = who.published
    parameters = None if row is None or row.parameters is None else row.parameters.millions
    return {
        "model": who.label,
        "observer": who.name,
        "parameters_millions": parameters,
        "training_millions": None if row is None else row.training.millions,
    }


def published(who: Who) -> float:
    """ImageNet top-1 or COCO AP as published, 0 to 1; NaN where unknown."""
    row = who.published
    return math.nan if row is None or row.accuracy is None else row.accuracy.percent / 100


def interval(name: str, found: Interval) -> dict[str, object]:
    """A value and its ends as columns."""
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def number(value: object) -> float:
    """A JSON number; NaN for null."""
    return float(value) if isinstance(value, int | float) else math.nan
