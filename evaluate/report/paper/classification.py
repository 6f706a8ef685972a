"""Figures 3 and 4: top-1 of classifiers, and over exposure levels."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas

from evaluate.report.curves import TOP1, Curve
from evaluate.report.paper.boxes import (
    READING,
    box_rows,
    box_size_in,
    boxes,
    paint_boxes,
)
from evaluate.report.paper.figure import LeftOut, PaperFigure
from evaluate.report.paper.lines import (
    bands_words,
    curve_rows,
    line_size_in,
    paint_legend,
    paint_lines,
)
from evaluate.report.paper.order import published_share, with_points, worst_first

SECTION = "classification"

_TITLES = {
    "3": "Top-1 accuracy of all classifiers",
    "4": "Top-1 accuracy across exposure levels",
}


def classification_figures(
    curves: Sequence[Curve], chance: float | None
) -> list[PaperFigure | LeftOut]:
    """The figures, or why there are none.

    Parameters
    ----------
    chance : float or None
        Top-1 of a random guess.
    """
    found = with_points(curves, TOP1)
    if not found:
        reason = "no classifications of frames with an EV offset in the catalog"
        return [LeftOut(number, SECTION, title, reason) for number, title in _TITLES.items()]
    ordered = worst_first(found)
    return [_boxes(ordered), _lines(ordered[::-1], chance)]


def _boxes(ordered: list[Curve]) -> PaperFigure:
    found = boxes(ordered, published_share)

    def paint(canvas: Canvas) -> None:
        paint_boxes(canvas.subplots(), found, "Top-1 (%)", published="published ImageNet top-1")

    return PaperFigure(
        "3",
        "fig-3-top1-boxes",
        SECTION,
        _TITLES["3"],
        f"Range and mean of top-1, worst model first. {READING} Blue circles: parameter "
        "sensitivity (PS); crosses: top-1 on ImageNet as published, where it is known for that "
        "very checkpoint. All by frame, never by row position.",
        box_rows(found, "imagenet_top1"),
        box_size_in(len(found)),
        paint,
    )


def _lines(ordered: list[Curve], chance: float | None) -> PaperFigure:
    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots()
        paint_lines(axes, ordered, "Top-1 (%)", chance)
        paint_legend(canvas, axes, "best first")

    return PaperFigure(
        "4",
        "fig-4-top1-by-ev-offset",
        SECTION,
        _TITLES["4"],
        "Each point is the mean over all frames of the EV offset, both lightings together; models "
        f"from best to worst. {bands_words(ordered)} Dashed: a random guess among 1000 classes.",
        curve_rows(ordered, chance),
        line_size_in(len(ordered)),
        paint,
    )
