"""Tests that the papers use, with the checks that scipy leaves to the caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray

Alternative = Literal["two-sided", "less", "greater"]


@dataclass(frozen=True)
class TestResult:
    """A test's statistic (t, or Page's L) and p value over `n` pairs or rows."""

    __test__ = False  # no test case, whatever pytest makes of the name

    statistic: float
    p_value: float
    n: int


def paired_t(
    first: npt.ArrayLike, second: npt.ArrayLike, alternative: Alternative = "two-sided"
) -> TestResult:
    """Paired t test of two conditions, such as hard against easy over the same models.

    Raises
    ------
    ValueError
        For different lengths, fewer than two pairs, a NaN (pairs are left out by the caller, who
        knows why), or differences that are all equal: t is undefined, and scipy's infinite
        statistic with p = 0 would read as proof.
    """
    from scipy.stats import ttest_rel  # type: ignore[import-untyped]

    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise ValueError(f"pairs are needed, two at least: {a.shape}, {b.shape}")
    differences = a - b
    if not np.isfinite(differences).all():
        raise ValueError("a value is not finite; leave its pair out")
    if np.ptp(differences) <= 1e-12 * max(1.0, float(np.abs(differences).max())):
        raise ValueError("all differences are equal: t is undefined")
    found = ttest_rel(a, b, alternative=alternative)
    return TestResult(float(found.statistic), float(found.pvalue), len(a))


def page_trend(table: npt.ArrayLike) -> TestResult:
    """Page's L for an increase over the columns, the order of which is the hypothesis.

    Parameters
    ----------
    table : array of float, shape (n_observers, n_conditions)
        One observer a row, conditions from lowest to highest as predicted.

    Raises
    ------
    ValueError
        For fewer than two rows or three columns (scipy's limits), or a NaN.

    Notes
    -----
    Source: E. B. Page, JASA 58 (1963); `scipy.stats.page_trend_test`.
    """
    from scipy.stats import page_trend_test

    rows = np.asarray(table, np.float64)
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] < 3:
        raise ValueError(f"two rows and three columns at least, not {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("a value is not finite; leave its row out")
    found = page_trend_test(rows)
    return TestResult(float(found.statistic), float(found.pvalue), len(rows))


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """P values adjusted for their number by Holm's step-down method, in the order given.

    Of 52 models without any effect, tested at .05 each, 93 % of studies would report one; after
    this at most 5 %. Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(adjusted, 1.0)
    return out
