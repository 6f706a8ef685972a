"""Which picture of a scene each participant sees: EV offsets, lightings and pictures in balance.

A participant sees two pictures of a scene, one for each question. Pictures of a scene that agree
in EV offset, lighting and the questions they can be asked are interchangeable: a *cell*. Every
pair of trials is given the two cells that cost least, again and again, until nothing changes.
The cost of a trial grows with how often its EV offset, its lighting, its cell, … were used
already, so that the least sum is the most even use. Drawing pairs that are 4 stops apart by
chance would not do: the outermost offsets have the most partners, and would be shown 2.5 times
as often as the middle ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Cost of one more trial for each trial that a count holds already. A picture shown again weighs
#: most, then the EV offset, over all trials and over those of a question, then the lighting.
REPEAT = 1e9
EV_OFFSET = 1e6
QUESTION_EV = 1e3
LIGHTING = 1e3
PARTICIPANT_EV = 1000.0
CATEGORY_EV = 5.0
EV_LIGHTING = 1.0
PARTICIPANT_LIGHTING = 5.0

#: Cost of a picture for each question that could be asked about it: the others take it last.
ASKABLE = 1e4

#: Passes over all trials; it settles after a few. The first ones even out each question by itself.
FIRST_SWEEPS = 3
MAX_SWEEPS = 15


@dataclass(frozen=True)
class Cells:
    """Interchangeable pictures of one scene; arrays of one length.

    Attributes
    ----------
    ev : array of int
        Place of the EV offset among those of the design.
    ev_offset : array of int
        In stops.
    lighting : array of int
        Place among the lightings.
    pictures : array of int
        How many there are.
    askable : array of bool, shape (questions, cells)
        Whether a question can be asked about them.
    category : int
        Of the scene.
    """

    ev: Ints
    ev_offset: Ints
    lighting: Ints
    pictures: Ints
    askable: NDArray[np.bool_]
    category: int


@dataclass(frozen=True)
class Pair:
    """The two trials of a participant with one scene: `questions` are places among all."""

    participant: int
    scene: int
    questions: tuple[int, int]


@dataclass(frozen=True)
class _Size:
    participants: int
    categories: int
    ev_offsets: int
    lightings: int
    questions: int


class _Counts:
    """How often everything was used, and what one use more would cost."""

    def __init__(self, size: _Size, scenes: Sequence[Cells]) -> None:
        self.ev = np.zeros(size.ev_offsets)
        self.question_ev = np.zeros((size.questions, size.ev_offsets))
        self.category_ev = np.zeros((size.categories, size.ev_offsets))
        self.participant_ev = np.zeros((size.participants, size.ev_offsets))
        self.lighting = np.zeros(size.lightings)
        self.question_lighting = np.zeros((size.questions, size.lightings))
        self.ev_lighting = np.zeros((size.ev_offsets, size.lightings))
        self.participant_lighting = np.zeros((size.participants, size.lightings))
        self.cells = [np.zeros(len(scene.ev)) for scene in scenes]

    def add(self, pair: Pair, question: int, cells: Cells, cell: int, number: int) -> None:
        ev, lighting = cells.ev[cell], cells.lighting[cell]
        self.ev[ev] += number
        self.question_ev[question, ev] += number
        self.category_ev[cells.category, ev] += number
        self.participant_ev[pair.participant, ev] += number
        self.lighting[lighting] += number
        self.question_lighting[question, lighting] += number
        self.ev_lighting[ev, lighting] += number
        self.participant_lighting[pair.participant, lighting] += number
        self.cells[pair.scene][cell] += number

    def costs(self, pair: Pair, question: int, cells: Cells, overall: float) -> Floats:
        by_ev = (
            overall * self.ev
            + QUESTION_EV * self.question_ev[question]
            + CATEGORY_EV * self.category_ev[cells.category]
            + PARTICIPANT_EV * self.participant_ev[pair.participant]
        )
        by_lighting = (
            LIGHTING * (self.lighting + self.question_lighting[question])
            + PARTICIPANT_LIGHTING * self.participant_lighting[pair.participant]
        )
        costs: Floats = (
            (by_ev[:, None] + by_lighting + EV_LIGHTING * self.ev_lighting)[
                cells.ev, cells.lighting
            ]
            + REPEAT * (self.cells[pair.scene] // cells.pictures)
            + ASKABLE * cells.askable.sum(axis=0)
        )
        costs[~cells.askable[question]] = np.inf
        return costs


def choose_cells(
    scenes: Sequence[Cells], pairs: Sequence[Pair], min_stops: int, seed: int
) -> list[tuple[int, int]]:
    """The two cells of each pair, at least `min_stops` apart.

    Every scene must have two such cells for the questions of each of its pairs (see `fits`).
    """
    random = np.random.default_rng(seed)
    counts = _Counts(_size(scenes, pairs), scenes)
    apart = [_apart(cells, min_stops) for cells in scenes]
    # both trials under one lighting: the second finds the count one higher
    same_light = [
        LIGHTING * (cells.lighting[:, None] == cells.lighting[None, :]) for cells in scenes
    ]
    chosen: list[tuple[int, int] | None] = [None] * len(pairs)
    for sweep in range(MAX_SWEEPS):
        overall = EV_OFFSET if sweep >= FIRST_SWEEPS else 0.0
        changed = 0
        for number in random.permutation(len(pairs)):
            pair = pairs[number]
            cells = scenes[pair.scene]
            before = chosen[number]
            if before is not None:
                for question, cell in zip(pair.questions, before, strict=True):
                    counts.add(pair, question, cells, cell, -1)
            first, second = (
                counts.costs(pair, question, cells, overall) for question in pair.questions
            )
            both = first[:, None] + second[None, :] + apart[pair.scene] + same_light[pair.scene]
            best = both.min()
            if before is None or both[before] > best:
                ties = np.flatnonzero(both == best)
                place = ties[0] if len(ties) == 1 else random.choice(ties)
                found = divmod(int(place), len(cells.ev))
                changed += 1
            else:
                found = before
            chosen[number] = found
            for question, cell in zip(pair.questions, found, strict=True):
                counts.add(pair, question, cells, cell, 1)
        if not changed and sweep >= FIRST_SWEEPS:
            break
    return [pair for pair in chosen if pair is not None]


def fits(cells: Cells, questions: tuple[int, int], min_stops: int) -> bool:
    """Whether a scene has two pictures for these questions that are far enough apart."""
    first, second = (cells.askable[question] for question in questions)
    far = np.abs(cells.ev_offset[:, None] - cells.ev_offset[None, :]) >= min_stops
    return bool((far & first[:, None] & second[None, :]).any())


def _apart(cells: Cells, min_stops: int) -> Floats:
    stops = np.abs(cells.ev_offset[:, None] - cells.ev_offset[None, :])
    return np.where(stops >= min_stops, 0.0, np.inf)


def _size(scenes: Sequence[Cells], pairs: Sequence[Pair]) -> _Size:
    return _Size(
        participants=1 + max(pair.participant for pair in pairs),
        categories=1 + max(cells.category for cells in scenes),
        ev_offsets=1 + max(int(cells.ev.max()) for cells in scenes),
        lightings=1 + max(int(cells.lighting.max()) for cells in scenes),
        questions=max(len(cells.askable) for cells in scenes),
    )
