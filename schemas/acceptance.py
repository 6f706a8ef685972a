"""Named acceptance rules: pure functions of a frame's 256-bin luma histogram.

The histogram of every shot is kept, so any rule can be applied later without shooting again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Histogram = npt.NDArray[np.uint32]
Judgement = Literal["accepted", "rejected_black", "rejected_white"]
Rule = Callable[[Histogram], Judgement]


@dataclass(frozen=True)
class Extremes:
    """Shares of pixels at 0 and at 255, and the mean level, of a luma histogram."""

    black_fraction: float
    white_fraction: float
    mean: float


def extremes(histogram: Histogram) -> Extremes:
    """Shares at both ends and mean level of a histogram of shape (256,).

    Raises
    ------
    ValueError
        For another shape or an empty histogram.
    """
    if histogram.shape != (256,):
        raise ValueError(f"a luma histogram has 256 bins, not {histogram.shape}")
    total = int(histogram.sum())
    if total == 0:
        raise ValueError("an empty histogram describes no picture")
    mean = float(np.dot(histogram.astype(np.float64), np.arange(256))) / total
    return Extremes(float(histogram[0]) / total, float(histogram[255]) / total, mean)


def pixels95(histogram: Histogram) -> Judgement:
    """The paper's rule: more than 95 % of pixels at 0, or more than 95 % at 255, each alone.

    8-bit Rec. 601 luma. A picture of 60 % black and 40 % white pixels is accepted.
    """
    ends = extremes(histogram)
    if ends.black_fraction > 0.95:
        return "rejected_black"
    if ends.white_fraction > 0.95:
        return "rejected_white"
    return "accepted"


def mean(histogram: Histogram) -> Judgement:
    """What the released capture scripts did: integer mean of the gray image >253 or <3."""
    level = int(extremes(histogram).mean)
    if level < 3:
        return "rejected_black"
    if level > 253:
        return "rejected_white"
    return "accepted"


RULES: dict[str, Rule] = {"pixels95": pixels95, "mean": mean}
