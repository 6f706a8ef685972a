"""Frames that observers disagree about most, with what each of them said.

Three kinds: the observers split evenly; people are right where models are wrong; the other way
round. Ties are broken by the number of observers, by whether the picture is here, then by scene
and frame, so that the choice is the same every time. A scene is shown once in each list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluate.metrics.arrays import BoolArray, FloatArray, IntArray, ratio
from evaluate.question_judges import NO_ANSWER, UNSCORABLE, UNSURE
from evaluate.report.observed import Conditions, Observed
from evaluate.report.observer_facts import label_of, spoken
from schemas.answer_store import CHOICE, CLASSIFICATION
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.said_store import FrameSetting, Given, Said, load_given, load_settings

#: Frames of each list.
MOST = 6

SPLIT, PEOPLE_RIGHT, MODELS_RIGHT = "split", "people right", "models right"

#: Columns of the table of all answers shown.
COLUMNS = (
    "kind", "task", "scene", "category", "objects", "lighting", "ev_offset", "shutter_s", "iso",
    "f_number", "path", "models_right", "models", "people_right", "people", "observer",
    "observer_kind", "answer", "right",
)  # fmt: skip

_TASKS = (CLASSIFICATION, "q1", "q2", "q3", "q4", CHOICE)

_UNSAID = {NO_ANSWER: "no answer", UNSURE: "not readable", UNSCORABLE: "not scored"}


@dataclass(frozen=True)
class GivenAnswer:
    """What one observer said of a frame; `right` is None where there is no answer."""

    observer: str
    kind: str
    said: str
    right: bool | None


@dataclass(frozen=True)
class Disputed:
    """A frame with the answers to one task.

    Attributes
    ----------
    path : str
        Of its file in the workspace, empty if it is not here: `Thumbnail` takes the whole.
    exposure : Exposure or None
        None for pictures without known settings.
    """

    kind: str
    task: str
    scene: str
    category: str
    objects: int
    lighting: str
    ev_offset: int | None
    exposure: Exposure | None
    path: str
    models_right: int
    models: int
    people_right: int
    people: int
    answers: tuple[GivenAnswer, ...]

    @property
    def truth(self) -> str:
        """What the right answer is."""
        return str(self.objects) if self.task in ("q2", "q4") else self.category.replace("_", " ")

    def rows(self) -> list[dict[str, Any]]:
        """A row an answer, keys `COLUMNS`."""
        shared = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        for name in ("shutter_s", "iso", "f_number"):
            shared[name] = getattr(self.exposure, name, None)
        return [
            {
                **shared,
                "observer": one.observer,
                "observer_kind": one.kind,
                "answer": one.said,
                "right": None if one.right is None else int(one.right),
            }
            for one in self.answers
        ]


@dataclass(frozen=True)
class Dispute:
    """One list: a kind of disagreement in one task, the strongest first."""

    kind: str
    task: str
    frames: tuple[Disputed, ...]


@dataclass(frozen=True, eq=False)
class _Votes:
    """Right and all answers to each stimulus, arrays of shape (n_stimuli,)."""

    models_right: IntArray
    models: IntArray
    people_right: IntArray
    people: IntArray

    @property
    def models_share(self) -> FloatArray:
        return ratio(self.models_right, self.models)

    @property
    def people_share(self) -> FloatArray:
        return ratio(self.people_right, self.people)

    @property
    def observers(self) -> IntArray:
        """Models, and the people as one."""
        return self.models + (self.people > 0)

    @property
    def share(self) -> FloatArray:
        """Share of observers that are right, the people being one observer."""
        return ratio(self.models_right + np.nan_to_num(self.people_share), self.observers)


def find_disputes(
    catalog: Catalog, observers: Sequence[Observed], conditions: Conditions, most: int = MOST
) -> list[Dispute]:
    """The frames that observers disagree about most, by task and kind of disagreement.

    Parameters
    ----------
    observers : sequence of Observed
        All of one protocol. No answer is a wrong one.
    most : int
        Frames of each list.
    """
    if not observers:
        return []
    settings = {one.frame_id: one for one in load_settings(catalog)}
    pictured = [one.frame_id for one in settings.values() if one.path]
    here = np.isin(conditions.asked.frame_id, pictured)
    counted = [one.evaluated() for one in observers]
    known = {
        member.id: (label_of(one.name, one.kind) if one.kind == "model" else member.name, one.kind)
        for one in observers
        for member in one.members
    }
    found = []
    for task in _TASKS:
        votes = _count([one.task_of(task) for one in counted], len(conditions.asked.id))
        for kind, strength in _STRENGTHS.items():
            places = _choose(strength(votes), votes, conditions, here, most)
            frames = tuple(
                _disputed(catalog, kind, task, place, votes, conditions, settings, known,
                          observers[0].protocol)
                for place in places
            )  # fmt: skip
            if frames:
                found.append(Dispute(kind, task, frames))
    return found


def _count(answers: Sequence[Observed], n: int) -> _Votes:
    votes = {"models": np.zeros((2, n), np.int64), "people": np.zeros((2, n), np.int64)}
    for one in answers:
        table = votes["people" if one.kind == "person" else "models"]
        table[0] += np.bincount(one.row, weights=one.soft == 1, minlength=n).astype(np.int64)
        table[1] += np.bincount(one.row, minlength=n)
    return _Votes(*votes["models"], *votes["people"])


def _split(votes: _Votes) -> FloatArray:
    """1 for as many right as wrong, 0 for all alike; NaN for fewer than two observers."""
    strength = 1 - 2 * np.abs(votes.share - 0.5)
    return np.where(votes.observers >= 2, strength, np.nan)


def _people_right(votes: _Votes) -> FloatArray:
    return np.where(votes.people_share > 0.5, votes.people_share - votes.models_share, np.nan)


def _models_right(votes: _Votes) -> FloatArray:
    return np.where(votes.models_share > 0.5, votes.models_share - votes.people_share, np.nan)


_STRENGTHS: dict[str, Callable[[_Votes], FloatArray]] = {
    SPLIT: _split,
    PEOPLE_RIGHT: _people_right,
    MODELS_RIGHT: _models_right,
}


def _choose(
    strength: FloatArray, votes: _Votes, conditions: Conditions, here: BoolArray, most: int
) -> list[int]:
    """Stimuli of the strongest disagreement, of different scenes.

    Parameters
    ----------
    here : array of bool, shape (n_stimuli,)
        Whether the frame's picture is there to be shown.
    """
    some = np.flatnonzero(strength > 0)  # NaN is not
    # equal but for rounding is equal; the last key is the first to sort by
    keys = (
        conditions.scene_number,
        ~here,
        -votes.people,
        -votes.observers,
        -np.round(strength, 9),
    )
    chosen: list[int] = []
    scenes: set[int] = set()
    for place in some[np.lexsort(tuple(key[some] for key in keys))].tolist():
        scene = int(conditions.scene_number[place])
        if scene not in scenes:
            scenes.add(scene)
            chosen.append(place)
        if len(chosen) == most:
            break
    return chosen


def _disputed(
    catalog: Catalog,
    kind: str,
    task: str,
    place: int,
    votes: _Votes,
    conditions: Conditions,
    settings: dict[int, FrameSetting],
    known: dict[int | None, tuple[str, str]],
    protocol: str,
) -> Disputed:
    asked = conditions.asked
    frame = settings.get(int(asked.frame_id[place]))
    offset = float(asked.ev_offset[place])
    given = load_given(catalog, int(asked.id[place]), protocol)
    answers = [_answer(one, *known[one.observer_id]) for one in given if one.observer_id in known]
    return Disputed(
        kind=kind,
        task=task,
        scene=str(asked.scene[place]),
        category=str(asked.category[place]),
        objects=int(asked.count[place]),
        lighting=str(asked.lighting[place]),
        ev_offset=None if np.isnan(offset) else int(offset),
        exposure=_exposure(frame),
        path="" if frame is None else frame.path,
        models_right=int(votes.models_right[place]),
        models=int(votes.models[place]),
        people_right=int(votes.people_right[place]),
        people=int(votes.people[place]),
        answers=tuple(sorted(answers, key=lambda one: (one.kind, not one.right, one.observer))),
    )


def _answer(given: Given, observer: str, kind: str) -> GivenAnswer:
    said = _UNSAID.get(given.error_kind, "") or spoken(Said(given.named, given.text, ""))
    return GivenAnswer(observer, kind, said, given.right)


def _exposure(frame: FrameSetting | None) -> Exposure | None:
    if frame is None or frame.shutter_s is None or frame.iso is None or frame.f_number is None:
        return None
    return Exposure(frame.shutter_s, frame.iso, frame.f_number)
