"""What the daemon asks its operator, and who answers it.

A question is put on the engine's thread, which waits; it is answered by whichever page or
command comes first. A request to stop ends the waiting.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from capture.asking import Ask
from capture.batch_run import LeftError
from capture.preflight import Ask as AskChecklist
from capture.stopping import StopRequest
from rig.checklist import Question as Statement
from rig.errors import AskOperator

_SLICE_S = 0.2

DONE, STOP, YES, NO = "done", "stop", "yes", "no"
_LABELS = {DONE: "It is done", STOP: "Stop", YES: "Yes", NO: "No"}


@dataclass(frozen=True)
class Question:
    """Something only a person can do or see.

    Attributes
    ----------
    kind : {"operator", "prompt", "checklist"}
        Put something right, do the next step of a batch, look at something.
    text, action : str
        What is the matter, and what to do.
    answers : tuple of str
        Those that are taken.
    """

    kind: Literal["operator", "prompt", "checklist"]
    text: str
    action: str
    answers: tuple[str, ...]
    id: str = field(default_factory=lambda: secrets.token_hex(6))

    def to_json(self) -> dict[str, Any]:
        """For the API."""
        return {
            "id": self.id,
            "kind": self.kind,
            "text": self.text,
            "action": self.action,
            "answers": [{"id": name, "label": _LABELS[name]} for name in self.answers],
        }


class QuestionBoard:
    """The one question that is open, if any.

    Parameters
    ----------
    on_change : callable
        Called with the question when one is put, and with None when it is answered.
    beat : callable
        Called again and again while a question waits.
    """

    def __init__(
        self,
        on_change: Callable[[Question | None], None],
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_change = on_change
        self._beat = beat
        self._changed = threading.Condition()
        self._open: Question | None = None
        self._answer: str | None = None

    @property
    def open(self) -> Question | None:
        """The question that waits."""
        with self._changed:
            return self._open

    def put(self, question: Question, stop: StopRequest) -> str | None:
        """Wait for the answer; None where a stop was asked for instead."""
        with self._changed:
            self._open, self._answer = question, None
        self._on_change(question)
        try:
            with self._changed:
                while self._answer is None and not stop.asked:
                    self._changed.wait(_SLICE_S)
                    self._beat()
                return self._answer
        finally:
            with self._changed:
                self._open = None
            self._on_change(None)

    def answer(self, question_id: str, answer: str) -> bool:
        """Give an answer; False if that question is not open, or does not take it."""
        with self._changed:
            waiting = self._open
            if waiting is None or waiting.id != question_id or answer not in waiting.answers:
                return False
            if self._answer is None:
                self._answer = answer
                self._changed.notify_all()
            return self._answer == answer


def operator_asker(board: QuestionBoard, stop: StopRequest) -> Ask:
    """Asks to put something right, as `capture.asking.asker` does at a terminal."""

    def ask(error: AskOperator) -> bool:
        action = error.action or "put it right"
        return board.put(Question("operator", str(error), action, (DONE, STOP)), stop) == DONE

    return ask


def checklist_asker(board: QuestionBoard, stop: StopRequest) -> AskChecklist:
    """Asks whether a statement is true, as `capture.preflight_gate.asker` does."""

    def ask(statement: Statement, stopped: Callable[[], bool]) -> bool | None:
        if stopped():
            return None
        question = Question(
            "checklist", f"{statement.text}: is that so?", statement.action, (YES, NO)
        )
        answer = board.put(question, stop)
        return None if answer is None else answer == YES

    return ask


class BoardConsole:
    """The operator of a batch, behind the board (`capture.batch_run.Console`)."""

    def __init__(
        self,
        board: QuestionBoard,
        stop: StopRequest,
        *,
        note: Callable[[str], None],
        light: Callable[[str], None],
        waits: bool,
    ) -> None:
        self._board = board
        self._stop = stop
        self._note = note
        self._light = light
        self._waits = waits
        self._said = ""

    def say(self, text: str) -> None:
        """Show a line; whatever was waited for is over."""
        self._said = text
        self._light("")
        self._note(text)

    def confirm(self, text: str) -> None:
        """Have something done; raises LeftError where nobody will."""
        if not self._waits:
            self._note(text)
            return
        said, self._said = self._said, ""
        answer = self._board.put(Question("prompt", said or text, text, (DONE, STOP)), self._stop)
        if answer is None:
            raise LeftError(self._stop.reason)
        if answer == STOP:
            raise LeftError("left at a prompt")

    def light(self, text: str) -> None:
        """Show where the light is, now."""
        self._light(text)
