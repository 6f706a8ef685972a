"""One way to group, by any column, against pandas."""

import doctest
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.metrics import groups as groups_module
from evaluate.metrics.accuracy import accuracy
from evaluate.metrics.groups import Groups, balanced_mean, exposure_range, group_by
from evaluate.metrics.sensitivity import sensitivity

cells = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-3, 3)),
        st.sampled_from(["dim", "bright", None]),
        st.one_of(st.just(math.nan), st.floats(-5, 5)),
    ),
    min_size=1,
    max_size=40,
)


def test_examples_in_the_docstrings():
    done = doctest.testmod(groups_module)
    assert done.attempted > 0
    assert done.failed == 0


@given(cells)
def test_groups_equal_pandas(rows):
    table = pd.DataFrame(rows, columns=["ev_offset", "lighting", "value"], dtype=object)
    columns = {name: table[name].to_numpy() for name in table}
    found = group_by(columns, ["ev_offset", "lighting"])
    kept = table.dropna(subset=["ev_offset", "lighting"]).astype({"value": float})
    expected = kept.groupby(["ev_offset", "lighting"])
    assert list(found.labels) == sorted(expected.groups)
    assert found.apply(len, table["value"]) == expected.size().to_dict()
    means = expected["value"].mean().to_numpy(dtype=float)
    assert found.means(table["value"].astype(float)) == pytest.approx(means, nan_ok=True)
    assert (found.index == -1).sum() == len(table) - len(kept)
    for rows_of_group, label in zip(found.rows(), found.labels, strict=True):
        assert rows_of_group.tolist() == list(expected.indices[label]) or len(kept) < len(table)


@given(cells, st.randoms(use_true_random=False))
def test_order_of_the_items_does_not_matter(rows, random):
    def means(table):
        columns = dict(zip(("a", "b", "c"), zip(*table, strict=True), strict=True))
        arrays = {name: np.array(column, dtype=object) for name, column in columns.items()}
        found = group_by(arrays, ["a", "b"])
        return found.labels, found.means(arrays["c"].astype(float))

    labels, values = means(rows)
    again, others = means(random.sample(rows, len(rows)))
    assert labels == again
    assert others == pytest.approx(values, nan_ok=True)


def test_labels_of_one_key_stand_alone():
    table = {"shutter_s": [0.5, 1 / 60, 0.5], "n": [1, 2, 3]}
    assert group_by(table, ["shutter_s"]).labels == (1 / 60, 0.5)
    assert group_by(table, ["n", "shutter_s"]).labels == ((1, 0.5), (2, 1 / 60), (3, 0.5))


def test_what_cannot_be_grouped():
    with pytest.raises(ValueError, match=r"\['lux'\]; there are \['iso'\]"):
        group_by({"iso": [1]}, ["lux"])
    with pytest.raises(ValueError, match="nothing"):
        group_by({"iso": [1]}, [])
    with pytest.raises(ValueError, match="lengths differ"):
        group_by({"iso": [1], "lux": [1, 2]}, ["iso", "lux"])
    empty = group_by({"iso": []}, ["iso"])
    assert (empty.labels, empty.rows()) == ((), [])
    assert math.isnan(balanced_mean([], empty))
    missing = group_by({"iso": [math.nan, math.nan]}, ["iso"])
    assert (missing.labels, missing.index.tolist()) == ((), [-1, -1])


def test_well_exposed_is_two_stops_either_way():
    found = exposure_range([-6, -3, -2, 0, 2, 3, 9])
    assert found.tolist() == ["under", "under", "well", "well", "well", "over", "over"]


def test_macro_average_is_the_balanced_mean():
    groups = Groups(("q",), ("q1", "q2"), np.array([0, 0, 0, 1]))
    assert balanced_mean([1, 1, 0, 0], groups) == pytest.approx((2 / 3 + 0) / 2)


def test_people_by_question_and_exposure(snaprig_data):
    """The released trials: each question, the macro average over them, its peak."""
    workbook = snaprig_data / "snap/eval_results/human/all_subjects.xlsx"
    table = pd.read_excel(workbook, sheet_name="all_subjects", engine="calamine")
    marks = table[[f"A{question}_acc" for question in (1, 2, 3, 4)]].to_numpy(float)
    asked = ~np.isnan(marks)
    assert (asked.sum(axis=1) == 1).all()
    right = marks[asked]
    columns = {"question": asked.argmax(axis=1) + 1, "ev_offset": table["EV_offset"].to_numpy()}
    by_question = group_by(columns, ["question"])
    assert by_question.means(right) == pytest.approx(
        [0.660455, 0.569048, 0.773810, 0.649091], abs=5e-7
    )
    assert by_question.apply(len, right) == {1: 2200, 2: 2100, 3: 2100, 4: 2200}
    assert balanced_mean(right, by_question) == pytest.approx(0.66310, abs=5e-6)

    def macro(hits, question):
        return balanced_mean(hits, group_by({"question": question}, ["question"]))

    by_offset = group_by(columns, ["ev_offset"]).apply(macro, right, columns["question"])
    assert max(by_offset, key=by_offset.get) == 1
    assert by_offset[1] == pytest.approx(0.88844, abs=5e-6)
    whole = accuracy(right, table["Subject_id"])  # people are resampled, all of their trials
    assert whole.method == "cluster_bootstrap"
    assert 0.02 < whole.high - whole.low < 0.1
    both = group_by(columns, ["question", "ev_offset"])
    assert dict(zip(both.labels, both.means(right), strict=True))[3, 1] == pytest.approx(
        0.98235, abs=5e-6
    )


KEYS = ("ev_offset", "exposure", "lighting", "category", "count", "shutter_s", "iso", "f_number")


def test_every_condition_of_the_release(snaprig_data):
    """All that the paper groups by, through the one mechanism; parameter sensitivity with it."""
    table = pd.read_csv(snaprig_data / "snap/annotations/data.csv")
    table = table[~table["EV_offset"].isin(["auto", "-6", "9"])]
    offsets = table["EV_offset"].astype(int).to_numpy()
    columns = {
        "ev_offset": offsets,
        "exposure": exposure_range(offsets),
        "lighting": table["Lux"].to_numpy(),
        "category": table["Category"].to_numpy(),
        "count": table["Num_objects"].to_numpy(),
        "shutter_s": table["Shutter_speed"].to_numpy(),
        "iso": table["ISO"].to_numpy(),
        "f_number": table["F-Number"].to_numpy(),
    }
    sizes = {key: group_by(columns, [key]).apply(len, offsets) for key in KEYS}
    assert [len(sizes[key]) for key in KEYS] == [14, 3, 2, 10, 4, 18, 7, 5]
    assert all(sum(found.values()) == 37_317 for found in sizes.values())
    scores = np.random.default_rng(0).integers(0, 2, len(table)).astype(float)
    scenes = table["Object_id"].to_numpy()
    by_category = group_by(columns, ["category"]).apply(sensitivity, scores, scenes, offsets)
    whole = sensitivity(scores, scenes, offsets)
    assert sum(found.varying for found in by_category.values()) == whole.varying
    assert whole.sets == 1236
