"""Time AP and oLRP against faster-coco-eval's and pycocotools' AP, on made detections.

    python benchmarks/detection_metrics.py [--images 5000] [--detections 174000] [--repeats 3]

All start from the same COCO lists in memory, and the peers' reading of them is timed with them
("whole") and without ("computing"). The median of the repeats is compared, in one process, in
turns, as processor seconds, which other work on the machine disturbs less than the clock.
The targets: AP and oLRP together at most 1.5 times faster-coco-eval's AP, and at least 5 times
faster than pycocotools' AP (left out, saying so, where that is not installed).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.detection_data import detections_from_coco, truth_from_coco
from evaluate.metrics.lrp import optimal_lrp
from evaluate.metrics.matching import match

CATEGORIES = 80
OBJECTS_PER_IMAGE = 6
#: Statistics of the COCO tools: AP, AP50, AP75, AP and AR by area, AR by limit.
FIGURES = 12

Document = dict[str, Any]
Times = dict[str, float]


def make_scene(images: int, detections: int, seed: int = 0) -> tuple[Document, list[Document]]:
    """Objects, and detections that are two thirds shifted copies of them, else anything."""
    rng = np.random.default_rng(seed)
    n_truth = images * OBJECTS_PER_IMAGE
    image = rng.integers(images, size=n_truth)
    category = rng.zipf(1.6, n_truth) % CATEGORIES
    sides = np.exp(rng.uniform(np.log(8), np.log(400), (n_truth, 2)))
    corner = rng.uniform(0, 1, (n_truth, 2)) * (640 - sides)
    copied = rng.integers(n_truth, size=detections)
    shift = rng.normal(0, 0.12, (detections, 2)) * sides[copied]
    scale = np.exp(rng.normal(0, 0.12, (detections, 2)))
    given = np.hstack([corner[copied] + shift, sides[copied] * scale]).round(2)
    stray = rng.random(detections) < 1 / 3
    given[stray] = np.roll(given[stray], 1, axis=0)
    names = np.where(rng.random(detections) < 0.85, category[copied], rng.integers(CATEGORIES))
    scores = np.where(stray, rng.beta(1, 4, detections), rng.beta(3, 3, detections)).round(5)
    boxes = np.hstack([corner, sides]).round(2)
    truth = {
        "info": {},
        "images": [{"id": k, "width": 640, "height": 640} for k in range(images)],
        "categories": [{"id": k, "name": f"c{k}"} for k in range(CATEGORIES)],
        "annotations": [
            {
                "id": k + 1,
                "image_id": int(image[k]),
                "category_id": int(category[k]),
                "bbox": boxes[k].tolist(),
                "area": float(boxes[k, 2] * boxes[k, 3]),
                "iscrowd": 0,
            }
            for k in range(n_truth)
        ],
    }
    found = [
        {
            "image_id": int(image[copied[k]]),
            "category_id": int(names[k]),
            "bbox": given[k].tolist(),
            "score": float(scores[k]),
        }
        for k in range(detections)
    ]
    return truth, found


def ours(truth: Document, found: list[Document]) -> tuple[Times, list[float]]:
    """AP and oLRP, all areas and limits, in the order of the COCO tools."""
    clock = _Clock()
    objects, boxes = truth_from_coco(truth, area="file"), detections_from_coco(found)
    clock.lap("reading")
    matching = match(objects, boxes)
    clock.lap("matching")
    summary = average_precision(matching).summary()
    clock.lap("AP")
    optimal_lrp(matching).mean()
    clock.lap("oLRP")
    figures = [summary.ap, summary.ap50, summary.ap75]
    figures += list(summary.ap_by_area.values())[1:]
    figures += summary.ar_by_limit.values()
    figures += list(summary.ar_by_area.values())[1:]
    return clock.times, figures


def faster_coco_eval(truth: Document, found: list[Document]) -> tuple[Times, list[float]]:
    """faster-coco-eval's AP."""
    from faster_coco_eval import COCO, COCOeval_faster

    clock = _Clock()
    gt = COCO(truth)
    judged = COCOeval_faster(gt, gt.loadRes(found), "bbox", print_function=_quiet)
    return _run_peer(judged, clock)


def pycocotools(truth: Document, found: list[Document]) -> tuple[Times, list[float]]:
    """AP of pycocotools."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    clock = _Clock()
    gt = COCO()
    gt.dataset = truth
    gt.createIndex()
    judged = COCOeval(gt, gt.loadRes([dict(row) for row in found]), "bbox")
    return _run_peer(judged, clock)


def _run_peer(judged: Any, clock: _Clock) -> tuple[Times, list[float]]:  # noqa: ANN401
    clock.lap("reading")
    judged.evaluate()
    clock.lap("matching")
    judged.accumulate()
    judged.summarize()
    clock.lap("AP")
    return clock.times, [float(value) for value in judged.stats[:FIGURES]]


def _quiet(*_: object) -> None:
    """Swallow what a peer prints."""


class _Clock:
    def __init__(self) -> None:
        self.times: Times = {}
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self.times[name] = now - self._last
        self._last = now


def main() -> int:
    """Print the table; exit status 1 where a target is missed or figures differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--detections", type=int, default=174_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    truth, found = make_scene(options.images, options.detections)
    print(f"{options.images} images, {len(truth['annotations'])} objects, {len(found)} detections")
    contestants: dict[str, Callable[..., tuple[Times, list[float]]]] = {
        "ours: AP and oLRP": ours,
        "faster-coco-eval: AP": faster_coco_eval,
    }
    if importlib.util.find_spec("pycocotools"):
        contestants["pycocotools: AP"] = pycocotools
    else:
        print("pycocotools is not installed: that comparison is left out")

    runs: dict[str, list[Times]] = {name: [] for name in contestants}
    figures: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        for name, run in contestants.items():
            with contextlib.redirect_stdout(io.StringIO()):
                times, figures[name] = run(truth, found)
            runs[name].append(times)

    seconds = {name: _medians(times) for name, times in runs.items()}
    columns = ("reading", "matching", "AP", "oLRP", "computing", "whole")
    print(f"{'processor seconds':24}" + "".join(f"{column:>11}" for column in columns))
    for name, row in seconds.items():
        cells = (f"{row[column]:.2f}" if column in row else "-" for column in columns)
        print(f"{name:24}" + "".join(f"{cell:>11}" for cell in cells))

    mine, *peers = contestants
    ok = True
    for peer in peers:
        apart = max(abs(a - b) for a, b in zip(figures[mine], figures[peer], strict=True))
        print(f"largest difference of {FIGURES} figures to {peer[:-4]}: {apart:.1e}")
        ok &= apart < 1e-9
        for part in ("computing", "whole"):
            ratio = seconds[mine][part] / seconds[peer][part]
            target = 1.5 if "faster" in peer else 1 / 5
            met = ratio <= target
            ok &= met
            verdict = "met" if met else "MISSED"
            print(f"{part}: {ratio:.2f} times {peer}, target at most {target:.1f}: {verdict}")
    return 0 if ok else 1


def _medians(runs: list[Times]) -> Times:
    row = {part: statistics.median(times[part] for times in runs) for part in runs[0]}
    row["whole"] = statistics.median(sum(times.values()) for times in runs)
    row["computing"] = statistics.median(sum(times.values()) - times["reading"] for times in runs)
    return row


if __name__ == "__main__":
    sys.exit(main())
