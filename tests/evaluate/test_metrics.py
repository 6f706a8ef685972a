import doctest
import math
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

import evaluate.metrics.accuracy as accuracy_module
import evaluate.metrics.sensitivity as sensitivity_module
from evaluate.metrics.accuracy import MIN_SCENES, accuracy, share_interval, wilson
from evaluate.metrics.sensitivity import sensitivity
from evaluate.vocabulary import load_vocabulary


@pytest.mark.parametrize("module", [accuracy_module, sensitivity_module])
def test_examples_in_the_docstrings(module):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(case):
    hits, n = case
    theirs = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
@example([False] * 3)
@example([True] * 7)
def test_interval_holds_the_share_and_has_a_width(hits):
    share = accuracy(hits, ["one"] * len(hits))
    assert 0 <= share.low <= share.value <= share.high <= 1
    assert share.high > share.low
    assert share.method == "wilson"


def test_no_answers_have_no_share():
    share = accuracy([], [])
    assert (share.n, share.method) == (0, "none")
    assert math.isnan(share.value)


def test_many_scenes_are_resampled_whole():
    # scene effects: frames of one scene agree, so the interval must be wider than Wilson's
    rng = np.random.default_rng(1)
    scenes = np.repeat(np.arange(50), 40)
    hits = rng.random(2000) < np.repeat(rng.beta(0.5, 0.5, 50), 40)
    share = accuracy(hits, scenes)
    assert share.method == "cluster_bootstrap"
    low, high = wilson(int(hits.sum()), hits.size)
    assert share.high - share.low > 3 * (high - low)
    assert share == accuracy(hits, scenes)


def test_bootstrap_equals_a_plain_loop():
    rng = np.random.default_rng(5)
    scenes = rng.integers(0, 25, 300)
    hits = rng.random(300) < 0.6
    drawn = np.random.default_rng(0).integers(25, size=(400, 25))
    loop = [np.concatenate([hits[scenes == scene] for scene in row]).mean() for row in drawn]
    expected = np.quantile(loop, [0.025, 0.975])
    assert share_interval(hits, scenes, seed=0, resamples=400) == pytest.approx(tuple(expected))


def test_all_right_has_a_width_with_many_scenes_too():
    scenes = np.repeat(np.arange(MIN_SCENES), 5)
    share = accuracy(np.ones(scenes.size, bool), scenes)
    assert share.low == pytest.approx(wilson(MIN_SCENES, MIN_SCENES)[0])
    assert share.high == 1
    assert share.method == "wilson"


def test_impossible_counts_are_refused():
    for hits, n in ((1, 0), (3, 2), (-1, 4)):
        with pytest.raises(ValueError, match="hits"):
            wilson(hits, n)
    with pytest.raises(ValueError, match="clusters"):
        accuracy([True], ["a", "b"])


rows = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 8.0, 8.0, 0.25, 7.5, 4.0, math.nan]),
        st.sampled_from("abc"),
        st.integers(-2, 2),
    ),
    max_size=60,
)


def by_pandas(table):
    """The released evaluation's way, joined by key."""
    frame = pd.DataFrame(table, columns=["score", "scene", "offset"])
    groups = frame.groupby(["offset", "scene"])["score"]
    cv = groups.std(ddof=1) / groups.mean()
    mixed = groups.max() - groups.min() > 4
    return len(cv), int((cv > 1 + 1e-12).sum()), int(mixed.sum())


def of(table):
    return sensitivity(*zip(*table, strict=True), scale=8.0)


@given(rows)
def test_sensitivity_equals_pandas(table):
    found = of(table) if table else sensitivity([], [], [])
    if table:
        assert (found.sets, found.varying, found.mixed) == by_pandas(table)
    else:
        assert found.sets == 0


@given(rows.filter(bool), st.randoms())
def test_order_of_the_frames_does_not_matter(table, random):
    shuffled = random.sample(table, len(table))
    assert of(table) == of(shuffled)


