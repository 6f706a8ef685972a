r"""Shares of right answers with intervals.

Two intervals, because frames of one scene are no independent draws (with scene effects, a
plain 95 % interval covers far less):

- From `MIN_SCENES` scenes on, a bootstrap that resamples whole scenes. It speaks of scenes
  like these. Of people's answers it resamples people.
- Below, resampling two or five scenes says nothing; Wilson's interval treats the frames as
  independent draws and speaks of *these* scenes only. It is too narrow for any other scene.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from evaluate.metrics.bootstrap import (
    MIN_CLUSTERS,
    RESAMPLES,
    Interval,
    bootstrap_sums,
    cluster_sums,
)

#: Scenes from which on a bootstrap over scenes is used.
MIN_SCENES = MIN_CLUSTERS

#: 97.5 % point of the standard normal distribution: 95 % intervals.
Z_95 = 1.959963984540054

#: A share of right answers with its interval.
Share = Interval


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


def share_interval(
    hits: npt.ArrayLike, clusters: npt.ArrayLike, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile interval of a share, resampling whole clusters with replacement.

    Parameters
    ----------
    hits : array of bool, shape (n,)
    clusters : array, shape (n,)
        The scene of each frame, or the person who gave each answer.

    Notes
    -----
    A draw gives hits / items over all its items, as the share itself does: both are ratios of
    sums, so the interval belongs to the number it stands beside. NaN for few clusters, or where
    all draws agree (see `evaluate.metrics.bootstrap`).
    """
    right = np.asarray(hits, dtype=np.float64)
    sums = cluster_sums(np.stack([right, np.ones_like(right)], axis=1), clusters)
    low, high = bootstrap_sums(sums, lambda total: total[:, 0] / total[:, 1], seed, resamples)
    return float(low), float(high)


def accuracy(hits: npt.ArrayLike, clusters: npt.ArrayLike, seed: int = 0) -> Interval:
    """Share of right answers with the interval that fits the number of clusters.

    Parameters
    ----------
    hits : array of bool, shape (n,)
    clusters : array, shape (n,)
        The scene of each frame, or the person who gave each answer.

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
    names = np.asarray(clusters)
    if right.shape != names.shape:
        raise ValueError(f"{right.shape} answers, {names.shape} clusters")
    n = right.size
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, "none")
    total = int(right.sum())
    count = len(np.unique(names))
    if count < MIN_SCENES:
        return Interval(total / n, *wilson(total, n), n, "wilson")
    low, high = share_interval(right, names, seed)
    if math.isnan(low):
        # Every scene alike, mostly all right: a bootstrap cannot see beyond it. One draw a scene.
        return Interval(total / n, *wilson(round(total / n * count), count), n, "wilson")
    return Interval(total / n, low, high, n, "cluster_bootstrap")
