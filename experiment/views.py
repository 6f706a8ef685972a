"""What can be on the screen, as values: a screen draws them, tests compare them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from PIL import Image

from experiment.inputs import Input
from experiment.options_view import Box


@dataclass(frozen=True)
class Blank:
    """The empty background."""


@dataclass(frozen=True)
class Fixation:
    """The fixation cross."""


@dataclass(frozen=True)
class Picture:
    """The loaded picture, pixel by pixel; with a line below it in the reaction-time task."""

    legend: str = ""


@dataclass(frozen=True)
class Mask:
    """The loaded mask."""


@dataclass(frozen=True)
class TextView:
    """A question with a text box; `caret` is where the next letter goes, None: submitted."""

    prompt: str
    text: str = ""
    caret: int | None = 0
    hint: str = ""


@dataclass(frozen=True)
class OptionsView:
    """A question with options to choose from."""

    prompt: str
    boxes: tuple[Box, ...]
    chosen: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class Page:
    """A page to read; `hint` says how to go on."""

    title: str
    body: str = ""
    hint: str = ""


View = Blank | Fixation | Picture | Mask | TextView | OptionsView | Page


class Screen(Protocol):
    """A screen with a keyboard and a mouse: PsychoPy's in a session, a scripted one in tests."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height."""

    def now_s(self) -> float:
        """Seconds of the clock that flips and inputs are stamped with."""

    def load(self, picture: Image.Image, mask: Image.Image | None, question: View) -> None:
        """Have all that a trial draws ready: no upload and no layout between its flips."""

    def draw(self, view: View) -> None:
        """Prepare what the next flip shows."""

    def flip(self) -> float:
        """Show what was drawn; returns when it became visible."""

    def wait_until(self, when_s: float) -> None:
        """Return at that time, not before; inputs keep being stamped meanwhile."""

    def inputs(self) -> list[Input]:
        """What was done since the last call, in order."""

    def alerts(self) -> list[str]:
        """What else happened to the screen since the last call: another window took the keys."""
