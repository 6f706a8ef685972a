"""All verdicts of an observer as columns with the conditions of their frames.

What pages of observers, comparisons and disagreements are made of. People are pooled: one entry
for all of a data set, resampled by person, as in `evaluate.scores`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import BoolArray, FloatArray, IntArray
from evaluate.question_judges import UNSCORABLE
from evaluate.scores import EVALUATED_OFFSETS, QUESTIONS, VQA
from evaluate.scoring import RELEASE
from schemas.answer_store import CLASSIFICATION, list_observers
from schemas.catalog import Catalog
from schemas.records import Observer
from schemas.report_store import Asked, load_asked, load_verdicts
from schemas.said_store import Said, load_said, load_settings

Column = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of every stimulus, and settings of its frame; arrays of shape (n,)."""

    asked: Asked
    shutter_s: FloatArray
    iso: FloatArray
    f_number: FloatArray

    @cached_property
    def _texts(self) -> dict[str, Column]:
        """Columns of words as fixed-width arrays: far faster to compare and to sort."""
        names = ("task", "scene", "category", "lighting", "frame_kind")
        return {name: getattr(self.asked, name).astype(str) for name in names}

    def column(self, name: str) -> Column:
        """A column of `Asked`, or a setting, by name."""
        if name in self._texts:
            return self._texts[name]
        return np.asarray(getattr(self.asked if hasattr(self.asked, name) else self, name))

    @cached_property
    def _tasks(self) -> tuple[Column, IntArray]:
        """Names of the tasks, and the number of each stimulus's."""
        names, number = np.unique(self.column("task"), return_inverse=True)
        return names, number

    def tasks_of(self, row: Column) -> tuple[str, ...]:
        """Tasks of some stimuli."""
        names, number = self._tasks
        return tuple(names[np.flatnonzero(np.bincount(number[row], minlength=1))].tolist())

    def is_task(self, row: Column, tasks: Collection[str]) -> BoolArray:
        """Which stimuli belong to some tasks."""
        names, number = self._tasks
        return np.asarray(np.isin(names, list(tasks))[number[row]], bool)

    @cached_property
    def scene_number(self) -> IntArray:
        """A number for each scene: names are slow to sort."""
        return np.unique(self.column("scene"), return_inverse=True)[1]

    @cached_property
    def evaluated(self) -> BoolArray:
        """Frames that count: of a sweep; of imported ones the offsets that evaluations use."""
        kind, offset = self.column("frame_kind"), self.asked.ev_offset
        low, high = EVALUATED_OFFSETS[0], EVALUATED_OFFSETS[-1]
        inside = ~self.asked.imported | ((offset >= low) & (offset <= high))
        return np.asarray((kind == "picture") | ((kind == "manual") & inside), bool)


