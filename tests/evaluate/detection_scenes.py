"""Made scenes for detectors, and a plain loop that judges them as the reference does."""

import json
import math

import numpy as np
from faster_coco_eval import COCO, COCOeval_faster
from hypothesis import strategies as st

from evaluate.metrics.detection_data import detections_from_coco, truth_from_coco
from evaluate.metrics.matching import AREA_RANGES, match


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
    return judged.stats[:12]


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
