"""What a participant does: key presses, typed text, editing keys, clicks. Edges, never states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Key(StrEnum):
    """Keys with a meaning of their own."""

    SPACE = "space"
    ENTER = "enter"
    ESCAPE = "escape"


class Motion(StrEnum):
    """Editing keys."""

    BACKSPACE = "backspace"
    DELETE = "delete"
    LEFT = "left"
    RIGHT = "right"
    HOME = "home"
    END = "end"


@dataclass(frozen=True)
class KeyPress:
    """A key of `Key` went down at `at_s`."""

    at_s: float
    key: Key


@dataclass(frozen=True)
class Typed:
    """Text from the keyboard: one letter mostly, composed where dead keys were used.

    Attributes
    ----------
    pressed_s : float
        When the key went down; earlier than `at_s` where it is held and repeats.
    """

    at_s: float
    text: str
    pressed_s: float


@dataclass(frozen=True)
class Moved:
    """An editing key; `pressed_s` as for `Typed`."""

    at_s: float
    motion: Motion
    pressed_s: float


@dataclass(frozen=True)
class Click:
    """The left button went down; pixels from the center of the screen, y upward."""

    at_s: float
    x_px: float
    y_px: float


Input = KeyPress | Typed | Moved | Click


def began_s(event: Input) -> float:
    """When the finger went down: a held key began before its repetitions."""
    return event.pressed_s if isinstance(event, Typed | Moved) else event.at_s


def describe(event: Input) -> str:
    """What was done, in a word or two, for the record."""
    match event:
        case KeyPress(key=key):
            return f"key {key}"
        case Typed(text=text):
            return f"text {text}"
        case Moved(motion=motion):
            return f"key {motion}"
        case Click(x_px=x_px, y_px=y_px):
            return f"click {x_px:.0f},{y_px:.0f}"
