"""Mistakes that public evaluations made with their metrics, each with its right behavior.

Numbers and symptoms are those of the list of evaluation pitfalls (parts 1 answers, 4 detectors,
6 statistics). Points that do not concern metrics, and so are tested, if at all, with what they do
concern: of part 1 all but 10, 15 and 24 are about asking and parsing (1 to 9, 11 to 14, 16 to 23);
of part 4, 49 (category ids by name), 61 (size order, clipping), 62 (phrases to ids), 63 (one label
a query before counting), 64's rule to remove doubles, and 65 (color order) belong to the detectors
and their adapters; 66 (one scorer) is `test_coco_sample` in test_detection_metrics.
"""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from evaluate.metrics.accuracy import accuracy, share_interval, wilson
from evaluate.metrics.agreement import error_consistency, error_consistency_interval
from evaluate.metrics.answers import answer_scores, shares
from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.bootstrap import group_mean_intervals
from evaluate.metrics.boxes import xywh_to_xyxy
from evaluate.metrics.detection_data import Detections, detections_from_coco, truth_from_coco
from evaluate.metrics.groups import balanced_mean, group_by
from evaluate.metrics.lrp import lrp, optimal_lrp
from evaluate.metrics.matching import match
from evaluate.metrics.sensitivity import sensitivity
from evaluate.metrics.trends import holm

HERE = [10.0, 10.0, 90.0, 90.0]


def document(*rows, images=(1,), categories=(1,), **more):
    """A COCO ground truth of (image, category, box)."""
    annotations = [
        {
            "id": place,
            "image_id": image,
            "category_id": category,
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": 0,
            **more,
        }
        for place, (image, category, box) in enumerate(rows, 1)
    ]
    return {
        "images": [{"id": k} for k in images],
        "categories": [{"id": k} for k in categories],
        "annotations": annotations,
    }


def result(box, score, image=1, category=1):
    return {"image_id": image, "category_id": category, "bbox": box, "score": score}


def matched(truth, results, area="file", **options):
    return match(truth_from_coco(truth, area), detections_from_coco(results), **options)


def average(truth, results, **options):
    return average_precision(matched(truth, results, **options)).summary()


def row_of(n, step=100.0):
    return [[x * step, 0.0, 50.0, 50.0] for x in range(n)]


# ---- 1 answers ----


def test_10_refusals_are_wrong_and_their_rate_is_reported():
    refused = [None] * 8
    found = answer_scores(refused, refused, ["no_answer"] * 8, [0] * 8)
    assert (found.soft, found.hard, found.unanswered) == (0, 0, 1)
    # by exposure: rates of their own
    offsets = group_by({"ev_offset": [-5, -5, 0, 0]}, ["ev_offset"])
    by_offset = offsets.apply(
        answer_scores,
        np.array([None, None, True, None], object),
        np.array([None, None, True, None], object),
        np.array(["no_answer", "no_answer", "", "no_answer"]),
        [0, 0, 3, 0],
    )
    assert [found.unanswered for found in by_offset.values()] == [1, 0.5]


def test_15_answers_cut_short_are_a_state_of_their_own():
    found = answer_scores([None, False], [None, False], ["cut", "factual"], [4, 4])
    assert found.kinds == {"cut": 0.5, "factual": 0.5}
    assert found.unanswered == 0.5


def test_24_a_liking_for_a_letter_shows():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 4000)
    always_first = np.array(list("ABCD"))[np.zeros(4000, int)]
    assert shares(always_first) == {"A": 1.0}
    # with options shuffled, that observer is at chance; an oracle's letters are even
    assert (truth == 0).mean() == pytest.approx(0.25, abs=0.03)
    assert all(
        value == pytest.approx(0.25, abs=0.03)
        for value in shares(np.array(list("ABCD"))[truth]).values()
    )


# ---- 4 detectors ----


def test_50_unknown_categories_and_images_raise():
    truth = document((1, 1, HERE))
    for wrong in (result(HERE, 0.9, category=2), result(HERE, 0.9, image=7)):
        with pytest.raises(ValueError, match=r"1 rows of an unknown (category|image), such as \["):
            matched(truth, [wrong])
    # shifted by one, all known: nothing is right, and it shows
    both = document((1, 1, HERE), categories=(1, 2))
    assert average(both, [result(HERE, 0.9, category=2)]).ap == 0


