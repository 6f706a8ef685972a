"""AP and oLRP of known cases, and of published detections."""

import doctest
import json
import math

import numpy as np
import pytest

from evaluate.metrics import boxes as boxes_module
from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.bootstrap import bootstrap_weights
from evaluate.metrics.boxes import xywh_to_xyxy
from evaluate.metrics.detection_data import (
    Detections,
    GroundTruth,
)
from evaluate.metrics.detection_frames import DetectedFrame, frames_to_arrays
from evaluate.metrics.detection_intervals import FIGURES, detection_intervals
from evaluate.metrics.lrp import lrp, optimal_lrp
from evaluate.metrics.matching import AREA_RANGES, match
from schemas.records import Instance
from tests.evaluate.detection_scenes import by_faster_coco_eval, figures, matched, parts


@pytest.mark.parametrize("module", [boxes_module])
def test_examples_in_the_docstrings(module):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


HERE = [10.0, 10.0, 50.0, 40.0]


def objects(*rows, images=(1,), categories=(1,), **more):
    """Ground truth of (image, category, xywh)."""
    return GroundTruth(
        images=np.array(images),
        categories=np.array(categories),
        image_ids=np.array([row[0] for row in rows]),
        category_ids=np.array([row[1] for row in rows]),
        boxes_xyxy_px=xywh_to_xyxy([row[2] for row in rows]),
        **more,
    )


def given_boxes(*rows):
    """Detections of (image, category, xywh, score)."""
    return Detections(
        image_ids=np.array([row[0] for row in rows]),
        category_ids=np.array([row[1] for row in rows]),
        boxes_xyxy_px=xywh_to_xyxy([row[2] for row in rows]),
        scores=np.array([row[3] for row in rows], float),
    )


def aside(box, x):
    return [box[0] + x, *box[1:]]


def test_perfect_detections():
    rows = [(1, 1, HERE), (1, 2, HERE), (2, 1, aside(HERE, 5)), (2, 1, aside(HERE, 200))]
    truth = objects(*rows, images=(1, 2), categories=(1, 2))
    matching = match(truth, given_boxes(*[(*row, 0.5) for row in rows]))
    summary = average_precision(matching).summary()
    assert (summary.ap, summary.ap50, summary.ap75) == (1, 1, 1)
    assert summary.ar_by_area["all"] == 1
    assert parts(optimal_lrp(matching).mean()) == (0, 0, 0, 0)


def test_duplicates_are_false_positives():
    truth = objects((1, 1, HERE), (1, 1, aside(HERE, 300)))
    pair = [(1, 1, HERE, 0.9), (1, 1, aside(HERE, 300), 0.8)]
    once = match(truth, given_boxes(*pair))
    twice = match(truth, given_boxes(pair[0], (1, 1, HERE, 0.85), pair[1]))
    assert average_precision(once).summary().ap == 1
    # precision 1 up to recall .5, which 51 of 101 points lie at or below, then 2/3
    assert average_precision(twice).summary().ap == pytest.approx((51 + 50 * 2 / 3) / 101)
    found = optimal_lrp(twice).mean()
    # 2 hits without error, 1 false positive: 1/3; better than 1 hit and 1 missed: 1/2
    assert parts(found) == pytest.approx((1 / 3, 0, 1 / 3, 0))


def test_example_by_hand():
    """One hit of IoU .8, one false positive below it, one object missed."""
    truth = objects((1, 1, [0, 0, 10, 10]), (1, 1, [100, 0, 10, 10]))
    matching = match(truth, given_boxes((1, 1, [0, 0, 10, 8], 0.9), (1, 1, [50, 50, 5, 5], 0.4)))
    assert parts(optimal_lrp(matching).mean()) == pytest.approx(((0.2 / 0.5 + 1) / 2, 0.2, 0, 0.5))
    assert optimal_lrp(matching).score[0].tolist() == [0.9]
    low = lrp(matching, 0.0).mean()
    assert parts(low) == pytest.approx(((0.2 / 0.5 + 2) / 3, 0.2, 0.5, 0.5))
    nothing = lrp(matching, 0.95).mean()
    assert (nothing.error, nothing.fn) == (1, 1)
    assert math.isnan(nothing.loc)
    assert math.isnan(nothing.fp)
    summary = average_precision(matching).summary()
    assert summary.ap50 == pytest.approx(51 / 101)
    assert summary.ap == pytest.approx(51 / 101 * 7 / 10)  # .5 to .8


