"""Figures 7 to 9, F.4 and F.5: answers of vision-language models and of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import PercentFormatter

from evaluate.report.curves import HARD, LENGTH, SOFT, Curve
from evaluate.report.paper.boxes import READING, box_rows, box_size_in, boxes, paint_boxes
from evaluate.report.paper.figure import LeftOut, PaperFigure
from evaluate.report.paper.lines import (
    bands_words,
    curve_rows,
    line_size_in,
    paint_legend,
    paint_lines,
)
from evaluate.report.paper.order import ordered_as, with_points, worst_first
from evaluate.report.style import CHANCE, INK, SOFT_AND_HARD
from evaluate.scoring import PAPER, RELEASE

SECTION = "vqa"

_TITLES = {
    "7": "Hard and soft accuracy on all questions",
    "8": "Length of answers",
    "9": "Hard accuracy on all questions across exposure levels",
    "F.4": "Hard accuracy on each question across exposure levels",
    "F.5": "Hard accuracy on each question",
}

#: The panels of figures F.4 and F.5 in the paper's order; the paper's caption of the last one
#: says categorization, its question counts.
PANELS = (
    ("q1", "(a) Q1: categorization, open-ended"),
    ("q3", "(b) Q3: categorization, multiple-choice"),
    ("q2", "(c) Q2: subitization, open-ended"),
    ("q4", "(d) Q4: subitization, multiple-choice"),
)

_PEOPLE_AND_CHANCE = (
    "People: hard accuracy, under the protocol release their only one, as released. "
    "Dashed: chance, which is one option picked at random where options are offered, and always "
    "the most frequent truth where none are."
)


def question_figures(
    curves: Sequence[Curve], chance: Mapping[str, float], protocol: str = PAPER
) -> list[PaperFigure | LeftOut]:
    """The figures, or why there are none.

    Parameters
    ----------
    protocol : {"paper", "release"}
        The released scripts know one accuracy of people, which their figures draw beside the hard
        one of models: so do these, under `release`.
    chance : mapping
        By ``q1`` to ``q4``, and ``all`` for the mean over them.
    """
    if protocol == RELEASE:
        curves = _with_released_people(curves)
    overall = [curve for curve in curves if curve.measure == HARD]
    if not overall:
        reason = "no answers to Q1 to Q4 in the catalog"
        return [LeftOut(number, SECTION, title, reason) for number, title in _TITLES.items()]
    ordered = worst_first(overall)
    places = {curve.who.name: place for place, curve in enumerate(ordered)}
    found: list[PaperFigure | LeftOut] = [_bars(curves, ordered, chance)]
    if not with_points(curves, HARD):
        reason = "no answers about frames with an EV offset in the catalog"
        rest = [(number, title) for number, title in _TITLES.items() if number != "7"]
        return found + [LeftOut(number, SECTION, title, reason) for number, title in rest]
    return [
        *found,
        _lengths(ordered_as(with_points(curves, LENGTH), places)),
        _lines(with_points(ordered, HARD), chance),
        _panel_lines(curves, places, chance),
        _panel_boxes(curves, places, chance),
    ]


def _with_released_people(curves: Sequence[Curve]) -> list[Curve]:
    """People's accuracy in the place of their hard one."""
    others = [c for c in curves if not (c.who.is_people and c.measure.startswith(HARD))]
    return others + [
        replace(curve, measure=curve.measure.replace(SOFT, HARD, 1))
        for curve in curves
        if curve.who.is_people and curve.measure.startswith(SOFT)
    ]


def _bars(
    curves: Sequence[Curve], ordered: Sequence[Curve], chance: Mapping[str, float]
) -> PaperFigure:
    soft = {curve.who.name: curve.overall for curve in curves if curve.measure == SOFT}
    models = [curve for curve in ordered if not curve.who.is_people]
    people = [curve for curve in ordered if curve.who.is_people]
    floor = chance.get("all", math.nan)

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots()
        hard_color, soft_color = SOFT_AND_HARD
        hard = [curve.overall.value for curve in models]
        extra = [soft[curve.who.name].value - curve.overall.value for curve in models]
        places = range(len(models))
        axes.bar(places, hard, 0.66, color=hard_color, label="hard accuracy")
        axes.bar(places, extra, 0.66, hard, color=soft_color, label="soft accuracy (adds)")
        low, high = ([getattr(c.overall, end) for c in models] for end in ("low", "high"))
        axes.vlines(places, low, high, color=INK, linewidth=1.2)
        for curve, dash in zip(people, ("-", ":", "-."), strict=False):
            axes.axhline(curve.overall.value, color=INK, linewidth=1.8, linestyle=dash,
                         label=curve.who.label)  # fmt: skip
            axes.axhspan(curve.overall.low, curve.overall.high, color=INK, alpha=0.1, linewidth=0)
        if not math.isnan(floor):
            axes.axhline(floor, label="chance", **CHANCE)
        axes.set_xticks(
            places, [curve.who.label for curve in models],
            rotation=38, ha="right", rotation_mode="anchor", fontsize=8,
        )  # fmt: skip
        axes.tick_params(axis="x", length=0)
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.7, max(len(models), 1) - 0.3)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        axes.set_ylabel("Accuracy (%)")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, fontsize=8)

    return PaperFigure(
        "7",
        "fig-7-vqa-accuracy",
        SECTION,
        _TITLES["7"],
        "Mean over the questions, each of equal weight; models from worst to best by hard "
        "accuracy, bars on it are its 95 % interval. Black line: people, "
        f"with their interval. {_PEOPLE_AND_CHANCE}",
        [
            {
                "place": place,
                "model": curve.who.label,
                "observer": curve.who.name,
                "kind": curve.who.kind,
                "n": curve.overall.n,
                "hard": curve.overall.value,
                "hard_low": curve.overall.low,
                "hard_high": curve.overall.high,
                "soft": soft[curve.who.name].value,
                "soft_low": soft[curve.who.name].low,
                "soft_high": soft[curve.who.name].high,
                "chance": floor,
            }
            for place, curve in enumerate(ordered, start=1)
        ],
        box_size_in(len(models)),
        paint,
    )


