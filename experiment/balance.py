"""Which picture of a scene each participant sees: EV offsets, lightings and pictures in balance.

A participant sees two pictures of a scene, one for each question. Pictures of a scene that agree
in EV offset, lighting and the questions they can be asked are interchangeable: a *cell*. Every
pair of trials is given the two cells that cost least, again and again, until nothing changes.
The cost of a trial grows with how often its EV offset, its lighting, its cell, … were used
already, so that the least sum is the most even use. Where this settles although one EV offset
comes two times more often than another, a chain of exchanges is looked for. Drawing pairs that
are 4 stops apart by chance would not do: the outermost offsets have the most partners, and would
be shown 2.5 times as often as the middle ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Cost of one more trial for each trial that a count holds already: EV offsets first, over all
#: trials, then over those of a question or a participant, and lightings; then finer divisions.
EV_OFFSET = 1e6
QUESTION_EV = 1e3
LIGHTING = 1e3
PARTICIPANT_EV = 1e3
CATEGORY_EV = 5.0
EV_LIGHTING = 1.0
PARTICIPANT_LIGHTING = 5.0

#: No picture is shown again, unless its EV offset would come so much less often than others: 5 %,
#: and 1 % more for each time that it was shown already.
TOLERANCE = 0.05
MORE = 0.2

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


class Assignment:
    """Cells of all pairs so far, how often everything is used, and what one use more costs."""

    def __init__(self, scenes: Sequence[Cells], pairs: Sequence[Pair], min_stops: int) -> None:
        self.scenes = scenes
        self.pairs = pairs
        self.chosen: list[tuple[int, int] | None] = [None] * len(pairs)
        self.far = [
            np.abs(cells.ev_offset[:, None] - cells.ev_offset[None, :]) >= min_stops
            for cells in scenes
        ]
        # both trials under one lighting: the second finds the count one higher
        self._together = [
            np.where(far, 0.0, np.inf)
            + LIGHTING * (cells.lighting[:, None] == cells.lighting[None, :])
            for cells, far in zip(scenes, self.far, strict=True)
        ]
        evs = 1 + max(int(cells.ev.max()) for cells in scenes)
        lightings = 1 + max(int(cells.lighting.max()) for cells in scenes)
        participants = 1 + max(pair.participant for pair in pairs)
        questions = max(len(cells.askable) for cells in scenes)
        self.ev = np.zeros(evs)
        self._question_ev = np.zeros((questions, evs))
        self._category_ev = np.zeros((1 + max(cells.category for cells in scenes), evs))
        self._participant_ev = np.zeros((participants, evs))
        self._lighting = np.zeros(lightings)
        self._question_lighting = np.zeros((questions, lightings))
        self._ev_lighting = np.zeros((evs, lightings))
        self._participant_lighting = np.zeros((participants, lightings))
        share = 2 * len(pairs) / evs
        self._again = EV_OFFSET * max(1.5, TOLERANCE * share)
        self.used = [np.zeros(len(cells.ev)) for cells in scenes]

    def place(self, number: int, found: tuple[int, int]) -> None:
        """Give a pair its cells; those it had are free again."""
        self.lift(number)
        self.chosen[number] = found
        self._count(number, found, 1)

    def lift(self, number: int) -> None:
        """Take a pair's cells away, if it has any."""
        before = self.chosen[number]
        if before is not None:
            self._count(number, before, -1)
            self.chosen[number] = None

    def costs(self, number: int, overall: float) -> Floats:
        """Cost of every two cells for a pair that has none; infinite where they do not go.

        Parameters
        ----------
        overall : float
            Weight of the EV offsets over all questions.
        """
        pair = self.pairs[number]
        first, second = (self._cell_costs(pair, question, overall) for question in pair.questions)
        both: Floats = first[:, None] + second[None, :] + self._together[pair.scene]
        return both

    def _cell_costs(self, pair: Pair, question: int, overall: float) -> Floats:
        cells = self.scenes[pair.scene]
        by_ev = (
            overall * self.ev
            + QUESTION_EV * self._question_ev[question]
            + CATEGORY_EV * self._category_ev[cells.category]
            + PARTICIPANT_EV * self._participant_ev[pair.participant]
        )
        by_lighting = (
            LIGHTING * (self._lighting + self._question_lighting[question])
            + PARTICIPANT_LIGHTING * self._participant_lighting[pair.participant]
        )
        both = by_ev[:, None] + by_lighting + EV_LIGHTING * self._ev_lighting
        showings = self.used[pair.scene] // cells.pictures
        costs: Floats = (
            both[cells.ev, cells.lighting]
            + self._again * ((showings > 0) + MORE * showings)
            + ASKABLE * cells.askable.sum(axis=0)
        )
        costs[~cells.askable[question]] = np.inf
        return costs

    def _count(self, number: int, found: tuple[int, int], change: int) -> None:
        pair = self.pairs[number]
        cells = self.scenes[pair.scene]
        for question, cell in zip(pair.questions, found, strict=True):
            ev, lighting = cells.ev[cell], cells.lighting[cell]
            self.ev[ev] += change
            self._question_ev[question, ev] += change
            self._category_ev[cells.category, ev] += change
            self._participant_ev[pair.participant, ev] += change
            self._lighting[lighting] += change
            self._question_lighting[question, lighting] += change
            self._ev_lighting[ev, lighting] += change
            self._participant_lighting[pair.participant, lighting] += change
            self.used[pair.scene][cell] += change


