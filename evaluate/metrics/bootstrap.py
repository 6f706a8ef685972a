r"""Intervals that resample clusters: whole scenes, whole subjects, with all their items.

Items of one scene, or of one person, are no independent draws; an interval that counts them as
such covers the truth far too rarely. The percentile bootstrap here draws clusters with replacement,
and every statistic is computed from the items of the drawn clusters exactly as from all of them.

Two ways to the same draws. Most statistics are functions of sums over items (a mean is sum /
count), so it suffices to add up sums per cluster: `bootstrap_sums`. Others get the multiplicity of
each item: `bootstrap_weights`, as AP and oLRP, which are then accumulated anew from the stored
matching.

No interval is given for fewer than `MIN_CLUSTERS` clusters, of which a resample says nothing, nor
where all resamples agree (a bootstrap of 30 right answers of 30 would claim certainty).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray, ratio
from evaluate.metrics.groups import Groups

Method = Literal["wilson", "cluster_bootstrap", "none"]

#: Clusters from which on a bootstrap over them is used.
MIN_CLUSTERS = 20

RESAMPLES = 2000

_LEVELS = (0.025, 0.975)
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A value of `n` items with a 95 % interval made by `method`.

    `value` is NaN where undefined, `low` and `high` where `method` is "none".
    """

    value: float
    low: float
    high: float
    n: int
    method: Method


def drawn_counts(clusters: int, seed: int = 0, resamples: int = RESAMPLES) -> Iterator[IntArray]:
    """How often each cluster is drawn, in blocks of shape (some resamples, clusters)."""
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // max(clusters, 1))
    for begin in range(0, resamples, block):
        size = min(block, resamples - begin)
        drawn = rng.integers(clusters, size=(size, clusters))
        drawn += np.arange(size)[:, None] * clusters
        yield np.bincount(drawn.ravel(), minlength=size * clusters).reshape(size, clusters)


def cluster_sums(values: npt.ArrayLike, clusters: npt.ArrayLike) -> FloatArray:
    """Sums over the items of each cluster, clusters ascending.

    Parameters
    ----------
    values : array of float, shape (n,) or (n, m)
    clusters : array, shape (n,)

    Returns
    -------
    array of float, shape (n_clusters, m)
    """
    table = np.asarray(values, np.float64)
    table = table.reshape(len(table), -1)
    _, place = np.unique(np.asarray(clusters), return_inverse=True)
    n = int(place.max(initial=-1)) + 1
    return np.stack([np.bincount(place, weights=column, minlength=n) for column in table.T], axis=1)


def bootstrap_sums(
    sums: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[FloatArray, FloatArray]:
    """95 % percentile interval of a statistic of sums over items.

    Parameters
    ----------
    sums : array of float, shape (n_clusters, m)
        As of `cluster_sums`.
    statistic : callable
        From sums, shape (resamples, m), to values, shape (resamples, …).

    Returns
    -------
    low, high : arrays of float, shape (…)
        NaN below `MIN_CLUSTERS`, without any width, or where no resample has a value. Resamples
        without a value are left out.
    """
    if len(sums) < MIN_CLUSTERS:
        shape = statistic(sums.sum(axis=0, keepdims=True)).shape[1:]
        return np.full(shape, np.nan), np.full(shape, np.nan)
    drawn = drawn_counts(len(sums), seed, resamples)
    return _ends(np.concatenate([statistic(counts @ sums) for counts in drawn]))


def bootstrap_weights(
    statistic: Callable[[IntArray], npt.ArrayLike],
    clusters: npt.ArrayLike,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[FloatArray, FloatArray]:
    """95 % percentile interval of any statistic of weighted items, one call a resample.

    Parameters
    ----------
    statistic : callable
        From the multiplicity of each item, shape (n,), to a value or values.
    clusters : array, shape (n,)

    Examples
    --------
    The interval of oLRP by scene, without matching anything again::

        bootstrap_weights(lambda w: optimal_lrp(matching, weights=w).mean().error, scenes)
    """
    _, place = np.unique(np.asarray(clusters), return_inverse=True)
    n = int(place.max(initial=-1)) + 1
    if n < MIN_CLUSTERS:
        shape = np.shape(statistic(np.ones(len(place), np.int64)))
        return np.full(shape, np.nan), np.full(shape, np.nan)
    blocks = drawn_counts(n, seed, resamples)
    return _ends(np.array([statistic(row[place]) for counts in blocks for row in counts], float))


def mean_interval(values: npt.ArrayLike, clusters: npt.ArrayLike, seed: int = 0) -> Interval:
    """Mean of real values with its interval; NaN values are left out.

    For right and wrong answers use `accuracy`, which has an interval for few clusters too; for the
    difference of two observers on the same items give the differences, which pairs them.
    """
    found = np.asarray(values, np.float64)
    names = np.asarray(clusters)
    if found.shape != names.shape:
        raise ValueError(f"{found.shape} values, {names.shape} clusters")
    there = ~np.isnan(found)
    found, names = found[there], names[there]
    if not found.size:
        return Interval(math.nan, math.nan, math.nan, 0, "none")
    sums = cluster_sums(np.stack([found, np.ones_like(found)], axis=1), names)
    low, high = bootstrap_sums(sums, lambda total: total[:, 0] / total[:, 1], seed)
    return interval(float(found.mean()), float(low), float(high), found.size)


def group_mean_intervals(
    values: npt.ArrayLike, clusters: npt.ArrayLike, groups: Groups, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[float, float]]:
    """Mean of each group, and of the mean of these means, with intervals.

    All groups are of the same draws, so a scene comes with its items in every group.

    Returns
    -------
    means, low, high : arrays of float, shape (n_groups,)
    balanced : tuple of float
        The ends for `balanced_mean`.
    """
    found = np.asarray(values, np.float64)
    used = (groups.index >= 0) & ~np.isnan(found)
    n = len(groups.labels)
    kept, index = found[used], groups.index[used]
    _, cluster = np.unique(np.asarray(clusters)[used], return_inverse=True)
    n_clusters = int(cluster.max(initial=-1)) + 1
    cell, size = cluster * n + index, n_clusters * n
    sums = np.hstack(
        [
            np.bincount(cell, weights=kept, minlength=size).reshape(n_clusters, n),
            np.bincount(cell, minlength=size).reshape(n_clusters, n),
        ]
    ).astype(np.float64)

    def statistic(total: FloatArray) -> FloatArray:
        means = ratio(total[:, :n], total[:, n:])
        balanced = ratio(np.nansum(means, axis=1), (~np.isnan(means)).sum(axis=1))
        return np.column_stack([means, balanced])

    low, high = bootstrap_sums(sums, statistic, seed)
    return groups.means(found), low[:-1], high[:-1], (float(low[-1]), float(high[-1]))


def interval(value: float, low: float, high: float, n: int) -> Interval:
    """An interval of the cluster bootstrap; none where its ends are undefined."""
    return Interval(value, low, high, n, "none" if math.isnan(low) else "cluster_bootstrap")


def _ends(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    ends = np.full((2, flat.shape[1]), np.nan)
    for column, out in zip(flat.T, ends.T, strict=True):
        defined = column[~np.isnan(column)]
        if len(defined):
            low, high = np.quantile(defined, _LEVELS)
            # equal but for rounding is equal
            if high - low > 1e-12 * max(abs(low), abs(high)):
                out[:] = low, high
    low, high = ends.reshape(2, *values.shape[1:])
    return low, high
