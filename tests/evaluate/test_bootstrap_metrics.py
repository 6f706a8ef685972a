"""Intervals by resampling clusters: against plain loops, in coverage, and where there is none."""

import doctest
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.metrics import bootstrap
from evaluate.metrics.bootstrap import (
    MIN_CLUSTERS,
    bootstrap_sums,
    bootstrap_weights,
    cluster_sums,
    drawn_counts,
    group_mean_intervals,
    mean_interval,
)
from evaluate.metrics.groups import balanced_mean, group_by


def made(seed=0, scenes=30, frames=20):
    """Real values with an effect of the scene, whose true mean is 0."""
    rng = np.random.default_rng(seed)
    effect = np.repeat(rng.normal(0, 1, scenes), frames)
    return effect + rng.normal(0, 0.5, scenes * frames), np.repeat(np.arange(scenes), frames)


def test_mean_of_real_values_equals_a_plain_loop():
    values, scenes = made()
    values = values[7:]  # unequal scenes
    scenes = scenes[7:]
    found = mean_interval(values, scenes, seed=4)
    drawn = np.random.default_rng(4).integers(30, size=(bootstrap.RESAMPLES, 30))
    members = [values[scenes == scene] for scene in range(30)]
    loop = [np.concatenate([members[scene] for scene in row]).mean() for row in drawn]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(loop, [0.025, 0.975])))
    assert (found.value, found.n, found.method) == (
        pytest.approx(values.mean()),
        593,
        "cluster_bootstrap",
    )


def test_blocks_do_not_change_the_draws(monkeypatch):
    whole = np.concatenate(list(drawn_counts(25, seed=3, resamples=50)))
    monkeypatch.setattr(bootstrap, "_BLOCK", 25 * 7)
    blocks = list(drawn_counts(25, seed=3, resamples=50))
    assert len(blocks) == 8
    assert np.array_equal(np.concatenate(blocks), whole)
    assert (whole.sum(axis=1) == 25).all()


def test_both_ways_to_the_same_draws():
    values, scenes = made()
    sums = cluster_sums(np.stack([values, np.ones_like(values)], axis=1), scenes)
    by_sums = bootstrap_sums(sums, lambda total: total[:, 0] / total[:, 1], 1, 200)
    by_weights = bootstrap_weights(lambda w: (w @ values) / w.sum(), scenes, 1, 200)
    assert np.array(by_weights) == pytest.approx(np.array(by_sums))


def test_coverage_of_a_mean_with_scene_effects():
    covered = 0
    for seed in range(150):
        values, scenes = made(seed, scenes=40)
        sums = cluster_sums(np.stack([values, np.ones_like(values)], axis=1), scenes)
        low, high = bootstrap_sums(sums, lambda total: total[:, 0] / total[:, 1], resamples=300)
        covered += low <= 0 <= high
    assert covered >= 133  # 95 %, less four standard errors


def test_differences_of_two_observers_are_paired():
    """Scenes are as hard for one as for the other: the difference is known far better."""
    values, scenes = made()
    other = values + 0.1 + np.random.default_rng(9).normal(0, 0.05, len(values))
    paired = mean_interval(other - values, scenes)
    alone = mean_interval(values, scenes)
    assert paired.low > 0
    assert paired.high - paired.low < (alone.high - alone.low) / 10


@pytest.mark.parametrize(
    ("values", "scenes"),
    [
        ([0.1, 0.4, 0.3], [0, 1, 2]),  # few scenes
        (np.full(50, 0.3), np.arange(50)),  # no spread
    ],
)
def test_no_interval_is_made_up(values, scenes):
    found = mean_interval(values, scenes)
    assert found.method == "none"
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.value == pytest.approx(np.mean(values))


def test_undefined_values_are_left_out():
    values, scenes = made()
    holes = values.copy()
    holes[::3] = np.nan
    rest = ~np.isnan(holes)
    assert mean_interval(holes, scenes) == mean_interval(values[rest], scenes[rest])
    assert mean_interval([math.nan], [0]).n == 0
    with pytest.raises(ValueError, match="clusters"):
        mean_interval([1.0], [0, 1])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.sampled_from([1e-3, 1.0, 50.0]), st.sampled_from([-2.0, 0.0, 3.0]))
def test_intervals_follow_scale_and_shift(seed, scale, shift):
    values, scenes = made(seed, scenes=MIN_CLUSTERS, frames=3)
    before = mean_interval(values, scenes)
    after = mean_interval(values * scale + shift, scenes)
    assert [after.low, after.high] == pytest.approx(
        [before.low * scale + shift, before.high * scale + shift], abs=1e-9
    )
    assert before.low < before.high


def test_means_of_groups_equal_each_alone():
    values, scenes = made()
    groups = group_by({"offset": np.tile([0, 1, 1, 2, 2], 120)}, ["offset"])
    means, low, high, balanced = group_mean_intervals(values, scenes, groups, seed=2)
    for group, rows in enumerate(groups.rows()):
        alone = mean_interval(values[rows], scenes[rows], seed=2)
        assert (means[group], low[group], high[group]) == pytest.approx(
            (alone.value, alone.low, alone.high)
        )
    assert balanced[0] < balanced_mean(values, groups) < balanced[1]

    def statistic(weights):
        return np.mean([np.average(values[r], weights=weights[r]) for r in groups.rows()])

    assert balanced == pytest.approx(bootstrap_weights(statistic, scenes, seed=2))


def test_a_group_that_only_some_scenes_have():
    values, scenes = made()
    groups = group_by({"lighting": np.where(scenes < 2, "dim", "bright")}, ["lighting"])
    _, low, high, _ = group_mean_intervals(values, scenes, groups)
    assert (low < high).all()  # resamples without a dim scene have no dim mean, and are left out


def test_examples_in_the_docstrings():
    assert doctest.testmod(bootstrap).failed == 0
