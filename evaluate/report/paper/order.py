"""Which curves a figure takes, and in which order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evaluate.report.curves import Curve


def with_points(curves: Sequence[Curve], measure: str) -> list[Curve]:
    """Curves of a measure that have a value at some EV offset."""
    return [
        curve
        for curve in curves
        if curve.measure == measure and any(not math.isnan(p.value) for p in curve.points)
    ]


def worst_first(curves: Sequence[Curve], *, low_is_good: bool = False) -> list[Curve]:
    """Models from worst to best overall, people last."""
    sign = -1 if low_is_good else 1
    return sorted(curves, key=lambda c: (c.who.is_people, sign * c.overall.value, c.who.label))


def ordered_as(curves: Sequence[Curve], places: Mapping[str, int]) -> list[Curve]:
    """Curves in the order of another figure, by the name of the observer."""
    return sorted(curves, key=lambda curve: places.get(curve.who.name, len(places)))


def published_share(curve: Curve) -> float:
    """Published ImageNet top-1 or COCO AP of the model, 0 to 1; NaN where unknown."""
    row = curve.who.published
    return math.nan if row is None or row.accuracy is None else row.accuracy.percent / 100
