"""How much a score moves when exposure stays equal: same scene, same EV offset."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Sensitivity:
    """Over sets of frames of one scene and one EV offset, both lightings together.

    Attributes
    ----------
    sets : int
        All sets, those of one frame included.
    single : int
        Sets of one frame: they cannot vary, but count among `sets`.
    varying : int
        Sets with a coefficient of variation above 1.
    mixed : int
        Sets with both a score of zero and one above zero: for right and wrong answers, sets
        that hold both.
    """

    sets: int
    single: int
    varying: int
    mixed: int

    @property
    def parameter_sensitivity(self) -> float:
        """The paper's measure, varying / sets; NaN without sets."""
        return self.varying / self.sets if self.sets else math.nan

    @property
    def mixed_share(self) -> float:
        """Mixed / sets: unlike the former it treats right and wrong alike; NaN without sets."""
        return self.mixed / self.sets if self.sets else math.nan


def sensitivity(
    scores: npt.ArrayLike, scenes: npt.ArrayLike, ev_offsets: npt.ArrayLike
) -> Sensitivity:
    r"""Parameter sensitivity of a per-frame score.

    .. math:: CV = s / \bar x > 1, \quad s^2 = \sum (x - \bar x)^2 / (n - 1)

    with the sample standard deviation, as the released evaluation computes it. Sets of mean 0
    or of one frame have no coefficient of variation: not varying, yet in the denominator. For
    right (1) and wrong (0) answers the condition is 0 < share right < n / (2n - 1): only sets
    that are mostly wrong count, hence `mixed` beside it.

    Parameters
    ----------
    scores : array of float, shape (n,)
        Not negative: 0 or 1, or any metric of one frame.
    scenes, ev_offsets : arrays, shape (n,)
        Of each frame. Lightings are pooled on purpose.

    Raises
    ------
    ValueError
        For different lengths, negative scores or NaN.

    Examples
    --------
    >>> found = sensitivity([0, 0, 1, 1, 1, 0], ["a"] * 6, [0, 0, 0, 1, 1, 1])
    >>> found.sets, found.varying, found.mixed
    (2, 1, 2)
    """
    values = np.asarray(scores, dtype=np.float64)
    names, offsets = np.asarray(scenes), np.asarray(ev_offsets)
    if not values.shape == names.shape == offsets.shape:
        raise ValueError(f"shapes differ: {values.shape}, {names.shape}, {offsets.shape}")
    if values.size and not values.min() >= 0:
        raise ValueError("a score is negative or NaN: its coefficient of variation means nothing")
    if values.size == 0:
        return Sensitivity(0, 0, 0, 0)
    _, scene = np.unique(names, return_inverse=True)
    _, offset = np.unique(offsets, return_inverse=True)
    _, place = np.unique(scene * (offset.max() + 1) + offset, return_inverse=True)
    size = np.bincount(place)
    mean = np.bincount(place, weights=values) / size
    squares = np.bincount(place, weights=(values - mean[place]) ** 2)
    some = np.bincount(place, weights=values > 0)
    usable = (size > 1) & (mean > 0)
    # s > mean, squared and without the division: exact where s equals the mean, as for 1 of 2.
    varying = usable & (squares > mean**2 * (size - 1))
    return Sensitivity(
        sets=len(size),
        single=int((size == 1).sum()),
        varying=int(varying.sum()),
        mixed=int(((some > 0) & (some < size)).sum()),
    )
