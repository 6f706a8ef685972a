"""Parameter sensitivity over exposure levels: the released script draws it, the paper does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.figure import Figure as Canvas

from evaluate.metrics.sensitivity import Sensitivity
from evaluate.report.curves import HARD, TOP1, Curve, Point, SetsAt
from evaluate.report.detectors import OLRP
from evaluate.report.paper.figure import LeftOut, PaperFigure, Row
from evaluate.report.paper.lines import line_size_in, paint_legend, paint_lines
from evaluate.report.paper.order import worst_first
from evaluate.scores import QUESTIONS

SECTION = "sensitivity"
_TITLE = "Parameter sensitivity across exposure levels"

#: Figures: file stem, words, measures of its rows of panels, whether a low measure is good.
_FAMILIES = (
    ("sensitivity-top1", "top-1", (TOP1,), False),
    ("sensitivity-olrp", "oLRP", (OLRP,), True),
    ("sensitivity-questions", "hard accuracy", tuple(f"{HARD}_{q}" for q in QUESTIONS), False),
)


def sensitivity_figures(curves: Sequence[Curve]) -> list[PaperFigure | LeftOut]:
    """A figure for each family of measures that has equal-exposure sets."""
    found: list[PaperFigure | LeftOut] = []
    for name, words, measures, low_is_good in _FAMILIES:
        panels = [
            (measure, worst_first(some, low_is_good=low_is_good)[::-1])
            for measure in measures
            if (some := [c for c in curves if c.measure == measure and c.sensitivity_at])
        ]
        if panels:
            found.append(_figure(name, words, panels))
    reason = "no sets of frames of equal exposure with answers in the catalog"
    return found or [LeftOut("", SECTION, _TITLE, reason)]


def _figure(name: str, words: str, panels: Sequence[tuple[str, list[Curve]]]) -> PaperFigure:
    most = max(len(ordered) for _, ordered in panels)
    sets = [at.found for _, ordered in panels for curve in ordered for at in curve.sensitivity_at]
    top = max(0.1, *(share(found) for found in sets for share in (_varying, _mixed)))

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(len(panels), 2, sharey=True, squeeze=False)
        for row, (measure, ordered) in zip(grid, panels, strict=True):
            question = measure.removeprefix(f"{HARD}_").upper() if len(panels) > 1 else words
            shares = ((_varying, "PS (%)"), (_mixed, "mixed sets (%)"))
            for axes, (share, label) in zip(row, shares, strict=True):
                paint_lines(axes, [_line(curve, share) for curve in ordered], label, top=top)
                axes.set_title(f"{question}: {label.removesuffix(' (%)')}")
        fullest = max(range(len(panels)), key=lambda place: len(panels[place][1]))
        paint_legend(canvas, grid[fullest, 0], "best first")

    return PaperFigure(
        "",
        name,
        SECTION,
        f"{_TITLE}: {words}",
        "Left: share of equal-exposure sets whose coefficient of variation is above 1, as in the "
        "paper. Right: share of sets whose scores span more than half the scale; unlike the "
        "former it treats right and wrong alike.",
        [row for _, ordered in panels for curve in ordered for row in _rows(curve)],
        (11.6, max(line_size_in(most)[1], 0.4 + 3.0 * len(panels))),
        paint,
    )


def _line(curve: Curve, share: Callable[[Sensitivity], float]) -> Curve:
    """The share of each EV offset's sets, as a curve without intervals."""
    points = [
        Point(at.ev_offset, at.found.sets, share(at.found), math.nan, math.nan)
        for at in curve.sensitivity_at
    ]
    return Curve(curve.who, curve.measure, curve.overall, tuple(points))


def _varying(found: Sensitivity) -> float:
    return found.parameter_sensitivity


def _mixed(found: Sensitivity) -> float:
    return found.mixed_share


def _rows(curve: Curve) -> list[Row]:
    def row(at: SetsAt) -> Row:
        return {
            "model": curve.who.label,
            "observer": curve.who.name,
            "kind": curve.who.kind,
            "measure": curve.measure,
            "ev_offset": at.ev_offset,
            "sets": at.found.sets,
            "ps": at.found.parameter_sensitivity,
            "ps_mixed": at.found.mixed_share,
        }

    return [row(at) for at in curve.sensitivity_at]
