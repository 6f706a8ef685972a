"""Answers and colors of a catalog as arrays, read once for all analyses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from evaluate.color.families import Lineage, lineage
from evaluate.color.groups import Color, Group
from evaluate.color.labels import Colors, best_labels
from evaluate.color.vehicles import vehicle_categories
from evaluate.question_judges import QUESTIONS, UNSCORABLE
from evaluate.scoring import PAPER
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import CHOICE, CLASSIFICATION, ORIGINAL, list_observers
from schemas.catalog import Catalog
from schemas.color_store import (
    FRAME,
    ColorAnswer,
    ColorFrame,
    ColorLabel,
    list_color_answers,
    list_color_frames,
    list_color_labels,
)
from schemas.records import Observer

GROUPS: Final = tuple(Group)
COLORS: Final = tuple(Color)
UNKNOWN: Final = -1

VQA: Final = "vqa"

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ColorFrames:
    """Frames as columns; position `i` of each array is frame `rows[i]`.

    Attributes
    ----------
    group, apparent : array of int
        Position in `GROUPS`, of the object's own colors and of those as they appear; `UNKNOWN`
        without a label.
    foreground, background : array of int
        Position in `COLORS`, or `UNKNOWN`.
    ev_offset : array of float
        NaN where it is unknown.
    vehicle : array of bool
        The scene's category is one of the land vehicles of ImageNet.
    luma, luma_difference : array of float
        Mean, and how far the means of object and background lie apart as they appear; 0 to 1, NaN
        where unknown.
    scene : array of int
    """

    rows: tuple[ColorFrame, ...]
    group: Ints
    apparent: Ints
    foreground: Ints
    background: Ints
    ev_offset: Floats
    vehicle: Bools
    luma: Floats
    luma_difference: Floats
    scene: Ints
    kinds: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """Answers to frames under one view: `frames` are positions in `ColorFrames`.

    `latency_s` is NaN where nobody measured it.
    """

    frames: Ints
    right: Bools
    latency_s: Floats

    @classmethod
    def joined(cls, parts: Sequence[Seen]) -> Seen:
        """All answers of several in one."""
        return cls(
            np.concatenate([part.frames for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.latency_s for part in parts]),
        )


@dataclass(frozen=True)
class Series:
    """One observer's answers to one kind of task, by view; or those of a group of people."""

    name: str
    kind: str
    task: str
    lineage: Lineage
    views: Mapping[str, Seen]

    @property
    def original(self) -> Seen | None:
        """Answers to frames as they are."""
        return self.views.get(ORIGINAL)


@dataclass(frozen=True)
class ColorData:
    """What the analyses are made of.

    Attributes
    ----------
    models : tuple of Series
    people : tuple of Series
        One by one.
    pooled : tuple of Series
        People of each data set together.
    observers : tuple of Observer
        Models, for what they detected.
    """

    frames: ColorFrames
    models: tuple[Series, ...]
    people: tuple[Series, ...]
    pooled: tuple[Series, ...]
    observers: tuple[Observer, ...]

    @property
    def shown(self) -> tuple[Series, ...]:
        """What tables and figures list: models, then people together."""
        return self.models + self.pooled


def gather(catalog: Catalog, vocabulary: Vocabulary) -> ColorData:
    """Read a catalog whose responses are scored."""
    rows = list_color_frames(catalog)
    labels = list_color_labels(catalog)
    own, apparent = best_labels(rows, labels), best_labels(rows, labels, apparent=True)
    vehicles = vehicle_categories(vocabulary, {row.category for row in rows})
    frames = arrays(rows, own, apparent, vehicles, _luma_differences(labels))
    positions = {row.frame_id: number for number, row in enumerate(rows)}
    models: list[Series] = []
    people: dict[str, list[Series]] = defaultdict(list)
    observers = list_observers(catalog)
    for observer in observers:
        if observer.id is None:
            raise ValueError(f"observer {observer.name} comes from no catalog")
        answers = list_color_answers(catalog, observer.id, PAPER)
        found = series_of(observer, answers, positions)
        if observer.kind == "model":
            models += found
        else:
            people[str(observer.spec.get("dataset", ""))] += found
    return ColorData(
        frames,
        tuple(models),
        tuple(one for members in people.values() for one in members),
        tuple(one for dataset, members in people.items() for one in _pool(dataset, members)),
        tuple(observer for observer in observers if observer.kind == "model"),
    )


