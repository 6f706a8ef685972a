"""Models outside: a program that speaks JSON lines, in whatever environment or language.

docs/external-models.md describes the lines. Pictures are handed over as PNG of exactly the pixels
that every other model sees: decoded once, upright, RGB.
"""

from __future__ import annotations

import base64
import io
import itertools
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import Field, ValidationError

from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Pixels
from evaluate.providers import LoadOptions
from evaluate.providers.external_answers import read_answer
from evaluate.providers.external_process import Program, ProgramFailedError
from evaluate.zoo import ModelRow
from schemas.answer_store import CHOICE, CLASSIFICATION, DETECTION
from schemas.plan import FrozenModel, describe_errors
from schemas.questions import TASKS, question_text

PROTOCOL = 1

_log = logging.getLogger(__name__)

#: A program that fails so often with no answer in between is broken, not the frames.
_FAILURES_IN_A_ROW = 6

#: What a program may answer, by the task of its row.
_TASKS = {"classification": (CLASSIFICATION, CHOICE), "detection": (DETECTION,), "vqa": TASKS}


class ProgramBrokenError(Exception):
    """The program fails whatever it is asked: what it was asked stays open."""


class Hello(FrozenModel):
    """A program's first line.

    Attributes
    ----------
    snaprig : int
        Version of the protocol.
    spec : dict
        What makes its answers reproducible; the same at every start.
    tasks : tuple of str
        What it can be asked.
    frames : {"path", "base64"}
        How it wants pictures.
    """

    snaprig: int
    spec: dict[str, Any]
    tasks: tuple[str, ...] = Field(min_length=1)
    frames: str = Field(default="path", pattern="^(path|base64)$")


#: Identity of a stimulus within a run: the prepared picture, the task and its options.
_Key = tuple[int, str, tuple[str, ...]]


@dataclass
class ExternalModel:
    """A program that takes part as a model."""

    row: ModelRow
    tasks: tuple[str, ...]
    hello: Hello
    program: Program
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _failures: int = 0
    #: Answers of a batch in which another item failed, with the picture that makes the key valid:
    #: asked again one by one, they are not asked of the program again.
    _settled: dict[_Key, tuple[bytes, Given | EvaluateError]] = field(default_factory=dict)

    device = "external"

    #: Equal for all programs: the picture as a file.
    transform_key = "png"

    @property
    def spec(self) -> dict[str, Any]:
        """What the program says of itself."""
        return {
            "provider": self.row.provider,
            "id": self.row.id,
            "task": self.row.task,
            "protocol": PROTOCOL,
            "program": self.hello.spec,
        }

    def prepare(self, pixels: Pixels) -> bytes:
        """The frame as a PNG file."""
        buffer = io.BytesIO()
        # the quickest level: the file lives for a moment
        Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """All answers; the program is started anew once if it ends or hangs.

        Raises
        ------
        EvaluateError
            If an item failed. The others of its batch are remembered.
        ProgramBrokenError
            If the program fails again and again, whatever it is asked.
        """
        found: dict[int, Given | EvaluateError] = {}
        for place, one in enumerate(batch):
            if (settled := self._settled.pop(_key(one), None)) is not None:
                found[place] = settled[1]
        if not found:
            # the engine went on: nothing of an earlier batch will be asked again
            self._settled.clear()
        failure = self._ask(batch, found)
        if failure is not None:
            failure = self._ask(batch, found)
        failed = [given for given in found.values() if isinstance(given, EvaluateError)]
        if failure is None and not failed:
            return [given for _, given in sorted(found.items()) if not isinstance(given, Exception)]
        if len(batch) > 1:
            for place, given in found.items():
                one = batch[place]
                self._settled[_key(one)] = (one.prepared, given)
        raise failed[0] if failed else EvaluateError(f"asked twice: {failure}")

    def _ask(self, batch: Sequence[Asked], found: dict[int, Given | EvaluateError]) -> str | None:
        """Fill in what is not found yet; why that ended early, or None."""
        open_places = {str(next(self._numbers)): n for n in range(len(batch)) if n not in found}
        try:
            with self._requests(batch, open_places) as requests:
                self.program.send(requests)
                while open_places:
                    answer = self.program.receive(self.row.timeout_s)
                    place = open_places.pop(str(answer.get("id")), None)
                    if place is None:
                        _log.warning(
                            "%s answered %r, which was not asked", self.row.name, answer.get("id")
                        )
                        continue
                    self._failures = 0
                    found[place] = _read(batch[place], answer)
        except ProgramFailedError as error:
            self._start_again(error)
            return str(error)
        return None

    @contextmanager
    def _requests(
        self, batch: Sequence[Asked], places: Mapping[str, int]
    ) -> Iterator[list[dict[str, Any]]]:
        """Requests, while the files that they name exist."""
        with tempfile.TemporaryDirectory(prefix="snaprig-") as folder:
            yield [
                _request(number, batch[place], self._picture(batch[place], Path(folder, number)))
                for number, place in places.items()
            ]

    def _picture(self, asked: Asked, path: Path) -> dict[str, str]:
        if self.hello.frames == "base64":
            return {"png_base64": base64.b64encode(asked.prepared).decode()}
        path = path.with_suffix(".png")
        path.write_bytes(asked.prepared)
        return {"path": str(path)}

    def _start_again(self, error: ProgramFailedError) -> None:
        self._failures += 1
        self.program.close(patient=False)
        if self._failures >= _FAILURES_IN_A_ROW:
            raise ProgramBrokenError(
                f"{self.row.name} failed {self._failures} times with no answer in between: {error}"
            ) from error
        _log.warning("%s: %s; it is started again", self.row.name, error)
        try:
            self.program, hello = _start(self.row)
        except EvaluateError as again:
            raise ProgramBrokenError(f"{error}; started again: {again}") from again
        if hello != self.hello:
            self.program.close()
            raise ProgramBrokenError(f"{self.row.name} says to be another model than before")


