"""Figure F.1: performance against the size of the model and of its training data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from evaluate.paper_models import PaperModel
from evaluate.report.curves import TOP1, Curve
from evaluate.report.detectors import OLRP
from evaluate.report.paper.figure import LeftOut, PaperFigure, Row
from evaluate.report.style import MUTED, series_look

SECTION = "classification"
TITLE = "Performance against model size and training data"

_Size = Callable[[PaperModel], float | None]


def _parameters(row: PaperModel) -> float | None:
    return None if row.parameters is None else row.parameters.millions


def _samples(row: PaperModel) -> float | None:
    return row.training.millions


#: The panels: measure, axis labels, size.
_PANELS: tuple[tuple[str, str, str, str, _Size], ...] = (
    ("(a)", TOP1, "Top-1 (%)", "Model size (M parameters)", _parameters),
    ("(b)", TOP1, "Top-1 (%)", "Training data (M samples)", _samples),
    ("(c)", OLRP, "oLRP (lower is better)", "Model size (M parameters)", _parameters),
)


def scale_figures(curves: Sequence[Curve]) -> list[PaperFigure | LeftOut]:
    """The figure, with those of its panels that have data."""
    panels = [(*panel[:4], _rows(curves, *panel)) for panel in _PANELS]
    shown = [panel for panel in panels if panel[-1]]
    if not shown:
        reason = "no results of models whose size or training data are published"
        return [LeftOut("F.1", SECTION, TITLE, reason)]

    def paint(canvas: Canvas) -> None:
        tall = [max(3.3, 0.175 * len(rows) + 0.9) for *_, rows in shown]
        grid = canvas.subplots(len(shown), 1, squeeze=False, height_ratios=tall)
        for axes, (name, measure, label, size_label, rows) in zip(grid[:, 0], shown, strict=True):
            _paint(axes, rows)
            axes.set_title(f"{name} {'top-1' if measure == TOP1 else 'oLRP'}")
            axes.set(xlabel=size_label, ylabel=label, ylim=(0, 1.02))
            if measure == TOP1:
                axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))

    missing = [name for name, *_, rows in panels if not rows]
    words = (
        f" Left out: panel {', '.join(missing)}, for which the catalog has no data."
        if missing
        else ""
    )
    return [
        PaperFigure(
            "F.1",
            "fig-f1-size-and-training",
            SECTION,
            TITLE,
            "Mean over all frames, bars are 95 % intervals that resample scenes. Sizes are as "
            f"published; a model whose size is not published for certain is left out.{words}",
            [row for *_, rows in shown for row in rows],
            (8.6, 0.4 + sum(max(3.3, 0.175 * len(rows) + 0.9) for *_, rows in shown)),
            paint,
        )
    ]


def _rows(
    curves: Sequence[Curve], panel: str, measure: str, _label: str, size_label: str, size: _Size
) -> list[Row]:
    rows: list[Row] = []
    for curve in curves:
        published = curve.who.published
        x = None if published is None else size(published)
        if curve.measure == measure and x is not None and not math.isnan(curve.overall.value):
            rows.append(
                {
                    "panel": panel,
                    "model": curve.who.label,
                    "observer": curve.who.name,
                    "measure": measure,
                    "size_of": size_label,
                    "millions": x,
                    "value": curve.overall.value,
                    "low": curve.overall.low,
                    "high": curve.overall.high,
                }
            )
    return sorted(rows, key=lambda row: (row["millions"], row["model"]))


def _paint(axes: Axes, rows: Sequence[Row]) -> None:
    best_first = sorted(rows, key=lambda row: row["value"], reverse=rows[0]["measure"] == TOP1)
    for place, row in enumerate(best_first):
        look = {**series_look(place), "linestyle": "", "markersize": 6.5}
        x, y = row["millions"], row["value"]
        axes.vlines(x, row["low"], row["high"], color=look["color"], linewidth=1, alpha=0.6)
        axes.plot([x], [y], label=row["model"], **look)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.03), fontsize=7.5, title="best first",
        title_fontsize=8, alignment="left", labelspacing=0.35, handletextpad=0.4,
    ).get_title().set_color(MUTED)  # fmt: skip
