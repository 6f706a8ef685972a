"""Agreement of observers against plain counts, published examples and simulation."""

import doctest
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.metrics import agreement
from evaluate.metrics.agreement import (
    agreement_matrix,
    cohen_kappa,
    error_consistency,
    error_consistency_interval,
    shared_rows,
)

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def test_examples_in_the_docstrings():
    done = doctest.testmod(agreement)
    assert done.attempted > 0
    assert done.failed == 0


def test_textbook_kappas():
    # J. Cohen 1960: diagnoses by two judges, in shares; observed .70, expected .41, kappa .492
    table = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]])
    counts = np.rint(table * 100).astype(int)
    first, second = (np.repeat(part.ravel(), counts.ravel()) for part in np.indices((3, 3)))
    assert cohen_kappa(first, second) == pytest.approx(0.492, abs=5e-4)


def test_two_by_two_example():
    """45 yes-yes, 15 yes-no, 25 no-yes, 15 no-no of 100: .1304, a widely printed example."""
    first = ["y"] * 60 + ["n"] * 40
    second = ["y"] * 45 + ["n"] * 15 + ["y"] * 25 + ["n"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.1304, abs=5e-5)


@given(pairs)
def test_error_consistency_is_the_kappa_of_right_and_wrong(rows):
    first, second = zip(*rows, strict=True)
    found = error_consistency(first, second)
    assert found.kappa == pytest.approx(cohen_kappa(first, second), nan_ok=True)
    observed = sum(a == b for a, b in rows) / len(rows)
    p, q = sum(first) / len(rows), sum(second) / len(rows)
    expected = p * q + (1 - p) * (1 - q)
    assert (found.observed, found.expected) == pytest.approx((observed, expected))
    assert found.accuracy_difference == pytest.approx(p - q)
    if expected < 1 - 1e-12:
        assert found.kappa == pytest.approx((observed - expected) / (1 - expected))
        low, high = found.bounds
        assert -1 - 1e-12 <= low - 1e-12 <= found.kappa <= high + 1e-12 <= 1 + 2e-12
    else:
        assert math.isnan(found.kappa)
        assert all(math.isnan(end) for end in found.bounds)


@given(pairs)
def test_kappa_is_symmetric_and_the_same_for_errors(rows):
    first, second = np.array(rows).T
    one = error_consistency(first, second)
    assert error_consistency(second, first).kappa == pytest.approx(one.kappa, nan_ok=True)
    assert error_consistency(~first, ~second).kappa == pytest.approx(one.kappa, nan_ok=True)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.permutations("xyz"))
def test_an_observer_agrees_with_itself_and_names_do_not_matter(labels, names):
    renamed = [dict(zip("abc", names, strict=True))[label] for label in labels]
    kappa = cohen_kappa(labels, labels)
    assert math.isnan(kappa) if len(set(labels)) == 1 else kappa == 1
    shifted = labels[1:] + labels[:1]
    back = renamed[1:] + renamed[:1]
    assert cohen_kappa(labels, shifted) == pytest.approx(cohen_kappa(renamed, back), nan_ok=True)


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, math.nan]), min_size=n, max_size=n),
            min_size=1,
            max_size=4,
        )
    )
)
def test_matrix_equals_each_pair(table):
    kappa, difference, n = agreement_matrix(table)
    for i, first in enumerate(table):
        for j, second in enumerate(table):
            alone = error_consistency(first, second)
            assert kappa[i, j] == pytest.approx(alone.kappa, nan_ok=True)
            assert difference[i, j] == pytest.approx(alone.accuracy_difference, nan_ok=True)
            assert n[i, j] == alone.n


def test_only_stimuli_of_both_count():
    rows, others = shared_rows(["c", "a", "b"], ["b", "d", "c"])
    assert (rows.tolist(), others.tolist()) == ([2, 0], [0, 2])
    with pytest.raises(ValueError, match="second observer has a stimulus twice"):
        shared_rows([1, 2], [3, 3])


def test_independent_observers_have_no_consistency():
    """The interval by scene holds the truth, 0, as often as it says."""
    covered = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        # scenes of their own difficulty, independent for the two observers
        hits = rng.random((2, 40, 10)) < rng.beta(2, 2, (2, 40, 1))
        scenes = np.repeat(np.arange(40), 10)
        found = error_consistency_interval(hits[0].ravel(), hits[1].ravel(), scenes)
        covered += found.low <= 0 <= found.high
    assert covered >= 104


def test_interval_equals_a_plain_loop():
    rng = np.random.default_rng(6)
    scenes = np.repeat(np.arange(25), 8)
    first, second = rng.random((2, 200)) < 0.7
    missing = np.where(np.arange(200) % 9 == 0, np.nan, first)
    found = error_consistency_interval(missing, second, scenes, seed=8)
    drawn = np.random.default_rng(8).integers(25, size=(2000, 25))
    members = [np.flatnonzero(scenes == scene) for scene in range(25)]
    loop = []
    for row in drawn:
        items = np.concatenate([members[scene] for scene in row])
        loop.append(error_consistency(missing[items], second[items]).kappa)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(loop, [0.025, 0.975])))


@settings(max_examples=20)
@given(st.sampled_from([2, -1, 0.5]))
def test_what_is_no_outcome_is_refused(value):
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        error_consistency([value], [1])


def test_different_lengths_are_refused():
    with pytest.raises(ValueError, match="outcomes"):
        error_consistency([1], [1, 0])
    with pytest.raises(ValueError, match="labels"):
        cohen_kappa([1], [1, 0])
    with pytest.raises(ValueError, match="clusters"):
        error_consistency_interval([1, 0], [1, 0], [1])
    assert math.isnan(cohen_kappa([], []))
    assert error_consistency([math.nan], [1]).n == 0


def test_people_and_people_on_sketches(snaprig_data):
    """Pairs of the 7 subjects of model-vs-human, on the pictures that both saw."""
    import pandas as pd

    folder = snaprig_data / "human-trials"
    files = sorted(folder.rglob("*sketch*subject*.csv"))
    assert files
    table = pd.concat([pd.read_csv(file, keep_default_na=False) for file in files])
    table["right"] = (table["object_response"] == table["category"]).astype(float)
    assert len(table) == 5600
    assert table["right"].mean() == pytest.approx(0.9162, abs=5e-5)
    # a picture is named by its last part; the first tells of the trial
    table["picture"] = table["imagename"].str.split("_").str[-1]
    wide = table.pivot_table(index="subj", columns="picture", values="right")
    kappa, difference, n = agreement_matrix(wide.to_numpy())
    assert kappa.shape == (7, 7)
    assert np.allclose(np.diag(kappa), 1)
    assert (n == 800).all()
    off = kappa[~np.eye(7, dtype=bool)]
    assert (off > 0.1).all()  # people err on the same sketches
    assert np.allclose(difference, -difference.T)
