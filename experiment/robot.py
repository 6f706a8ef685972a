"""Sessions without a person: a process of its own reads the screen's state and answers.

It presses real keys and clicks through the window system. The session only tells it, over its
standard input, what has become visible, where that is, and what would be right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from experiment.errors import ExperimentError
from experiment.records import ParticipantPlan, Trial
from experiment.views import OptionsView, Page, Picture, TextView, View

#: It is given so long to end by itself.
PATIENCE_S = 5


def right_answer(trial: Trial) -> str:
    """What is true of the picture, in the words of the question."""
    category = trial.category.replace("_", " ")
    match trial.task:
        case "q1":
            return category
        case "q2":
            return str(trial.objects)
        case "q4":
            return next(
                (one for one in trial.options if one.split()[-1] == str(trial.objects)),
                trial.options[0],
            )
    spelled = {option.replace("_", " "): option for option in trial.options}
    return spelled.get(category, spelled.get("other", trial.options[0]))


def wrong_answers(trial: Trial, categories: Sequence[str]) -> tuple[str, ...]:
    """What could be said that is not true."""
    right = right_answer(trial)
    match trial.task:
        case "q1":
            said = [category.replace("_", " ") for category in categories]
        case "q2":
            said = [str(trial.objects + 1), str(trial.objects + 2)]
        case _:
            said = list(trial.options)
    return tuple(one for one in said if one != right)


def message(
    trial: Trial | None, view: View, size_px: tuple[int, int], categories: Sequence[str]
) -> dict[str, Any] | None:
    """What the robot is told about a view; None for one that asks for nothing.

    Positions are pixels from the upper left corner of the screen.
    """
    truth: dict[str, Any] = {}
    if trial is not None:
        truth = {
            "trial": trial.index,
            "right": right_answer(trial),
            "wrong": wrong_answers(trial, categories),
        }
    match view:
        case Page():
            return {"view": "page"}
        case TextView(caret=caret):
            return {"view": "text", "submitted": caret is None, **truth}
        case Picture(legend=legend) if legend and trial is not None:
            keys = {label: str(n) for n, label in enumerate(trial.options, start=1)}
            return {"view": "keys", "keys": keys, **truth}
        case OptionsView():
            return {
                "view": "options",
                "chosen": view.chosen,
                "options": [
                    {
                        "label": box.label,
                        "key": box.key,
                        "x_px": round(size_px[0] / 2 + box.x_px),
                        "y_px": round(size_px[1] / 2 - box.y_px),
                    }
                    for box in view.boxes
                ],
                **truth,
            }
    return None


@dataclass(frozen=True)
class RobotOptions:
    """How a robot answers.

    Attributes
    ----------
    accuracy : float
        Share of right answers it aims at.
    journal : Path or None
        Where it writes what it did.
    """

    accuracy: float
    seed: int = 0
    journal: Path | None = None


class Robot:
    """The process, and the pipe to it. Use as a context manager."""

    def __init__(
        self, options: RobotOptions, size_px: tuple[int, int], plan: ParticipantPlan | None = None
    ) -> None:
        self._size_px = size_px
        trials = plan.trials if plan else ()
        self._categories = tuple(sorted({trial.category for trial in trials}))
        command = [sys.executable, "-m", "hardware_mocks.robot_participant"]
        command += ["--accuracy", str(options.accuracy), "--seed", str(options.seed)]
        if options.journal is not None:
            command += ["--journal", str(options.journal)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        # it says so once it has reached the window system
        if self._process.stdout is None or not self._process.stdout.readline():
            raise ExperimentError("the robot did not start: its error is shown above")

    def told(self, trial: Trial | None, view: View) -> None:
        """Tell it what is visible now."""
        if (document := message(trial, view, self._size_px, self._categories)) is not None:
            self.send(document)

    def send(self, document: dict[str, Any]) -> None:
        """One message. Raises ExperimentError if the robot is gone."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(document) + "\n")
                self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ExperimentError("the robot has ended: its error is shown above") from error

    def answers(self) -> list[dict[str, Any]]:
        """What it reports after `send`: one document a line until an empty line."""
        found = []
        while self._process.stdout is not None and (
            line := self._process.stdout.readline().strip()
        ):
            found.append(json.loads(line))
        return found

    def close(self) -> None:
        """Let it end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
