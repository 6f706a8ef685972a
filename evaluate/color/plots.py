"""Forms that several figures share: three dots a row, lines over colors, curves over EV offsets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluate.color.data import GROUPS
from evaluate.color.groups import COMPARED, Group
from evaluate.color.scores import GroupScore
from evaluate.report.figures import Drawing, draw
from evaluate.report.style import GRID, MUTED

#: Hard to Easy: color-blind people tell them apart, and the markers differ.
GROUP_LOOK: Final[dict[Group, dict[str, Any]]] = {
    Group.HARD: {"color": "#d55e00", "marker": "s"},
    Group.MEDIUM: {"color": "#8a8e96", "marker": "D"},
    Group.EASY: {"color": "#0072b2", "marker": "o"},
    Group.OTHERS: {"color": "#cfd2d8", "marker": "x"},
}

WIDTH_IN: Final = 9.0
_ROW_IN: Final = 0.24

#: Longest name on an axis, and above one of three panels.
_NAME: Final = 42
NARROW: Final = 28


@dataclass(frozen=True)
class Panel:
    """Rows of dots under a title; `family` groups them with a gap between."""

    title: str
    rows: tuple[tuple[str, str, GroupScore], ...]

    @classmethod
    def of(cls, title: str, rows: Sequence[tuple[str, str, GroupScore]]) -> Panel:
        """Rows sorted by family, in the order in which the families come."""
        order = list(dict.fromkeys(family for family, _, _ in rows))
        return cls(title, tuple(sorted(rows, key=lambda row: order.index(row[0]))))


@dataclass(frozen=True)
class Missing:
    """A figure or table that has no data, and what it would take."""

    name: str
    title: str
    reason: str


def short(name: str, most: int = _NAME) -> str:
    """A name that fits an axis, on one line."""
    plain = " ".join(name.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def percent_axis(axes: Axes, values: Sequence[float]) -> None:
    """Accuracy in percent, from a little below the least to a little above the largest value."""
    known = [100 * value for value in values if not math.isnan(value)]
    low, high = (min(known), max(known)) if known else (0.0, 100.0)
    room = max(2.0, 0.08 * (high - low))
    axes.set_xlim(max(-2.0, low - room), min(102.0, high + room))
    axes.set_xlabel("accuracy (%)")


def dot_panels(name: str, alt: str, panels: Sequence[Panel]) -> Drawing:
    """Hard, Medium and Easy of each row as dots on a line, panels side by side."""
    most = max(len(panel.rows) + _gaps(panel) for panel in panels)

    def paint(canvas: Figure) -> None:
        every = canvas.subplots(1, len(panels), squeeze=False)[0]
        for panel, axes in zip(panels, every, strict=True):
            _paint_panel(axes, panel)
        handles, labels = every[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper right", ncols=len(COMPARED))

    columns = ("panel", "family", "row", "answers", "accuracy", *(g.lower() for g in GROUPS), "ag")
    rows = [
        (panel.title, family, row, sum(one.n), one.total, *(one.of(g) for g in GROUPS), one.ag)
        for panel in panels
        for family, row, one in panel.rows
    ]
    return draw(name, alt, (WIDTH_IN, 1.3 + _ROW_IN * most), paint, columns, rows)


def _paint_panel(axes: Axes, panel: Panel) -> None:
    places: list[float] = []
    at, before = 0.0, ""
    for family, _, _ in panel.rows:
        at += 1.0 if family == before or not before else 1.5
        before = family
        places.append(at)
    for place, (_, _, one) in zip(places, panel.rows, strict=True):
        known = [100 * value for value in one.compared if not math.isnan(value)]
        if known:
            axes.plot([min(known), max(known)], [place, place], color=GRID, linewidth=2.5, zorder=1)
    for group in COMPARED:
        axes.plot(
            [100 * one.of(group) for _, _, one in panel.rows],
            places,
            linestyle="none",
            markersize=5,
            label=str(group),
            **GROUP_LOOK[group],
        )
    axes.set_yticks(places, [short(row) for _, row, _ in panel.rows], fontsize=7.5)
    axes.set_ylim(at + 0.7, 0.3)
    axes.grid(axis="y", visible=False)
    axes.set_title(panel.title)
    percent_axis(axes, [value for _, _, one in panel.rows for value in one.compared])


def _gaps(panel: Panel) -> int:
    return len({family for family, _, _ in panel.rows}) // 2


def bars(axes: Axes, values: Mapping[str, float], colors: Sequence[str], *, unit: str) -> None:
    """One bar a name, its value under the name."""
    names = [f"{name}\n{height:.3g}" for name, height in values.items()]
    heights = list(values.values())
    axes.bar(range(len(names)), heights, color=colors, edgecolor=MUTED, linewidth=0.7, width=0.7)
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.set_ylabel(unit)
    axes.grid(axis="x", visible=False)
