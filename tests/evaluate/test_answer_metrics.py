"""Scores of answers in words, chance and confusions, against plain counts."""

import doctest
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.metrics import answers
from evaluate.metrics.answers import (
    answer_scores,
    constant_answer_chance,
    guess_chance,
    shape_bias,
    shares,
    top_confusions,
)
from evaluate.metrics.groups import group_by

verdict = st.sampled_from(
    [
        (True, True, ""),
        (True, False, "faithfulness"),
        (False, False, "factual"),
        (None, None, "no_answer"),
    ]
)
verdicts = st.lists(st.tuples(verdict, st.integers(0, 90)), min_size=1, max_size=40)


def test_examples_in_the_docstrings():
    done = doctest.testmod(answers)
    assert done.attempted > 0
    assert done.failed == 0


def columns(rows):
    soft, hard, kinds = zip(*(row for row, _ in rows), strict=True)
    return soft, hard, kinds, [length for _, length in rows]


@given(verdicts)
def test_scores_equal_plain_counts(rows):
    found = answer_scores(*columns(rows))
    n = len(rows)
    count = Counter(kind for (_, _, kind), _ in rows)
    assert found.n == n
    assert found.hard == pytest.approx(count[""] / n)
    assert found.soft == pytest.approx((count[""] + count["faithfulness"]) / n)
    assert found.unanswered == pytest.approx(count["no_answer"] / n)
    assert found.kinds == pytest.approx({kind: hits / n for kind, hits in count.items()})
    assert found.length == pytest.approx(sum(length for _, length in rows) / n)
    assert found.hard <= found.soft <= 1 - found.unanswered + 1e-12


@given(verdicts)
def test_without_the_unanswered(rows):
    found = answer_scores(*columns(rows), unanswered="left_out")
    answered = [row for row in rows if row[0][0] is not None]
    if answered:
        again = answer_scores(*columns(answered))
        assert (found.soft, found.hard) == pytest.approx((again.soft, again.hard))
    else:
        assert math.isnan(found.soft)
    assert found.unanswered == answer_scores(*columns(rows)).unanswered


def test_by_exposure():
    rows = [((True, True, ""), 4), ((True, False, "faithfulness"), 60), ((False, False, "x"), 8)]
    offsets = group_by({"ev_offset": [0, 5, 5]}, ["ev_offset"])
    found = offsets.apply(answer_scores, *(np.array(c, object) for c in columns(rows)))
    assert (found[0].hard, found[0].length) == (1, 4)
    assert (found[5].soft, found[5].hard, found[5].length) == (0.5, 0, 34)
    assert found[5].kinds == {"faithfulness": 0.5, "x": 0.5}


def test_what_cannot_be_scored():
    with pytest.raises(ValueError, match="hard sense"):
        answer_scores([False], [True], [""], [1])
    with pytest.raises(ValueError, match="differ in length"):
        answer_scores([True], [True], ["", ""], [1])
    assert answer_scores([], [], [], []).n == 0


@given(st.integers(1, 8), st.data())
def test_chance_equals_drawing(options, data):
    accepted = data.draw(st.integers(0, options))
    guesses = data.draw(st.integers(1, options))
    chance = guess_chance(accepted, options, guesses)
    assert 0 <= chance <= 1
    missed = 1.0
    for draw in range(guesses):
        missed *= max(options - accepted - draw, 0) / (options - draw)
    assert chance == pytest.approx(1 - missed)


def test_chance_levels_of_the_questions():
    assert guess_chance(1, 4) == 0.25  # counts of 2 to 5
    assert guess_chance(1, 11) == pytest.approx(1 / 11)  # ten categories and other
    # a guess in a simulation of a top-5 of 20 classes, 3 of them right
    rng = np.random.default_rng(1)
    hits = sum((rng.permutation(20)[:5] < 3).any() for _ in range(20_000))
    assert guess_chance(3, 20, 5) == pytest.approx(hits / 20_000, abs=0.012)
    # scenes by count in the release: 25, 29, 25, 21
    assert constant_answer_chance([2] * 25 + [3] * 29 + [4] * 25 + [5] * 21) == 0.29
    assert math.isnan(constant_answer_chance([]))
    for wrong in ((2, 1, 1), (-1, 3, 1), (1, 3, 0), (1, 3, 4)):
        with pytest.raises(ValueError, match="accepted"):
            guess_chance(*wrong)


labels = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("abxyz")), min_size=1, max_size=50
)


@given(labels, st.integers(1, 3))
def test_confusions_equal_plain_counts(rows, most):
    truth, given_labels = zip(*rows, strict=True)
    right = [a == b for a, b in rows]
    found = top_confusions(truth, given_labels, right, most)
    expected = []
    for category in sorted(set(truth)):
        wrong = Counter(b for a, b in rows if a == category != b)
        ranked = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:most]
        total = truth.count(category)
        expected += [(category, answer, n, n / total) for answer, n in ranked]
    assert [(c.category, c.answer, c.count, c.share) for c in found] == expected


def test_confusions_need_equal_lengths():
    with pytest.raises(ValueError, match="shapes differ"):
        top_confusions(["a"], ["b", "c"], [False])
    assert top_confusions([], [], []) == []


def test_shares_of_letters():
    assert shares(list("AAAB")) == {"A": 0.75, "B": 0.25}


triples = st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=30)


@given(triples)
def test_shape_bias_equals_plain_counts(rows):
    answers_given, shapes, textures = zip(*rows, strict=True)
    decisions = [a == s for a, s, t in rows if s != t and a in (s, t)]
    expected = sum(decisions) / len(decisions) if decisions else math.nan
    found = shape_bias(answers_given, shapes, textures)
    assert found == pytest.approx(expected, nan_ok=True)
    other = shape_bias(answers_given, textures, shapes)
    assert other == pytest.approx(1 - expected, nan_ok=True)


def test_shape_bias_of_people(snaprig_data):
    files = sorted((snaprig_data / "human-trials/cue-conflict").glob("*.csv"))
    table = pd.concat([pd.read_csv(file, keep_default_na=False) for file in files])
    assert len(table) == 12_800
    cues = table["imagename"].str.extract(r"_([a-z]+)\d+-([a-z]+)\d+\.png$")
    assert cues.notna().all(axis=None)
    found = shape_bias(table["object_response"], cues[0], cues[1])
    assert found == pytest.approx(0.9587, abs=5e-5)
    with pytest.raises(ValueError, match="shapes differ"):
        shape_bias(["a"], ["a"], ["a", "b"])


def test_phones_taken_for_ipods(snaprig_data):
    """resnet50's wrong answers for phones: most often an iPod (class 605)."""
    table = pd.read_csv(snaprig_data / "snap/annotations/data.csv")
    raw = pd.read_excel(
        snaprig_data / "snap/raw_results/image_classification/resnet50.tv_in1k.xlsx",
        engine="calamine",
    )
    first = raw["Pred"].str.extract(r"\((\d+),")[0].astype(int)
    both = table.merge(pd.DataFrame({"Path": raw["Path"], "label": first}), on="Path")
    phones = both[both["Category"] == "phone"]
    found = top_confusions(phones["Category"], phones["label"], phones["label"] == 487, most=1)
    assert (found[0].category, found[0].answer) == ("phone", 605)
    assert found[0].count == int((phones["label"] == 605).sum())
