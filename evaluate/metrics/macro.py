"""Means of means with intervals: all questions of equal weight, at each condition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray, ratio
from evaluate.metrics.bootstrap import Interval, bootstrap_sums, interval


@dataclass(frozen=True, eq=False)
class MacroMeans:
    """Means over the parts' means, at each condition and in all.

    Attributes
    ----------
    values, low, high : arrays of float, shape (n_conditions,)
        NaN where no part has an item.
    n : array of int, shape (n_conditions,)
        Items behind each.
    overall : Interval
        Of the parts' means over all conditions, items without one included.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    n: IntArray
    overall: Interval


def macro_means(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    parts: npt.ArrayLike,
    conditions: npt.ArrayLike,
    seed: int = 0,
) -> MacroMeans:
    """Mean over parts (questions) of their means, at each condition (EV offset).

    Parts have different numbers of items at a condition; each counts the same, as in the paper's
    mean over questions. Conditions are of the same draws of clusters.

    Parameters
    ----------
    values : array of float, shape (n,)
    clusters, parts : arrays, shape (n,)
    conditions : array of int, shape (n,)
        From 0; -1 for items that count in `overall` only.
    """
    scores = np.asarray(values, np.float64)
    place = np.asarray(conditions, np.int64)
    _, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    _, part = np.unique(np.asarray(parts), return_inverse=True)
    n_conditions = int(place.max(initial=-1)) + 1
    n_parts = int(part.max(initial=-1)) + 1
    n_clusters = int(cluster.max(initial=-1)) + 1
    shape = (n_conditions + 1, n_parts)  # the last row: items without a condition
    cells = shape[0] * n_parts
    cell = np.where(place < 0, n_conditions, place) * n_parts + part
    size = n_clusters * cells
    key = cluster * cells + cell
    sums = np.hstack(
        [
            np.bincount(key, weights=scores, minlength=size).reshape(n_clusters, cells),
            np.bincount(key, minlength=size).reshape(n_clusters, cells),
        ]
    ).astype(np.float64)

    def statistic(total: FloatArray) -> FloatArray:
        right, count = (half.reshape(-1, *shape) for half in (total[:, :cells], total[:, cells:]))
        means = _mean_of_parts(right[:, :-1], count[:, :-1])
        whole = _mean_of_parts(right.sum(axis=1), count.sum(axis=1))
        return np.column_stack([means, whole])

    found = statistic(sums.sum(axis=0, keepdims=True))[0]
    low, high = bootstrap_sums(sums, statistic, seed)
    return MacroMeans(
        values=found[:-1],
        low=low[:-1],
        high=high[:-1],
        n=np.bincount(place[place >= 0], minlength=n_conditions),
        overall=interval(float(found[-1]), float(low[-1]), float(high[-1]), len(scores)),
    )


def _mean_of_parts(sums: FloatArray, counts: FloatArray) -> FloatArray:
    means = ratio(sums, counts)
    there = ~np.isnan(means)
    return ratio(np.where(there, means, 0.0).sum(axis=-1), there.sum(axis=-1))