@given(rows.filter(bool))
def test_the_symmetric_measure_is_the_same_for_errors(table):
    errors = [(8.0 - score, *rest) for score, *rest in table]
    assert of(errors).mixed_share == of(table).mixed_share


@pytest.mark.parametrize("n", range(2, 12))
def test_right_and_wrong_count_only_where_mostly_wrong(n):
    # CV > 1 iff 0 < share right < n / (2n - 1)
    for right in range(n + 1):
        scores = [1.0] * right + [0.0] * (n - right)
        found = sensitivity(scores, ["s"] * n, [0] * n)
        assert found.varying == (right > 0 and right * (2 * n - 1) < n * n)
        assert found.mixed == (0 < right < n)


def test_single_frames_and_zero_means_stay_in_the_denominator():
    found = sensitivity([1, 0, 0, 1, 0], ["a", "b", "b", "c", "c"], [0] * 5)
    assert (found.sets, found.single, found.varying) == (3, 1, 1)
    assert found.parameter_sensitivity == pytest.approx(1 / 3)


def test_one_right_of_two_varies():
    # mean 1/2, sample deviation 0.7071: CV is the root of 2
    assert sensitivity([0, 1], ["a", "a"], [0, 0]).varying == 1


def test_frames_without_a_value_are_left_out():
    """Loc and FP of a frame without any hit are undefined."""
    found = sensitivity([math.nan, 0.1, 0.5, math.nan], ["a", "a", "a", "b"], [0] * 4, scale=0.5)
    assert (found.sets, found.single, found.varying, found.mixed) == (2, 1, 0, 1)


def test_meaningless_scores_are_refused():
    for scores in ([-1.0, 1.0], [0.0, 1.5], [math.inf, 0.0]):
        with pytest.raises(ValueError, match="outside 0 to 1"):
            sensitivity(scores, ["a", "a"], [0, 0])
    with pytest.raises(ValueError, match="shapes differ"):
        sensitivity([1.0], ["a", "a"], [0, 0])


def read_predictions(path):
    """Path -> top-5 class indices, from the XML inside a released workbook."""
    with zipfile.ZipFile(path) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    cells = re.findall(r'<c r="[BC]\d+" t="inlineStr"><is><t>([^<]*)</t>', sheet)
    return {
        name: [int(index) for index in re.findall(r"\((\d+), ", top5)]
        for name, top5 in zip(cells[::2], cells[1::2], strict=True)
    }


def test_resnet50_on_snap(snaprig_data):
    """The released answers of resnet50, joined by path, give the values known for them."""
    table = pd.read_csv(snaprig_data / "snap/annotations/data.csv")
    table = table[~table["EV_offset"].isin(["auto", "-6", "9"])]
    assert len(table) == 37_317
    raw = snaprig_data / "snap/raw_results/image_classification/resnet50.tv_in1k.xlsx"
    top5 = read_predictions(raw)
    vocabulary = load_vocabulary()
    accepted = {name: vocabulary.accepted_classes(name) for name in table["Category"].unique()}
    rows = list(zip(table["Path"], table["Category"], strict=True))
    hits = np.array([top5[path][0] in accepted[category] for path, category in rows])
    share = accuracy(hits, table["Object_id"])
    assert share.value == pytest.approx(0.419166, abs=5e-7)
    assert share.method == "cluster_bootstrap"
    found = sensitivity(hits, table["Object_id"], table["EV_offset"].astype(int))
    assert found.parameter_sensitivity == pytest.approx(0.0801, abs=5e-5)
    # without the mug, as the released script has it
    accepted["cup"] = frozenset({968})
    hits = np.array([top5[path][0] in accepted[category] for path, category in rows])
    assert hits.mean() == pytest.approx(0.416513, abs=5e-7)
    found = sensitivity(hits, table["Object_id"], table["EV_offset"].astype(int))
    assert found.parameter_sensitivity == pytest.approx(0.0825, abs=5e-5)
