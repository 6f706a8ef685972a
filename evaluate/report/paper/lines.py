"""Lines over EV offsets, one an observer: worst and best are told by the order of the legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import PercentFormatter

from evaluate.report.curves import Curve
from evaluate.report.style import CHANCE, INK, MUTED, ev_offset_axis, series_look

#: Models from which on only people carry a band: more would cover each other.
MAX_BANDS = 8

#: Of the legend, so that every model has its line of text.
LINE_IN = 0.185

Table = list[dict[str, object]]


def curve_rows(curves: Sequence[Curve], chance: float | None = None) -> Table:
    """The table of a line figure: every point with its interval, in the order of the legend."""
    return [
        {
            "place": place,
            "model": curve.who.label,
            "observer": curve.who.name,
            "kind": curve.who.kind,
            "measure": curve.measure,
            "ev_offset": point.ev_offset,
            "n": point.n,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "chance": math.nan if chance is None else chance,
        }
        for place, curve in enumerate(curves, start=1)
        for point in curve.points
    ]


def line_size_in(series: int, panels: int = 1) -> tuple[float, float]:
    """Width and height of a line figure with its legend beside it."""
    rows = math.ceil(panels / 2)
    width = 8.6 if panels == 1 else 11.6
    return width, max(3.6 * rows + 0.3, LINE_IN * (series + 2) + 0.9)


def offsets_of(curves: Sequence[Curve]) -> tuple[int, int]:
    """Lowest and highest EV offset with a value."""
    offsets = [point.ev_offset for curve in curves for point in curve.points]
    return min(offsets), max(offsets)


def paint_lines(
    axes: Axes,
    curves: Sequence[Curve],
    label: str,
    chance: float | None = None,
    *,
    percent: bool = True,
    top: float = 1.0,
) -> None:
    """Draw curves in the order given; people in black on top of the others."""
    models = [curve for curve in curves if not curve.who.is_people]
    banded = len(models) <= MAX_BANDS
    for curve in curves:
        points = [point for point in curve.points if not math.isnan(point.value)]
        x = np.array([point.ev_offset for point in points])
        y = [point.value for point in points]
        look: dict[str, Any]
        if curve.who.is_people:
            look = {"color": INK, "marker": "o", "linewidth": 2.2, "markersize": 4.5, "zorder": 5}
        else:
            look = series_look(models.index(curve))
        axes.plot(x, y, label=curve.who.label, **look)
        if banded or curve.who.is_people:
            low, high = ([getattr(p, end) for p in points] for end in ("low", "high"))
            axes.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)
    if chance is not None:
        axes.axhline(chance, label="chance", **CHANCE)
    if any(curve.points for curve in curves):
        ev_offset_axis(axes, *offsets_of(curves))
    else:
        # such as how well hits are placed, where nobody hit anything
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", color=INK)
        axes.set_xticks([])
    axes.set_ylabel(label)
    if percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    axes.set_ylim(-0.02 * top, 1.02 * top)


def paint_legend(canvas: Canvas, axes: Axes, title: str) -> None:
    """The models beside the plot, in the order of the lines."""
    handles, labels = axes.get_legend_handles_labels()
    canvas.legend(
        handles,
        labels,
        loc="outside right upper",
        fontsize=8,
        title=title,
        title_fontsize=8,
        alignment="left",
        handlelength=2.8,
        labelcolor=INK,
    ).get_title().set_color(MUTED)


def bands_words(curves: Sequence[Curve]) -> str:
    """What the caption says of intervals."""
    models = [curve for curve in curves if not curve.who.is_people]
    if any(curve.overall.method == "wilson" for curve in models):
        method = "Wilson's for these scenes alone, as they are few,"
    else:
        method = "whole scenes resampled (people: persons),"
    if len(models) <= MAX_BANDS:
        return f"Bands are 95 % intervals, {method} where they are known."
    return f"95 % intervals, {method} stand in the CSV file."
