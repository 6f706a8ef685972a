"""Colors, their contrast, and the color discrimination group of a pair. Pure.

After ColorSense (Chiu et al., arXiv 2212.08650), III-B and Table VII: the group of a foreground
and a background color follows from the contrast ratio of WCAG 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations_with_replacement
from typing import Final


class Color(StrEnum):
    """Dominant colors that are told apart, in the order of the published tables."""

    GREEN = "green"
    GRAY = "gray"
    BLUE = "blue"
    WHITE = "white"
    BLACK = "black"
    BROWN = "brown"
    RED = "red"
    OTHERS = "others"


class Group(StrEnum):
    """Color discrimination, hardest first."""

    HARD = "Hard"
    MEDIUM = "Medium"
    EASY = "Easy"
    OTHERS = "Others"


#: Groups that are compared; `Others` has no contrast.
COMPARED: Final = (Group.HARD, Group.MEDIUM, Group.EASY)

#: 8-bit sRGB of each color. With these all 28 published contrast ratios come out.
SRGB: Final[dict[Color, tuple[int, int, int]]] = {
    Color.GREEN: (0x00, 0xFF, 0x00),
    Color.GRAY: (0xC0, 0xC0, 0xC0),
    Color.BLUE: (0x00, 0x00, 0xFF),
    Color.WHITE: (0xFF, 0xFF, 0xFF),
    Color.BLACK: (0x00, 0x00, 0x00),
    Color.BROWN: (0x99, 0x4C, 0x00),
    Color.RED: (0xFF, 0x00, 0x00),
}

#: Least contrast of text, level AA (WCAG 2.1, success criterion 1.4.3).
EASY_ABOVE: Final = 4.5


@dataclass(frozen=True)
class Pair:
    """An unordered pair of colors; `ratio` is None with `others`."""

    background: Color
    foreground: Color
    ratio: float | None
    group: Group


def relative_luminance(srgb: tuple[int, int, int]) -> float:
    """Luminance of an 8-bit sRGB color, 0 black to 1 white (WCAG 2.1, definition)."""
    linear = [_linear(value / 255) for value in srgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast_ratio(first: tuple[int, int, int], second: tuple[int, int, int]) -> float:
    """Contrast ratio of two 8-bit sRGB colors, 1 to 21: (L1 + .05) / (L2 + .05), L1 the lighter."""
    dark, light = sorted((relative_luminance(first), relative_luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def pair(background: Color, foreground: Color) -> Pair:
    """Contrast and group of a background and a foreground."""
    if Color.OTHERS in (background, foreground):
        return Pair(background, foreground, None, Group.OTHERS)
    ratio = contrast_ratio(SRGB[background], SRGB[foreground])
    if background is foreground:
        group = Group.HARD
    else:
        group = Group.EASY if ratio > EASY_ABOVE else Group.MEDIUM
    return Pair(background, foreground, ratio, group)


def group_of(background: Color, foreground: Color) -> Group:
    """The group of a background and a foreground; the order makes no difference."""
    return pair(background, foreground).group


def all_pairs() -> list[Pair]:
    """The 36 unordered pairs: Others, then by contrast, as the published table has them."""
    found = [pair(a, b) for a, b in combinations_with_replacement(Color, 2)]
    return sorted(found, key=lambda p: -1.0 if p.ratio is None else p.ratio)


def _linear(value: float) -> float:
    """The transfer curve of sRGB backwards, with the threshold that WCAG prints."""
    return value / 12.92 if value <= 0.03928 else float(((value + 0.055) / 1.055) ** 2.4)