def test_of_two_equal_overlaps_the_later_object_is_taken():
    """As by the COCO tools: the second detection then finds its only object gone."""
    sides = [[0.0, 0.0, 10.0, 10.0], [4.0, 0.0, 10.0, 10.0]]
    between, behind = [2.0, 0.0, 10.0, 10.0], [6.0, 0.0, 10.0, 10.0]
    document = {
        "info": {},
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [
            {"id": k, "image_id": 1, "category_id": 1, "bbox": box, "area": 100.0, "iscrowd": 0}
            for k, box in enumerate(sides, 1)
        ],
    }
    results = [
        {"image_id": 1, "category_id": 1, "bbox": box, "score": score}
        for box, score in ((between, 0.9), (behind, 0.8))
    ]
    found = average_precision(matched(document, results)).summary()
    assert found.ap50 == pytest.approx(51 / 101)
    assert figures(found) == pytest.approx(by_faster_coco_eval(document, results), abs=1e-12)


def test_category_without_objects_is_skipped():
    truth = objects((1, 1, HERE), categories=(1, 2))
    matching = match(truth, given_boxes((1, 1, HERE, 0.5), (1, 2, HERE, 0.9)))
    assert optimal_lrp(matching).mean().error == 0
    assert list(optimal_lrp(matching).by_category()) == [1]
    assert average_precision(matching).by_category() == {1: 1.0}


@pytest.mark.parametrize("rows", [[], [(1, 1, aside(HERE, 500), 0.5)]])
def test_objects_without_any_hit(rows):
    truth = objects((1, 1, HERE), (1, 2, HERE), categories=(1, 2))
    matching = match(truth, given_boxes(*rows, (1, 2, HERE, 0.9)))
    missed = optimal_lrp(matching).by_category()[1]
    assert (missed.error, missed.fn) == (1, 1)
    assert math.isnan(missed.loc)
    assert math.isnan(missed.fp)
    # Loc and FP average over one category only, error and FN over two
    assert parts(optimal_lrp(matching).mean()) == (0.5, 0, 0, 0.5)
    assert math.isnan(optimal_lrp(matching).score[0, 0])


def test_all_hits_just_at_the_threshold():
    """Then no score is better than 1, and the first detection is the optimum."""
    truth = objects((1, 1, [0, 0, 10, 10]), (1, 1, [50, 0, 10, 10]))
    half = (1, 1, [0, 0, 10, 5], 0.5)
    first = optimal_lrp(match(truth, given_boxes(half, (1, 1, [90, 90, 5, 5], 0.1)))).mean()
    assert parts(first) == (1, 0.5, 0, 0.5)
    behind = optimal_lrp(match(truth, given_boxes(half, (1, 1, [90, 90, 5, 5], 0.9)))).mean()
    assert (behind.error, behind.fp, behind.fn) == (1, 1, 1)
    assert math.isnan(behind.loc)


def test_area_ranges_ignore_what_lies_outside():
    small, large = [0.0, 0.0, 20.0, 20.0], [200.0, 0.0, 150.0, 150.0]
    truth = objects((1, 1, small), (1, 1, large))
    matching = match(truth, given_boxes((1, 1, small, 0.9), (1, 1, [50, 50, 9, 9], 0.8)))
    errors = optimal_lrp(matching)
    assert parts(errors.mean(area="small")) == (0, 0, 0, 0)
    assert errors.mean(area="large").error == 1
    assert math.isnan(errors.mean(area="medium").error)
    with pytest.raises(ValueError, match="no area range 'tiny'; there are all, small"):
        errors.mean(area="tiny")


