"""Box plots of a measure over EV offsets, one box an observer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from evaluate.report.curves import Curve
from evaluate.report.style import BOX, CHANCE, INK, MUTED, PUBLISHED, SENSITIVITY

#: Words for every box figure's caption.
READING = (
    "A box is over EV offsets: the mean at each, counted once for every frame there, as the "
    "released script draws it (box: quartiles, line: median, triangle: mean, whiskers: within "
    "1.5 times the box, dots: EV offsets beyond)."
)

_PS = "parameter sensitivity (PS)"


@dataclass(frozen=True)
class Box:
    """A box with the marks above it; NaN for a mark that is not known."""

    curve: Curve
    stats: dict[str, Any]
    ps: float
    ps_mixed: float
    published: float


def boxes(curves: Sequence[Curve], published: Callable[[Curve], float]) -> list[Box]:
    """Boxes in the order of the curves; `published` is the model's result elsewhere."""
    found = []
    for curve in curves:
        points = [point for point in curve.points if not math.isnan(point.value)]
        values = np.repeat([p.value for p in points], [p.n for p in points])
        (stats,) = boxplot_stats(values)
        sets = curve.sensitivity
        stats["fliers"] = np.unique(stats["fliers"])
        found.append(
            Box(
                curve,
                stats,
                math.nan if sets is None else sets.parameter_sensitivity,
                math.nan if sets is None else sets.mixed_share,
                math.nan if curve.who.is_people else published(curve),
            )
        )
    return found


def box_rows(found: Sequence[Box], published: str = "") -> list[dict[str, object]]:
    """The table of a box figure; `published` names the column of results elsewhere."""
    rows = []
    for place, box in enumerate(found, start=1):
        curve, stats = box.curve, box.stats
        values = [point.value for point in curve.points if not math.isnan(point.value)]
        row: dict[str, object] = {
            "place": place,
            "model": curve.who.label,
            "observer": curve.who.name,
            "kind": curve.who.kind,
            "measure": curve.measure,
            "n": curve.overall.n,
            "overall": curve.overall.value,
            "overall_low": curve.overall.low,
            "overall_high": curve.overall.high,
            "mean": float(stats["mean"]),
            "lowest": min(values),
            "whisker_low": float(stats["whislo"]),
            "quartile_1": float(stats["q1"]),
            "median": float(stats["med"]),
            "quartile_3": float(stats["q3"]),
            "whisker_high": float(stats["whishi"]),
            "highest": max(values),
            "ps": box.ps,
            "ps_mixed": box.ps_mixed,
        }
        if published:
            row[published] = box.published
        rows.append(row)
    return rows


def box_size_in(number: int) -> tuple[float, float]:
    """Width and height of a figure of so many boxes."""
    return max(5.5, 1.9 + 0.36 * number), 4.6


def paint_boxes(
    axes: Axes,
    found: Sequence[Box],
    label: str,
    *,
    published: str = "",
    chance: float | None = None,
    percent: bool = True,
    unit_scale: bool = True,
    sensitivity: bool = True,
    legend: bool = True,
) -> None:
    """Draw boxes from left to right, people's in black; blue circles: PS, crosses: published."""
    marks: list[Line2D] = []
    for place, box in enumerate(found):
        edge = INK if box.curve.who.is_people else MUTED
        axes.bxp(
            [{**box.stats, "label": ""}],
            positions=[place],
            widths=0.56,
            showmeans=True,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": BOX, "edgecolor": edge},
            medianprops={"color": INK, "linewidth": 1.2},
            whiskerprops={"color": edge},
            capprops={"color": edge},
            meanprops={"marker": "^", "mfc": "#009e73", "mec": "#009e73", "ms": 5},
            flierprops={"marker": ".", "mfc": edge, "mec": edge, "ms": 3},
        )
    for name, values, look in (
        (_PS if sensitivity else "", [box.ps for box in found], SENSITIVITY),
        (published, [box.published for box in found], PUBLISHED),
    ):
        if name and not all(map(math.isnan, values)):
            marks += axes.plot(range(len(found)), values, label=name, linestyle="", **look)
    if chance is not None:
        marks.append(axes.axhline(chance, label="chance", **CHANCE))
    axes.set_xlim(-0.7, len(found) - 0.3)
    axes.set_xticks(
        range(len(found)),
        [box.curve.who.label for box in found],
        rotation=38,
        ha="right",
        rotation_mode="anchor",
        fontsize=8,
    )
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(label)
    if percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    axes.set_ylim(-0.02 if unit_scale else 0, 1.02 if unit_scale else None)
    if legend and marks:
        axes.legend(
            handles=marks, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(marks), fontsize=8,
            borderaxespad=0.2, handletextpad=0.5, columnspacing=1.4,
        )  # fmt: skip
