"""Dominant colors of an object and its background, from pixels and a mask.

The labeling rules of ColorSense, III-A, as far as pixels can follow them: the color that covers
most of a region is its label; where no color covers a third of it, or none leads, it is `others`. A
pixel has the color of the nearest prototype in CIELAB; one that is far from all is `others`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from evaluate.color.groups import Color, Group, group_of

#: CIE 1976 distance from every prototype beyond which a pixel is of no color: a step that nobody
#: would call by one name. A just noticeable difference is 2.3.
OTHERS_DISTANCE: Final = 40.0

#: A region needs this share of one color, and this much more than of the next, to be labeled.
LEAST_COVERAGE: Final = 1 / 3
LEAST_LEAD: Final = 0.02

#: Rec. 601, as the rig's own histograms.
LUMA: Final = np.array([0.299, 0.587, 0.114])
_LUMA_16: Final = np.rint(LUMA * 2**16).astype(np.uint32)

#: Bits a channel of the table from color to label: 262,144 entries.
_BITS: Final = 6

_COLORS: Final = tuple(Color)

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Measured:
    """Colors of a frame.

    Attributes
    ----------
    foreground, background : Color
    foreground_coverage, background_coverage : float
        Share of the region's pixels that have the label's color.
    foreground_luma, background_luma : float
        Mean Rec. 601 luma of the regions as they appear, 0 to 255.
    """

    foreground: Color
    background: Color
    foreground_coverage: float
    background_coverage: float
    foreground_luma: float
    background_luma: float

    @property
    def group(self) -> Group:
        """Color discrimination of the pair."""
        return group_of(self.background, self.foreground)


def measure(pixels: Pixels, mask: npt.NDArray[np.bool_], ev_offset: float = 0.0) -> Measured:
    """Colors of the object and of what surrounds it.

    Parameters
    ----------
    pixels : array of uint8, shape (H, W, 3)
        sRGB.
    mask : array of bool, shape (H, W)
        True on the object or objects.
    ev_offset : float
        Stops by which the frame is over-exposed. They are taken back in linear light first, which
        gives the object's own color; 0 gives the color as it appears in the frame.

    Raises
    ------
    ValueError
        If shapes differ, or the mask is empty or covers everything.
    """
    if pixels.shape[:2] != mask.shape:
        raise ValueError(f"the mask is {mask.shape}, the picture {pixels.shape[:2]}")
    if not mask.any() or mask.all():
        raise ValueError("a mask needs pixels of the object and of the background")
    labels = _table()[_index(pixels, float(ev_offset))]
    every = np.bincount(labels.ravel(), minlength=len(_COLORS))
    own = np.bincount(labels[mask], minlength=len(_COLORS))
    foreground, foreground_coverage = _dominant(own)
    background, background_coverage = _dominant(every - own)
    return Measured(
        foreground, background, foreground_coverage, background_coverage, *_lumas(pixels, mask)
    )


def _lumas(pixels: Pixels, mask: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Mean luma of object and background."""
    luma = pixels[..., 0] * _LUMA_16[0]  # whole numbers: faster than a product of matrices
    luma += pixels[..., 1] * _LUMA_16[1]
    luma += pixels[..., 2] * _LUMA_16[2]
    n = int(np.count_nonzero(mask))
    own = int(luma.sum(where=mask, dtype=np.int64))
    every = int(luma.sum(dtype=np.int64))
    return own / n / 2**16, (every - own) / (mask.size - n) / 2**16


def name_color(srgb: tuple[int, int, int]) -> Color:
    """The label of one color."""
    label = int(_table()[_index(np.array([[srgb]], np.uint8), 0.0)][0, 0])
    return _COLORS[label]


def _index(pixels: Pixels, ev_offset: float) -> npt.NDArray[np.int32]:
    """Entry of the table for each pixel, after taking `ev_offset` stops back."""
    levels = _levels(ev_offset)
    found = levels[pixels[..., 0]] << (2 * _BITS)
    found |= levels[pixels[..., 1]] << _BITS
    found |= levels[pixels[..., 2]]
    return found


@cache
def _levels(ev_offset: float) -> npt.NDArray[np.int32]:
    """Level in the table of each 8-bit value, after taking `ev_offset` stops back.

    All 256 values count here, so that the dark ones of an under-exposed frame stay apart.
    """
    linear = np.clip(_linear(np.arange(256) / 255) * 2.0**-ev_offset, 0, 1)
    return np.rint(_encoded(linear) * (2**_BITS - 1)).astype(np.int32)


def _dominant(counts: npt.NDArray[np.int64]) -> tuple[Color, float]:
    total = counts.sum()
    order = np.argsort(counts, kind="stable")[::-1]
    first, second = counts[order[0]] / total, counts[order[1]] / total
    if first < LEAST_COVERAGE or first - second < LEAST_LEAD:
        return Color.OTHERS, float(counts[_COLORS.index(Color.OTHERS)] / total)
    return _COLORS[order[0]], float(first)


@cache
def _table() -> npt.NDArray[np.uint8]:
    """Label of each color."""
    levels = np.arange(2**_BITS) / (2**_BITS - 1)
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3)
    lab = _lab(_linear(grid))
    names, prototypes = _prototypes()
    nearest = np.zeros(len(lab), np.uint8)
    least = np.full(len(lab), OTHERS_DISTANCE**2)
    nearest[:] = _COLORS.index(Color.OTHERS)
    for name, prototype in zip(names, prototypes, strict=True):
        distance = ((lab - prototype) ** 2).sum(1)
        closer = distance < least
        nearest[closer], least[closer] = name, distance[closer]
    return nearest


@cache
def _prototypes() -> tuple[list[int], npt.NDArray[np.float64]]:
    text = files("evaluate.color").joinpath("prototypes.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    srgb = np.array([[int(row["srgb"][i : i + 2], 16) for i in (1, 3, 5)] for row in rows])
    return [_COLORS.index(Color(row["color"])) for row in rows], _lab(_linear(srgb / 255))


def _linear(encoded: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The transfer curve of sRGB backwards (IEC 61966-2-1)."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _encoded(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The transfer curve of sRGB (IEC 61966-2-1)."""
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)


#: Linear sRGB to XYZ of D65 (IEC 61966-2-1).
_XYZ: Final = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)


def _lab(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """CIELAB of linear sRGB (CIE 15:2004), white D65; shape (N, 3)."""
    relative = linear @ _XYZ.T / _XYZ.sum(1)
    bent = np.where(
        relative > (6 / 29) ** 3, np.cbrt(relative), relative * (29 / 6) ** 2 / 3 + 4 / 29
    )
    x, y, z = bent.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)