@pytest.mark.parametrize(("side", "names"), [(32, ("small", "medium")), (96, ("medium", "large"))])
def test_both_ends_belong_to_an_area_range(side, names):
    sides = [0.0, 0.0, float(side), float(side)]
    errors = optimal_lrp(match(objects((1, 1, sides)), given_boxes((1, 1, sides, 0.9))))
    for area in AREA_RANGES:
        found = errors.mean(area=area).error
        assert found == 0 if area in (*names, "all") else math.isnan(found)


def test_other_thresholds_and_what_was_not_matched():
    truth = objects((1, 1, HERE))
    matching = match(truth, given_boxes((1, 1, HERE, 0.9)), iou_thresholds=(0.3, 0.5))
    assert average_precision(matching).summary().ap == 1
    assert math.isnan(average_precision(matching).summary().ap75)
    assert optimal_lrp(matching, tau=0.3).mean().error == 0
    assert average_precision(matching).by_group(0.3).tolist() == [1]
    with pytest.raises(ValueError, match=r"no IoU threshold 0\.75"):
        optimal_lrp(matching, tau=0.75)
    for wrong in ((), (0.5, 0.3), (0.0, 0.5), (0.5, 1.1)):
        with pytest.raises(ValueError, match="IoU thresholds"):
            match(truth, given_boxes(), iou_thresholds=wrong)
    with pytest.raises(ValueError, match="limit 0"):
        match(truth, given_boxes(), limit=0)
    sure = match(truth, given_boxes((1, 1, HERE, 0.9)), iou_thresholds=(0.5, 1.0))
    assert average_precision(sure).summary().ap == 1
    with pytest.raises(ValueError, match="tau must be below 1"):
        optimal_lrp(sure, tau=1.0)


def test_no_images_chosen():
    matching = match(objects((1, 1, HERE)), given_boxes((1, 1, HERE, 0.9)))
    assert math.isnan(average_precision(matching, groups=[-1]).summary().ap)
    assert math.isnan(optimal_lrp(matching, weights=[0]).mean().error)
    for wrong in ([0, 1], [0.5]):
        with pytest.raises(ValueError, match="groups: 1 integers, one an image"):
            optimal_lrp(matching, groups=wrong)
    with pytest.raises(ValueError, match="negative"):
        optimal_lrp(matching, weights=[-1])


# ---- published values ----


def read(*where):
    return json.loads(where[0].joinpath(*where[1:]).read_text())


def test_coco_sample(snaprig_data):
    """100 COCO images: published AP; oLRP of the reference implementation."""
    folder = snaprig_data / "coco100/tests/test_coco_eval"
    matching = matched(
        read(folder, "gts/sampled_gts_bbox_area.json"), read(folder, "cocoapi_results.json")
    )
    published = [0.503647, 0.696973, 0.571667, 0.593252, 0.557991, 0.489363]
    published += [0.386813, 0.593680, 0.595353, 0.654764, 0.603130, 0.553744]
    assert figures(average_precision(matching).summary()) == pytest.approx(published, abs=1e-6)
    errors = optimal_lrp(matching)
    assert parts(errors.mean()) == pytest.approx((0.501487, 0.132969, 0.127356, 0.231174), abs=1e-6)
    by_area = [errors.mean(area=area).error for area in ("small", "medium", "large")]
    assert by_area == pytest.approx([0.415254, 0.457990, 0.527813], abs=1e-6)
    assert len(errors.category) == 70
    assert int(np.isnan(errors.loc[0]).sum()) == 2


@pytest.mark.parametrize(
    ("detector", "ap", "ap50"), [("nanodet_m_416", 0.362, 0.563), ("yolov3_tiny", 0.155, 0.291)]
)
def test_snap_detectors(snaprig_data, detector, ap, ap50):
    folder = snaprig_data / "snap-detections"
    document, results = read(folder, "ground_truth.json"), read(folder, f"{detector}.json")
    matching = matched(document, results)
    summary = average_precision(matching).summary()
    assert (summary.ap, summary.ap50) == pytest.approx((ap, ap50), abs=5e-4)
    plain = [
        {key: row[key] for key in ("image_id", "category_id", "bbox", "score")} for row in results
    ]
    document = {"info": {}, **document}
    assert figures(summary) == pytest.approx(by_faster_coco_eval(document, plain), abs=1e-12)
    # every frame alone: a value a frame, 1 where nothing was found, for parameter sensitivity
    alone = optimal_lrp(matching, groups=np.arange(99)).by_group()
    assert alone["error"].shape == (99,)
    assert not np.isnan(alone["error"]).any()
    assert (np.isnan(alone["loc"]) == (alone["fn"] == 1)).all()
    for image in (0, 7, 98):
        expected = optimal_lrp(matching, weights=np.arange(99) == image).mean()
        assert alone["error"][image] == expected.error