def test_51_width_and_height_taken_for_corners_raise():
    boxes = np.array([[300.0, 200.0, 50.0, 40.0]])
    ids = np.array([1])
    with pytest.raises(ValueError, match=r"give corners \(xywh_to_xyxy"):
        Detections(ids, ids, boxes, np.array([0.5]))
    assert Detections(ids, ids, xywh_to_xyxy(boxes), np.array([0.5])).boxes_xyxy_px.tolist() == [
        [300, 200, 350, 240]
    ]
    with pytest.raises(ValueError, match="box 0"):
        Detections(ids, ids, np.array([[0.0, 0.0, math.nan, 1.0]]), np.array([0.5]))


def test_52_nothing_is_cut_by_score():
    places = row_of(2)
    truth = document(*[(1, 1, box) for box in places])
    results = [result(places[0], 0.9), result(places[1], 0.001)]
    assert average(truth, results).ap == 1
    assert lrp(matched(truth, results), 0.5).mean().fn == 0.5  # cut later, on purpose


def test_53_other_limits_than_the_usual():
    truth = document(*[(1, 1, box) for box in row_of(3)])
    results = [result(box, 0.5) for box in row_of(3)]
    matching = matched(truth, results, limit=300)
    summary = average_precision(matching, recall_limits=(1, 10, 300)).summary()
    assert summary.ap == 1
    assert summary.ar_by_limit == {1: pytest.approx(1 / 3), 10: 1, 300: 1}
    low = average_precision(matched(truth, results, limit=2)).summary()
    assert low.ar_by_limit == {1: pytest.approx(1 / 3)}  # 10 and 100 were not to be had
    assert low.ar_by_area["all"] == pytest.approx(2 / 3)


def test_54_crowded_scenes_need_a_higher_limit_which_is_recorded():
    truth = document(*[(1, 1, box) for box in row_of(150)])
    results = [result(box, 0.5) for box in row_of(150)]
    usual = average(truth, results)
    assert usual.ap == pytest.approx(67 / 101)  # recall 0 to .66
    assert usual.limit == 100
    higher = average(truth, results, limit=300)
    assert (higher.ap, higher.limit) == (1, 300)


def test_55_no_detections_are_a_score_of_zero():
    truth = document((1, 1, HERE), (2, 1, HERE), images=(1, 2, 3))
    assert average(truth, []).ap == 0
    assert optimal_lrp(matched(truth, [])).mean().error == 1
    half = average(truth, [result(HERE, 0.9)])
    assert half.ap == pytest.approx(51 / 101)
    # nothing to be found at all is undefined, not zero
    empty = average(document(images=(1,)), [result(HERE, 0.9)])
    assert math.isnan(empty.ap)
    assert math.isnan(optimal_lrp(matched(document(), [])).mean().error)


def test_56_ids_of_zero_are_ids():
    places = row_of(4)
    truth = document(*[(0, 0, box) for box in places], images=(0,), categories=(0,))
    for place, annotation in enumerate(truth["annotations"]):
        annotation["id"] = place
    results = [result(box, 0.5, image=0, category=0) for box in places]
    assert average(truth, results).ap == 1


def test_57_ignore_has_no_effect_and_crowds_take_in_stray_boxes():
    stray = [result([300.0 + x, 300.0, 40.0, 40.0], 0.95) for x in (0.0, 5.0, 50.0)]
    alone = document((1, 1, HERE))
    assert average(alone, [result(HERE, 0.9), *stray]).ap == pytest.approx(0.25)
    with_crowd = document((1, 1, HERE), (1, 1, [280.0, 280.0, 200.0, 200.0]))
    with_crowd["annotations"][1]["iscrowd"] = 1
    assert average(with_crowd, [result(HERE, 0.9), *stray]).ap == 1
    assert optimal_lrp(matched(with_crowd, [result(HERE, 0.9), *stray])).mean().error == 0
    ignored = document((1, 1, HERE), (1, 1, [280.0, 280.0, 200.0, 200.0]), ignore=1)
    assert average(ignored, [result(HERE, 0.9)]).ap == pytest.approx(51 / 101)


