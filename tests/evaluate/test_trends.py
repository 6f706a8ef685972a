"""Paired t, Page's trend and Holm against scipy, printed examples and formulas."""

import doctest
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import page_trend_test, t

from evaluate.metrics import trends
from evaluate.metrics.trends import holm, page_trend, paired_t


def test_examples_in_the_docstrings():
    done = doctest.testmod(trends)
    assert done.attempted > 0
    assert done.failed == 0


values = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=2, max_size=20
).map(lambda rows: np.array(rows, float).T)


@given(values)
def test_paired_t_equals_the_formula(pairs):
    first, second = pairs
    gaps = first - second
    assume(np.ptp(gaps) > 0)
    found = paired_t(first, second)
    statistic = gaps.mean() / (gaps.std(ddof=1) / math.sqrt(len(gaps)))
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(2 * t.sf(abs(statistic), len(gaps) - 1))
    assert found.n == len(gaps)
    assert paired_t(second, first).statistic == pytest.approx(-statistic)


def test_sleep_example():
    """Student's own data of 1908: t = -4.0621 at 9 degrees, p = .002833."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = paired_t(first, second)
    assert (found.statistic, found.p_value) == pytest.approx((-4.0621, 0.002833), abs=5e-5)
    less = paired_t(first, second, alternative="less")
    assert less.p_value == pytest.approx(found.p_value / 2)


def test_page_example_of_the_scipy_manual():
    table = [[3, 4, 3], [2, 4, 4], [3, 3, 5], [1, 3, 2], [2, 3, 2], [2, 4, 5], [1, 2, 4], [3, 4, 4]]
    table += [[2, 4, 5], [1, 3, 4]]
    found = page_trend(table)
    assert found.statistic == 133.5
    assert found.p_value == pytest.approx(0.0018191161948127822)
    assert found.n == 10
    theirs = page_trend_test(table)
    assert (found.statistic, found.p_value) == (theirs.statistic, theirs.pvalue)


@given(st.lists(st.permutations([1.0, 2.0, 3.0, 4.0]), min_size=2, max_size=8))
def test_page_statistic_equals_the_definition(rows):
    table = np.array(rows)
    assert page_trend(table).statistic == pytest.approx(float(table.sum(0) @ np.arange(1, 5)))
    best = page_trend(np.tile([1.0, 2.0, 3.0, 4.0], (len(rows), 1)))
    assert page_trend(table).p_value >= best.p_value


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_equals_the_definition(p_values):
    n = len(p_values)
    order = sorted(range(n), key=lambda place: p_values[place])
    expected = [0.0] * n
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, (n - rank) * p_values[place])
        expected[place] = min(highest, 1.0)
    adjusted = holm(p_values)
    assert adjusted == pytest.approx(np.array(expected))
    assert (adjusted >= np.array(p_values)).all()


def test_what_cannot_be_tested_is_refused():
    for first, second in (([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([[1.0, 2.0]], [[1.0, 2.0]])):
        with pytest.raises(ValueError, match="pairs are needed"):
            paired_t(first, second)
    with pytest.raises(ValueError, match="all differences are equal"):
        paired_t([0.3, 0.5], [0.1, 0.3])
    with pytest.raises(ValueError, match="leave its pair out"):
        paired_t([1.0, math.nan], [0.0, 1.0])
    for table in ([[1, 2, 3]], [[1, 2], [2, 3]], [1, 2, 3]):
        with pytest.raises(ValueError, match="three columns"):
            page_trend(table)
    with pytest.raises(ValueError, match="leave its row out"):
        page_trend([[1, 2, math.nan], [1, 2, 3]])
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, math.nan])
