"""Figures 10, 11 and 13 to 15: localization, colors by themselves, mistakes, people."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from evaluate.color.by_color import color_scores
from evaluate.color.data import COLORS, GROUPS, ColorData, Series
from evaluate.color.groups import COMPARED, SRGB, Color, Group
from evaluate.color.localization import Localized
from evaluate.color.plots import GROUP_LOOK, WIDTH_IN, Missing, Panel, bars, dot_panels, short
from evaluate.color.scores import ALL, VEHICLES
from evaluate.report.figures import Drawing, draw
from evaluate.report.style import INK, MUTED, series_look
from schemas.color_store import ColorFrame

Item = Drawing | Missing

#: A frame → small JPEG of about that many pixels' width, None where its file cannot be read.
Picture = Callable[[ColorFrame, int], bytes | None]

_NO_BOXES: Final = "no detections on frames with boxes and both colors known"

#: Mistakes that Figure 11 shows.
_MISTAKES: Final = 9
_MISTAKE_PX: Final = 320


def localization_figure(
    found: Mapping[str, Localized], name: str, title: str, threshold: float
) -> Item:
    """Figures 10 and 15: top-1 localization of all frames beside land vehicles."""
    panels = []
    for subset in (ALL, VEHICLES):
        rows = [
            ("", detector, scores[subset.key, threshold])
            for detector, scores in found.items()
            if sum(scores[subset.key, threshold].n)
        ]
        if rows:
            panels.append(Panel.of(f"{subset.title}, IoU >= {threshold}", rows))
    return dot_panels(name, title, panels) if panels else Missing(name, title, _NO_BOXES)


def figure_10_colors(data: ColorData) -> Item:
    """One observer's accuracy by color of background and of foreground."""
    name, title = "figure-10-colors", "Figure 10, right: color as a spurious correlation"
    chosen = next((one for one in data.shown if _colors_of(data, one)), None)
    if chosen is None:
        return Missing(name, title, "no scored answers to frames with a known color")
    found = _colors_of(data, chosen)

    def paint(canvas: Figure) -> None:
        every = canvas.subplots(1, len(found), squeeze=False, sharey=True)[0]
        for (side, scores), axes in zip(found.items(), every, strict=True):
            values = {color: 100 * accuracy for color, (accuracy, _) in scores.items()}
            bars(axes, values, [_fill(Color(color)) for color in values], unit="accuracy (%)")
            axes.set_title(f"{side}, {short(chosen.name)}")
            total = sum(n for _, n in scores.values())
            mean = 100 * sum(accuracy * n for accuracy, n in scores.values()) / total
            axes.axhline(mean, color=INK, linewidth=0.9, linestyle="--")

    rows = [
        (chosen.name, side, color, n, accuracy)
        for side, scores in found.items()
        for color, (accuracy, n) in scores.items()
    ]
    columns = ("observer", "side", "color", "answers", "accuracy")
    return draw(name, title, (WIDTH_IN, 3.2), paint, columns, rows)


def figure_13(data: ColorData, side: str) -> Item:
    """Accuracy of every observer by the color of a side."""
    letter = "a" if side == "background" else "b"
    name, title = f"figure-13{letter}-{side}", f"Figure 13{letter}: accuracy by {side} color"
    found = {one.name: color_scores(data.frames, one, side) for one in data.shown}
    found = {observer: scores for observer, scores in found.items() if scores}
    if not found:
        return Missing(name, title, f"no scored answers to frames with a known {side} color")

    def paint(canvas: Figure) -> None:
        axes = canvas.subplots()
        for number, (observer, scores) in enumerate(found.items()):
            places = [COLORS.index(Color(color)) for color in scores]
            values = [100 * accuracy for accuracy, _ in scores.values()]
            axes.plot(places, values, label=short(observer), **series_look(number))
        axes.set_xticks(range(len(COLORS)), [str(color) for color in COLORS])
        axes.set_ylabel("accuracy (%)")
        axes.set_xlabel(f"{side} color")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7)

    rows = [
        (observer, color, n, accuracy)
        for observer, scores in found.items()
        for color, (accuracy, n) in scores.items()
    ]
    height_in = max(3.4, 0.2 * len(found))
    return draw(
        name,
        title,
        (WIDTH_IN, height_in),
        paint,
        ("observer", "color", "answers", "accuracy"),
        rows,
    )