def test_58_undefined_is_no_number_and_areas_are_those_asked_for():
    truth = document((1, 1, HERE))
    truth["annotations"][0]["area"] = 10.0
    by_file = average(truth, [result(HERE, 0.9)], area="file").ap_by_area
    assert (by_file["small"], by_file["all"]) == (1, 1)
    assert math.isnan(by_file["medium"])
    by_box = average(truth, [result(HERE, 0.9)], area="box").ap_by_area
    assert by_box["medium"] == 1  # 8100 square pixels
    assert math.isnan(by_box["small"])


def test_59_equal_scores_do_not_hang_on_the_order_of_rows():
    places = row_of(20)
    truth = truth_from_coco(document(*[(1, 1, box) for box in places]), "box")
    boxes = xywh_to_xyxy(places + [[x, 900.0, 50.0, 50.0] for x, *_ in places])
    ones = np.ones(40, int)

    def ap50(order, ids):
        found = Detections(ones, ones, boxes[order], np.ones(40), ids)
        return average_precision(match(truth, found)).summary().ap50

    ids = np.random.default_rng(1).permutation(40)
    orders = [np.random.default_rng(seed).permutation(40) for seed in range(9)]
    assert len({ap50(order, ids[order]) for order in orders}) == 1
    # without ids the order of the rows decides, as in the COCO tools
    assert ap50(np.arange(40), np.zeros(0)) == 1
    assert ap50(np.arange(40)[::-1], np.zeros(0)) == pytest.approx(0.5, abs=0.01)


def test_60_scores_are_finite_and_ids_of_one_type():
    with pytest.raises(ValueError, match="score of detection 1 is nan"):
        detections_from_coco([result(HERE, 0.5), result(HERE, math.nan)])
    with pytest.raises(ValueError, match="image_ids must be integers"):
        detections_from_coco([result(HERE, 0.5, image="1")])
    with pytest.raises(ValueError, match="categories must be integers"):
        truth_from_coco(document(categories=("tie",)), "box")
    with pytest.raises(ValueError, match="images: an id is listed twice"):
        truth_from_coco(document(images=(1, 1)), "box")
    with pytest.raises(ValueError, match="lengths differ"):
        Detections(np.array([1]), np.array([1, 2]), np.zeros((1, 4)), np.array([0.5]))


def test_64_doubled_detections_cost_precision():
    places = row_of(10)
    truth = document(*[(1, 1, box) for box in places])
    once = [result(box, 0.9 - k / 100) for k, box in enumerate(places)]
    assert average(truth, once).ap == 1
    twice = average(truth, [row for row in once for _ in range(2)])
    # precision k / (2k - 1) at the k-th object: 11 recall points at the first, 10 at the others
    # (up to one: the point .7 of the COCO tools is just above 7/10)
    expected = (11 + sum(10 * k / (2 * k - 1) for k in range(2, 11))) / 101
    assert twice.ap == pytest.approx(expected, abs=1e-4)
    assert optimal_lrp(matched(truth, once * 2)).mean().fp == pytest.approx(9 / 19)


# ---- 6 statistics ----


def test_85_frames_of_a_scene_are_no_independent_draws():
    """100 scenes of 20: counting frames covers the truth half the time, scenes nearly always."""
    rng = np.random.default_rng(3)
    covered = {"frames": 0, "scenes": 0}
    for _ in range(200):
        truth = rng.beta(0.5, 0.5, 100)
        hits = rng.random((100, 20)) < truth[:, None]
        low, high = share_interval(hits.ravel(), np.repeat(np.arange(100), 20), resamples=300)
        covered["scenes"] += low <= 0.5 <= high
        low, high = wilson(int(hits.sum()), hits.size)
        covered["frames"] += low <= 0.5 <= high
    assert covered["scenes"] >= 180
    assert covered["frames"] < 130


