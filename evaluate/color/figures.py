"""Figures 3 to 9 and 12 of the paper: groups across models, trainings, corruptions, subsets."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from matplotlib.figure import Figure

from evaluate.color.data import ColorData, Series
from evaluate.color.families import ADVANCED, STANDARD
from evaluate.color.groups import COMPARED
from evaluate.color.plots import NARROW, WIDTH_IN, Missing, Panel, dot_panels, short
from evaluate.color.scores import (
    ALL,
    CORRUPTED,
    GRAY,
    SEVERITIES,
    VEHICLES,
    GroupScore,
    Subset,
    robustness,
    score_subset,
)
from evaluate.report.figures import Drawing, draw
from evaluate.report.style import GRID, INK, MUTED, series_look
from evaluate.views import corruption

Item = Drawing | Missing

#: The corruption that the paper looks at alone.
NOISE: Final = "gaussian_noise"

#: Models that Figure 6 compares.
_COMPARED_MODELS: Final = 3

NO_ANSWERS: Final = "no scored answers to frames with both colors known"
NO_CORRUPTED: Final = "nobody was shown corrupted views (`corruption:NAME:SEVERITY`)"


def _rows(
    data: ColorData, observers: Sequence[Series], subset: Subset
) -> list[tuple[str, str, GroupScore]]:
    found = ((one, score_subset(data.frames, one, subset)) for one in observers)
    return [(one.lineage.shown_family, one.name, got) for one, got in found if got is not None]


def figure_3(data: ColorData) -> Item:
    """Groups across architectures and sizes."""
    name, title = "figure-3-models", "Figure 3: accuracy by color discrimination group"
    rows = _rows(data, data.shown, ALL)
    if not rows:
        return Missing(name, title, NO_ANSWERS)
    return dot_panels(name, title, [Panel.of("all observers", rows)])


def figure_4(data: ColorData) -> Item:
    """Standard and advanced training of the same architectures."""
    name, title = "figure-4-training", "Figure 4: standard and advanced training"
    bases = {one.lineage.base for one in data.models if one.lineage.training == ADVANCED}
    pairs = {
        training: _rows(
            data,
            [m for m in data.models if m.lineage.training == training and m.lineage.base in bases],
            ALL,
        )
        for training in (STANDARD, ADVANCED)
    }
    if not all(pairs.values()):
        return Missing(name, title, "no architecture with both a standard and an advanced training")
    return dot_panels(name, title, [Panel.of(training, rows) for training, rows in pairs.items()])


def figure_5(data: ColorData) -> Item:
    """Other training data: ImageNet-21k, and CLIP's two sizes."""
    name, title = "figure-5-pretraining", "Figure 5: other training data"
    chosen: dict[str, Callable[[Series], bool]] = {
        "pretrained on ImageNet-21k": lambda one: one.lineage.training == "ImageNet-21k",
        "CLIP, zero-shot": lambda one: one.lineage.family == "CLIP",
    }
    panels = [
        Panel.of(words, rows)
        for words, wanted in chosen.items()
        if (rows := _rows(data, [m for m in data.models if wanted(m)], ALL))
    ]
    if not panels:
        return Missing(name, title, "no model pretrained on ImageNet-21k, and no CLIP model")
    return dot_panels(name, title, panels)


def figure_6(data: ColorData) -> Item:
    """Each corruption, for the models of most similar accuracy."""
    name, title = "figure-6-corruptions", "Figure 6: groups under each corruption"
    kinds = sorted(
        {found.name for one in data.models for v in one.views if (found := corruption(v))}
    )
    models = _most_similar(data)
    if not kinds or not models:
        return Missing(name, title, NO_CORRUPTED)
    panels = []
    for model in models:
        scored = ((kind, score_subset(data.frames, model, _one_kind(kind))) for kind in kinds)
        rows = [("", kind.replace("_", " "), got) for kind, got in scored if got is not None]
        if rows:
            panels.append(Panel.of(short(model.name, NARROW), rows))
    return dot_panels(name, title, panels) if panels else Missing(name, title, NO_CORRUPTED)


