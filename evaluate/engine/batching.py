"""Batches: how large, and what to do when one fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evaluate.engine.memory import free_memory, is_out_of_memory
from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Model

#: On a CPU larger batches gain nothing.
CPU_BATCH = 8
GPU_BATCH, GPU_LARGEST = 16, 256


@dataclass
class BatchSize:
    """The size of one model's batches: grows until memory says no, and stays below that.

    Attributes
    ----------
    size : int
        Of the next batch.
    largest : int
        Never exceeded.
    """

    size: int
    largest: int

    @classmethod
    def of(cls, wanted: int | None, device: str) -> BatchSize:
        """As asked for; else found from what the device is."""
        if wanted is not None:
            return cls(wanted, wanted)
        if device.startswith("cuda"):
            return cls(GPU_BATCH, GPU_LARGEST)
        return cls(CPU_BATCH, CPU_BATCH)

    def went_well(self, size: int) -> None:
        """A batch of that size was answered."""
        if size == self.size:
            self.size = min(2 * self.size, self.largest)

    def was_too_large(self, size: int) -> None:
        """A batch of that size found no memory: half of it from now on, never more."""
        self.size = self.largest = max(1, size // 2)


class _Failed(NamedTuple):
    reason: str
    out_of_memory: bool


class Answered(NamedTuple):
    """An answer or why there is none, and how many were asked together."""

    given: Given | EvaluateError
    batch: int


def answer_batch(model: Model, batch: Sequence[Asked], size: BatchSize) -> list[Answered]:
    """Answers in the order of the batch; an item that the model refuses gets the reason.

    Out of memory halves the batch; another refusal is narrowed down to the items it is of.

    Raises
    ------
    Exception
        Whatever else the model raises: a defect.
    """
    done: list[Answered] = []
    waiting = deque([list(batch)])
    while waiting:
        part = waiting.popleft()
        outcome = _attempt(model, part)
        if not isinstance(outcome, _Failed):
            size.went_well(len(part))
            done += [Answered(given, len(part)) for given in outcome]
            continue
        # outside the handler: a live traceback would keep the tensors of the failed batch
        if outcome.out_of_memory:
            free_memory()
            size.was_too_large(len(part))
        if len(part) == 1:
            done.append(Answered(EvaluateError(outcome.reason), 1))
            continue
        step = max(1, len(part) // 2) if outcome.out_of_memory else 1
        parts = [part[at : at + step] for at in range(0, len(part), step)]
        waiting.extendleft(reversed(parts))
    return done


def _attempt(model: Model, batch: list[Asked]) -> list[Given] | _Failed:
    try:
        answers = model.answer(batch)
    except EvaluateError as error:
        return _Failed(str(error), False)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return _Failed(f"out of memory with a batch of {len(batch)}", True)
    if len(answers) != len(batch):
        raise RuntimeError(f"{len(answers)} answers to {len(batch)} stimuli")
    return answers
