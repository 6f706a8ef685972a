"""The published experiment, balanced: who sees which picture with which question, and when.

Group 1 counts by multiple choice and names the class in its own words, group 2 the other way
round: nobody is primed by options. A participant sees each scene once with each question, the
two pictures at least 4 stops apart. Source: Tsotsos et al., SNAP, appendix C; unlike the
released design, EV offsets, categories and lightings come equally often.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from experiment.balance import Cells, Pair, choose_cells, fits
from experiment.blocks import arrange
from experiment.errors import InfeasibleError
from experiment.records import Design, PlannedTrial, Slot

#: Tasks of each group: class, then count.
GROUPS = {1: ("q1", "q4"), 2: ("q3", "q2")}

#: Tasks whose options a participant chooses from.
MULTIPLE_CHOICE = ("q3", "q4")

MIN_STOPS = 4

#: An EV offset takes part by itself if so large a share of the scenes has it: the rarest ones of
#: the published data occur in 2 of 100 scenes.
COMMON = 0.1

_TASKS = tuple(task for tasks in GROUPS.values() for task in tasks)


class Candidate(NamedTuple):
    """A picture that can be shown. `options` holds those of each question it can be asked."""

    scene: str
    lighting: str
    setting: str
    category: str
    objects: int
    ev_offset: int
    options: Mapping[str, tuple[str, ...]]

    def askable(self, task: str) -> bool:
        """Whether the question exists, with known options where it needs them."""
        return bool(self.options.get(task)) or (
            task in self.options and task not in MULTIPLE_CHOICE
        )


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes
    ----------
    trials : int
        A question; a participant has two.
    ev_offsets : tuple of int or None
        Those that take part; None takes the common ones.
    """

    participants: int
    seed: int
    trials: int = 100
    ev_offsets: tuple[int, ...] | None = None
    min_stops: int = MIN_STOPS