def test_intervals_by_resampling_images(snaprig_data):
    """Drawn images through the stored matching; each group as if it were alone."""
    folder = snaprig_data / "snap-detections"
    matching = matched(read(folder, "ground_truth.json"), read(folder, "nanodet_m_416.json"))
    frames = np.arange(99)
    (found,) = detection_intervals(matching, frames, seed=1, resamples=60)
    assert tuple(found) == FIGURES
    for figure in found.values():
        assert figure.low < figure.value < figure.high
        assert (figure.n, figure.method) == (99, "cluster_bootstrap")
    assert found["ap"].value == average_precision(matching).summary().ap
    assert found["olrp_fp"].value == optimal_lrp(matching).mean().fp

    def ap50(weights):
        return average_precision(matching, weights=weights).summary().ap50

    low, high = bootstrap_weights(ap50, frames, seed=1, resamples=60)
    assert (found["ap50"].low, found["ap50"].high) == pytest.approx((float(low), float(high)))

    halves = (frames >= 50).astype(int)
    both = detection_intervals(matching, frames, halves, seed=1, resamples=60)
    assert [group["olrp"].n for group in both] == [50, 49]
    second = optimal_lrp(matching, weights=halves).mean()
    assert both[1]["olrp"].value == pytest.approx(second.error)
    few = detection_intervals(matching, frames // 20, resamples=60)
    assert few[0]["ap"].method == "none"  # five clusters


def test_frames_of_the_catalog():
    """Objects and answers by name; answers about a picture of another size are scaled."""
    objects_here = (
        Instance("cup", (100.0, 50.0, 40.0, 30.0), 900.0, (1920, 1280)),
        Instance("cup", (900.0, 50.0, 40.0, 30.0), 0.0, (1920, 1280), crowd=True),
    )
    answer = {
        "labels": ["cup", "tie"],
        "scores": [0.9, 0.8],
        "boxes_xywh_px": [[50.0, 25.0, 20.0, 15.0], [1.0, 1.0, 9.0, 9.0]],
        "size_px": [960, 640],
    }
    frames = [
        DetectedFrame(7, objects_here, answer),
        DetectedFrame(9, objects_here[:1], None),  # the detector failed: a miss
        DetectedFrame(8, (), {**answer, "labels": ["cup", "cup"]}),
    ]
    truth, found, names = frames_to_arrays(frames)
    assert names == ("cup", "tie")
    assert truth.images.tolist() == [7, 8, 9]
    assert truth.areas_px2.tolist() == [900, 1200, 900]
    matching = match(truth, found)
    assert parts(optimal_lrp(matching, groups=[0, -1, -1]).mean()) == (0, 0, 0, 0)
    assert optimal_lrp(matching, groups=[-1, -1, 0]).mean().error == 1
    whole = optimal_lrp(matching).by_category()
    assert list(whole) == [0]
    assert whole[0].fn == 0.5
    no_frames = frames_to_arrays([])
    assert math.isnan(average_precision(match(*no_frames[:2])).summary().ap)
    with pytest.raises(ValueError, match="frame 7: labels, scores and boxes differ"):
        frames_to_arrays([DetectedFrame(7, (), {**answer, "labels": ["cup"]})])
    with pytest.raises(ValueError, match="images: an id is listed twice"):
        frames_to_arrays([frames[1], frames[1]])
    other = Instance("cup", (1.0, 1.0, 2.0, 2.0), 4.0, (10, 10))
    with pytest.raises(ValueError, match="marked in pictures of"):
        frames_to_arrays([DetectedFrame(7, (objects_here[0], other), None)])
