"""Figure F.1: performance against the size of the model and of its training data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from evaluate.paper_models import PaperModel
from evaluate.report.curves import TOP1, Curve
from evaluate.report.detectors import OLRP
from evaluate.report.paper.figure import LeftOut, PaperFigure, Row
from evaluate.report.paper.order import worst_first
from evaluate.report.style import MUTED, series_look

SECTION = "classification"
TITLE = "Performance against model size and training data"

_Size = Callable[[PaperModel], float | None]


def _parameters(row: PaperModel) -> float | None:
    return None if row.parameters is None else row.parameters.millions


def _samples(row: PaperModel) -> float | None:
    return row.training.millions


@dataclass(frozen=True)
class _Panel:
    name: str
    measure: str
    label: str
    size_label: str
    size: _Size


@dataclass(frozen=True)
class _Dot:
    """A model of known size."""

    curve: Curve
    millions: float


_PANELS = (
    _Panel("(a)", TOP1, "Top-1 (%)", "Model size (M parameters)", _parameters),
    _Panel("(b)", TOP1, "Top-1 (%)", "Training data (M samples)", _samples),
    _Panel("(c)", OLRP, "oLRP (lower is better)", "Model size (M parameters)", _parameters),
)


def scale_figures(curves: Sequence[Curve]) -> list[PaperFigure | LeftOut]:
    """The figure, with those of its panels that have data."""
    panels = [(panel, _dots(curves, panel.measure, panel.size)) for panel in _PANELS]
    shown = [(panel, dots) for panel, dots in panels if dots]
    if not shown:
        reason = "no results of models whose size or training data are published"
        return [LeftOut("F.1", SECTION, TITLE, reason)]
    tall = [max(3.3, 0.175 * len(dots) + 0.9) for _, dots in shown]

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(len(shown), 1, squeeze=False, height_ratios=tall)
        for axes, (panel, dots) in zip(grid[:, 0], shown, strict=True):
            _paint(axes, panel, dots)

    missing = ", ".join(panel.name for panel, dots in panels if not dots)
    words = f" Left out for want of data: {missing}." if missing else ""
    return [
        PaperFigure(
            "F.1",
            "fig-f1-size-and-training",
            SECTION,
            TITLE,
            "Mean over all frames, bars are 95 % intervals that resample scenes. Sizes are as "
            f"published; a model whose size is not published for certain is left out.{words}",
            [row for panel, dots in shown for row in _rows(panel, dots)],
            (8.6, 0.4 + sum(tall)),
            paint,
        )
    ]


def _dots(curves: Sequence[Curve], measure: str, size: _Size) -> list[_Dot]:
    """By size, then name; models of unknown size are left out."""
    found = []
    for curve in curves:
        published = curve.who.published
        millions = None if published is None else size(published)
        if curve.measure == measure and millions is not None:
            found.append(_Dot(curve, millions))
    known = [dot for dot in found if not math.isnan(dot.curve.overall.value)]
    return sorted(known, key=lambda dot: (dot.millions, dot.curve.who.label))


def _rows(panel: _Panel, dots: Sequence[_Dot]) -> list[Row]:
    return [
        {
            "panel": panel.name,
            "model": dot.curve.who.label,
            "observer": dot.curve.who.name,
            "measure": panel.measure,
            "size_of": panel.size_label,
            "millions": dot.millions,
            "value": dot.curve.overall.value,
            "low": dot.curve.overall.low,
            "high": dot.curve.overall.high,
        }
        for dot in dots
    ]


def _paint(axes: Axes, panel: _Panel, dots: Sequence[_Dot]) -> None:
    best_first = worst_first([d.curve for d in dots], low_is_good=panel.measure == OLRP)[::-1]
    millions = {dot.curve.who.name: dot.millions for dot in dots}
    for place, curve in enumerate(best_first):
        look = {**series_look(place), "linestyle": "", "markersize": 6.5}
        x, share = millions[curve.who.name], curve.overall
        axes.vlines(x, share.low, share.high, color=look["color"], linewidth=1, alpha=0.6)
        axes.plot([x], [share.value], label=curve.who.label, **look)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{panel.name} {'top-1' if panel.measure == TOP1 else 'oLRP'}")
    axes.set(xlabel=panel.size_label, ylabel=panel.label, ylim=(0, 1.02))
    if panel.measure == TOP1:
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.03), fontsize=7.5, title="best first",
        title_fontsize=8, alignment="left", labelspacing=0.35, handletextpad=0.4,
    ).get_title().set_color(MUTED)  # fmt: skip
