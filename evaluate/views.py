"""Frames seen through a view: their names, and what each does to the pixels.

A name is what stimuli carry: ``original``, ``grayscale``, ``low:16``, ``high:16``,
``corruption:gaussian_noise:3``. Reports read the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from evaluate.corruptions import COMMON, SEVERITIES, corrupt, corruption_version
from evaluate.errors import EvaluateError
from schemas.answer_store import ORIGINAL

__all__ = [
    "GRAYSCALE",
    "ORIGINAL",
    "Corruption",
    "Frequencies",
    "View",
    "corruption",
    "find_view",
    "frequencies",
    "grayscale",
    "split_frequencies",
]

Pixels = npt.NDArray[np.uint8]

GRAYSCALE: Final = "grayscale"

#: What high frequencies are shown around: they are as often negative as positive.
MID_GRAY: Final = 128.0

_CORRUPTION = re.compile(r"corruption:([a-z0-9_]+):([1-5])")
_FREQUENCIES = re.compile(r"(low|high):([1-9][0-9]{0,3})")

#: Changes with what `grayscale` or the frequencies do, so that nothing old is reused.
_REVISION = 1


class Corruption(NamedTuple):
    """``corruption:gaussian_noise:3``."""

    name: str
    severity: int


class Frequencies(NamedTuple):
    """``low:16``: the part of a picture below a radius in its spectrum, or above."""

    part: str
    radius: int


@dataclass(frozen=True)
class View:
    """One way to see a frame.

    Attributes
    ----------
    name : str
        As stimuli carry it.
    key : str
        Names what `apply` does, library and revision included. With the frame's SHA-256 it
        identifies the pixels that result, so that these may be kept. Empty for ``original``.
    apply : callable
        Upright RGB, uint8, shape (H, W, 3) → the same shape and type. The input is left as it is;
        ``original`` hands it back. May run in several threads. Raises EvaluateError for a picture
        that has no such view.
    """

    name: str
    key: str
    apply: Callable[[Pixels], Pixels]


def corruption(view: str) -> Corruption | None:
    """The corruption that a view shows, common or not; None for other views."""
    found = _CORRUPTION.fullmatch(view)
    return None if found is None else Corruption(found[1], int(found[2]))


def frequencies(view: str) -> Frequencies | None:
    """The frequencies that a view keeps; None for other views."""
    found = _FREQUENCIES.fullmatch(view)
    return None if found is None else Frequencies(found[1], int(found[2]))


def find_view(name: str) -> View:
    """The view of a name.

    Raises
    ------
    EvaluateError
        For a name that stands for no view; it lists those there are.
    """
    if name == ORIGINAL:
        return View(name, "", lambda pixels: pixels)
    if name == GRAYSCALE:
        return View(name, f"{name} r{_REVISION}", grayscale)
    kept = frequencies(name)
    if kept is not None:
        return View(name, f"{name} r{_REVISION}", partial(_keep, kept))
    shown = corruption(name)
    if shown is not None and shown.name in COMMON:
        return View(name, f"{name} {corruption_version()}", partial(_corrupt, shown))
    raise EvaluateError(
        f"no view {name!r}; there are {ORIGINAL}, {GRAYSCALE}, low:RADIUS and high:RADIUS (the "
        "paper: 8, 16, 32), and corruption:NAME:SEVERITY with a severity of "
        f"{SEVERITIES[0]} to {SEVERITIES[-1]} and one of {', '.join(COMMON)}"
    )


def grayscale(pixels: Pixels) -> Pixels:
    """Rec. 601 luma in all three channels."""
    luma = np.asarray(Image.fromarray(pixels).convert("L"))
    return np.repeat(luma[:, :, None], 3, axis=2)


def split_frequencies(
    pixels: npt.NDArray[np.uint8] | npt.NDArray[np.float32], radius: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Low and high frequencies of a picture; they sum to it.

    Parameters
    ----------
    pixels : array
        Shape (H, W, 3).
    radius : float
        Of the circle in the spectrum within which (<) frequencies are low, in cycles over the
        shorter side. For a square picture these are the steps of its discrete spectrum, as in
        Wang et al., "High-frequency component helps explain the generalization of convolutional
        neural networks", CVPR 2020, which the paper follows; for others the circle cuts at the
        same fineness in both directions.

    Returns
    -------
    low, high : array
        Shape (H, W, 3), in the unit of `pixels`. `low` keeps the mean, `high` has mean 0.
    """
    # a tenth of a second that only these views pay for
    import scipy.fft  # type: ignore[import-untyped]

    values = np.moveaxis(np.asarray(pixels, np.float32), 2, 0)
    height, width = values.shape[1:]
    spectrum = scipy.fft.rfft2(values)
    spectrum *= _circle(height, width, radius)
    low = np.moveaxis(scipy.fft.irfft2(spectrum, (height, width)), 0, 2)
    low = np.ascontiguousarray(low, np.float32)
    return low, np.asarray(pixels, np.float32) - low


@lru_cache(maxsize=16)
def _circle(height: int, width: int, radius: float) -> npt.NDArray[np.float32]:
    """1 inside the circle and 0 outside, laid out as `rfft2` lays out a spectrum."""
    shorter = min(height, width)
    # whole steps first: a frequency on the circle's edge must not fall to either side of it
    down = np.rint(np.fft.fftfreq(height) * height)[:, None] * (shorter / height)
    across = np.rint(np.fft.rfftfreq(width) * width)[None, :] * (shorter / width)
    circle: npt.NDArray[np.float32] = (np.hypot(down, across) < radius).astype(np.float32)
    circle.flags.writeable = False  # shared
    return circle


def _keep(kept: Frequencies, pixels: Pixels) -> Pixels:
    low, high = split_frequencies(pixels, kept.radius)
    shown = low if kept.part == "low" else high + MID_GRAY
    return np.clip(np.rint(shown), 0, 255).astype(np.uint8)


def _corrupt(shown: Corruption, pixels: Pixels) -> Pixels:
    return corrupt(pixels, shown.name, shown.severity)