def make_design(candidates: Sequence[Candidate], request: Request) -> Design:
    """A balanced design: the same for the same pictures, whatever their order.

    Raises
    ------
    InfeasibleError
        Names the demand that cannot hold with these pictures, and what would fit.
    """
    pictures = sorted(candidates, key=lambda one: one[:3])
    offsets = _offsets(pictures, request)
    pool = _Pool.of([one for one in pictures if one.ev_offset in offsets])
    groups = [1 + number % 2 for number in range(request.participants)]
    scenes_of = _scenes_of(pool, sorted(set(groups)), request)
    rng = random.Random(f"snaprig design {request.seed}")  # noqa: S311 - no secret
    dealer = _SceneDealer(pool, rng)
    # a group after the other: each has scenes and categories in balance, and so have both
    pairs = [
        Pair(participant, scene, _questions(group))
        for group, usable in scenes_of.items()
        for participant in range(group - 1, request.participants, 2)
        for scene in dealer.deal(request.trials, usable)
    ]
    chosen = choose_cells(pool.cells, pairs, request.min_stops, request.seed)
    by_participant = _deal_pictures(pool, pairs, chosen, rng)
    slots = tuple(
        Slot(group, arrange(by_participant[number], GROUPS[group], number // 2 % 2 == 1, rng))
        for number, group in enumerate(groups)
    )
    parameters = {
        "participants": request.participants,
        "trials_per_question": request.trials,
        "min_stops": request.min_stops,
        "ev_offsets": sorted(offsets),
    }
    return Design("questions", request.seed, parameters, slots)


def common_offsets(pictures: Sequence[Candidate]) -> tuple[int, ...]:
    """EV offsets that at least a tenth of the scenes have."""
    scenes = defaultdict(set)
    for one in pictures:
        scenes[one.ev_offset].add(one.scene)
    enough = COMMON * len({one.scene for one in pictures})
    return tuple(sorted(offset for offset, found in scenes.items() if len(found) >= enough))


def _offsets(pictures: Sequence[Candidate], request: Request) -> tuple[int, ...]:
    """EV offsets that take part; none that has no other far enough from it."""
    wanted = request.ev_offsets or common_offsets(pictures)
    paired = tuple(
        one for one in wanted if any(abs(one - other) >= request.min_stops for other in wanted)
    )
    if request.ev_offsets and (alone := sorted(set(wanted) - set(paired))):
        raise InfeasibleError(
            "stops apart",
            f"no EV offset of the range is {request.min_stops} stops or more from "
            f"{', '.join(str(one) for one in alone)}: name a wider range",
        )
    return paired


@dataclass(frozen=True)
class _Pool:
    """Pictures by scene and cell; all four sequences run over the scenes."""

    names: list[str]
    categories: list[str]
    cells: list[Cells]
    pictures: list[list[list[Candidate]]]

    @classmethod
    def of(cls, pictures: Sequence[Candidate]) -> _Pool:
        offsets = sorted({one.ev_offset for one in pictures})
        lightings = sorted({one.lighting for one in pictures})
        categories = sorted({one.category for one in pictures})
        by_scene: dict[str, dict[tuple[int, int, tuple[bool, ...]], list[Candidate]]] = {}
        for one in pictures:
            askable = tuple(one.askable(task) for task in _TASKS)
            kind = (offsets.index(one.ev_offset), lightings.index(one.lighting), askable)
            by_scene.setdefault(one.scene, {}).setdefault(kind, []).append(one)
        names = sorted(by_scene)
        of_scene = [next(iter(by_scene[name].values()))[0].category for name in names]
        cells = []
        for name, category in zip(names, of_scene, strict=True):
            evs, lights, asked = zip(*by_scene[name], strict=True)
            cells.append(
                Cells(
                    ev=np.array(evs),
                    ev_offset=np.array([offsets[ev] for ev in evs]),
                    lighting=np.array(lights),
                    pictures=np.array([len(found) for found in by_scene[name].values()]),
                    askable=np.array(asked).T,
                    category=categories.index(category),
                )
            )
        return cls(names, of_scene, cells, [list(by_scene[name].values()) for name in names])


def _questions(group: int) -> tuple[int, int]:
    first, second = GROUPS[group]
    return _TASKS.index(first), _TASKS.index(second)


def _scenes_of(pool: _Pool, groups: Sequence[int], request: Request) -> dict[int, set[int]]:
    """Scenes that each group can be shown twice; InfeasibleError where there are too few."""
    if not pool.names:
        raise InfeasibleError(
            "frames",
            "no accepted frames to show at EV offsets that are far enough apart; capture some, or "
            "`snaprig import snap`",
        )
    asked, usable = {}, {}
    for group in groups:
        questions = _questions(group)
        asked[group] = {
            number
            for number, cells in enumerate(pool.cells)
            if all(cells.askable[question].any() for question in questions)
        }
        usable[group] = {
            number
            for number in asked[group]
            if fits(pool.cells[number], questions, request.min_stops)
        }
    worst = min(groups, key=lambda group: len(usable[group]))
    most, total, wanted = len(usable[worst]), len(pool.names), request.trials
    if most >= wanted:
        return usable
    tasks = " and ".join(GROUPS[worst])
    fit = f"`--trials-per-question {most}` fits" if most else "no smaller number fits"
    need = f"{wanted} trials a question need {wanted} scenes"
    if total < wanted:
        raise InfeasibleError(
            "scenes",
            f"each is shown once a question, so {need}; there are {total}, of which {most} can be "
            f"used for {tasks}: {fit}",
        )
    if len(asked[worst]) < wanted:
        raise InfeasibleError(
            "options",
            f"{need}; {len(asked[worst])} of {total} have frames that {tasks} can be asked about, "
            f"with known options: {fit}",
        )
    raise InfeasibleError(
        "stops apart",
        f"{need} with two frames for {tasks} that are {request.min_stops} stops apart or more; "
        f"{most} of {total} have them: {fit}",
    )


class _SceneDealer:
    """Deals scenes to participants: categories, then scenes of each, as equally as can be."""

    def __init__(self, pool: _Pool, rng: random.Random) -> None:
        self._scenes: dict[str, list[int]] = {}
        for scene, category in enumerate(pool.categories):
            self._scenes.setdefault(category, []).append(scene)
        for found in self._scenes.values():
            rng.shuffle(found)
        self._turn = sorted(self._scenes)
        rng.shuffle(self._turn)

    def deal(self, number: int, usable: Collection[int]) -> list[int]:
        """Scenes of the next participant; whatever was dealt goes to the end of its queue."""
        free = {
            category: [scene for scene in scenes if scene in usable]
            for category, scenes in self._scenes.items()
        }
        quota = dict.fromkeys(free, 0)
        while sum(quota.values()) < number:
            category = next(one for one in self._turn if quota[one] < len(free[one]))
            quota[category] += 1
            self._turn.remove(category)
            self._turn.append(category)
        dealt = {scene for category, share in quota.items() for scene in free[category][:share]}
        for scenes in self._scenes.values():
            scenes.sort(key=lambda scene: scene in dealt)
        return sorted(dealt)


def _deal_pictures(
    pool: _Pool,
    pairs: Sequence[Pair],
    chosen: Sequence[tuple[int, int]],
    rng: random.Random,
) -> dict[int, list[PlannedTrial]]:
    """Pictures of each cell in turn: none is shown once more before all others were."""
    users = defaultdict(list)
    for pair, cells in zip(pairs, chosen, strict=True):
        for question, cell in zip(pair.questions, cells, strict=True):
            users[pair.scene, cell].append((pair.participant, _TASKS[question]))
    trials = defaultdict(list)
    for (scene, cell), shown_to in sorted(users.items()):
        pictures = list(pool.pictures[scene][cell])
        rng.shuffle(pictures)
        for number, (participant, task) in enumerate(shown_to):
            one = pictures[number % len(pictures)]
            trials[participant].append(PlannedTrial(*one[:6], task, tuple(one.options[task])))
    return trials
