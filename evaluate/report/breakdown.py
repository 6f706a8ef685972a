"""An observer's scores by every condition of the frames: one table a condition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluate.metrics.accuracy import accuracy
from evaluate.metrics.arrays import BoolArray
from evaluate.metrics.bootstrap import (
    MIN_CLUSTERS,
    Interval,
    group_mean_intervals,
    interval,
)
from evaluate.metrics.groups import OVER, UNDER, WELL, Groups, exposure_range, group_by
from evaluate.metrics.macro import macro_means
from evaluate.report.observed import Column, Observed
from evaluate.report.style import signed
from evaluate.scores import VQA
from schemas.answer_store import CLASSIFICATION
from schemas.exposure import spell_f_number, spell_shutter

#: Conditions in the order of the page: column, and title.
CONDITIONS = {
    "exposure": "Exposure range",
    "ev_offset": "EV offset (stops)",
    "lighting": "Lighting",
    "category": "Category",
    "count": "Objects in the scene",
    "shutter_s": "Shutter speed (s)",
    "iso": "ISO",
    "f_number": "F-number",
}

_RANGES = {
    UNDER: "under-exposed (EV offset below \N{MINUS SIGN}2)",
    WELL: "well-exposed (\N{MINUS SIGN}2 to +2)",
    OVER: "over-exposed (above +2)",
}
_ORDER = {UNDER: 0, WELL: 1, OVER: 2}


@dataclass(frozen=True)
class Line:
    """Scores of the frames of one condition, in the order of the table's measures."""

    label: str
    n: int
    scores: tuple[Interval, ...]


@dataclass(frozen=True)
class Table:
    """Scores by one condition."""

    title: str
    measures: tuple[str, ...]
    lines: tuple[Line, ...]


#: From groups of rows to the scores of each group, all of the same resamples.
Scores = Callable[[Groups], list[tuple[Interval, ...]]]

#: All rows in one group.
WHOLE = "all"


def condition_columns(frames: Observed) -> dict[str, npt.NDArray[np.generic]]:
    """Columns of `CONDITIONS` of each answer's frame."""
    offsets = frames.of("ev_offset")
    ranges = np.where(np.isnan(offsets), None, exposure_range(offsets))  # type: ignore[call-overload]  # objects
    return {"exposure": ranges} | {
        name: frames.of(name) for name in CONDITIONS if name != "exposure"
    }


def tables(
    columns: Mapping[str, npt.NDArray[np.generic]], measures: tuple[str, ...], scores: Scores
) -> Iterator[Table]:
    """A table for each condition that is given and varies."""
    for name, title in CONDITIONS.items():
        if name not in columns:
            continue
        groups = group_by(columns, [name])
        if not groups.labels or (len(groups.labels) < 2 and name not in ("ev_offset", "lighting")):
            continue
        sizes = np.bincount(groups.index[groups.index >= 0])
        found = list(zip(groups.labels, sizes.tolist(), scores(groups), strict=True))
        if name == "exposure":
            found.sort(key=lambda item: _ORDER[str(item[0])])
        lines = tuple(Line(spell_condition(name, label), n, some) for label, n, some in found)
        yield Table(title, measures, lines)


def overall(n: int, scores: Scores) -> tuple[Interval, ...]:
    """Scores of all rows."""
    return scores(group_by({WHOLE: np.zeros(n, np.int64)}, [WHOLE]))[0]


_SPELLED: dict[str, Callable[[Any], str]] = {
    "exposure": lambda value: _RANGES[value],
    "ev_offset": signed,
    "shutter_s": spell_shutter,
    "f_number": lambda value: f"f/{spell_f_number(value)}",
    "iso": lambda value: f"{value:g}",
    "count": lambda value: f"{value:g}",
    "category": lambda value: value.replace("_", " "),
}


def spell_condition(name: str, value: object) -> str:
    """A condition as its row is labeled."""
    return _SPELLED.get(name, str)(value)


def task_scores(frames: Observed, family: str) -> tuple[tuple[str, ...], Scores]:
    """The measures of a family of tasks, and how they come from groups of its answers."""
    if family == VQA:
        return _question_scores(frames)
    if family == CLASSIFICATION:
        names: tuple[str, ...] = ("top-1", "top-5")
        rights = [frames.place == 1, frames.place <= 5]
    else:
        names, rights = ("accuracy",), [frames.soft == 1]
    clusters = frames.clusters

    def scores(groups: Groups) -> list[tuple[Interval, ...]]:
        return list(zip(*(_shares(right, clusters, groups) for right in rights), strict=True))

    return names, scores


def _question_scores(asked: Observed) -> tuple[tuple[str, ...], Scores]:
    """Mean soft and hard accuracy over the questions, then hard accuracy of each question."""
    clusters, tasks = asked.clusters, asked.of("task")
    soft, hard = asked.soft == 1, asked.hard == 1
    known = tuple(np.unique(tasks).tolist())

    def scores(groups: Groups) -> list[tuple[Interval, ...]]:
        columns = [_macro(right, clusters, tasks, groups) for right in (soft, hard)]
        for task in known:
            index = np.where(tasks == task, groups.index, -1)
            columns.append(_shares(hard, clusters, replace(groups, index=index)))
        return list(zip(*columns, strict=True))

    return ("soft", "hard", *(f"{task.upper()} hard" for task in known)), scores


def _shares(right: BoolArray, clusters: Column, groups: Groups) -> list[Interval]:
    """Share of right answers of each group; Wilson's interval where there are few clusters."""
    means, low, high, _ = group_mean_intervals(right, clusters, groups)
    found = []
    for place, rows in enumerate(groups.rows()):
        if len(np.unique(clusters[rows])) < MIN_CLUSTERS or math.isnan(low[place]):
            found.append(accuracy(right[rows], clusters[rows]))
        else:
            ends = float(low[place]), float(high[place])
            found.append(interval(float(means[place]), *ends, len(rows)))
    return found


def _macro(right: BoolArray, clusters: Column, tasks: Column, groups: Groups) -> list[Interval]:
    """Mean over the questions of each group; no interval where there are few clusters."""
    means = macro_means(right, clusters, tasks, groups.index)
    found = []
    for place, rows in enumerate(groups.rows()):
        few = len(np.unique(clusters[rows])) < MIN_CLUSTERS
        ends = (math.nan, math.nan) if few else (float(means.low[place]), float(means.high[place]))
        found.append(interval(float(means.values[place]), *ends, len(rows)))
    return found
