"""AP and oLRP against faster-coco-eval and a plain loop on made scenes, and their own laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.boxes import paired_iou, xywh_to_xyxy, xyxy_to_xywh
from evaluate.metrics.lrp import lrp, optimal_lrp
from evaluate.metrics.matching import AREA_RANGES
from tests.evaluate.detection_scenes import (
    box,
    by_faster_coco_eval,
    figures,
    loop_ap,
    loop_marks,
    loop_olrp,
    lrp_of,
    matched,
    parts,
    scenes,
    scores,
)


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


@given(st.lists(box, min_size=1, max_size=5))
def test_boxes_there_and_back(rows):
    corners = xywh_to_xyxy(rows)
    assert xyxy_to_xywh(corners) == pytest.approx(np.array(rows))
    assert paired_iou(corners, corners).tolist() == [1.0] * len(rows)