def arrays(
    rows: Sequence[ColorFrame],
    own: Mapping[int, Colors],
    apparent: Mapping[int, Colors],
    vehicles: frozenset[str],
    differences: Mapping[int, float],
) -> ColorFrames:
    """Columns of frames and the labels that count for them; `differences` of luma by frame id."""
    scenes = {scene: number for number, scene in enumerate(dict.fromkeys(r.scene_id for r in rows))}
    nothing = Colors(None, None, "")
    best = [own.get(row.frame_id, nothing) for row in rows]
    seen = [apparent.get(row.frame_id, nothing) for row in rows]
    kinds: dict[str, int] = defaultdict(int)
    for one in best:
        if one.group is not None:
            kinds[one.kind] += 1
    return ColorFrames(
        tuple(rows),
        _codes([one.group for one in best], GROUPS),
        _codes([one.group for one in seen], GROUPS),
        _codes([one.foreground for one in best], COLORS),
        _codes([one.background for one in best], COLORS),
        np.array([math.nan if r.ev_offset is None else r.ev_offset for r in rows], np.float64),
        np.array([row.category in vehicles for row in rows], np.bool_),
        np.array(
            [math.nan if r.mean_luma is None else r.mean_luma / 255 for r in rows], np.float64
        ),
        np.array([differences.get(row.frame_id, math.nan) for row in rows], np.float64),
        np.array([scenes[row.scene_id] for row in rows], np.int64),
        dict(kinds),
    )


def _luma_differences(labels: Iterable[ColorLabel]) -> dict[int, float]:
    """How far object and background lie apart in measured frames, 0 to 1, by frame id."""
    return {
        one.frame_id: abs(one.foreground_luma - one.background_luma) / 255
        for one in labels
        if one.scope == FRAME
        and one.foreground_luma is not None
        and one.background_luma is not None
    }


def series_of(
    observer: Observer, answers: Iterable[ColorAnswer], positions: Mapping[int, int]
) -> list[Series]:
    """An observer's answers by kind of task and view.

    As in `snaprig evaluate score`: what cannot be scored is left out; a missing answer of a
    classifier is no answer, one to a question or choice is a wrong one.
    """
    found: dict[str, dict[str, list[tuple[int, bool, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in answers:
        position = positions.get(one.frame_id)
        unanswered = one.soft is None and one.task == CLASSIFICATION
        if position is None or unanswered or one.error_kind == UNSCORABLE:
            continue
        latency_s = math.nan if one.latency_s is None else one.latency_s
        found[_family(one.task)][one.view].append((position, bool(one.soft), latency_s))
    about = lineage(observer)
    several = len(found) > 1
    return [
        Series(
            f"{observer.name} ({task})" if several else observer.name,
            observer.kind,
            task,
            about,
            {view: _seen(rows) for view, rows in sorted(views.items())},
        )
        for task, views in sorted(found.items())
    ]


def _family(task: str) -> str:
    return VQA if task in QUESTIONS and task != CHOICE else task


def _seen(rows: Sequence[tuple[int, bool, float]]) -> Seen:
    frames, right, latency_s = zip(*rows, strict=True)
    return Seen(
        np.array(frames, np.int64), np.array(right, np.bool_), np.array(latency_s, np.float64)
    )


def _pool(dataset: str, members: Sequence[Series]) -> list[Series]:
    """People of one data set together, by kind of task."""
    found = []
    for task in sorted({one.task for one in members}):
        some = [one for one in members if one.task == task]
        views = sorted({view for one in some for view in one.views})
        name = f"people of {dataset}" if dataset else "people"
        found.append(
            Series(
                f"{name} ({task})" if len({one.task for one in members}) > 1 else name,
                "person",
                task,
                Lineage("people", "", name, None),
                {v: Seen.joined([o.views[v] for o in some if v in o.views]) for v in views},
            )
        )
    return found


def _codes(values: Sequence[Group | None] | Sequence[Color | None], names: Sequence[str]) -> Ints:
    places = {name: number for number, name in enumerate(names)}
    return np.array([UNKNOWN if one is None else places[one] for one in values], np.int64)