def load(row: ModelRow, options: LoadOptions) -> ExternalModel:  # noqa: ARG001 - the program's own
    """Start the program and hear what it is.

    Raises
    ------
    EvaluateError
        If it does not start, or says no hello within the row's time limit.
    """
    program, hello = _start(row)
    tasks = tuple(task for task in _TASKS[row.task] if task in hello.tasks)
    if not tasks:
        program.close()
        raise EvaluateError(
            f"{row.name} answers {', '.join(hello.tasks)}; its row says {row.task}, which is "
            f"{', '.join(_TASKS[row.task])}"
        )
    return ExternalModel(row, tasks, hello, program)


def _start(row: ModelRow) -> tuple[Program, Hello]:
    try:
        program = Program(row.command)
    except OSError as error:
        raise EvaluateError(f"{row.name}: cannot start {row.command[0]}: {error}") from error
    try:
        hello = Hello.model_validate(program.receive(row.timeout_s))
    except ProgramFailedError as error:
        program.close(patient=False)
        raise EvaluateError(f"{row.name} said no hello: {error}") from error
    except ValidationError as error:
        program.close(patient=False)
        raise EvaluateError(
            f"{row.name}: its first line is no hello: {describe_errors(error)}"
        ) from error
    if hello.snaprig != PROTOCOL:
        program.close()
        raise EvaluateError(f"{row.name} speaks protocol {hello.snaprig}, snaprig {PROTOCOL}")
    return program, hello


def _request(number: str, asked: Asked, picture: Mapping[str, str]) -> dict[str, Any]:
    question = question_text(asked.task, asked.options) if asked.task in TASKS else ""
    return {
        "id": number,
        "task": asked.task,
        "question": question,
        "options": list(asked.options),
        "size_px": list(asked.size_px),
        **picture,
    }


def _read(asked: Asked, answer: Mapping[str, Any]) -> Given | EvaluateError:
    try:
        return read_answer(asked, answer)
    except EvaluateError as error:
        return error


def _key(asked: Asked) -> _Key:
    return id(asked.prepared), asked.task, asked.options
