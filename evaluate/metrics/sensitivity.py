"""How much a score moves when exposure stays equal: same scene, same EV offset."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import ratio


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
        Sets whose scores span more than half the scale: for right and wrong answers, sets that
        hold both.
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
    scores: npt.ArrayLike,
    scenes: npt.ArrayLike,
    ev_offsets: npt.ArrayLike,
    scale: float = 1.0,
) -> Sensitivity:
    r"""Parameter sensitivity of a per-frame score.

    .. math:: CV = s / \bar x > 1, \quad s^2 = \sum (x - \bar x)^2 / (n - 1)

    with the sample standard deviation, as the released evaluation computes it. Sets of mean 0
    or of one frame have no coefficient of variation: not varying, yet in the denominator. For
    right (1) and wrong (0) answers the condition is 0 < share right < n / (2n - 1): only sets
    that are mostly wrong count, and others if errors are counted instead. `mixed` beside it is the
    same for a score and for `scale` less the score.

    Parameters
    ----------
    scores : array of float, shape (n,)
        From 0 to `scale`: 0 or 1, or any metric of one frame, such as oLRP and its parts. NaN
        where a frame has no value: such frames are left out, yet their sets count.
    scenes, ev_offsets : arrays, shape (n,)
        Of each frame. Lightings are pooled on purpose.
    scale : float
        The highest score there can be, 0.5 for the localization part of oLRP.

    Raises
    ------
    ValueError
        For different lengths, or scores outside the scale.

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
    defined = ~np.isnan(values)
    if not ((values[defined] >= 0) & (values[defined] <= scale)).all():
        raise ValueError(f"a score is outside 0 to {scale}; give the scale of the metric")
    if values.size == 0:
        return Sensitivity(0, 0, 0, 0)
    _, scene = np.unique(names, return_inverse=True)
    _, offset = np.unique(offsets, return_inverse=True)
    _, place = np.unique(scene * (offset.max() + 1) + offset, return_inverse=True)
    frames = np.bincount(place)
    n_sets = len(frames)
    place, values = place[defined], values[defined]
    size = np.bincount(place, minlength=n_sets)
    mean = ratio(np.bincount(place, weights=values, minlength=n_sets), size)
    squares = np.bincount(place, weights=(values - mean[place]) ** 2, minlength=n_sets)
    lowest, highest = np.full(n_sets, np.inf), np.full(n_sets, -np.inf)
    np.minimum.at(lowest, place, values)
    np.maximum.at(highest, place, values)
    usable = (size > 1) & (mean > 0)
    # s > mean, squared and without the division: exact where s equals the mean, as for 1 of 2.
    varying = usable & (squares > mean**2 * (size - 1))
    return Sensitivity(
        sets=n_sets,
        single=int((frames == 1).sum()),
        varying=int(varying.sum()),
        mixed=int((highest - lowest > scale / 2).sum()),
    )
