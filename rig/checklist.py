"""What no device can answer: asked once, kept with its date, or claimed by `--checklist-done`.

A person's answer about the body's menus holds for that body until it is given anew; one about
the room holds for a night. A claim by `--checklist-done` holds for its own run only and never
stands for a person's answer: it is shown and recorded as what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from rig.errors import Abort
from rig.preflight import Finding, Status
from schemas.workspace import write_atomically

#: Answers about the room are asked again after a night.
_A_NIGHT = timedelta(hours=12)


@dataclass(frozen=True)
class Question:
    """Something to look at.

    Attributes
    ----------
    check : str
        Name of the check that it answers.
    text : str
        A statement that should be true.
    action : str
        How to make it true.
    every_night : bool
        Whether an answer holds for a night only.
    blames : Status
        What a "no" means.
    """

    check: str
    text: str
    action: str
    every_night: bool = False
    blames: Status = Status.FAIL


#: In the menus of a T7; no property of libgphoto2 shows them on this body.
AUTO_LIGHTING = Question(
    "auto_lighting_optimizer",
    "Auto Lighting Optimizer is disabled in the camera's menu",
    "menu: Auto Lighting Optimizer, Disable",
)
PERIPHERAL = Question(
    "peripheral_correction",
    "Peripheral illumination correction is disabled in the camera's menu",
    "menu: Lens aberration correction, Peripheral illumination, Disable",
)
#: Among the custom functions, which some versions of libgphoto2 cannot read.
LONG_EXPOSURE_NR = Question(
    "long_exposure_noise_reduction",
    "Long exposure noise reduction is off (custom function 4)",
    "menu: Custom Functions, Long exposure noise reduction, Off",
)
HIGH_ISO_NR = Question(
    "high_iso_noise_reduction",
    "High ISO speed noise reduction is disabled (custom function 5)",
    "menu: Custom Functions, High ISO speed noise reduction, Disable",
    blames=Status.WARN,
)
HIGHLIGHT_TONE = Question(
    "highlight_tone_priority",
    "Highlight tone priority is disabled (custom function 6)",
    "menu: Custom Functions, Highlight tone priority, Disable",
)
FLASH = Question(
    "flash", "The flash is folded in", "fold the flash in, take an external one off", True
)
#: Of the room, every night.
ROOM = (
    Question("eyepiece", "The eyepiece is covered", "cover it: stray light exposes, too", True),
    Question("meter_led", "The light meter's LED is off", "switch or tape it off", True),
    Question("lamps", "The lamps have warmed up", "wait 15 minutes after switching on", True),
)


@dataclass(frozen=True)
class Answer:
    """What somebody said, about which body and lighting ('' where it does not matter), and when."""

    check: str
    camera: str
    yes: bool
    at: datetime
    lighting: str = ""


class Answers:
    """A file of answers and of the last burst per body and lighting. Immutable in use."""

    def __init__(
        self, answers: Iterable[Answer] = (), bursts: Iterable[dict[str, Any]] = ()
    ) -> None:
        self._answers = {(a.check, a.camera, a.lighting): a for a in answers}
        self._bursts = {(b["camera"], b["lighting"]): b for b in bursts}

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file; none is no answers. Raises Abort for one that is broken."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            answers = [
                Answer(**{**item, "at": datetime.fromisoformat(item["at"])})
                for item in document["answers"]
            ]
            return cls(answers, document["bursts"])
        except FileNotFoundError:
            return cls()
        except (ValueError, KeyError, TypeError) as error:
            raise Abort(
                f"{path} is not what the preflight wrote: {error}",
                "Delete it: its questions are then asked again.",
            ) from error

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        document = {
            "answers": [
                {**asdict(a), "at": a.at.isoformat(timespec="seconds")}
                for a in self._answers.values()
            ],
            "bursts": list(self._bursts.values()),
        }
        write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())

    def find(self, check: str, camera: str, lighting: str = "") -> Answer | None:
        """The last answer."""
        return self._answers.get((check, camera, lighting))

    def standing(self, question: Question, camera: str, now: datetime) -> Answer | None:
        """The answer that still holds."""
        answer = self.find(question.check, camera)
        stale = answer is not None and question.every_night and now - answer.at > _A_NIGHT
        return None if stale else answer

    def burst(self, camera: str, lighting: str) -> Mapping[str, Any] | None:
        """The last burst, as `remember_burst` was given it."""
        return self._bursts.get((camera, lighting))

    def with_answer(self, answer: Answer) -> Answers:
        """These answers and one more."""
        return Answers([*self._answers.values(), answer], self._bursts.values())

    def with_burst(self, camera: str, lighting: str, burst: Mapping[str, Any]) -> Answers:
        """These answers and the latest burst of a body under a lighting."""
        latest = {**burst, "camera": camera, "lighting": lighting}
        return Answers(self._answers.values(), [*self._bursts.values(), latest])


def check_answer(question: Question, answer: Answer | None, *, claimed: bool) -> Finding:
    """The finding of a question; `claimed` is `--checklist-done`."""
    if answer is not None and not answer.yes:
        found = f"no, said on {_day(answer.at)}"
        action = f"{question.action}; then say so: snaprig capture preflight"
        return Finding(question.check, question.blames, found, question.text, action)
    if answer is not None:
        return Finding(question.check, Status.OK, f"yes, said on {_day(answer.at)}", question.text)
    if claimed:
        found = "yes by --checklist-done, nobody was asked"
        return Finding(question.check, Status.OK, found, question.text)
    return Finding(
        question.check,
        Status.WARN,
        "nobody has said",
        question.text,
        "answer `snaprig capture preflight` at a terminal, or give --checklist-done",
    )


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