def figure_11(data: ColorData, picture: Picture, attended: str = "") -> Item:
    """Hard frames that most models get wrong, those that people get right first.

    With `attended`, a model's name: of these the ones that it gets wrong. `picture` shows where it
    looks.
    """
    name, title = "figure-11-mistakes", "Figure 11: Hard frames that models get wrong"
    frames = data.frames
    hard = frames.group == GROUPS.index(Group.HARD)
    wrong = _count(data.models, lambda right: ~right, hard)
    if attended:
        title += f", and where {attended} looks"
        its = _count([one for one in data.models if one.name == attended], lambda r: ~r, hard)
        wrong = Counter({at: number for at, number in wrong.items() if its[at]})
    asked = _count(data.models, lambda right: right | ~right, hard)
    by_people = _count(data.people, lambda right: right, hard)
    # of a scene's frames the best exposed one: that nobody can see black is no news
    far = np.abs(np.nan_to_num(frames.ev_offset))
    ranked = sorted(
        wrong, key=lambda at: (-wrong[at] / asked[at], -by_people[at], far[at], -wrong[at], at)
    )
    scenes: set[int] = set()
    shown: list[tuple[int, bytes]] = []
    for at in ranked:
        if len(shown) == _MISTAKES:
            break
        scene = int(frames.scene[at])
        small = None if scene in scenes else picture(frames.rows[at], _MISTAKE_PX)
        if small is not None:
            scenes.add(scene)
            shown.append((at, small))
    if not shown:
        nobody = f"{attended} was not" if attended else "no model was"
        return Missing(name, title, f"{nobody} wrong on a Hard frame whose file is here")
    across = min(3, len(shown))
    down = math.ceil(len(shown) / across)

    def paint(canvas: Figure) -> None:
        every = canvas.subplots(down, across, squeeze=False).ravel()
        for axes in every:
            axes.axis("off")
        for axes, (at, small) in zip(every, shown, strict=False):
            axes.imshow(np.asarray(Image.open(io.BytesIO(small)).convert("RGB")))
            row = frames.rows[at]
            colors = f"{COLORS[frames.foreground[at]]} on {COLORS[frames.background[at]]}"
            axes.set_title(
                f"{short(row.category)}: {colors}\n{wrong[at]} of {asked[at]} answers wrong",
                fontsize=8,
                fontweight="normal",
            )

    rows = [
        (r.frame_id, r.scene, r.category, wrong[at], asked[at], by_people[at])
        for at, _ in shown
        for r in (frames.rows[at],)
    ]
    columns = ("frame_id", "scene", "category", "wrong", "answers", "people_right")
    return draw(name, title, (WIDTH_IN, 2.5 * down), paint, columns, rows)


def figure_14(people: Sequence[Mapping[str, Any]]) -> Item:
    """Reaction time and accuracy of people by group; a line a person, bars their mean."""
    name, title = "figure-14-people", "Figure 14: reaction time of people"
    if not people:
        return Missing(name, title, "no answers of people with a reaction time and known colors")
    keys = [group.lower() for group in COMPARED]

    def paint(canvas: Figure) -> None:
        left, right = canvas.subplots(1, 2)
        for axes, what, unit, scale in (
            (left, "mean_s", "reaction time (s)", 1.0),
            (right, "accuracy", "accuracy (%)", 100.0),
        ):
            columns = {key: [scale * float(row[f"{key}_{what}"]) for row in people] for key in keys}
            means = {
                str(group): _mean(columns[key]) for group, key in zip(COMPARED, keys, strict=True)
            }
            bars(axes, means, [GROUP_LOOK[group]["color"] for group in COMPARED], unit=unit)
            for number in range(len(people)):
                line = [columns[key][number] for key in keys]
                axes.plot(line, color=MUTED, linewidth=0.8, marker=".", alpha=0.7)

    columns = ("observer", *(f"{key}_{what}" for key in keys for what in ("mean_s", "accuracy")))
    rows = [tuple(row[column] for column in columns) for row in people]
    return draw(name, title, (WIDTH_IN, 3.2), paint, columns, rows)


def _colors_of(data: ColorData, series: Series) -> dict[str, dict[str, tuple[float, int]]]:
    found = {side: color_scores(data.frames, series, side) for side in ("background", "foreground")}
    return {side: scores for side, scores in found.items() if scores}


def _count(
    observers: Sequence[Series],
    chosen: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    frames: np.ndarray[Any, Any],
) -> Counter[int]:
    """Answers of a kind to some frames as they are, by position of the frame."""
    found: Counter[int] = Counter()
    for one in observers:
        seen = one.original
        if seen is not None:
            found.update(seen.frames[chosen(seen.right) & frames[seen.frames]].tolist())
    return found


def _fill(color: Color) -> str:
    red, green, blue = SRGB.get(color, (0xE4, 0xE6, 0xEA))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
