"""AP and oLRP against faster-coco-eval, a plain loop, published values, and their own laws."""

import doctest
import json
import math

import numpy as np
import pytest
from faster_coco_eval import COCO, COCOeval_faster
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.metrics import boxes as boxes_module
from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.bootstrap import bootstrap_weights
from evaluate.metrics.boxes import paired_iou, xywh_to_xyxy, xyxy_to_xywh
from evaluate.metrics.detection_data import (
    Detections,
    GroundTruth,
    detections_from_coco,
    truth_from_coco,
)
from evaluate.metrics.lrp import lrp, optimal_lrp
from evaluate.metrics.matching import AREA_RANGES, match

FIGURES = 12


def figures(summary):
    """The twelve numbers in the order of the COCO tools, which have -1 for undefined."""
    found = [summary.ap, summary.ap50, summary.ap75, *list(summary.ap_by_area.values())[1:]]
    found += [*summary.ar_by_limit.values(), *list(summary.ar_by_area.values())[1:]]
    return [-1.0 if math.isnan(value) else value for value in found]


def parts(found):
    return (found.error, found.loc, found.fp, found.fn)


# ---- scenes on a coarse grid, so that equal overlaps and overlaps at a threshold are common ----

box = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 14), st.integers(1, 14)).map(
    lambda sides: [float(side * 9) for side in sides]
)
scores = st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7, 0.9])


@st.composite
def scenes(draw, distinct=False):
    n_images, n_categories = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    image, category = st.integers(1, n_images), st.integers(1, n_categories)
    truth = draw(st.lists(st.tuples(image, category, box, st.integers(0, 9)), max_size=8))
    given_boxes = st.lists(st.tuples(image, category, box), max_size=12)
    found = draw(given_boxes)
    # copies of objects, shifted a little: hits
    for place in draw(st.lists(st.integers(0, max(len(truth) - 1, 0)), max_size=8)):
        if truth:
            shift = draw(st.tuples(*[st.integers(-1, 1)] * 4))
            where = [max(a + 9.0 * b, 9.0) for a, b in zip(truth[place][2], shift, strict=True)]
            found.append((truth[place][0], truth[place][1], where))
    n = len(found)
    if distinct:
        values = [rank / (n + 1) for rank in draw(st.permutations(range(1, n + 1)))]
    else:
        values = draw(st.lists(scores, min_size=n, max_size=n))
    document = {
        "info": {},
        "images": [{"id": k} for k in range(1, n_images + 1)],
        "categories": [{"id": k, "name": str(k)} for k in range(1, n_categories + 1)],
        "annotations": [
            {
                "id": k,
                "image_id": where,
                "category_id": what,
                "bbox": sides,
                "area": sides[2] * sides[3],
                "iscrowd": int(crowd == 0),
            }
            for k, (where, what, sides, crowd) in enumerate(truth, 1)
        ],
    }
    results = [
        {"image_id": where, "category_id": what, "bbox": sides, "score": score}
        for (where, what, sides), score in zip(found, values, strict=True)
    ]
    return document, results


def matched(document, results, **options):
    return match(truth_from_coco(document, area="file"), detections_from_coco(results), **options)


def by_faster_coco_eval(document, results):
    gt = COCO(json.loads(json.dumps(document)))
    judged = COCOeval_faster(gt, gt.loadRes(results), "bbox", print_function=lambda *_: None)
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    return judged.stats[:FIGURES]


# ---- a plain loop over images, detections and objects, as the reference implementation has it ----


MISS, IGNORED = -1.0, -2.0


def overlap(a, b, crowd):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / (a[2] * a[3] if crowd else a[2] * a[3] + b[2] * b[3] - w * h)


