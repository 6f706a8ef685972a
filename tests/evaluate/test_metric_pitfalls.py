"""Mistakes that public evaluations made, each with its right behavior.

Numbers and symptoms are those of the list of evaluation pitfalls (parts 1 answers, 4 detectors,
6 statistics). Where each is tested; without a file's name: here. `test_every_pitfall_has_its_place`
holds this list to the tests that there are.

1 labels as whole tokens: test_answer_text.test_no_option_is_no_answer and
    test_answer_text.test_what_is_not_offered_is_never_forced_onto_an_option
2 the last marker: test_answer_text.test_an_option_is_read
3 a small letter only alone: test_answer_text.test_an_option_is_read
4 a stated answer beats bare letters:
    test_answer_text.test_the_word_i_is_no_vote_for_the_ninth_option
5 the last valid marker: test_answer_text.test_what_is_not_offered_is_never_forced_onto_an_option
6 an echo of the options: test_answer_text.test_an_option_is_read
7 wrappers: test_answer_text.test_an_option_is_read
8 several options: test_answer_text.test_several_options_are_unsure
9 a leading label: test_answer_text.test_an_option_is_read
10 refusals are not guesses: test_10_refusals_are_wrong_and_their_rate_is_reported
11 word boundaries: test_answer_text.test_classes_are_whole_words_and_the_longest_counts
12 open questions by content: test_answer_text.test_a_letter_is_no_count
13 replies outside the options:
    test_answer_text.test_what_is_not_offered_is_never_forced_onto_an_option
14 numbers: test_answer_text.test_ranges_decimals_and_negatives_are_unsure
15 cut answers: test_15_answers_cut_short_are_a_state_of_their_own; storing why an answer ended is
    for the models that generate, none of which is asked yet
16 thoughts: test_answer_text.test_an_option_is_read
17 the prompt returned: test_answer_text.test_the_echo_of_a_question_names_nothing; cutting it off
    by what was passed is for the models that generate
18 special tokens in the text: test_answer_text.test_an_option_is_read
19 padding, 20 batch size, 21 sampling, 22 loaded precision: of generation, so none applies to
    imported answers and to classifiers
23 cached and fresh answers: test_import_snap.test_the_release_comes_in_several_orders and
    test_inference.test_an_interrupted_and_a_crashed_run_go_on_where_they_were (answers have ids)
24 places of the right option: test_24_a_liking_for_a_letter_shows and
    test_questions.test_an_oracle_is_right_whatever_the_order
49 ids of categories: test_49_categories_meet_by_name
50 shifted classes: test_50_unknown_categories_and_images_raise
51 box formats: test_51_width_and_height_taken_for_corners_raise and
    test_detection_laws.test_boxes_there_and_back; letterboxes are for adapters of detectors
52 thresholds: test_52_nothing_is_cut_by_score
53 limits: test_53_other_limits_than_the_usual
54 crowded scenes: test_54_crowded_scenes_need_a_higher_limit_which_is_recorded
55 empty results: test_55_no_detections_are_a_score_of_zero
56 ids of zero: test_56_ids_of_zero_are_ids
57 crowds: test_57_ignore_has_no_effect_and_crowds_take_in_stray_boxes
58 undefined values, areas: test_58_undefined_is_no_number_and_areas_are_those_asked_for
59 equal scores: test_59_equal_scores_do_not_hang_on_the_order_of_rows
60 scores that are none, ids of several types: test_60_scores_are_finite_and_ids_of_one_type
61 sizes of pictures: test_61_boxes_refer_to_the_size_that_is_stated
62 merged phrases, 63 several labels of one query, 65 order of colors: of the detectors that are
    run, none of which is asked yet; imported detections come with one label a box
64 doubled detections: test_64_doubled_detections_cost_precision; no rule removes them
66 one scorer: test_detection_metrics.test_coco_sample
85 scenes are resampled: test_85_frames_of_a_scene_are_no_independent_draws
86 no zero width: test_86_no_interval_has_zero_width
87 the interval of the mean shown: test_87_the_interval_is_that_of_the_mean_beside_it
88 corners of kappa: test_88_kappa_at_the_corners
89 variation of right and wrong, many tests:
    test_89_coefficient_of_variation_depends_on_what_is_coded and
    test_89_many_tests_without_any_effect
90 equal weight of exposures: test_90_better_at_each_exposure_is_better_in_all
"""

import math
import re
from pathlib import Path

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
from evaluate.metrics.detection_frames import DetectedFrame, frames_to_arrays
from evaluate.metrics.groups import balanced_mean, group_by
from evaluate.metrics.lrp import lrp, optimal_lrp
from evaluate.metrics.matching import match
from evaluate.metrics.sensitivity import sensitivity
from evaluate.metrics.trends import holm
from schemas.records import Instance

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


def test_every_pitfall_has_its_place():
    numbers = {int(found) for found in re.findall(r"(?:^|, )(\d+) ", __doc__, re.M)}
    assert numbers == {*range(1, 25), *range(49, 67), *range(85, 91)}
    here = Path(__file__)
    for module, name in re.findall(r"(?:(test_\w+)\.)?(test_\w+)", __doc__):
        path = here.with_name(f"{module}.py") if module else here
        assert f"def {name}(" in path.read_text(encoding="utf-8"), (module, name)


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


def detected(names, size_px=(200, 100), scale=1.0):
    """A frame of two categories, and perfect boxes whose labels come in the order given."""
    boxes = {"cup": (10.0, 10.0, 50.0, 40.0), "tie": (100.0, 20.0, 60.0, 60.0)}
    truth = tuple(Instance(name, box, box[2] * box[3], (200, 100)) for name, box in boxes.items())
    payload = {
        "labels": list(names),
        "scores": [0.9] * len(names),
        "boxes_xywh_px": [[scale * side for side in boxes.get(n, (0, 0, 9, 9))] for n in names],
        "size_px": list(size_px),
    }
    return DetectedFrame(1, truth, payload)


def score_of(*frames):
    truth, found, _ = frames_to_arrays(frames)
    return average_precision(match(truth, found)).summary().ap


def test_49_categories_meet_by_name():
    # whoever numbers tie first, or knows more classes, means the same by a name
    assert score_of(detected(["cup", "tie"])) == score_of(detected(["tie", "cup"])) == 1
    assert score_of(detected(["spoon", "tie", "cup"])) == 1  # no object is a spoon: no score
    assert score_of(detected(["spoon", "fork"])) == 0


def test_61_boxes_refer_to_the_size_that_is_stated():
    # width first: a detector that saw 700 x 1000 upright states (700, 1000)
    assert score_of(detected(["cup", "tie"], size_px=(1000, 500), scale=5.0)) == 1
    assert score_of(detected(["cup", "tie"], size_px=(500, 1000), scale=5.0)) < 0.5


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
