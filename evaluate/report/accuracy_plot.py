"""Top-1 against EV offset, one line a lighting, one panel an observer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import (
    LIGHTING_COLORS,
    LIGHTING_MARKERS,
    ev_offset_axis,
    mark_simulated,
)
from schemas.answer_store import CLASSIFICATION
from schemas.plan import Lighting

#: Lines of several lightings stand a little apart, so that their bars do not cover each other.
_APART = 0.14

#: Observers in the figure; its CSV file holds all.
MAX_PANELS = 12

#: Observers from which on the panels stand in two columns.
_COLUMNS_FROM = 3


def accuracy_plot(
    entries: Sequence[dict[str, Any]], lightings: Sequence[Lighting], simulated: bool
) -> Drawing | None:
    """Draw top-1 with 95 % intervals over the number of frames at each EV offset.

    Parameters
    ----------
    entries
        Of classifiers, as `evaluate.scores.score_observers` gives them.
    lightings
        Brightest first: they fix the colors.

    Returns
    -------
    Drawing or None
        None where no classified frame has an EV offset.
    """
    points = {
        one["name"]: [point for point in one["by_ev_offset"] if point["ev_offset"] is not None]
        for one in entries
        if one["task"] == CLASSIFICATION
    }
    answered = {name: found for name, found in points.items() if found}
    if not answered:
        return None
    names = list(answered)[:MAX_PANELS]
    offsets = [int(point["ev_offset"]) for name in names for point in answered[name]]
    columns = 1 if len(names) < _COLUMNS_FROM else 2
    rows = -(-len(names) // columns)
    lit = [light for light in lightings if _has(answered.values(), light.name)]

    def paint(figure: Figure) -> None:
        grid = figure.subplots(
            2 * rows, columns, sharex=True, squeeze=False, height_ratios=[4, 1] * rows
        )
        for axes in grid.T.reshape(-1)[2 * len(names) :]:
            axes.set_axis_off()
        for place, name in enumerate(names):
            column, row = divmod(place, rows)
            top, bottom = grid[2 * row, column], grid[2 * row + 1, column]
            for number, lighting in enumerate(lit):
                some = [p for p in answered[name] if p["lighting"] == lighting.name]
                if some:
                    _paint_lighting(top, bottom, some, lighting, (number, len(lit)))
            top.set_ylim(-0.03, 1.03)
            top.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            top.set_ylabel("top-1")
            top.set_title(name)
            top.legend(loc="lower right", bbox_to_anchor=(1, 0.99), ncols=len(lit))
            bottom.set_ylabel("frames")
            bottom.yaxis.set_major_locator(MaxNLocator(2, integer=True))
            ev_offset_axis(bottom, min(offsets), max(offsets))
            if place < len(names) - 1 and row < rows - 1:
                bottom.set_xlabel("")
            bottom.tick_params(labelbottom=row == rows - 1 or place == len(names) - 1)
        mark_simulated(figure, simulated)

    return draw(
        "top1-by-ev-offset",
        f"Top-1 against EV offset by lighting, of {', '.join(names)}",
        (8.6 if columns == 1 else 14.0, 0.6 + 3.6 * rows),
        paint,
        ("observer", "lighting", "ev_offset", "n", "top1", "low", "high", "simulated"),
        [
            (name, *(_cell(point[key]) for key in _COLUMNS), int(simulated))
            for name, some in answered.items()
            for point in some
        ],
    )


_COLUMNS = ("lighting", "ev_offset", "n", "top1", "low", "high")


def _has(groups: Iterable[list[dict[str, Any]]], lighting: str) -> bool:
    return any(point["lighting"] == lighting for group in groups for point in group)


def _cell(value: object) -> object:
    return round(value, 6) if isinstance(value, float) and not value.is_integer() else value


def _paint_lighting(
    top: Axes,
    bottom: Axes,
    points: Sequence[dict[str, Any]],
    lighting: Lighting,
    place: tuple[int, int],
) -> None:
    """One line above, its numbers of frames below; `place` is its number, and how many lines."""
    number, total = place
    middle = number - (total - 1) / 2
    color = LIGHTING_COLORS[number % len(LIGHTING_COLORS)]
    offsets = np.array([point["ev_offset"] for point in points], np.float64)
    share = np.array([point["top1"] for point in points])
    # no interval: no bar
    low, high = (
        np.array([point["top1"] if point[end] is None else point[end] for point in points])
        for end in ("low", "high")
    )
    top.errorbar(
        offsets + middle * _APART,
        share,
        np.stack([share - low, high - share]),
        color=color,
        marker=LIGHTING_MARKERS[number % len(LIGHTING_MARKERS)],
        capsize=2.5,
        label=f"{lighting.name}, {lighting.lux:g} lux",
    )
    width = 0.8 / total
    bottom.bar(offsets + middle * width, [point["n"] for point in points], width, color=color)
