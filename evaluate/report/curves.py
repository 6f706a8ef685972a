"""One measure of one observer over EV offsets: what lines, boxes and bars are drawn from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluate.metrics.accuracy import accuracy
from evaluate.metrics.arrays import BoolArray, FloatArray
from evaluate.metrics.bootstrap import Interval, mean_interval
from evaluate.metrics.macro import macro_means
from evaluate.metrics.sensitivity import Sensitivity, sensitivity
from evaluate.report.observed import Observed
from evaluate.report.who import Who, who_is
from evaluate.scores import QUESTIONS
from schemas.answer_store import CLASSIFICATION

TOP1, TOP5, SOFT, HARD, LENGTH, UNFAITHFUL = "top1", "top5", "soft", "hard", "length", "unfaithful"


@dataclass(frozen=True)
class Point:
    """A measure at one EV offset, over `n` frames or answers, with its 95 % interval."""

    ev_offset: int
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SetsAt:
    """Parameter sensitivity at one EV offset."""

    ev_offset: int
    found: Sensitivity


@dataclass(frozen=True)
class Curve:
    """A measure by EV offset.

    Attributes
    ----------
    measure : str
        E.g. ``top1``, ``hard``, ``hard_q1``, ``length``, ``olrp_fn``.
    overall : Interval
        Over all frames, those without an EV offset included.
    points : tuple of Point
        By EV offset, ascending.
    sensitivity : Sensitivity or None
        None for measures that are no score of one frame.
    sensitivity_at : tuple of SetsAt
        The same by EV offset.
    """

    who: Who
    measure: str
    overall: Interval
    points: tuple[Point, ...]
    sensitivity: Sensitivity | None = None
    sensitivity_at: tuple[SetsAt, ...] = ()

    @property
    def peak(self) -> Point | None:
        """The point of the highest value."""
        known = [point for point in self.points if not math.isnan(point.value)]
        return max(known, key=lambda point: point.value, default=None)

    def well_exposed(self, low: int = -2, high: int = 2) -> float:
        """Mean over the frames at EV offsets from `low` to `high`; NaN without any."""
        inside = [p for p in self.points if low <= p.ev_offset <= high]
        total = sum(point.n for point in inside)
        return sum(p.value * p.n for p in inside) / total if total else math.nan


def answer_curves(observed: Observed) -> Iterator[Curve]:
    """All curves of an observer's classifications and answers to questions."""
    who = who_is(observed.name, observed.kind)
    frames = observed.evaluated()
    tasks = frames.of("task").astype(str)
    labels = frames.where(tasks == CLASSIFICATION)
    if len(labels):
        yield _share(who, TOP1, labels, labels.place == 1)
        yield _share(who, TOP5, labels, labels.place <= 5)
    asked = frames.where(np.isin(tasks, QUESTIONS))
    if not len(asked):
        return
    for question in QUESTIONS:
        some = asked.task_of(question)
        if len(some):
            yield _share(who, f"{SOFT}_{question}", some, some.soft == 1)
            yield _share(who, f"{HARD}_{question}", some, some.hard == 1)
            yield _mean(who, f"{LENGTH}_{question}", some, some.length.astype(np.float64))
    unfaithful = np.array(["faithfulness" in kind for kind in asked.error_kind], np.float64)
    for measure, values in (
        (SOFT, (asked.soft == 1).astype(np.float64)),
        (HARD, (asked.hard == 1).astype(np.float64)),
        (LENGTH, asked.length.astype(np.float64)),
        (UNFAITHFUL, unfaithful),
    ):
        yield _macro(who, measure, asked, values)


def sensitivity_by_offset(
    scores: FloatArray, scenes: FloatArray, offsets: FloatArray, scale: float = 1.0
) -> tuple[SetsAt, ...]:
    """Parameter sensitivity of the sets of each EV offset."""
    found = []
    for offset in np.unique(offsets[~np.isnan(offsets)]).tolist():
        here = offsets == offset
        found.append(
            SetsAt(int(offset), sensitivity(scores[here], scenes[here], offsets[here], scale))
        )
    return tuple(found)


def _share(who: Who, measure: str, some: Observed, right: BoolArray) -> Curve:
    """Share of right answers, no answer as a wrong one."""
    clusters, scenes = some.clusters, some.of("scene").astype(str)
    offsets = some.of("ev_offset")
    points = []
    for offset in np.unique(offsets[~np.isnan(offsets)]).tolist():
        here = offsets == offset
        share = accuracy(right[here], clusters[here])
        points.append(Point(int(offset), share.n, share.value, share.low, share.high))
    scores = right.astype(np.float64)
    return Curve(
        who,
        measure,
        accuracy(right, clusters),
        tuple(points),
        sensitivity(scores, scenes, offsets),
        sensitivity_by_offset(scores, scenes, offsets),
    )


def _mean(who: Who, measure: str, some: Observed, values: FloatArray) -> Curve:
    clusters, offsets = some.clusters, some.of("ev_offset")
    points = []
    for offset in np.unique(offsets[~np.isnan(offsets)]).tolist():
        here = offsets == offset
        found = mean_interval(values[here], clusters[here])
        points.append(Point(int(offset), found.n, found.value, found.low, found.high))
    return Curve(who, measure, mean_interval(values, clusters), tuple(points))


def _macro(who: Who, measure: str, some: Observed, values: FloatArray) -> Curve:
    """Mean over the questions' means: each question counts the same."""
    offsets = some.of("ev_offset")
    known, place = np.unique(offsets[~np.isnan(offsets)], return_inverse=True)
    conditions = np.full(len(offsets), -1)
    conditions[~np.isnan(offsets)] = place
    means = macro_means(values, some.clusters, some.of("task").astype(str), conditions)
    points = tuple(
        Point(int(offset), int(n), value, low, high)
        for offset, n, value, low, high in zip(
            known.tolist(),
            means.n.tolist(),
            means.values.tolist(),
            means.low.tolist(),
            means.high.tolist(),
            strict=True,
        )
    )
    return Curve(who, measure, means.overall, points)
