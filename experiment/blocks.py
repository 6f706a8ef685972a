"""Order of a session: blocks of one question each, questions taking turns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from experiment.records import PlannedBlock, PlannedTrial

#: Trials of a block at most; the participant rests between blocks.
BLOCK = 50


def arrange(
    trials: Sequence[PlannedTrial], tasks: Sequence[str], turned: bool, rng: random.Random
) -> tuple[PlannedBlock, ...]:
    """Shuffle trials into blocks, as equal as can be, A B B A: no question comes later on average.

    Parameters
    ----------
    turned : bool
        Begin with the last task: true for every other participant.
    """
    by_task = [
        _split([one for one in trials if one.task == task], rng)
        for task in (tuple(reversed(tasks)) if turned else tasks)
    ]
    blocks: list[PlannedBlock] = []
    for number, row in enumerate(zip(*by_task, strict=True)):
        blocks += row if number % 2 == 0 else reversed(row)
    return tuple(blocks)


def _split(trials: list[PlannedTrial], rng: random.Random) -> list[PlannedBlock]:
    rng.shuffle(trials)
    number = -(-len(trials) // BLOCK)
    edges = [len(trials) * place // number for place in range(number + 1)]
    return [
        PlannedBlock(trials[0].task, tuple(trials[start:end])) for start, end in pairwise(edges)
    ]
