r"""Which detection found which object: COCO's greedy matching, done once for all metrics.

Within an image and a category, detections in descending order of score each take the object they
overlap most, if it is still free and the overlap reaches the threshold. Objects outside an area
range, and crowd regions, are ignored: taken only where no other object can be, and then the
detection counts neither as right nor as wrong; so does an unmatched one outside the range.
Source: cocodataset/cocoapi, `cocoeval.py`, whose results these are, ties included: of two equally
overlapping objects the later wins, and equal scores stand in order of image, then detection.

The loop over detections is turned around. Only pairs that overlap enough for the lowest threshold
matter; they are few. Round k handles the k-th such detection of every image and category together,
for all thresholds and area ranges as lanes of one array.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import BoolArray, FloatArray, IntArray
from evaluate.metrics.boxes import areas, paired_iou
from evaluate.metrics.detection_data import Detections, GroundTruth, positions

#: 0.50, 0.55 … 0.95.
IOU_THRESHOLDS: tuple[float, ...] = tuple(np.linspace(0.5, 0.95, 10).tolist())

#: Square pixels, both ends belong to it.
AREA_RANGES: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}

#: Detections that count in an image and category, the best by score.
DETECTION_LIMIT = 100


@dataclass(frozen=True, eq=False)
class Matching:
    """Detections and the objects that they found.

    Detections (n) are in order of category, falling score, image, id: the order in which
    they are accumulated. Candidates (n_candidates) are those that overlap any object enough for
    the lowest threshold; all others found nothing whatever the threshold.

    Attributes
    ----------
    images, categories : arrays of int
        Ids, sorted. All other image and category numbers here are places in these.
    iou_thresholds : tuple of float, ascending
    area_names : tuple of str
    limit : int
        Detections that counted in an image and category; the others are not here.
    image, category, rank : arrays of int, shape (n,)
        Rank by score in its image and category, from 0.
    scores : array of float, shape (n,)
    in_range : array of bool, shape (n_areas, n)
        Whether its own area lies in the range.
    candidates : array of int, shape (n_candidates,)
        Rows, ascending.
    truth_row : array of int, shape (n_areas, n_thresholds, n_candidates)
        The object that it took, or -1.
    candidate_boxes_xyxy_px, truth_boxes_xyxy_px : arrays of float, shapes (…, 4)
    truth_image, truth_category : arrays of int, shape (n_truth,)
    truth_counts : array of bool, shape (n_areas, n_truth)
        Whether the object is one to be found: in the range and no crowd.
    """

    images: IntArray
    categories: IntArray
    iou_thresholds: tuple[float, ...]
    area_names: tuple[str, ...]
    limit: int
    image: IntArray
    category: IntArray
    rank: IntArray
    scores: FloatArray
    in_range: BoolArray
    candidates: IntArray
    truth_row: npt.NDArray[np.int32]
    candidate_boxes_xyxy_px: FloatArray
    truth_boxes_xyxy_px: FloatArray
    truth_image: IntArray
    truth_category: IntArray
    truth_counts: BoolArray

    def hits(self, area: int) -> BoolArray:
        """Right detections among the candidates, shape (n_thresholds, n_candidates)."""
        return np.asarray(np.append(self.truth_counts[area], False)[self.truth_row[area]])

    def only(self, area: str = "all") -> Matching:
        """The same for one area range: what is left out need not be accumulated."""
        place = [self.area_index(area)]
        return dataclasses.replace(
            self,
            area_names=(area,),
            in_range=self.in_range[place],
            truth_row=self.truth_row[place],
            truth_counts=self.truth_counts[place],
        )

    def area_index(self, name: str) -> int:
        """Place of an area range.

        Raises
        ------
        ValueError
            For a name that was not matched.
        """
        if name not in self.area_names:
            raise ValueError(f"no area range {name!r}; there are {', '.join(self.area_names)}")
        return self.area_names.index(name)

    def threshold_index(self, iou_threshold: float) -> int:
        """Place of an IoU threshold.

        Raises
        ------
        ValueError
            For a threshold that was not matched.
        """
        near = np.isclose(self.iou_thresholds, iou_threshold, rtol=0, atol=1e-9)
        if not near.any():
            raise ValueError(f"no IoU threshold {iou_threshold}; there are {self.iou_thresholds}")
        return int(np.flatnonzero(near)[0])


def match(
    truth: GroundTruth,
    detections: Detections,
    *,
    iou_thresholds: tuple[float, ...] = IOU_THRESHOLDS,
    area_ranges: dict[str, tuple[float, float]] | None = None,
    limit: int = DETECTION_LIMIT,
) -> Matching:
    """Match detections to objects, for each IoU threshold and area range.

    Parameters
    ----------
    area_ranges : dict of name to (low, high) in square pixels, optional
        Default `AREA_RANGES`.
    limit : int
        Detections that count in an image and category.

    Raises
    ------
    ValueError
        For detections of images or categories that the ground truth does not list, thresholds
        that do not ascend within 0 to 1, or a limit below 1.
    """
    if limit < 1 or list(iou_thresholds) != sorted(set(iou_thresholds)) or not iou_thresholds:
        raise ValueError(f"limit {limit}, IoU thresholds {iou_thresholds}")
    if not 0 < iou_thresholds[0] <= iou_thresholds[-1] <= 1:
        raise ValueError(f"IoU thresholds lie above 0 and up to 1, not {iou_thresholds}")
    ranges = AREA_RANGES if area_ranges is None else area_ranges
    bounds = np.array(list(ranges.values()))
    n_images = len(truth.images)

    image = positions(detections.image_ids, truth.images, "image")
    category = positions(detections.category_ids, truth.categories, "category")
    cell = category * n_images + image
    order = np.lexsort((detections.ids, -detections.scores, cell))
    cell = cell[order]
    rank = _rank_in_runs(cell)
    order, cell, rank = order[rank < limit], cell[rank < limit], rank[rank < limit]
    boxes, scores = detections.boxes_xyxy_px[order], detections.scores[order]

    truth_image = positions(truth.image_ids, truth.images, "image")
    truth_category = positions(truth.category_ids, truth.categories, "category")
    truth_cell = truth_category * n_images + truth_image
    truth_counts = ~truth.crowd & _inside(truth.areas_px2, bounds)

    pairs = _candidate_pairs(
        cell, boxes, truth_cell, truth.boxes_xyxy_px, truth.crowd, iou_thresholds[0]
    )
    rows, found = _take(pairs, cell, truth.crowd, truth_counts, np.array(iou_thresholds))

    pooled = np.lexsort((-scores, category[order]))
    place = np.empty(len(pooled), np.int64)
    place[pooled] = np.arange(len(pooled))
    by_place = np.argsort(place[rows])
    return Matching(
        images=truth.images,
        categories=truth.categories,
        iou_thresholds=tuple(iou_thresholds),
        area_names=tuple(ranges),
        limit=limit,
        image=image[order][pooled],
        category=category[order][pooled],
        rank=rank[pooled],
        scores=scores[pooled],
        in_range=_inside(areas(boxes[pooled]), bounds),
        candidates=place[rows][by_place],
        truth_row=np.ascontiguousarray(found[by_place].transpose(1, 2, 0)),
        candidate_boxes_xyxy_px=boxes[rows][by_place],
        truth_boxes_xyxy_px=truth.boxes_xyxy_px,
        truth_image=truth_image,
        truth_category=truth_category,
        truth_counts=truth_counts,
    )


@dataclass(frozen=True)
class _Pairs:
    """Detections and objects of the same cell that overlap, shapes (n_pairs,)."""

    detection: IntArray
    truth: IntArray
    iou: FloatArray


def _candidate_pairs(
    cell: IntArray,
    boxes: FloatArray,
    truth_cell: IntArray,
    truth_boxes: FloatArray,
    crowd: BoolArray,
    lowest: float,
) -> _Pairs:
    by_cell = np.argsort(truth_cell, kind="stable")
    sorted_cell = truth_cell[by_cell]
    first = np.searchsorted(sorted_cell, cell, side="left")
    count = np.searchsorted(sorted_cell, cell, side="right") - first
    detection = np.repeat(np.arange(len(cell)), count)
    within = np.arange(len(detection)) - np.repeat(np.cumsum(count) - count, count)
    truth = by_cell[first[detection] + within] if len(by_cell) else within
    iou = paired_iou(boxes[detection], truth_boxes[truth], crowd[truth])
    near = iou >= _reachable(lowest)
    return _Pairs(detection[near], truth[near], iou[near])


def _take(
    pairs: _Pairs,
    cell: IntArray,
    crowd: BoolArray,
    truth_counts: BoolArray,
    thresholds: FloatArray,
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Rows of the candidates and what each took, shape (n_candidates, n_areas, n_thresholds)."""
    rows, of_pair = np.unique(pairs.detection, return_inverse=True)
    turn = _rank_in_runs(cell[rows])
    # By round, then detection, then worse to better: the best open pair is the last open one.
    order = np.lexsort((pairs.truth, pairs.iou, of_pair, turn[of_pair]))
    candidate, truth, iou = of_pair[order], pairs.truth[order], pairs.iou[order]
    ends = np.searchsorted(turn[candidate], np.arange(turn.max(initial=-1) + 2))
    lanes = (len(truth_counts), len(thresholds))
    counts = np.ascontiguousarray(truth_counts.T)
    reached = _reachable(thresholds)
    taken = np.zeros((len(crowd), *lanes), bool)
    found = np.full((len(rows), *lanes), -1, np.int32)
    for begin, end in itertools.pairwise(ends.tolist()):
        these = truth[begin:end]
        size = end - begin
        is_open = (~taken[these] | crowd[these][:, None, None]) & (iou[begin:end, None] >= reached)[
            :, None, :
        ]
        # An object that counts beats any ignored one.
        standing = np.arange(size, dtype=np.int32)[:, None] + np.int32(size) * counts[these]
        standing = np.where(is_open, standing[:, :, None], np.int32(-1))
        starts = np.flatnonzero(np.diff(candidate[begin:end], prepend=-1))
        best = np.maximum.reduceat(standing, starts, axis=0)
        chosen = np.where(best >= size, best - size, best)
        found[candidate[begin:end][starts]] = np.where(best >= 0, these[chosen], -1)
        repeats = np.diff(starts, append=size)
        # One detection a cell and round, so that no object stands twice in `these`.
        taken[these] |= is_open & (standing == np.repeat(best, repeats, axis=0))
    return rows, found


def _reachable(threshold: float | FloatArray) -> FloatArray:
    """Perfect overlap reaches a threshold of 1 despite rounding, as in cocoapi."""
    return np.minimum(threshold, 1 - 1e-10)


def _inside(sizes: FloatArray, bounds: FloatArray) -> BoolArray:
    return np.asarray((sizes >= bounds[:, :1]) & (sizes <= bounds[:, 1:]))


def _rank_in_runs(values: IntArray) -> IntArray:
    """Place of each within its run of equal values, from 0."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    return np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))