def loop_marks(document, results, category, area, threshold, limit=100):
    """(score, IoU of a hit, MISS or IGNORED) of each detection by falling score; objects."""
    low, high = AREA_RANGES[area]
    marks, objects = [], 0
    for image in document["images"]:
        here = {"image_id": image["id"], "category_id": category}
        truth = [t for t in document["annotations"] if here.items() <= t.items()]
        ignored = [bool(t["iscrowd"]) or not low <= t["area"] <= high for t in truth]
        objects += ignored.count(False)
        found = sorted((r for r in results if here.items() <= r.items()), key=lambda r: -r["score"])
        free = [True] * len(truth)
        for r in found[:limit]:
            best, chosen = (False, threshold), None
            for place, t in enumerate(truth):
                iou = overlap(r["bbox"], t["bbox"], t["iscrowd"])
                worth = (not ignored[place], iou)
                if (free[place] or t["iscrowd"]) and iou >= threshold and worth >= best:
                    best, chosen = worth, place
            if chosen is not None:
                free[chosen] = False
                marks.append((r["score"], IGNORED if ignored[chosen] else best[1]))
            else:
                inside = low <= r["bbox"][2] * r["bbox"][3] <= high
                marks.append((r["score"], MISS if inside else IGNORED))
    return sorted(marks, key=lambda mark: -mark[0]), objects


def lrp_of(marks, objects, tau=0.5):
    hits = [iou for _, iou in marks if iou not in (MISS, IGNORED)]
    fp, fn = sum(iou == MISS for _, iou in marks), objects - len(hits)
    loc = sum(1 - iou for iou in hits)
    return (
        (loc / (1 - tau) + fp + fn) / (len(hits) + fp + fn),
        loc / len(hits) if hits else math.nan,
        fp / (len(hits) + fp) if len(hits) + fp else math.nan,
        fn / objects,
    )


def loop_olrp(document, results, category, area):
    marks, objects = loop_marks(document, results, category, area, 0.5)
    if not objects:
        return None
    if all(iou in (MISS, IGNORED) for _, iou in marks):
        return (1.0, math.nan, math.nan, 1.0)
    candidates = [lrp_of(marks[:k], objects) for k in range(1, len(marks) + 1)]
    return min(candidates, key=lambda found: found[0])


def loop_ap(document, results, category, area, threshold):
    marks, objects = loop_marks(document, results, category, area, threshold)
    if not objects:
        return None
    curve, hits = [], 0
    for k, iou in enumerate((iou for _, iou in marks if iou != IGNORED), 1):
        hits += iou != MISS
        curve.append((hits / objects, hits / k))
    return float(
        np.mean([max((p for r, p in curve if r >= c), default=0) for c in np.linspace(0, 1, 101)])
    )


@pytest.mark.parametrize("module", [boxes_module])
def test_examples_in_the_docstrings(module):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


