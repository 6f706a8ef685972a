r"""How far two observers, people or models, agree on the stimuli that both answered.

Error consistency is Cohen's kappa of right and wrong: whether two observers err on the same
stimuli more often than independent observers of their accuracies would,

.. math:: \kappa = \frac{c_{obs} - c_{exp}}{1 - c_{exp}}, \quad
    c_{exp} = p_a p_b + (1 - p_a)(1 - p_b)

with the share of equal outcomes :math:`c_{obs}`. Accuracies bound it: equal outcomes lie between
:math:`|p_a + p_b - 1|` and :math:`1 - |p_a - p_b|`, so an observer at .95 and one at .5 cannot
exceed .1. Undefined (NaN) where both are always right, or both always wrong.

Source: Geirhos, Meding, Wichmann, Beyond accuracy, NeurIPS 2020 (arXiv 2006.16736);
J. Cohen, Educational and Psychological Measurement 20 (1960).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray, ratio
from evaluate.metrics.bootstrap import Interval, bootstrap_sums, cluster_sums, interval


@dataclass(frozen=True)
class ErrorConsistency:
    """Agreement of two observers about `n` stimuli; NaN where undefined.

    Attributes
    ----------
    accuracies : tuple of float
        Of the first and the second, on these stimuli only.
    observed, expected : float
        Share of equal outcomes, and that of independent observers.
    kappa : float
    bounds : tuple of float
        Lowest and highest kappa that the accuracies allow.
    """

    n: int
    accuracies: tuple[float, float]
    observed: float
    expected: float
    kappa: float
    bounds: tuple[float, float]

    @property
    def accuracy_difference(self) -> float:
        """The first's accuracy less the second's."""
        return self.accuracies[0] - self.accuracies[1]


def shared_rows(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Rows of two observers' stimuli that both have, in ascending order of stimulus.

    Raises
    ------
    ValueError
        For a stimulus twice in one of them: which answer counts is not for here to say.
    """
    keys = np.asarray(first), np.asarray(second)
    for name, column in zip(("first", "second"), keys, strict=True):
        if len(np.unique(column)) < len(column):
            raise ValueError(f"the {name} observer has a stimulus twice")
    _, rows, others = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    return rows, others


def error_consistency(first: npt.ArrayLike, second: npt.ArrayLike) -> ErrorConsistency:
    """Error consistency of two observers.

    Parameters
    ----------
    first, second : arrays of 0 and 1, shape (n,)
        Outcomes of the same stimuli in the same order; those with a NaN in either are left out.

    Examples
    --------
    >>> found = error_consistency([1, 1, 0, 0], [1, 0, 0, 0])
    >>> found.kappa, found.accuracy_difference
    (0.5, 0.25)
    """
    sums = _outcome_sums(first, second).sum(axis=0)
    n = int(sums[0])
    observed, expected, kappa = (float(value) for value in _consistency(sums))
    if n == 0:
        nan = float("nan")
        return ErrorConsistency(0, (nan, nan), nan, nan, nan, (nan, nan))
    a, b = float(sums[1] / n), float(sums[2] / n)
    ends = np.array([abs(a + b - 1), 1 - abs(a - b)])
    low, high = (ends - expected) / (1 - expected) if expected < 1 else (np.nan, np.nan)
    return ErrorConsistency(n, (a, b), observed, expected, kappa, (float(low), float(high)))


def error_consistency_interval(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.ArrayLike, seed: int = 0
) -> Interval:
    """Kappa of right and wrong with its interval, resampling scenes (or subjects)."""
    outcomes = _outcome_sums(first, second)
    names = np.asarray(clusters)
    if len(names) != len(outcomes):
        raise ValueError(f"{len(outcomes)} outcomes, {len(names)} clusters")
    there = outcomes[:, 0] > 0
    sums = cluster_sums(outcomes[there], names[there])
    low, high = bootstrap_sums(sums, lambda total: _consistency(total.T)[2], seed)
    found = error_consistency(first, second)
    return interval(found.kappa, float(low), float(high), found.n)


def agreement_matrix(outcomes: npt.ArrayLike) -> tuple[FloatArray, FloatArray, IntArray]:
    """Error consistency and accuracy difference of all pairs of observers at once.

    Parameters
    ----------
    outcomes : array of float, shape (n_observers, n_stimuli)
        1 right, 0 wrong, NaN not answered.

    Returns
    -------
    kappa, difference : arrays of float, shape (n_observers, n_observers)
        Row less column, each pair on the stimuli that both answered.
    n : array of int, shape (n_observers, n_observers)
    """
    table = np.asarray(outcomes, np.float64)
    there = (~np.isnan(table)).astype(np.float64)
    right = np.nan_to_num(table)
    n = there @ there.T
    first = right @ there.T
    both = right @ right.T
    sums = np.stack([n, first, first.T, both])
    kappa = _consistency(sums)[2]
    return kappa, ratio(first - first.T, n), n.astype(np.int64)


def cohen_kappa(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Cohen's kappa of two observers' labels, of any number; NaN where undefined.

    Parameters
    ----------
    first, second : arrays, shape (n,)
        Labels given to the same stimuli. Undefined without stimuli, or if both gave one and the
        same label throughout.

    Examples
    --------
    >>> a = ["yes"] * 25 + ["no"] * 25
    >>> b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    >>> round(cohen_kappa(a, b), 4)
    0.4
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape:
        raise ValueError(f"{a.shape} labels, {b.shape} labels")
    if not a.size:
        return float("nan")
    labels, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(labels)) for part in np.split(place, 2)]
    # Of counts, not of shares: whether the denominator is 0 must not hang on rounding.
    expected = int(counts[0] @ counts[1])
    if expected == a.size**2:
        return float("nan")
    return float((int((a == b).sum()) * a.size - expected) / (a.size**2 - expected))


def _outcome_sums(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Answered by both, right: first, second, both; shape (n, 4)."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape:
        raise ValueError(f"{a.shape} outcomes, {b.shape} outcomes")
    if not np.isin(np.nan_to_num(np.concatenate([a, b])), (0, 1)).all():
        raise ValueError("outcomes are 0, 1 or NaN")
    there = ~(np.isnan(a) | np.isnan(b))
    table = np.stack([np.ones_like(a), a, b, a * b], axis=1)
    return np.where(there[:, None], table, 0.0)


def _consistency(sums: FloatArray) -> FloatArray:
    """Observed and expected share of equal outcomes, and kappa; shape (3, …) of sums (4, …)."""
    n, a, b, both = sums
    equal = (n - a - b + 2 * both) * n
    expected = a * b + (n - a) * (n - b)
    return np.stack(
        [
            ratio(equal, n * n),
            ratio(expected, n * n),
            ratio(equal - expected, n * n - expected),
        ]
    )
