r"""Shares of right answers with intervals.

Two intervals, because frames of one scene are no independent draws (with scene effects, a
plain 95 % interval covers far less):

- From `MIN_SCENES` scenes on, a bootstrap that resamples whole scenes. It speaks of scenes
  like these.
- Below, resampling two or five scenes says nothing; Wilson's interval treats the frames as
  independent draws and speaks of *these* scenes only. It is too narrow for any other scene.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Method = Literal["wilson", "scene_bootstrap", "none"]

#: Scenes from which on a bootstrap over scenes is used.
MIN_SCENES = 20

RESAMPLES = 2000

#: 97.5 % point of the standard normal distribution: 95 % intervals.
Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """A share of right answers among `n`, with a 95 % interval made by `method`.

    All three are NaN for n = 0.
    """

    value: float
    low: float
    high: float
    n: int
    method: Method


def wilson(hits: int, n: int, z: float = Z_95) -> tuple[float, float]:
    r"""Wilson's score interval of a binomial share.

    .. math:: \frac{p + z^2/2n \pm z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Never of zero width, and never outside 0 to 1. Source: E. B. Wilson, JASA 22 (1927).

    Raises
    ------
    ValueError
        Unless 0 <= hits <= n and n > 0.

    Examples
    --------
    >>> [round(float(end), 4) for end in wilson(30, 30)]
    [0.8865, 1.0]
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} hits of {n}")
    share = hits / n
    center = share + z**2 / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    # at 0 and at n hits an end is 0 or 1, which rounding would miss by an ulp
    low = 0.0 if hits == 0 else (center - half) / scale
    high = 1.0 if hits == n else (center + half) / scale
    return low, high


def scene_bootstrap(
    hits: npt.ArrayLike, scenes: npt.ArrayLike, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile interval of a share, resampling whole scenes with replacement.

    Parameters
    ----------
    hits : array of bool, shape (n,)
    scenes : array, shape (n,)
        The scene of each frame.

    Notes
    -----
    A draw of scenes gives hits / frames over all its frames, as the share itself does: both
    are ratios of sums, so the interval belongs to the number it stands beside.
    """
    _, place = np.unique(np.asarray(scenes), return_inverse=True)
    frames = np.bincount(place).astype(np.float64)
    right = np.bincount(place, weights=np.asarray(hits, dtype=np.float64))
    drawn = np.random.default_rng(seed).integers(len(frames), size=(resamples, len(frames)))
    shares = right[drawn].sum(axis=1) / frames[drawn].sum(axis=1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return float(low), float(high)


def accuracy(hits: npt.ArrayLike, scenes: npt.ArrayLike, seed: int = 0) -> Share:
    """Share of right answers with the interval that fits the number of scenes.

    Parameters
    ----------
    hits : array of bool, shape (n,)
    scenes : array, shape (n,)
        The scene of each frame.

    Raises
    ------
    ValueError
        For different lengths.

    Examples
    --------
    >>> share = accuracy([True, True, False, True], ["a", "a", "b", "b"])
    >>> share.value, share.n, share.method
    (0.75, 4, 'wilson')
    """
    right = np.asarray(hits, dtype=bool)
    groups = np.asarray(scenes)
    if right.shape != groups.shape:
        raise ValueError(f"{right.shape} answers, {groups.shape} scenes")
    n = right.size
    if n == 0:
        return Share(math.nan, math.nan, math.nan, 0, "none")
    total = int(right.sum())
    count = len(np.unique(groups))
    if count < MIN_SCENES:
        return Share(total / n, *wilson(total, n), n, "wilson")
    low, high = scene_bootstrap(right, groups, seed)
    if low == high:
        # Every scene alike, mostly all right: a bootstrap cannot see beyond it. One draw a scene.
        low, high = wilson(round(total / n * count), count)
    return Share(total / n, low, high, n, "scene_bootstrap")
