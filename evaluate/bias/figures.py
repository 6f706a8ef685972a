"""The figures of a bias report: Figure 1 and A.1, A.2, A.4 of the SNAP paper for any collections.

Collections come in chronological order, the oldest at the bottom, as in the paper.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from evaluate.bias.distribution import EV_RANGE, Distribution
from evaluate.report.figures import Drawing, draw
from evaluate.report.style import GRID, INK, MUTED, series_look

_ROW_IN: Final = 0.62
_WIDTH_IN: Final = 9.0
#: Cameras that are shown.
_CAMERAS: Final = 15

_MODE_COLORS: Final = {"auto": "#56b4e9", "manual": "#0072b2", "unknown": "#c9ccd2"}

#: Settings as photographers write them, at whole stops.
_SHUTTER_TICKS: Final = {
    -12: "1/4000", -11: "1/2000", -10: "1/1000", -9: "1/500", -8: "1/250", -7: "1/125", -6: "1/60",
    -5: "1/30", -4: "1/15", -3: "1/8", -2: "1/4", -1: "1/2", 0: "1 s", 1: "2 s", 2: "4 s", 3: "8 s",
    4: "15 s", 5: "30 s",
}  # fmt: skip
_F_TICKS: Final = {
    0: "1", 1: "1.4", 2: "2", 3: "2.8", 4: "4", 5: "5.6", 6: "8", 7: "11", 8: "16", 9: "22",
    10: "32",
}  # fmt: skip
_ISO_TICKS: Final = {
    -1: "50", 0: "100", 1: "200", 2: "400", 3: "800", 4: "1600", 5: "3200", 6: "6400", 8: "25600",
    10: "102400",
}  # fmt: skip
_SETTINGS: Final = (
    ("f_number", "F-number", _F_TICKS, 1),
    ("iso", "ISO", _ISO_TICKS, 1),
    ("exposure_time_s", "exposure time", _SHUTTER_TICKS, 2),
)


def light_levels() -> dict[int, str]:
    """EV at ISO 100 → the light in which it is a correct exposure.

    Rounded from the exposure table of ANSI PH2.7-1986 as it is commonly reprinted.
    """
    text = files("evaluate.bias").joinpath("light_levels.csv").read_text("utf-8")
    return {int(row["ev"]): row["light"] for row in csv.DictReader(text.splitlines())}


def all_figures(collections: Sequence[Distribution]) -> list[Drawing]:
    """Every figure that the collections have data for; `collections` oldest first."""
    shown = [c for c in collections if c.with_all_three]
    if not shown:
        return []
    found = [exposure_figure(shown), mode_figure(shown)]
    if any(c.years for c in shown):
        found.append(year_figure([c for c in shown if c.years]))
    found += [settings_figure(c, number) for number, c in enumerate(shown)]
    found += [camera_figure(c, number) for number, c in enumerate(shown) if c.cameras]
    return found


def exposure_figure(collections: Sequence[Distribution]) -> Drawing:
    """Figure 1: share of pictures by EV index, a row a collection."""
    low, high = EV_RANGE
    ev = np.arange(low, high + 1)
    levels = light_levels()

    def paint(canvas: Figure) -> None:
        axes = canvas.subplots(len(collections), 1, sharex=True, squeeze=False)[::-1, 0]
        for number, (one, ax) in enumerate(zip(collections, axes, strict=True)):
            ax.bar(ev, one.ev / one.with_all_three, width=0.86, color=series_look(number)["color"])
            _name_row(ax, one)
        bottom, top = axes[0], axes[-1]
        bottom.set_xlabel("exposure value at ISO 100 (left: dark scenes, right: bright scenes)")
        bottom.set_xticks(range(low, high + 1, 2))
        upper = top.secondary_xaxis("top")
        upper.set_xticks(list(levels), list(levels.values()), fontsize=7.5, rotation=28, ha="left")
        upper.tick_params(length=2, color=MUTED, labelcolor=MUTED)
        upper.spines["top"].set_visible(False)

    rows = [
        (
            one.collection.name,
            int(value),
            int(count),
            count / one.with_all_three,
            levels.get(int(value)),
        )
        for one in collections
        for value, count in zip(ev.tolist(), one.ev.tolist(), strict=True)
    ]
    return _drawing(
        "figure-1-exposure",
        "Figure 1: share of pictures by exposure value",
        len(collections),
        paint,
        ("collection", "ev", "pictures", "share", "light"),
        rows,
        head_in=0.9,
    )


def mode_figure(collections: Sequence[Distribution]) -> Drawing:
    """Figure A.1: automatic and manual exposure."""

    def paint(canvas: Figure) -> None:
        ax = canvas.subplots()
        left = np.zeros(len(collections))
        for mode, color in _MODE_COLORS.items():
            share = np.array([one.modes[mode] / one.with_all_three for one in collections])
            ax.barh(range(len(collections)), share, left=left, color=color, label=mode, height=0.66)
            left += share
        ax.set_yticks(range(len(collections)), [_title(one) for one in collections])
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set_xlim(0, 1)
        ax.grid(axis="y", visible=False)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)

    rows = [
        (one.collection.name, mode, one.modes[mode], one.modes[mode] / one.with_all_three)
        for one in collections
        for mode in _MODE_COLORS
    ]
    return _drawing(
        "figure-a1-mode",
        "Figure A.1: pictures taken with automatic and manual exposure",
        len(collections),
        paint,
        ("collection", "mode", "pictures", "share"),
        rows,
        head_in=0.7,
    )


def year_figure(collections: Sequence[Distribution]) -> Drawing:
    """Figure A.2: pictures by the year they were taken."""
    first = max(1990, min(min(one.years) for one in collections))
    last = max(max(one.years) for one in collections)
    years = np.arange(min(first, last), last + 1)

    def paint(canvas: Figure) -> None:
        axes = canvas.subplots(len(collections), 1, sharex=True, squeeze=False)[::-1, 0]
        for number, (one, ax) in enumerate(zip(collections, axes, strict=True)):
            total = sum(one.years.values())
            share = [one.years[int(year)] / total for year in years]
            ax.bar(years, share, width=0.86, color=series_look(number)["color"])
            _name_row(ax, one)
        axes[0].set_xlabel("year of the camera's clock (years before 1990 are in the table)")
        axes[0].xaxis.get_major_locator().set_params(integer=True)

    rows = [
        (one.collection.name, year, one.years[year], one.years[year] / sum(one.years.values()))
        for one in collections
        for year in sorted(one.years)
    ]
    return _drawing(
        "figure-a2-years",
        "Figure A.2: pictures by year",
        len(collections),
        paint,
        ("collection", "year", "pictures", "share"),
        rows,
    )


def settings_figure(one: Distribution, number: int) -> Drawing:
    """Figure A.4: distributions of F-number, ISO and exposure time in thirds of a stop."""

    def paint(canvas: Figure) -> None:
        for ax, (name, label, ticks, step) in zip(canvas.subplots(1, 3), _SETTINGS, strict=True):
            counts = one.fine[name]
            stops = np.array(sorted(counts)) / 3
            share = np.array([counts[key] for key in sorted(counts)]) / one.with_all_three
            ax.bar(stops, share, width=0.26, color=series_look(number)["color"])
            ax.set_xlim(min(ticks) - 1, max(ticks) + 1)
            ax.set_xticks(
                list(ticks)[::step], list(ticks.values())[::step], rotation=60, fontsize=7.5
            )
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
            ax.set_xlabel(f"{label} (log scale)")
            for stop, value in sorted(zip(stops, share, strict=True), key=lambda p: -p[1])[:3]:
                if round(stop) in ticks and abs(stop - round(stop)) < 0.2:
                    ax.annotate(
                        ticks[round(stop)], (stop, value), xytext=(0, 2), fontsize=8, ha="center",
                        textcoords="offset points", color=INK,
                    )  # fmt: skip
            ax.margins(y=0.14)

    rows = [
        (one.collection.name, name, key / 3, count, count / one.with_all_three)
        for name, *_ in _SETTINGS
        for key, count in sorted(one.fine[name].items())
    ]
    return draw(
        f"figure-a4-settings-{number + 1}",
        f"Figure A.4: camera settings of {one.collection.name}",
        (_WIDTH_IN, 2.9),
        paint,
        ("collection", "setting", "stop", "pictures", "share"),
        rows,
    )


def camera_figure(one: Distribution, number: int) -> Drawing:
    """The most frequent cameras."""
    top = one.cameras.most_common(_CAMERAS)

    def paint(canvas: Figure) -> None:
        ax = canvas.subplots()
        names = [_camera(key) for key, _ in top][::-1]
        share = [count / one.with_all_three for _, count in top][::-1]
        ax.barh(range(len(top)), share, color=series_look(number)["color"], height=0.7)
        ax.set_yticks(range(len(top)), names)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set_xlabel("share of pictures with all three settings")
        ax.grid(axis="y", visible=False)

    rows = [
        (one.collection.name, *key.split("\t"), count, count / one.with_all_three)
        for key, count in one.cameras.most_common()
    ]
    return draw(
        f"cameras-{number + 1}",
        f"Cameras of {one.collection.name}",
        (_WIDTH_IN, 0.9 + 0.24 * len(top)),
        paint,
        ("collection", "make", "model", "pictures", "share"),
        rows,
    )


def _camera(key: str) -> str:
    """``Canon Canon EOS 20D`` is a Canon EOS 20D."""
    make, model = key.split("\t")
    if not model:
        return make or "unnamed"
    return model if model.lower().startswith(make.lower().split(" ")[0]) else f"{make} {model}"


def _title(one: Distribution) -> str:
    year = one.collection.year
    return one.collection.name if year is None else f"{one.collection.name} ({year})"


def _name_row(ax: Any, one: Distribution) -> None:  # noqa: ANN401 - matplotlib's Axes
    ax.set_ylabel(_title(one), rotation=0, ha="right", va="center", color=INK)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=GRID)


def _drawing(
    name: str,
    alt: str,
    count: int,
    paint: Callable[[Figure], None],
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    head_in: float = 0.4,
) -> Drawing:
    height_in = head_in + 0.6 + _ROW_IN * max(count, 2)
    return draw(name, alt, (_WIDTH_IN, height_in), paint, columns, rows)
