r"""Average precision and recall, as COCO defines them.

Precision :math:`p = TP / (TP + FP)` and recall :math:`r = TP / N` run over detections of falling
score. Precision is made monotone, :math:`\hat p(r) = \max_{r' \ge r} p(r')`, and averaged over the
recall points 0, 0.01 … 1 (0 beyond the highest recall), over IoU thresholds, then categories.
Source: cocodataset/cocoapi, `cocoeval.py`; Lin et al., ECCV 2014 (arXiv 1405.0312).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray, ratio
from evaluate.metrics.matching import Matching
from evaluate.metrics.pooling import Pool, candidate_places, defined_mean, pool

RECALL_POINTS = np.linspace(0.0, 1.0, 101)

#: Detections of an image and category over which recall is reported, as by the COCO tools.
RECALL_LIMITS = (1, 10, 100)


@dataclass(frozen=True)
class CocoSummary:
    """The twelve COCO figures of one group of images; NaN where undefined.

    Attributes
    ----------
    ap, ap50, ap75 : float
        Over all IoU thresholds, at .5 and at .75 (NaN where these were not matched).
    ap_by_area, ar_by_area : dict
        By area range, `all` included; recall with every detection that was matched.
    ar_by_limit : dict
        Recall by the number of best detections of an image and category.
    limit : int
        Detections of an image and category that counted in all figures but the last.
    """

    ap: float
    ap50: float
    ap75: float
    ap_by_area: dict[str, float]
    ar_by_area: dict[str, float]
    ar_by_limit: dict[int, float]
    limit: int


@dataclass(frozen=True, eq=False)
class AveragePrecision:
    """Average precision and recall of each category in each group of images.

    Attributes
    ----------
    group, category : arrays of int, shape (n_segments,)
        Those with an object to be found; `category` holds places in `matching.categories`.
    precision, recall : arrays of float, shape (n_areas, n_thresholds, n_segments)
        NaN where there is no object of that size.
    limited_recall : dict of limit to array of float, shape (n_thresholds, n_segments)
        In the first area range, with fewer detections.
    """

    matching: Matching
    groups: int
    group: IntArray
    category: IntArray
    precision: FloatArray
    recall: FloatArray
    limited_recall: dict[int, FloatArray]

    def by_group(self, iou_threshold: float | None = None, area: str = "all") -> FloatArray:
        """AP of each group of images, shape (groups,), at one IoU threshold or over all."""
        values = self.precision[self.matching.area_index(area)]
        if iou_threshold is not None:
            values = values[[self.matching.threshold_index(iou_threshold)]]
        return defined_mean(values.mean(axis=0), self.group, self.groups)

    def by_category(self, group: int = 0, area: str = "all") -> dict[int, float]:
        """AP over all IoU thresholds by category id, of those with an object in the group."""
        values = self.precision[self.matching.area_index(area)].mean(axis=0)
        return {
            int(self.matching.categories[self.category[place]]): float(values[place])
            for place in np.flatnonzero(self.group == group)
        }

    def summary(self, group: int = 0) -> CocoSummary:
        """The COCO figures of one group."""
        names = self.matching.area_names
        thresholds = self.matching.iou_thresholds

        def mean(values: FloatArray) -> float:
            if group >= self.groups:
                return float("nan")
            averaged = values.mean(axis=0)
            return float(defined_mean(averaged, self.group, self.groups)[group])

        def at(threshold: float) -> float:
            near = np.isclose(thresholds, threshold, rtol=0, atol=1e-9)
            return mean(self.precision[0][near]) if near.any() else float("nan")

        return CocoSummary(
            ap=mean(self.precision[0]),
            ap50=at(0.5),
            ap75=at(0.75),
            ap_by_area=dict(zip(names, map(mean, self.precision), strict=True)),
            ar_by_area=dict(zip(names, map(mean, self.recall), strict=True)),
            ar_by_limit={limit: mean(found) for limit, found in self.limited_recall.items()},
            limit=self.matching.limit,
        )


def average_precision(
    matching: Matching,
    groups: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    recall_limits: tuple[int, ...] = RECALL_LIMITS,
) -> AveragePrecision:
    """Average precision and recall by group of images and category.

    Parameters
    ----------
    groups, weights : arrays of int, shape (n_images,), optional
        As for `pool`.
    recall_limits : tuple of int
        Those above the limit of the matching are left out.
    """
    pooled = pool(matching, groups, weights)
    places, numbers = candidate_places(pooled)
    curves = [_curves(pooled, area, places, numbers) for area in range(len(pooled.n_truth))]
    total = pooled.n_truth[:, None]
    return AveragePrecision(
        matching=matching,
        groups=pooled.groups,
        group=pooled.group,
        category=pooled.category,
        precision=np.where(total > 0, [precision for precision, _ in curves], np.nan),
        recall=ratio([hits for _, hits in curves], total),
        limited_recall={
            limit: _limited_recall(pooled, limit, places, numbers)
            for limit in recall_limits
            if limit <= matching.limit
        },
    )


def _curves(
    pooled: Pool, area: int, places: IntArray, numbers: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Average precision and hits, shapes (n_thresholds, n_segments)."""
    matching, n_segments = pooled.matching, len(pooled.group)
    weight, segment = pooled.weight[places], pooled.segment[places]
    hits = matching.hits(area)[:, numbers]
    in_range = matching.in_range[area][pooled.rows]
    # False positives that no threshold changes: what overlaps nothing.
    plain = pooled.weight * in_range
    plain[places] = 0
    plain = pooled.running(plain)[places]
    misses = (matching.truth_row[area][:, numbers] < 0) & in_range[places]

    starts = np.searchsorted(segment, np.arange(n_segments))
    tp = _running(hits * weight, starts, segment)
    fp = _running(misses * weight, starts, segment) + plain
    threshold, place = np.nonzero(hits)
    lane = threshold * n_segments + segment[place]
    tp, fp = tp[threshold, place], fp[threshold, place]
    precision = _highest_to_come(tp / (tp + fp), lane)
    # Recall only moves at a hit: each hit carries the recall points that it is first to reach.
    total = pooled.n_truth[area][segment[place]]
    reached = np.searchsorted(RECALL_POINTS, tp / total, side="right")
    before = np.searchsorted(RECALL_POINTS, (tp - weight[place]) / total, side="right")
    before[tp == weight[place]] = 0
    n_lanes = len(hits) * n_segments
    area_under = np.bincount(lane, weights=precision * (reached - before), minlength=n_lanes)
    found = np.bincount(lane, weights=weight[place], minlength=n_lanes)
    shape = (len(hits), n_segments)
    hit_counts = found.astype(np.float64)
    return (area_under / len(RECALL_POINTS)).reshape(shape), hit_counts.reshape(shape)


def _running(values: IntArray, starts: IntArray, segment: IntArray) -> IntArray:
    total = np.cumsum(values, axis=1)
    before = np.concatenate([np.zeros((len(total), 1), total.dtype), total], axis=1)[:, starts]
    return np.asarray(total - before[:, segment])


def _highest_to_come(values: FloatArray, lane: IntArray) -> FloatArray:
    """Maximum of each value and those behind it in its lane; lanes ascend.

    On ranks, for which an offset by lane keeps the lanes apart without any rounding.
    """
    order = np.argsort(values)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    offset = (lane.max(initial=0) - lane) * len(values)
    highest = np.maximum.accumulate((rank + offset)[::-1])[::-1] - offset
    return np.asarray(values[order][highest])


def _limited_recall(pooled: Pool, limit: int, places: IntArray, numbers: IntArray) -> FloatArray:
    n_segments = len(pooled.group)
    weight = pooled.weight[places] * (pooled.matching.rank[pooled.rows[places]] < limit)
    hits = pooled.matching.hits(0)[:, numbers]
    found = np.array(
        [
            np.bincount(pooled.segment[places], weights=row * weight, minlength=n_segments)
            for row in hits
        ]
    )
    return ratio(found, pooled.n_truth[0])
