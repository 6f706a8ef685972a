"""Names of the manipulations that the analyses know, as they stand in the catalog's stimuli."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from schemas.answer_store import ORIGINAL

__all__ = ["GRAYSCALE", "ORIGINAL", "Corruption", "Frequencies", "corruption", "frequencies"]

GRAYSCALE: Final = "grayscale"

_CORRUPTION = re.compile(r"corruption:([a-z0-9_]+):([1-5])")
_FREQUENCIES = re.compile(r"(low|high):(\d+)")


class Corruption(NamedTuple):
    """``corruption:gaussian_noise:3``."""

    name: str
    severity: int


class Frequencies(NamedTuple):
    """``low:16``: the part of a picture below a radius in its spectrum, or above."""

    part: str
    radius: int


def corruption(view: str) -> Corruption | None:
    """The corruption that a view shows; None for other views."""
    found = _CORRUPTION.fullmatch(view)
    return None if found is None else Corruption(found[1], int(found[2]))


def frequencies(view: str) -> Frequencies | None:
    """The frequencies that a view keeps; None for other views."""
    found = _FREQUENCIES.fullmatch(view)
    return None if found is None else Frequencies(found[1], int(found[2]))