def _lengths(ordered: list[Curve]) -> PaperFigure:
    found = boxes(ordered, lambda _curve: math.nan)

    def paint(canvas: Canvas) -> None:
        label = "Avg. length (characters)"
        paint_boxes(canvas.subplots(), found, label, percent=False, unit_scale=False)

    return PaperFigure(
        "8",
        "fig-8-answer-length",
        SECTION,
        _TITLES["8"],
        "Mean number of characters of the answers as given, over the questions at each EV offset; "
        f"models from worst to best by hard accuracy, people last. {READING}",
        box_rows(found),
        box_size_in(len(found)),
        paint,
    )


def _lines(ordered: list[Curve], chance: Mapping[str, float]) -> PaperFigure:
    best_first = _best_first(ordered)
    floor = chance.get("all")

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots()
        paint_lines(axes, best_first, "Hard accuracy (%)", floor)
        paint_legend(canvas, axes, "people, then best first")

    return PaperFigure(
        "9",
        "fig-9-hard-by-ev-offset",
        SECTION,
        _TITLES["9"],
        "Mean over the questions at each EV offset, each question of equal weight. "
        f"{bands_words(best_first)} {_PEOPLE_AND_CHANCE}",
        curve_rows(best_first, floor),
        line_size_in(len(best_first)),
        paint,
    )


def _panel_lines(
    curves: Sequence[Curve], places: Mapping[str, int], chance: Mapping[str, float]
) -> PaperFigure:
    panels = [
        (title, _best_first(ordered_as(found, places)), chance.get(question))
        for question, title in PANELS
        if (found := with_points(curves, f"{HARD}_{question}"))
    ]

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(2, 2, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, (title, ordered, floor) in zip(grid.flat, panels, strict=False):
            paint_lines(axes, ordered, "Hard accuracy (%)", floor)
            axes.set_title(title)
        fullest = max(range(len(panels)), key=lambda place: len(panels[place][1]))
        paint_legend(canvas, grid.flat[fullest], "people, then best first")

    return PaperFigure(
        "F.4",
        "fig-f4-questions-by-ev-offset",
        SECTION,
        _TITLES["F.4"],
        f"Mean at each EV offset. {bands_words(panels[0][1])} {_PEOPLE_AND_CHANCE}",
        [row for _, ordered, floor in panels for row in curve_rows(ordered, floor)],
        line_size_in(len(places), panels=4),
        paint,
    )


def _panel_boxes(
    curves: Sequence[Curve], places: Mapping[str, int], chance: Mapping[str, float]
) -> PaperFigure:
    panels = [
        (title, boxes(ordered_as(found, places), lambda _curve: math.nan), chance.get(question))
        for question, title in PANELS
        if (found := with_points(curves, f"{HARD}_{question}"))
    ]
    width, height = box_size_in(len(places))

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(2, 2, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for place, (title, found, floor) in enumerate(panels):
            axes = grid.flat[place]
            paint_boxes(axes, found, "Hard accuracy (%)", chance=floor, legend=False)
            axes.set_title(title)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper left", ncols=2, fontsize=8)

    return PaperFigure(
        "F.5",
        "fig-f5-question-boxes",
        SECTION,
        _TITLES["F.5"],
        "Range and mean of hard accuracy; models from worst to best by hard accuracy on all "
        f"questions, people last. {READING} Blue circles: parameter sensitivity (PS). "
        f"{_PEOPLE_AND_CHANCE}",
        [row for _, found, _ in panels for row in box_rows(found)],
        (2 * width, 2 * height),
        paint,
    )


def _best_first(ordered: Sequence[Curve]) -> list[Curve]:
    """People, then models from best to worst."""
    people = [curve for curve in ordered if curve.who.is_people]
    return people + [curve for curve in ordered[::-1] if not curve.who.is_people]
