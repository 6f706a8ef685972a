"""Exposure and color: how groups shift with exposure, and both effects on accuracy apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluate.color.data import GROUPS
from evaluate.color.exposure import LEAST_COVERED, Standardized
from evaluate.color.groups import COMPARED
from evaluate.color.plots import GROUP_LOOK, NARROW, WIDTH_IN, Missing, short
from evaluate.report.figures import Drawing, draw
from evaluate.report.style import INK, MUTED, ev_offset_axis, mark_simulated

Item = Drawing | Missing

#: Panels side by side, and observers that are drawn; the table has all.
_ACROSS: Final = 3
_MOST: Final = 12

_NO_OFFSETS: Final = (
    "no answers to frames measured at two EV offsets or more: run `snaprig color label --measure`"
)


def mix_figure(mix: Mapping[int, Sequence[int]], simulated: bool) -> Item:
    """Share of frames in each group, as they appear, by EV offset."""
    name, title = "exposure-groups", "Exposure: groups of frames as they appear"
    if len(mix) < 2:
        return Missing(
            name, title, "no frames measured at two EV offsets or more: run "
            "`snaprig color label --measure`"
        )  # fmt: skip
    offsets = sorted(mix)

    def paint(canvas: Figure) -> None:
        axes = canvas.subplots()
        bottom = [0.0] * len(offsets)
        for place, group in enumerate(GROUPS):
            share = [100 * mix[at][place] / sum(mix[at]) for at in offsets]
            color = GROUP_LOOK[group]["color"]
            axes.bar(offsets, share, 0.86, bottom, color=color, label=str(group))
            bottom = [low + more for low, more in zip(bottom, share, strict=True)]
        ev_offset_axis(axes, offsets[0], offsets[-1])
        axes.set_ylabel("share of frames (%)")
        axes.set_ylim(0, 100)
        axes.grid(axis="x", visible=False)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        mark_simulated(canvas, simulated)

    columns = ("ev_offset", *(group.lower() for group in GROUPS))
    rows = [(offset, *mix[offset]) for offset in offsets]
    return draw(name, title, (WIDTH_IN, 3.0), paint, columns, rows)


def standardized_figure(found: Sequence[tuple[str, list[Standardized]]], simulated: bool) -> Item:
    """Accuracy by EV offset, raw and standardized to the group mix at EV offset 0."""
    name = "exposure-standardized"
    title = "Exposure and color apart: accuracy with the group mix of EV offset 0"
    drawn = [one for one in found if any(point.shown for point in one[1])][:_MOST]
    if not drawn:
        return Missing(name, title, _NO_OFFSETS)
    low = min(point.ev_offset for _, points in drawn for point in points)
    high = max(point.ev_offset for _, points in drawn for point in points)

    def paint(canvas: Figure) -> None:
        for axes, (observer, points) in zip(_grid(canvas, len(drawn)), drawn, strict=True):
            offsets = [point.ev_offset for point in points]
            raw = [100 * point.raw for point in points]
            same = [100 * point.standardized if point.shown else math.nan for point in points]
            axes.plot(offsets, raw, color=INK, marker="o", markersize=3, label="raw")
            axes.plot(
                offsets, same, color="#d55e00", marker="s", markersize=3, label="same group mix"
            )
            axes.fill_between(offsets, raw, same, color="#d55e00", alpha=0.15, linewidth=0)
            _finish(axes, observer, low, high)
        mark_simulated(canvas, simulated)

    columns = ("observer", "ev_offset", "answers", "raw", "standardized", "covered")
    rows = [
        (observer, p.ev_offset, sum(p.by_group.n), p.raw, p.standardized, p.covered)
        for observer, points in found
        for p in points
    ]
    return draw(name, title, _size(len(drawn)), paint, columns, rows)


def within_figure(rows: Sequence[Mapping[str, Any]], simulated: bool) -> Item:
    """Accuracy by EV offset within the groups of the objects' own colors."""
    name = "exposure-within-groups"
    title = "Exposure within groups: accuracy by EV offset and the objects' own group"
    observers = [
        one
        for one in dict.fromkeys(str(row["observer"]) for row in rows)
        if len({row["ev_offset"] for row in rows if row["observer"] == one}) > 1
    ]
    if not observers:
        return Missing(name, title, "no answers to frames with known colors at two EV offsets")
    low = min(int(row["ev_offset"]) for row in rows)
    high = max(int(row["ev_offset"]) for row in rows)

    def paint(canvas: Figure) -> None:
        for axes, observer in zip(
            _grid(canvas, min(len(observers), _MOST)), observers, strict=False
        ):
            for group in COMPARED:
                some = [r for r in rows if r["observer"] == observer and r["group"] == group]
                axes.plot(
                    [row["ev_offset"] for row in some],
                    [100 * row["accuracy"] for row in some],
                    label=str(group),
                    markersize=3,
                    **GROUP_LOOK[group],
                )
            _finish(axes, observer, low, high)
        mark_simulated(canvas, simulated)

    columns = ("observer", "ev_offset", "group", "answers", "accuracy")
    table = [tuple(row[column] for column in columns) for row in rows]
    return draw(name, title, _size(min(len(observers), _MOST)), paint, columns, table)


def covered_words() -> str:
    """What the standardized figure leaves out, in words."""
    return (
        f"Left out: EV offsets where groups with more than {1 - LEAST_COVERED:.0%} of the frames "
        "at EV offset 0 have no answer."
    )


def _grid(canvas: Figure, count: int) -> list[Axes]:
    across = min(_ACROSS, count)
    every = canvas.subplots(math.ceil(count / across), across, squeeze=False, sharey=True)
    flat: list[Axes] = list(every.ravel())
    for axes in flat[count:]:
        axes.axis("off")
    return flat[:count]


def _size(count: int) -> tuple[float, float]:
    return WIDTH_IN, 2.9 * math.ceil(count / _ACROSS)


def _finish(axes: Axes, observer: str, low: int, high: int) -> None:
    axes.set_title(short(observer, NARROW), fontsize=8.5)
    ev_offset_axis(axes, low, high)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("EV offset in stops", color=MUTED)
    axes.set_ylim(-3, 103)
    axes.set_ylabel("accuracy (%)")
    axes.legend(fontsize=7)
