"""AG, sCVR, sCR, agreement and standardization: worked examples, invariants, scipy's values."""

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import page_trend_test, ttest_rel

from evaluate.color import metrics
from evaluate.color.exposure import standardize
from evaluate.color.families import lineage
from evaluate.color.labels import agreement
from evaluate.color.metrics import absolute_gap, accuracy_by, degradation, scr, scvr
from evaluate.color.scores import GroupScore
from evaluate.color.trend_tests import tests_of as group_tests_of
from schemas.records import Observer

PAGE = Path(__file__).parents[2] / "docs/color.md"


def test_examples_in_the_docstrings_and_on_the_page():
    done = doctest.testmod(metrics)
    assert done.attempted > 0
    assert done.failed == 0
    text = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"<!-- tested -->\n```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 6
    runner = doctest.DocTestRunner()
    for number, example in enumerate(examples):
        test = doctest.DocTestParser().get_doctest(example, {}, f"color.md {number}", None, None)
        runner.run(test)
    assert runner.failures == 0
    assert runner.tries >= 10


shares = st.floats(0.01, 1)
groups = st.lists(st.tuples(shares, st.integers(1, 500)), min_size=2, max_size=6)


@given(groups, st.floats(0.1, 100))
def test_robustness_does_not_depend_on_units_or_sample_size(rows, scale):
    values, weights = [a for a, _ in rows], [w for _, w in rows]
    assume(np.ptp(values) > 1e-6)
    total = np.average(values, weights=weights)
    found = scvr(total, values, weights)
    assert scvr(scale * total, [scale * v for v in values], weights) == pytest.approx(found)
    assert scvr(total, values, [7 * w for w in weights]) == pytest.approx(found)
    pairs = rows[::-1]
    assert scvr(total, [a for a, _ in pairs], [w for _, w in pairs]) == pytest.approx(found)
    apart = np.repeat(values, weights)
    assert found == pytest.approx(total / apart.std())  # population deviation of single answers


@given(st.lists(shares, min_size=2, max_size=5))
def test_corruption_robustness_is_the_population_deviation(values):
    assume(np.ptp(values) > 1e-6)
    assert scr(0.5, values) == pytest.approx(0.5 / np.std(values))
    assert absolute_gap(values) == pytest.approx(np.ptp(values))
    assert absolute_gap(values[::-1]) == absolute_gap(values)
    assert absolute_gap([*values, math.nan]) == absolute_gap(values)


def test_no_difference_is_infinitely_robust_and_one_group_says_nothing():
    assert scvr(0.5, [0.5, 0.5], [3, 9]) == math.inf
    assert math.isnan(absolute_gap([0.5]))
    assert math.isnan(scvr(0.5, [], []))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1))
def test_accuracy_by_group_adds_up(rows):
    found = accuracy_by([g for g, _ in rows], [r for _, r in rows])
    assert sum(n for _, n in found.values()) == len(rows)
    assert sum(a * n for a, n in found.values()) == pytest.approx(sum(r for _, r in rows))
    apart = degradation(found)
    assert sum(apart[g] * n for g, (_, n) in found.items()) == pytest.approx(0)


labels = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1)


