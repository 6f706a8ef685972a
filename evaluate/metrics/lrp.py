r"""Localization-recall-precision error, and its optimum over the score threshold.

For the detections of a score of at least s, of which TP match objects at IoU :math:`\tau`:

.. math::
    \mathrm{LRP}(s) = \frac{1}{TP + FP + FN}
        \left( \sum_{TP} \frac{1 - \mathrm{IoU}}{1 - \tau} + FP + FN \right)

with the parts Loc :math:`= \sum (1 - IoU) / TP` (0 to 1 - tau), FP :math:`= FP / (TP + FP)` and FN
:math:`= FN / N`. 0 is perfect, 1 worst. oLRP is the lowest LRP over s, at a score of each
category's own; its parts are those at that score, of several such scores the highest.

Edges, as in the reference implementation: a category without objects has no value, and its false
positives vanish; with objects and no hit, oLRP and FN are 1, Loc and FP undefined (NaN). Means over
categories leave undefined values out, so Loc and FP may average over fewer than oLRP. Where all
hits are just at tau, no score is better than 1: then the first detection is the optimum, and if
that is no hit, Loc is undefined and FP 1. At a given score (`lrp`) Loc is undefined without a hit,
FP without a detection.

Source: Oksuz, Cam, Kalkan, Akbas, One Metric to Measure Them All, TPAMI 2021 (arXiv 2011.10772),
and Localization Recall Precision, ECCV 2018 (arXiv 1807.01696); kemaloksuz/LRP-Error.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray, ratio
from evaluate.metrics.boxes import paired_iou
from evaluate.metrics.matching import Matching
from evaluate.metrics.pooling import Pool, candidate_places, defined_mean, pool

#: IoU from which on a detection is a hit.
TAU = 0.5


@dataclass(frozen=True)
class Lrp:
    """An error and its three parts; NaN where undefined."""

    error: float
    loc: float
    fp: float
    fn: float


@dataclass(frozen=True, eq=False)
class LrpScores:
    """Errors of each category in each group of images.

    Attributes
    ----------
    group, category : arrays of int, shape (n_segments,)
        Those with an object to be found; `category` holds places in `matching.categories`.
    error, loc, fp, fn : arrays of float, shape (n_areas, n_segments)
    score : array of float, shape (n_areas, n_segments)
        The score from which on detections counted; NaN where no detection is a hit.
    """

    matching: Matching
    groups: int
    group: IntArray
    category: IntArray
    error: FloatArray
    loc: FloatArray
    fp: FloatArray
    fn: FloatArray
    score: FloatArray

    def by_group(self, area: str = "all") -> dict[str, FloatArray]:
        """Means over categories, `error, loc, fp, fn`, each of shape (groups,)."""
        place = self.matching.area_index(area)
        return {
            name: defined_mean(getattr(self, name)[place], self.group, self.groups)
            for name in ("error", "loc", "fp", "fn")
        }

    def mean(self, group: int = 0, area: str = "all") -> Lrp:
        """Mean over the categories of one group."""
        if group >= self.groups:
            return Lrp(*[float("nan")] * 4)
        return Lrp(**{name: float(row[group]) for name, row in self.by_group(area).items()})

    def by_category(self, group: int = 0, area: str = "all") -> dict[int, Lrp]:
        """Errors by category id, of those with an object in the group."""
        place = self.matching.area_index(area)
        parts = np.stack([self.error[place], self.loc[place], self.fp[place], self.fn[place]])
        return {
            int(self.matching.categories[self.category[segment]]): Lrp(*parts[:, segment].tolist())
            for segment in np.flatnonzero(self.group == group)
        }


def optimal_lrp(
    matching: Matching,
    groups: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    tau: float = TAU,
) -> LrpScores:
    """OLRP by group of images and category.

    Parameters
    ----------
    groups, weights : arrays of int, shape (n_images,), optional
        As for `pool`. `np.arange(n_images)` gives each image a value of its own.
    tau : float
        One of the IoU thresholds of the matching, below 1.
    """
    pooled = pool(matching, groups, weights)
    curves = _Curves(pooled, tau)
    return _scores(pooled, [curves.at_lowest(area) for area in range(len(pooled.n_truth))])


def lrp(
    matching: Matching,
    score: float | FloatArray,
    groups: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    tau: float = TAU,
) -> LrpScores:
    """LRP of the detections from a score on, by group of images and category.

    Parameters
    ----------
    score : float or array of float, shape (n_categories,)
        One threshold for all categories, or each its own in the order of `matching.categories`.
    groups, weights, tau
        As for `optimal_lrp`.
    """
    pooled = pool(matching, groups, weights)
    limit = np.broadcast_to(np.asarray(score, np.float64), matching.categories.shape)
    limit = limit[pooled.category]
    passed = matching.scores[pooled.rows] >= limit[pooled.segment]
    last = pooled.starts[:-1] - 1
    last = last + np.bincount(pooled.segment, weights=passed, minlength=len(last)).astype(np.int64)
    curves = _Curves(pooled, tau)
    return _scores(pooled, [curves.at(area, last, limit) for area in range(len(pooled.n_truth))])


class _Curves:
    """Hits, false positives and localization error at each detection of a pool."""

    def __init__(self, pooled: Pool, tau: float) -> None:
        if not tau < 1:
            raise ValueError(f"tau must be below 1, not {tau}: no room for a localization error")
        self._pool, self._tau = pooled, tau
        self._threshold = pooled.matching.threshold_index(tau)
        self._places, self._numbers = candidate_places(pooled)

    def at_lowest(self, area: int) -> FloatArray:
        """Error, parts and score at the first lowest error, shape (5, n_segments)."""
        tp, fp, loc = self._running(area)
        total = self._pool.n_truth[area][self._pool.segment]
        # Without objects of this size the values mean nothing, and are taken out later.
        error = (loc / (1 - self._tau) + fp + (total - tp)) / np.maximum(fp + total, 1)
        begin = self._pool.starts[:-1]
        filled = np.flatnonzero(begin < self._pool.starts[1:])
        place = begin - 1
        if len(filled):
            lowest = np.full(len(begin), np.nan)
            lowest[filled] = np.minimum.reduceat(error, begin[filled])
            at = np.flatnonzero(error == lowest[self._pool.segment])
            place[filled] = at[np.searchsorted(self._pool.segment[at], filled)]
        scores = np.full(len(begin), np.nan)
        scores[filled] = self._pool.matching.scores[self._pool.rows[place[filled]]]
        found = self._parts(area, place, scores, (tp, fp, loc))
        # Without any hit there is no best score, and nothing to say of Loc and FP.
        hits = np.append(0, tp)[self._pool.starts[1:]] * (begin < self._pool.starts[1:])
        found[np.ix_([1, 2, 4], hits == 0)] = np.nan
        return found

    def at(self, area: int, place: IntArray, scores: FloatArray) -> FloatArray:
        """The same at given places, one a segment; one before its start for no detection."""
        return self._parts(area, place, scores, self._running(area))

    def _parts(
        self,
        area: int,
        place: IntArray,
        scores: FloatArray,
        curves: tuple[IntArray, IntArray, FloatArray],
    ) -> FloatArray:
        total = self._pool.n_truth[area]
        some = place >= self._pool.starts[:-1]
        tp, fp, loc = (
            np.where(some, np.append(curve, 0)[np.where(some, place, -1)], 0) for curve in curves
        )
        error = ratio(loc / (1 - self._tau) + fp + total - tp, fp + total)
        parts = (ratio(loc, tp), ratio(fp, tp + fp), ratio(total - tp, total))
        out = np.stack([error, *parts, scores])
        out[:, total == 0] = np.nan
        return out

    def _running(self, area: int) -> tuple[IntArray, IntArray, FloatArray]:
        pooled, matching = self._pool, self._pool.matching
        rows = matching.truth_row[area, self._threshold, self._numbers]
        hits = matching.hits(area)[self._threshold, self._numbers]
        tp = np.zeros(len(pooled.rows), np.int64)
        tp[self._places] = hits * pooled.weight[self._places]
        fp = pooled.weight * matching.in_range[area][pooled.rows]
        fp[self._places[rows >= 0]] = 0
        iou = np.zeros(len(pooled.rows))
        iou[self._places[hits]] = paired_iou(
            matching.candidate_boxes_xyxy_px[self._numbers[hits]],
            matching.truth_boxes_xyxy_px[rows[hits]],
        )
        hit_sums = pooled.running(tp)
        return hit_sums, pooled.running(fp), hit_sums - self._running_iou(iou * tp)

    def _running_iou(self, values: FloatArray) -> FloatArray:
        """Sums within each segment, each from its own start: no rounding from other segments."""
        out = np.empty_like(values)
        for begin, end in itertools.pairwise(self._pool.starts.tolist()):
            np.cumsum(values[begin:end], out=out[begin:end])
        return out


def _scores(pooled: Pool, areas: list[FloatArray]) -> LrpScores:
    error, loc, fp, fn, score = np.stack(areas, axis=1)
    return LrpScores(
        matching=pooled.matching,
        groups=pooled.groups,
        group=pooled.group,
        category=pooled.category,
        error=error,
        loc=loc,
        fp=fp,
        fn=fn,
        score=score,
    )