def figure_6_noise(data: ColorData) -> Item:
    """Gaussian noise alone, all models."""
    name, title = "figure-6-gaussian-noise", "Figure 6, bottom right: Gaussian noise"
    rows = _rows(data, data.shown, _one_kind(NOISE))
    if not rows:
        return Missing(name, title, f"nobody was shown `corruption:{NOISE}:SEVERITY`")
    return dot_panels(name, title, [Panel.of("Gaussian noise, all severities", rows)])


def figure_7(data: ColorData) -> Item:
    """All frames beside the land vehicles."""
    name, title = "figure-7-vehicles", "Figure 7: all frames and land vehicles"
    vehicles = _rows(data, data.shown, VEHICLES)
    if not vehicles:
        return Missing(name, title, "no answers to frames of the 49 land vehicle classes")
    rows = _rows(data, data.shown, ALL)
    return dot_panels(name, title, [Panel.of("all", rows), Panel.of("land vehicles", vehicles)])


def figure_8(data: ColorData) -> Item:
    """Both robustness scores against each other, symbols as large as the models."""
    name, title = "figure-8-robustness", "Figure 8: robustness to color and to corruption"
    found = [(one, robustness(data.frames, one)) for one in data.models]
    points = [
        (one, got["scvr_corrupted"], got["scr"])
        for one, got in found
        if math.isfinite(got["scvr_corrupted"]) and math.isfinite(got["scr"])
    ]
    if not points:
        return Missing(name, title, NO_CORRUPTED)
    families = list(dict.fromkeys(one.lineage.shown_family for one, _, _ in points))

    def paint(canvas: Figure) -> None:
        axes = canvas.subplots()
        for number, family in enumerate(families):
            some = [point for point in points if point[0].lineage.shown_family == family]
            look = series_look(number)
            axes.scatter(
                [x for _, x, _ in some],
                [y for _, _, y in some],
                [_symbol(one.lineage.parameters_millions) for one, _, _ in some],
                color=look["color"],
                marker=look["marker"],
                label=family,
                alpha=0.8,
            )
        for one, x, y in points:
            axes.annotate(
                short(one.name), (x, y), (5, 4), textcoords="offset points", fontsize=7,
                color=MUTED,
            )  # fmt: skip
        axes.set_xlabel("sCVR (higher: less affected by color)")
        axes.set_ylabel("sCR (higher: less affected by corruption)")
        axes.margins(0.15)
        axes.legend(loc="best", fontsize=7.5)

    columns = ("observer", "family", "parameters_millions", "scvr", "scr")
    rows = [
        (o.name, o.lineage.shown_family, o.lineage.parameters_millions, x, y) for o, x, y in points
    ]
    return draw(name, title, (WIDTH_IN * 0.75, 4.6), paint, columns, rows)


def figure_9(data: ColorData) -> Item:
    """Groups in color and in gray."""
    name, title = "figure-9-grayscale", "Figure 9, right: groups in color and in gray"
    gray = _rows(data, data.shown, GRAY)
    if not gray:
        return Missing(name, title, "nobody was shown the view `grayscale`")
    return dot_panels(
        name, title, [Panel.of("color", _rows(data, data.shown, ALL)), Panel.of("grayscale", gray)]
    )