@given(labels)
def test_kappa(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = agreement(first, second)
    assert agreement(second, first).percent == found.percent
    renamed = {"a": "x", "b": "y", "c": "z"}
    again = agreement([renamed[a] for a in first], [renamed[b] for b in second])
    if math.isnan(found.kappa):
        assert len(set(first) | set(second)) == 1
    else:
        assert again.kappa == pytest.approx(found.kappa)
        assert found.kappa <= found.percent / 100 + 1e-12
        assert found.kappa <= 1
    if first == second and len(set(first)) > 1:
        assert found.kappa == pytest.approx(1)


def test_kappa_of_cohens_kind_of_table():
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o .7, p_e .5, kappa .4."""
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert agreement(first, second).kappa == pytest.approx(0.4)


def test_tests_are_scipys():
    rows = [(0.60, 0.63, 0.66), (0.62, 0.61, 0.68), (0.70, 0.74, 0.73), (0.50, 0.55, 0.58)]
    hard, medium, easy = zip(*rows, strict=True)
    found = {row["compared"]: row for row in group_tests_of(rows, "all", "models")}
    for name, pair in {
        "Hard - Medium": (hard, medium),
        "Hard - Easy": (hard, easy),
        "Medium - Easy": (medium, easy),
    }.items():
        want = ttest_rel(*pair)
        assert found[name]["p"] == pytest.approx(want.pvalue)
        assert found[name]["statistic"] == pytest.approx(want.statistic)
        assert found[name]["p_holm"] >= found[name]["p"]
    trend = page_trend_test(rows)
    assert found["Hard < Medium < Easy"]["p"] == pytest.approx(trend.pvalue)
    assert found["Hard < Medium < Easy"]["statistic"] == trend.statistic


def test_a_test_that_is_not_possible_says_why():
    [first, *_] = group_tests_of([(0.5, 0.6, 0.7)], "all", "models")
    assert math.isnan(first["p"])
    assert "two at least" in first["reason"]


scores = st.lists(st.integers(0, 20), min_size=4, max_size=4).flatmap(
    lambda n: st.tuples(*(st.integers(0, m) for m in n)).map(
        lambda hits, n=tuple(n): GroupScore(hits, n)
    )
)


@given(scores, scores)
def test_standardized_accuracy(reference, other):
    assume(sum(reference.n) and sum(other.n))
    at_0, at_2 = standardize({2: other, 0: reference})
    assert at_0.standardized == pytest.approx(reference.total)
    assert at_0.covered == pytest.approx(1)
    assert 0 <= at_2.covered <= 1 + 1e-12
    if at_2.covered:
        known = [h / n for h, n, m in zip(other.hits, other.n, reference.n, strict=True) if n and m]
        assert min(known) - 1e-9 <= at_2.standardized <= max(known) + 1e-9
    else:
        assert math.isnan(at_2.standardized)


@given(scores, st.integers(1, 5))
def test_the_same_mix_has_no_shift(score, times):
    assume(sum(score.n))
    more = GroupScore(score.hits, score.n)
    scaled = GroupScore(tuple(times * h for h in score.hits), tuple(times * n for n in score.n))
    _, found = standardize({0: more, 3: scaled})
    assert found.standardized == pytest.approx(found.raw)


@pytest.mark.parametrize(
    ("name", "family", "training", "base"),
    [
        ("resnet50.tv_in1k", "ResNet", "standard", "resnet50"),
        ("resnet50.tv2_in1k", "ResNet", "advanced", "resnet50"),
        ("resnext101_32x8d.tv2_in1k", "ResNeXt", "advanced", "resnext101_32x8d"),
        ("mobilenet_v2", "MobileNet", "standard", "mobilenet_v2"),
        ("mobilenet_v2_adv", "MobileNet", "advanced", "mobilenet_v2"),
        ("swin_v2_t", "SwinV2", "standard", "swin_v2_t"),
        ("swin_tiny_patch4", "Swin", "standard", "swin_tiny_patch4"),
        ("vit_base_patch16_224.augreg_in21k", "ViT", "ImageNet-21k", "vit_base_patch16_224"),
        ("vit_base_patch16_224.dino", "DINO", "self-supervised", "vit_base_patch16_224"),
        ("vit_base_patch32_clip_224.laion2b", "CLIP", "LAION-2B", "vit_base_patch32_clip_224"),
        ("mobilevit_s", "other", "standard", "mobilevit_s"),
    ],
)
def test_lineage_by_name(name, family, training, base):
    found = lineage(Observer(name, "model"))
    assert (found.family, found.training, found.base) == (family, training, base)


def test_a_specification_wins_over_the_name():
    spec = {"family": "Mine", "training": "advanced", "parameters_millions": 12.5}
    found = lineage(Observer("resnet50", "model", spec))
    assert (found.shown_family, found.parameters_millions) == ("Mine, advanced", 12.5)
