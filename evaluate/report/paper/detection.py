"""Figures 5, 6, F.2 and F.3: oLRP, its parts and AP of detectors, and over exposure levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas

from evaluate.metrics.lrp import TAU
from evaluate.report.curves import Curve
from evaluate.report.detectors import AP, OLRP, OLRP_FN, OLRP_FP, OLRP_LOC
from evaluate.report.paper.boxes import READING, box_rows, box_size_in, boxes, paint_boxes
from evaluate.report.paper.figure import LeftOut, PaperFigure
from evaluate.report.paper.lines import (
    bands_words,
    curve_rows,
    line_size_in,
    paint_legend,
    paint_lines,
)
from evaluate.report.paper.order import ordered_as, published_share, with_points, worst_first

SECTION = "detection"

_TITLES = {
    "5": "oLRP of all detectors",
    "6": "oLRP across exposure levels",
    "F.2": "AP of all detectors",
    "F.3": "Classification and localization errors across exposure levels",
}

#: The panels of figure F.3, in the paper's order.
_PARTS = (
    (OLRP_FP, "oLRP FP", "(a) False positive errors", 1.0),
    (OLRP_LOC, "oLRP Loc", "(b) Localization errors", 1 - TAU),
    (OLRP_FN, "oLRP FN", "(c) False negative errors", 1.0),
)


def detection_figures(curves: Sequence[Curve], detections: bool) -> list[PaperFigure | LeftOut]:
    """The figures, or why there are none; `detections`: whether there are any at all."""
    found = with_points(curves, OLRP)
    if not found:
        reason = (
            "no detections of frames with an EV offset in the catalog"
            if detections
            else "no detections in the catalog"
        )
        return [LeftOut(number, SECTION, title, reason) for number, title in _TITLES.items()]
    ordered = worst_first(found, low_is_good=True)
    return [
        _boxes(ordered),
        _lines(ordered),
        _precision_boxes(worst_first(with_points(curves, AP))),
        _parts(curves, {curve.who.name: place for place, curve in enumerate(ordered)}),
    ]


def _boxes(ordered: list[Curve]) -> PaperFigure:
    found = boxes(ordered, lambda _curve: math.nan)

    def paint(canvas: Canvas) -> None:
        paint_boxes(canvas.subplots(), found, "oLRP (lower is better)", percent=False)

    return PaperFigure(
        "5",
        "fig-5-olrp-boxes",
        SECTION,
        _TITLES["5"],
        f"Range and mean of oLRP, worst model first. {READING} Blue circles: parameter "
        "sensitivity (PS) of the oLRP of single frames.",
        box_rows(found),
        box_size_in(len(found)),
        paint,
    )


def _lines(ordered: list[Curve]) -> PaperFigure:
    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots()
        paint_lines(axes, ordered, "oLRP (lower is better)", percent=False)
        paint_legend(canvas, axes, "worst first")

    return PaperFigure(
        "6",
        "fig-6-olrp-by-ev-offset",
        SECTION,
        _TITLES["6"],
        "Each point is the oLRP of all detections on the frames of an EV offset, both lightings "
        f"together; models from worst to best. {bands_words(ordered)}",
        curve_rows(ordered),
        line_size_in(len(ordered)),
        paint,
    )


def _precision_boxes(ordered: list[Curve]) -> PaperFigure:
    found = boxes(ordered, published_share)

    def paint(canvas: Canvas) -> None:
        paint_boxes(
            canvas.subplots(), found, "AP@[.5:.95]",
            published="published COCO AP", percent=False, sensitivity=False,
        )  # fmt: skip

    return PaperFigure(
        "F.2",
        "fig-f2-ap-boxes",
        SECTION,
        _TITLES["F.2"],
        f"Range and mean of AP@[.5:.95], worst model first. {READING} Crosses: AP on COCO val2017 "
        "as published.",
        box_rows(found, "coco_ap"),
        box_size_in(len(found)),
        paint,
    )


def _parts(curves: Sequence[Curve], places: dict[str, int]) -> PaperFigure:
    panels = [
        (label, title, top, ordered_as(with_points(curves, part), places))
        for part, label, title, top in _PARTS
    ]

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(2, 2)
        grid[1, 1].set_axis_off()
        for axes, (label, title, top, ordered) in zip(grid.flat, panels, strict=False):
            paint_lines(axes, ordered, label, percent=False, top=top)
            axes.set_title(title)
        paint_legend(canvas, grid[0, 0], "worst oLRP first")

    return PaperFigure(
        "F.3",
        "fig-f3-olrp-parts",
        SECTION,
        _TITLES["F.3"],
        "Each point is the mean over categories of the error at the score that is best for oLRP. "
        "FP is the share of wrong detections, FN of objects that were missed; Loc is 1 - IoU of "
        "the hits, hence at most 0.5. Undefined where no object was found. "
        + bands_words(panels[0][-1]),
        [row for *_, ordered in panels for row in curve_rows(ordered)],
        line_size_in(len(places), panels=3),
        paint,
    )