def figure_9_gaps(data: ColorData) -> Item:
    """AG of each observer in color and in gray."""
    name, title = "figure-9-gaps", "Figure 9, left: absolute gap in color and in gray"
    points = [
        (one.name, color.ag, gray.ag)
        for one in data.shown
        if (color := score_subset(data.frames, one, ALL)) is not None
        and (gray := score_subset(data.frames, one, GRAY)) is not None
        and color.complete
        and gray.complete
    ]
    if not points:
        return Missing(name, title, "nobody was shown the view `grayscale` in all three groups")

    def paint(canvas: Figure) -> None:
        axes = canvas.subplots()
        places = range(len(points))
        for place, (_, color, gray) in zip(places, points, strict=True):
            axes.plot([100 * color, 100 * gray], [place, place], color=GRID, linewidth=2.5)
        for at, (words, look) in enumerate(
            {"color": ("o", "#d55e00"), "grayscale": ("s", INK)}.items(), 1
        ):
            axes.plot(
                [100 * float(point[at]) for point in points], places, linestyle="none",
                marker=look[0], color=look[1], markersize=5, label=words,
            )  # fmt: skip
        axes.set_yticks(places, [short(point[0]) for point in points], fontsize=7.5)
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("AG (percentage points)")
        axes.grid(axis="y", visible=False)
        axes.legend()

    height_in = 1.3 + 0.24 * len(points)
    columns = ("observer", "ag_color", "ag_grayscale")
    return draw(name, title, (WIDTH_IN * 0.75, height_in), paint, columns, points)


def figure_12(data: ColorData) -> Item:
    """Accuracy by severity, averaged over the models of each family, by group."""
    name, title = "figure-12-severity", "Figure 12: accuracy by severity of corruption"
    points = _by_severity(data)
    if not points:
        return Missing(name, title, NO_CORRUPTED)
    families = list(dict.fromkeys(family for family, _ in points))

    def paint(canvas: Figure) -> None:
        every = canvas.subplots(1, len(COMPARED), sharey=True)
        for place, (group, axes) in enumerate(zip(COMPARED, every, strict=True)):
            for number, family in enumerate(families):
                levels = sorted(s for f, s in points if f == family)
                values = [100 * points[family, s][place] for s in levels]
                axes.plot(levels, values, label=family, **series_look(number))
            axes.set_title(str(group))
            axes.set_xticks(list(SEVERITIES))
            axes.set_xlabel("severity")
        every[0].set_ylabel("accuracy (%)")
        handles, labels = every[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside right upper", fontsize=7.5)

    columns = ("family", "severity", *(group.lower() for group in COMPARED))
    rows = [(*key, *values) for key, values in points.items()]
    return draw(name, title, (WIDTH_IN, 3.2), paint, columns, rows)


def _by_severity(data: ColorData) -> dict[tuple[str, int], tuple[float, ...]]:
    found: dict[tuple[str, int], list[tuple[float, ...]]] = defaultdict(list)
    for severity in SEVERITIES:
        at = Subset("", "", lambda v, s=severity: (c := corruption(v)) is not None and c[1] == s)  # type: ignore[misc]  # bound now
        for one in data.models:
            got = score_subset(data.frames, one, at)
            if got is not None and got.complete:
                found[one.lineage.shown_family, severity].append(got.compared)
    return {
        key: tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))
        for key, rows in sorted(found.items())
    }


def _one_kind(kind: str) -> Subset:
    return Subset("", "", lambda view: (found := corruption(view)) is not None and found[0] == kind)


def _most_similar(data: ColorData) -> list[Series]:
    """Up to three models with corrupted views whose accuracies lie closest together."""
    scored = [
        (plain.total if plain is not None else got.total, one)
        for one in data.models
        if (got := score_subset(data.frames, one, CORRUPTED)) is not None
        for plain in (score_subset(data.frames, one, ALL),)
    ]
    scored.sort(key=lambda pair: pair[0])
    size = min(_COMPARED_MODELS, len(scored))
    windows = [scored[start : start + size] for start in range(len(scored) - size + 1)]
    best = min(windows, key=lambda w: w[-1][0] - w[0][0]) if size else []
    return [one for _, one in best]


def _symbol(parameters_millions: float | None) -> float:
    """Area of a symbol in points squared."""
    return 40.0 if parameters_millions is None else 12 + 1.2 * parameters_millions