@dataclass(frozen=True, eq=False)
class Observed:
    """Verdicts of one observer, or of the people of one data set; arrays of shape (n,).

    Attributes
    ----------
    members : tuple of Observer
        One model, or all persons.
    row : array of int
        Place of each answer's stimulus in the conditions.
    soft, hard : array of float
        1, 0, or NaN where there is no answer.
    place : array of float
        Of the first accepted label, NaN for none.
    length : array of int
        Characters of the answer as given.
    person : array of int
        Who gave the answer: the observer's id.
    index : array of int
        Place of each answer among those loaded: its row in what `load_words` gives.
    """

    name: str
    kind: str
    members: tuple[Observer, ...]
    protocol: str
    conditions: Conditions
    row: Column
    soft: FloatArray
    hard: FloatArray
    error_kind: Column
    place: FloatArray
    length: Column
    person: Column
    index: Column

    def __len__(self) -> int:
        return len(self.row)

    @property
    def released(self) -> bool:
        """Whether the answers were imported from the SNAP release."""
        return bool(self.members) and self.members[0].spec.get("source") == "SNAP release"

    def where(self, chosen: BoolArray | IntArray) -> Observed:
        """The answers chosen by a mask, shape (n,), or by their places, in that order."""
        columns = ("row", "soft", "hard", "error_kind", "place", "length", "person", "index")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    def of(self, name: str) -> Column:
        """A condition of each answer's frame: a column of `Asked`, or a setting."""
        return np.asarray(self.conditions.column(name)[self.row])

    def task_of(self, *tasks: str) -> Observed:
        """The answers to some tasks."""
        return self.where(self.conditions.is_task(self.row, tasks))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that were answered, Q1 to Q4 as they are."""
        return self.conditions.tasks_of(self.row)

    @property
    def clusters(self) -> Column:
        """What is resampled: persons, or scenes (as numbers)."""
        return self.person if len(self.members) > 1 else self.of("scene_number")

    def counted(self) -> Observed:
        """The answers that accuracies are made of, as `evaluate score` counts them.

        Classification without those that cannot be scored, under `release` on all frames;
        questions where the truth is known, no answer as a wrong one; choices all.
        """
        return self._counted

    def evaluated(self) -> Observed:
        """Of `counted` those on frames that every evaluation uses."""
        return self._evaluated

    @cached_property
    def _counted(self) -> Observed:
        labels = self.conditions.is_task(self.row, [CLASSIFICATION])
        asked = self.conditions.is_task(self.row, QUESTIONS)
        evaluated = self.conditions.evaluated[self.row]
        of_labels = ~np.isnan(self.soft) & (evaluated | (self.protocol == RELEASE))
        of_questions = evaluated & (self.error_kind != UNSCORABLE)
        return self.where(np.where(labels, of_labels, ~asked | of_questions).astype(bool))

    @cached_property
    def _evaluated(self) -> Observed:
        found = self._counted
        return found.where(found.conditions.evaluated[found.row])


def load_conditions(catalog: Catalog) -> Conditions:
    """Conditions and settings of every stimulus."""
    asked = load_asked(catalog)
    settings = load_settings(catalog)
    ids = np.array([one.frame_id for one in settings], np.int64)
    table = np.array([one[1:4] for one in settings], np.float64).reshape(len(settings), 3)
    if not len(ids):
        return Conditions(asked, *(np.full(len(asked.id), np.nan) for _ in range(3)))
    place = np.searchsorted(ids, asked.frame_id).clip(max=len(ids) - 1)
    found = np.where((ids[place] == asked.frame_id)[:, None], table[place], np.nan)
    return Conditions(asked, *(np.ascontiguousarray(column) for column in found.T))


def load_observed(catalog: Catalog, protocol: str, conditions: Conditions) -> Iterator[Observed]:
    """Each model, then the people of each data set, that have verdicts; in the order they came."""
    people: dict[str, list[Observer]] = {}
    for observer in list_observers(catalog):
        if observer.kind == "person":
            people.setdefault(str(observer.spec.get("dataset", "")), []).append(observer)
            continue
        found = _load(catalog, observer.name, (observer,), protocol, conditions)
        if len(found):
            yield found
    for dataset, members in people.items():
        name = f"people of {dataset}" if dataset else "people"
        found = _load(catalog, name, tuple(members), protocol, conditions)
        if len(found):
            yield found


def load_words(catalog: Catalog, observed: Observed) -> list[Said]:
    """What was said, an entry for each row of an `Observed` as it was loaded."""
    return [
        said
        for member in observed.members
        if member.id is not None
        for said in load_said(catalog, member.id, observed.protocol)
    ]


def share_of(values: FloatArray) -> float:
    """Share of right answers, no answer as a wrong one; NaN without answers."""
    return float(np.nansum(values) / len(values)) if len(values) else float("nan")


def task_family(task: str) -> str:
    """Q1 to Q4 are one family, ``vqa``."""
    return VQA if task in QUESTIONS else task


def _load(
    catalog: Catalog,
    name: str,
    members: tuple[Observer, ...],
    protocol: str,
    conditions: Conditions,
) -> Observed:
    parts = [
        (one.id, load_verdicts(catalog, one.id, protocol, conditions.asked))
        for one in members
        if one.id is not None
    ]
    columns = {
        column: np.concatenate([getattr(found, column) for _, found in parts])
        for column in ("row", "soft", "hard", "error_kind", "place", "length")
    }
    person = np.concatenate([np.full(len(found.row), key) for key, found in parts])
    return Observed(
        name,
        members[0].kind,
        members,
        protocol,
        conditions,
        person=person,
        index=np.arange(len(person)),
        **columns,
    )