@settings(deadline=None, max_examples=150)
@given(scenes())
def test_ap_equals_faster_coco_eval(scene):
    document, results = scene
    if results:  # it fails on an empty list; test_metric_pitfalls has ours
        ours = figures(average_precision(matched(document, results)).summary())
        assert ours == pytest.approx(by_faster_coco_eval(document, results), abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(scenes())
def test_ap_equals_a_plain_loop(scene):
    document, results = scene
    found = average_precision(matched(document, results))
    for a, area in enumerate(AREA_RANGES):
        for t, threshold in enumerate(found.matching.iou_thresholds):
            ours = dict(
                zip((found.category + 1).tolist(), found.precision[a, t].tolist(), strict=True)
            )
            for category in (c["id"] for c in document["categories"]):
                expected = loop_ap(document, results, category, area, threshold)
                mine = ours.get(category, math.nan)
                assert mine == pytest.approx(
                    math.nan if expected is None else expected, nan_ok=True, abs=1e-12
                )


def two_decimals(values):
    return [None if math.isnan(value) else round(value, 9) for value in values]


@settings(deadline=None, max_examples=200)
@given(scenes())
def test_olrp_equals_a_plain_loop(scene):
    document, results = scene
    found = optimal_lrp(matched(document, results))
    for area in AREA_RANGES:
        ours = found.by_category(area=area)
        expected = {}
        for category in (c["id"] for c in document["categories"]):
            best = loop_olrp(document, results, category, area)
            error = math.nan if best is None else best[0]
            if category in ours:
                assert ours[category].error == pytest.approx(error, nan_ok=True, abs=1e-12)
            if best is not None:
                expected[category] = best
        # Where several scores give the lowest error up to rounding, the parts may be any of theirs.
        for category, best in expected.items():
            mine = ours[category]
            if math.isnan(best[1]) or math.isnan(mine.loc):
                assert two_decimals(parts(mine)) == two_decimals(best)
                continue
            marks, objects = loop_marks(document, results, category, area, 0.5)
            near = [lrp_of(marks[:k], objects) for k in range(1, len(marks) + 1)]
            near = [row for row in near if row[0] <= best[0] + 1e-12]
            assert two_decimals(parts(mine)) in [two_decimals(row) for row in near]


@settings(deadline=None, max_examples=100)
@given(scenes(), scores)
def test_lrp_at_a_score_equals_a_plain_loop(scene, score):
    document, results = scene
    ours = lrp(matched(document, results), score).by_category()
    for category, mine in ours.items():
        marks, objects = loop_marks(document, results, category, "all", 0.5)
        if objects:
            passed = [mark for mark in marks if mark[0] >= score]
            assert two_decimals(parts(mine)) == two_decimals(lrp_of(passed, objects))
        else:
            assert all(math.isnan(value) for value in parts(mine))


@settings(deadline=None, max_examples=100)
@given(scenes())
def test_no_threshold_beats_the_optimum(scene):
    matching = matched(*scene)
    best = optimal_lrp(matching)
    for score in sorted({row["score"] for row in scene[1]}):
        other = lrp(matching, score)
        assert (np.nan_to_num(best.error) <= np.nan_to_num(other.error) + 1e-12).all()
    # and it is reached, at each category's own score
    limit = np.full(len(matching.categories), 2.0)
    limit[best.category] = np.nan_to_num(best.score[0], nan=2.0)
    # equal scores are one candidate here and several there, so at least as good
    assert (
        np.nan_to_num(lrp(matching, limit).error[0]) >= np.nan_to_num(best.error[0]) - 1e-12
    ).all()


@settings(deadline=None, max_examples=80)
@given(scenes())
def test_bounds(scene):
    matching = matched(*scene)
    ap, errors = average_precision(matching), optimal_lrp(matching)
    for values, top in (
        (ap.precision, 1),
        (ap.recall, 1),
        (errors.error, 1),
        (errors.loc, 0.5),
        (errors.fp, 1),
        (errors.fn, 1),
    ):
        defined = values[~np.isnan(values)]
        assert ((defined >= -1e-15) & (defined <= top + 1e-15)).all()
    # stricter overlaps never give more, more detections never less recall
    assert (np.diff(np.nan_to_num(ap.recall), axis=1) <= 1e-12).all()
    limited = [np.nan_to_num(values) for values in ap.limited_recall.values()]
    assert (np.diff(limited, axis=0) >= 0).all()


@settings(deadline=None, max_examples=80)
@given(scenes(distinct=True), st.randoms(use_true_random=False))
def test_order_of_images_and_detections_does_not_matter(scene, random):
    document, results = scene
    before = matched(document, results)
    shuffled = {**document, "images": random.sample(document["images"], len(document["images"]))}
    after = matched(shuffled, random.sample(results, len(results)))
    assert figures(average_precision(after).summary()) == pytest.approx(
        figures(average_precision(before).summary())
    )
    assert parts(optimal_lrp(after).mean()) == pytest.approx(
        parts(optimal_lrp(before).mean()), nan_ok=True
    )


@settings(deadline=None, max_examples=60)
@given(scenes(), st.sampled_from([0.25, 4.0, 64.0]))
def test_scale_of_the_boxes_does_not_matter(scene, factor):
    document, results = scene

    def scaled(rows):
        return [{**row, "bbox": [side * factor for side in row["bbox"]]} for row in rows]

    anything = {"all": (0.0, math.inf)}
    bigger = {**document, "annotations": scaled(document["annotations"])}
    before = matched(document, results, area_ranges=anything)
    after = matched(bigger, scaled(results), area_ranges=anything)
    assert average_precision(after).precision == pytest.approx(
        average_precision(before).precision, nan_ok=True
    )
    assert optimal_lrp(after).error == pytest.approx(optimal_lrp(before).error, nan_ok=True)


@settings(deadline=None, max_examples=60)
@given(scenes(distinct=True), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_weights_equal_copies_of_the_images(scene, times):
    """What the bootstrap relies on: a drawn image counts as often as it was drawn."""
    document, results = scene
    times = times[: len(document["images"])]
    copies = {**document, "images": [], "annotations": []}
    found = []
    for image, n in zip(document["images"], times, strict=True):
        for copy in range(n):
            there = {"image_id": image["id"] * 10 + copy}
            copies["images"].append({"id": image["id"] * 10 + copy})
            copies["annotations"] += [
                {**row, **there}
                for row in document["annotations"]
                if row["image_id"] == image["id"]
            ]
            found += [{**row, **there} for row in results if row["image_id"] == image["id"]]
    weighted, real = matched(document, results), matched(copies, found)
    assert figures(average_precision(weighted, weights=times).summary()) == pytest.approx(
        figures(average_precision(real).summary()), abs=1e-12
    )
    for area in AREA_RANGES:
        ours = optimal_lrp(weighted, weights=times).by_group(area)["error"]
        assert ours == pytest.approx(optimal_lrp(real).by_group(area)["error"], nan_ok=True)


@settings(deadline=None, max_examples=60)
@given(scenes())
def test_groups_equal_the_images_alone(scene):
    """One accumulation for all groups gives what each group's own files give."""
    document, results = scene
    together = matched(document, results)
    n = len(document["images"])
    groups = np.array([0, 1, -1])[:n]
    ap, errors = average_precision(together, groups), optimal_lrp(together, groups)
    for group in range(min(n, 2)):
        image = group + 1
        alone = matched(
            {
                **document,
                "images": [{"id": image}],
                "annotations": [r for r in document["annotations"] if r["image_id"] == image],
            },
            [row for row in results if row["image_id"] == image],
        )
        assert figures(ap.summary(group)) == pytest.approx(
            figures(average_precision(alone).summary()), abs=1e-12
        )
        for area in AREA_RANGES:
            assert parts(errors.mean(group, area)) == pytest.approx(
                parts(optimal_lrp(alone).mean(area=area)), nan_ok=True
            )


# ---- known cases ----

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


@given(st.lists(box, min_size=1, max_size=5))
def test_boxes_there_and_back(rows):
    corners = xywh_to_xyxy(rows)
    assert xyxy_to_xywh(corners) == pytest.approx(np.array(rows))
    assert paired_iou(corners, corners).tolist() == [1.0] * len(rows)


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
    """Drawn images through the stored matching equal files in which they are copied."""
    folder = snaprig_data / "snap-detections"
    matching = matched(read(folder, "ground_truth.json"), read(folder, "nanodet_m_416.json"))
    frames = np.arange(99)

    def statistic(weights):
        found = optimal_lrp(matching, weights=weights).mean()
        return found.error, average_precision(matching, weights=weights).summary().ap50

    low, high = bootstrap_weights(statistic, frames, seed=1, resamples=60)
    value = statistic(np.ones(99, int))
    assert (low < value).all()
    assert (value < high).all()
    again = bootstrap_weights(statistic, frames, seed=1, resamples=60)
    assert np.array_equal(again, (low, high))
