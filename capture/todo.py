"""What a run still has to shoot, where a guided sweep has it from, and how a run ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from capture.frames import Skipped
from schemas.acceptance import Extremes
from schemas.plan import Shot
from schemas.records import Outcome, RunStatus, reference_setting


@dataclass
class Todo:
    """A shot that has no final row yet.

    Attributes
    ----------
    shot : Shot
    attempt : int
        Exposures so far, earlier runs included.
    failures : int
        Failed ones of this run.
    unproven : int
        Those of this run whose light was wrong. They count as no failure of the shot.
    reference : int or None
        Number of a reference frame, which is no shot of the plan.
    doubtful : bool
        A reference frame has to show that the shutter works before it is shot again.
    """

    shot: Shot
    attempt: int = 0
    failures: int = 0
    unproven: int = 0
    reference: int | None = None
    doubtful: bool = False

    @property
    def setting(self) -> str:
        """Key of its row."""
        if self.reference is not None:
            return reference_setting(self.reference)
        return self.shot.exposure.stem


class Guiding(Protocol):
    """Where a guided sweep has its shots from, see `capture.guiding`."""

    def draw(self) -> Todo | None:
        """The next shot; None while that depends on verdicts that are out, and at the end."""

    def learn(self, shot: Shot, outcome: Outcome, luma: Extremes | None) -> None:
        """A shot has its row; without `luma` it was given up."""

    def withdraw(self, shot: Shot) -> None:
        """The row of a shot was taken back: it proves nothing, and is shot again."""

    def skipped(self) -> Iterable[Skipped]:
        """What need not be shot, once `draw` has come to its end."""

    def left(self) -> tuple[int, float]:
        """Shots that may still come, and their open shutter in seconds: upper bounds."""

    def refutation(self) -> str:
        """Why the run fails though every shot has its row; empty if it does not."""


@dataclass(frozen=True)
class Ending:
    """How a run ended. `error` is what ended it early, if an error did."""

    status: RunStatus
    reason: str
    exposures: int
    error: BaseException | None = None
