"""Accuracy by the color of the object or background: color as a spurious correlation."""

from __future__ import annotations

from typing import Any

from evaluate.color.data import COLORS, UNKNOWN, ColorData, ColorFrames, Series
from evaluate.color.metrics import accuracy_by, degradation
from evaluate.color.scores import ALL, select

SIDES = ("foreground", "background")


def color_scores(frames: ColorFrames, series: Series, side: str) -> dict[str, tuple[float, int]]:
    """Accuracy and answers for each color of a side, in the order of the published tables."""
    seen = select(frames, series, ALL)
    if seen is None:
        return {}
    codes = (frames.foreground if side == "foreground" else frames.background)[seen.frames]
    known = codes != UNKNOWN
    found = accuracy_by(codes[known].tolist(), seen.right[known].tolist())
    return {str(COLORS[code]): found[code] for code in sorted(found)}


def color_rows(data: ColorData) -> list[dict[str, Any]]:
    """A row for each observer, side and color; `degradation` is against the side's mean."""
    rows = []
    for series in data.shown:
        for side in SIDES:
            found = color_scores(data.frames, series, side)
            apart = degradation(found)
            rows += [
                {
                    "observer": series.name,
                    "side": side,
                    "color": color,
                    "answers": n,
                    "accuracy": accuracy,
                    "degradation": apart[color],
                }
                for color, (accuracy, n) in found.items()
            ]
    return rows