@pytest.mark.parametrize("scenes", [1, 5, 20, 30])
@pytest.mark.parametrize("outcome", [True, False])
def test_86_no_interval_has_zero_width(scenes, outcome):
    found = accuracy(np.full(30, outcome), np.arange(30) % scenes)
    assert found.low < found.high
    assert found.value in (found.low, found.high)
    assert wilson(30, 30)[0] == pytest.approx(0.8865, abs=5e-5)


def test_87_the_interval_is_that_of_the_mean_beside_it():
    """Groups of unequal size: mean of means .5, plain mean .18; each has its own interval."""
    rng = np.random.default_rng(1)
    offsets = np.tile(np.repeat([0, 1], [45, 5]), 40)
    scenes = np.repeat(np.arange(40), 50)
    hits = rng.random(2000) < np.where(offsets == 0, 0.1, 0.9)
    groups = group_by({"ev_offset": offsets}, ["ev_offset"])
    balanced = balanced_mean(hits, groups)
    *_, (low, high) = group_mean_intervals(hits, scenes, groups)
    plain = accuracy(hits, scenes)
    assert low < balanced < high
    assert not low < plain.value < high
    assert plain.low < plain.value < plain.high < low


def test_88_kappa_at_the_corners():
    right, wrong = np.ones(40), np.zeros(40)
    half = np.arange(40) % 2
    for same in (right, wrong):
        found = error_consistency(same, same)
        assert math.isnan(found.kappa)  # undefined, not 0 or 1
        assert found.observed == 1
    assert error_consistency(right, half).kappa == 0
    assert error_consistency(wrong, half).kappa == 0
    assert error_consistency(right, wrong).kappa == 0
    # .95 against .5 cannot exceed .1, whoever errs where
    nearly = np.arange(40) >= 2
    found = error_consistency(nearly, np.arange(40) >= 20)
    assert found.accuracies == (0.95, 0.5)
    assert (found.kappa, found.bounds[1]) == pytest.approx((0.1, 0.1))
    interval = error_consistency_interval(nearly, half, np.arange(40))
    assert interval.low < interval.value < interval.high
    nothing = error_consistency_interval(right, right, np.arange(40))
    assert nothing.method == "none"
    assert math.isnan(nothing.value)


def test_89_coefficient_of_variation_depends_on_what_is_coded():
    """7 at 2 % right, .14 at 98 %: mostly wrong sets count, mostly right ones do not."""
    few = np.arange(50) < 1
    for hits, cv in ((few, 7.0), (~few, 1 / 7)):
        p = hits.mean()
        assert math.sqrt((1 - p) / p) == pytest.approx(cv)
    scenes, offsets = ["s"] * 50, [0] * 50
    low, high = (sensitivity(hits, scenes, offsets) for hits in (few, ~few))
    assert (low.parameter_sensitivity, high.parameter_sensitivity) == (1, 0)
    assert low.mixed_share == high.mixed_share == 1


def test_89_many_tests_without_any_effect():
    """52 models that do not differ: one in 20 is found to, unless p values are adjusted."""
    rng = np.random.default_rng(0)
    p_values = ttest_1samp(rng.normal(size=(52, 200, 12)), 0, axis=2).pvalue
    assert (p_values.min(axis=0) < 0.05).mean() == pytest.approx(0.93, abs=0.06)
    adjusted = np.array([holm(study).min() for study in p_values.T])
    assert (adjusted < 0.05).mean() < 0.1


def test_90_better_at_each_exposure_is_better_in_all():
    """Simpson: A 9/10 and 40/100, B 80/100 and 3/10."""

    def observer(first, second):
        hits = np.concatenate([np.arange(n) < right for right, n in (first, second)])
        return hits, group_by({"offset": np.repeat([0, 4], [first[1], second[1]])}, ["offset"])

    a, a_groups = observer((9, 10), (40, 100))
    b, b_groups = observer((80, 100), (3, 10))
    assert (a_groups.means(a) > b_groups.means(b)).all()
    assert a.mean() == pytest.approx(0.445, abs=5e-3)
    assert b.mean() == pytest.approx(0.755, abs=5e-3)
    assert balanced_mean(a, a_groups) == pytest.approx(0.65)
    assert balanced_mean(b, b_groups) == pytest.approx(0.55)
