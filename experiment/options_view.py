"""Where the options of a question lie on the screen, and which keys choose them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = 4
WIDTH_PX, HEIGHT_PX, GAP_PX = 280, 72, 20

#: Keys of options that are no numbers, in the order shown.
_KEYS = "1234567890abcdefghijklmnopqrstuvwxyz"

#: ``A) 4``: the number itself is its key, else 4 would choose the fourth option.
_NUMBER = re.compile(r"(?:\w+\)\s*)?(\d)")


@dataclass(frozen=True)
class Box:
    """One option: pixels from the center of the screen, y upward.

    Attributes
    ----------
    hint : str
        The key as shown before the label; empty where the label says it.
    """

    label: str
    key: str
    hint: str
    x_px: float
    y_px: float
    width_px: float = WIDTH_PX
    height_px: float = HEIGHT_PX

    def contains(self, x_px: float, y_px: float) -> bool:
        """Whether a point lies in the box, its edge included."""
        return (
            abs(x_px - self.x_px) <= self.width_px / 2
            and abs(y_px - self.y_px) <= self.height_px / 2
        )


def option_keys(options: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Key and shown hint of each option.

    Raises
    ------
    ValueError
        For more options than there are keys.
    """
    numbers = [match[1] for option in options if (match := _NUMBER.fullmatch(option.strip()))]
    if len(set(numbers)) == len(options):
        return tuple((number, "") for number in numbers)
    if len(options) > len(_KEYS):
        raise ValueError(f"{len(options)} options; at most {len(_KEYS)} can be shown")
    return tuple((key, key) for key in _KEYS[: len(options)])


def lay_out(options: Sequence[str], *, keys: bool = True, top_px: float = 60) -> tuple[Box, ...]:
    """Boxes in rows, each row centered, in the order of the options; `top_px` of the first row."""
    boxes = []
    chosen_by = option_keys(options) if keys else (("", ""),) * len(options)
    for number, (label, (key, hint)) in enumerate(zip(options, chosen_by, strict=True)):
        row, column = divmod(number, COLUMNS)
        in_row = min(COLUMNS, len(options) - row * COLUMNS)
        x_px = (column - (in_row - 1) / 2) * (WIDTH_PX + GAP_PX)
        y_px = top_px - row * (HEIGHT_PX + GAP_PX)
        boxes.append(Box(label, key, hint, x_px, y_px))
    return tuple(boxes)


def option_at(boxes: Sequence[Box], x_px: float, y_px: float) -> str | None:
    """The option under a point."""
    return next((box.label for box in boxes if box.contains(x_px, y_px)), None)


def option_for_key(boxes: Sequence[Box], text: str) -> str | None:
    """The option that a typed character chooses."""
    return next((box.label for box in boxes if box.key and box.key == text.lower()), None)