def choose_cells(
    scenes: Sequence[Cells], pairs: Sequence[Pair], min_stops: int, seed: int
) -> list[tuple[int, int]]:
    """The two cells of each pair, at least `min_stops` apart.

    Every scene must have two such cells for the questions of each of its pairs (see `fits`).
    """
    random = np.random.default_rng(seed)
    found = Assignment(scenes, pairs, min_stops)
    for _ in range(FIRST_SWEEPS):
        _sweep(found, random, 0.0)
    for _ in range(MAX_SWEEPS):
        changed = _sweep(found, random, EV_OFFSET)
        if not changed and not even_out(found):
            break
    while even_out(found):
        pass
    return [cells for cells in found.chosen if cells is not None]


def _sweep(found: Assignment, random: np.random.Generator, overall: float) -> int:
    """Give each pair in turn what costs least; how many changed."""
    changed = 0
    for number in random.permutation(len(found.pairs)):
        before = found.chosen[number]
        found.lift(number)
        costs = found.costs(number, overall)
        best = costs.min()
        if before is None or costs[before] > best:
            ties = np.flatnonzero(costs == best)
            place = ties[0] if len(ties) == 1 else random.choice(ties)
            row, column = divmod(int(place), costs.shape[1])
            found.place(number, (row, column))
            changed += 1
        else:
            found.place(number, before)
    return changed


def even_out(found: Assignment) -> bool:
    """Move one trial from an EV offset to one that has at least two fewer; whether it could.

    Directly that was tried already. Along a chain each trial takes the offset that the next one
    leaves, so that only the first and the last offset change their number.
    """
    hops = _hops(found)
    for start in np.argsort(-found.ev, kind="stable"):
        path = _path(found.ev, hops, int(start))
        if path:
            # the last first: each then finds the place that it needs
            for number, cells in reversed([hops[hop] for hop in path]):
                found.place(number, cells)
            return True
    return False


def _path(
    ev: Floats, hops: dict[tuple[int, int], tuple[int, tuple[int, int]]], start: int
) -> list[tuple[int, int]]:
    """The shortest chain of hops to an EV offset with two fewer, each of a pair of its own."""
    chains: list[list[tuple[int, int]]] = [[]]
    seen = {start}
    for chain in chains:
        end = chain[-1][1] if chain else start
        for hop in sorted(hops):
            if hop[0] == end and hop[1] not in seen:
                longer = [*chain, hop]
                if len({hops[one][0] for one in longer}) < len(longer):
                    continue
                if ev[hop[1]] <= ev[start] - 2:
                    return longer
                seen.add(hop[1])
                chains.append(longer)
    return []


def _hops(found: Assignment) -> dict[tuple[int, int], tuple[int, tuple[int, int]]]:
    """For each two EV offsets a pair that can move a trial between them, and its new cells.

    No move shows a picture more often than the one that it leaves.
    """
    hops: dict[tuple[int, int], tuple[int, tuple[int, int]]] = {}
    for number, (pair, chosen) in enumerate(zip(found.pairs, found.chosen, strict=True)):
        if chosen is None:
            continue
        cells = found.scenes[pair.scene]
        repeats = found.used[pair.scene] // cells.pictures
        for place, question in enumerate(pair.questions):
            cell, other = chosen[place], chosen[1 - place]
            left = (found.used[pair.scene][cell] - 1) // cells.pictures[cell]
            free = found.far[pair.scene][other] & cells.askable[question] & (repeats <= left)
            for target in np.flatnonzero(free):
                hop = (int(cells.ev[cell]), int(cells.ev[target]))
                if hop[0] != hop[1] and hop not in hops:
                    new = (int(target), other) if place == 0 else (other, int(target))
                    hops[hop] = (number, new)
    return hops


def fits(cells: Cells, questions: tuple[int, int], min_stops: int) -> bool:
    """Whether a scene has two pictures for these questions that are far enough apart."""
    first, second = (cells.askable[question] for question in questions)
    far = np.abs(cells.ev_offset[:, None] - cells.ev_offset[None, :]) >= min_stops
    return bool((far & first[:, None] & second[None, :]).any())
