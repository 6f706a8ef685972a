"""How alike observers err: Cohen's kappa of right and wrong on the stimuli that both answered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluate.metrics.agreement import (
    ErrorConsistency,
    error_consistency,
    error_consistency_interval,
)
from evaluate.metrics.arrays import IntArray
from evaluate.metrics.bootstrap import Interval
from evaluate.report.observed import Observed

#: Stimuli that two observers must share for their likeness to be ranked.
FEWEST_SHARED = 50


@dataclass(frozen=True)
class Relation:
    """Error consistency with another observer in one task; `interval` resamples scenes."""

    other: str
    task: str
    found: ErrorConsistency
    interval: Interval


@dataclass(frozen=True)
class Relations:
    """Of one observer: with the people, and with the observers that are most and least alike.

    Attributes
    ----------
    people, most, least : tuple of Relation
        One a task; empty where there is none to compare with.
    mean_kappa : tuple of (str, float)
        Mean over the tasks with every other observer, falling; those undefined are left out.
    """

    people: tuple[Relation, ...]
    most: tuple[Relation, ...]
    least: tuple[Relation, ...]
    mean_kappa: tuple[tuple[str, float], ...]


def shared_pairs(first: Observed, second: Observed) -> tuple[IntArray, IntArray]:
    """Rows of two observers that are answers to the same stimuli.

    Of pooled people each person's answer makes a pair with the model's. Two pools of people give
    none: which answers belong together is not known.
    """
    if len(np.unique(first.row)) < len(first.row):
        if len(np.unique(second.row)) < len(second.row):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        others, rows = shared_pairs(second, first)
        return rows, others
    order = np.argsort(first.row, kind="stable")
    known = first.row[order]
    if not len(known):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    place = np.searchsorted(known, second.row).clip(max=len(known) - 1)
    there = np.flatnonzero(known[place] == second.row)
    return order[place[there]], there


def relate(observed: Observed, others: Sequence[Observed]) -> Relations:
    """Error consistency of an observer with all others in the catalog.

    Right and wrong are those of `soft`, no answer is wrong, on the frames that every evaluation
    uses. Likeness is the mean kappa over the tasks that both answered.
    """
    own = observed.evaluated()
    kappas: dict[str, float] = {}
    for other in others:
        if other.name == observed.name and other.kind == observed.kind:
            continue
        found = [one.kappa for _, one in _consistencies(own, other) if one.n >= FEWEST_SHARED]
        known = [kappa for kappa in found if not math.isnan(kappa)]
        if known:
            kappas[other.name] = float(np.mean(known))
    ranked = sorted(kappas, key=lambda name: (-kappas[name], name))
    by_name = {other.name: other for other in others}
    models = [name for name in ranked if by_name[name].kind == "model"]
    people = [name for name in ranked if by_name[name].kind == "person"]
    return Relations(
        people=tuple(one for name in people for one in _relations(own, by_name[name])),
        most=_relations(own, by_name[models[0]]) if models else (),
        least=_relations(own, by_name[models[-1]]) if len(models) > 1 else (),
        mean_kappa=tuple((name, kappas[name]) for name in ranked),
    )


def _consistencies(own: Observed, other: Observed) -> list[tuple[str, ErrorConsistency]]:
    evaluated = other.evaluated()
    found = []
    for task in own.tasks:
        if task in evaluated.tasks:
            first, second = own.task_of(task), evaluated.task_of(task)
            rows, others = shared_pairs(first, second)
            if len(rows):
                consistency = error_consistency(first.soft[rows] == 1, second.soft[others] == 1)
                found.append((task, consistency))
    return found


def _relations(own: Observed, other: Observed) -> tuple[Relation, ...]:
    found = []
    evaluated = other.evaluated()
    for task, consistency in _consistencies(own, other):
        first, second = own.task_of(task), evaluated.task_of(task)
        rows, others = shared_pairs(first, second)
        interval = error_consistency_interval(
            first.soft[rows] == 1, second.soft[others] == 1, first.of("scene_number")[rows]
        )
        found.append(Relation(other.name, task, consistency, interval))
    return tuple(found)
