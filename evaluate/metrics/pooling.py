"""Detections of chosen images put together by group and category, for AP and LRP alike.

A segment is one category within one group of images (all images; those of one EV offset; one
image alone). Only segments with an object are kept: where none is to be found a category has no
score, and its false positives do not count there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray, ratio
from evaluate.metrics.matching import Matching


@dataclass(frozen=True, eq=False)
class Pool:
    """Segments, in order of group, then category; detections in order of segment, falling score.

    Attributes
    ----------
    groups : int
        How many groups were asked for.
    group, category : arrays of int, shape (n_segments,)
        `category` holds places in `matching.categories`.
    n_truth : array of int, shape (n_areas, n_segments)
        Objects to be found; 0 where there are none of this size.
    rows : array of int, shape (n,)
        The detections, as rows of the matching.
    segment, weight : arrays of int, shape (n,)
    starts : array of int, shape (n_segments + 1,)
        Where each segment's detections begin.
    """

    matching: Matching
    groups: int
    group: IntArray
    category: IntArray
    n_truth: IntArray
    rows: IntArray
    segment: IntArray
    weight: IntArray
    starts: IntArray

    def running(self, values: IntArray) -> IntArray:
        """Cumulative sums within each segment, values of shape (n,)."""
        total = np.cumsum(values)
        before = np.append(0, total)[self.starts[:-1]]
        return np.asarray(total - before[self.segment])


def pool(
    matching: Matching,
    groups: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Pool:
    """Put detections together by group of images and category.

    Parameters
    ----------
    groups : array of int, shape (n_images,), optional
        The group of each of `matching.images`, from 0; -1 leaves an image out. Default: one group.
    weights : array of int, shape (n_images,), optional
        How often each image counts, for resampling. Copies of a detection stand together.

    Raises
    ------
    ValueError
        For another length, or negative weights.
    """
    n_images, n_categories = len(matching.images), len(matching.categories)
    of_image = _per_image(groups, n_images, 0, "groups")
    times = _per_image(weights, n_images, 1, "weights")
    if (times < 0).any():
        raise ValueError("a weight is negative")
    n_groups = 1 if groups is None else int(of_image.max(initial=-1)) + 1
    of_image = np.where(times > 0, of_image, -1)

    cell = of_image[matching.truth_image] * n_categories + matching.truth_category
    used = of_image[matching.truth_image] >= 0
    known, of_truth = np.unique(cell[used], return_inverse=True)
    counts = matching.truth_counts[:, used] * times[matching.truth_image[used]]
    n_truth = np.array(
        [np.bincount(of_truth, weights=row, minlength=len(known)) for row in counts]
    ).astype(np.int64)

    segment_of = np.full(n_groups * n_categories + 1, -1)  # the last: of images left out
    segment_of[known] = np.arange(len(known))
    key = of_image[matching.image] * n_categories + matching.category
    segment = segment_of[np.where(of_image[matching.image] >= 0, key, -1)]
    rows = np.flatnonzero(segment >= 0)
    if n_groups > 1:
        rows = rows[np.argsort(segment[rows], kind="stable")]
    segment = segment[rows]
    return Pool(
        matching=matching,
        groups=n_groups,
        group=known // n_categories if n_categories else known,
        category=known % n_categories if n_categories else known,
        n_truth=n_truth,
        rows=rows,
        segment=segment,
        weight=times[matching.image[rows]],
        starts=np.searchsorted(segment, np.arange(len(known) + 1)),
    )


def candidate_places(pooled: Pool) -> tuple[IntArray, IntArray]:
    """Where candidates stand in the pool, and which they are; shapes (n_pooled_candidates,)."""
    numbers = np.full(len(pooled.matching.scores), -1)
    numbers[pooled.matching.candidates] = np.arange(len(pooled.matching.candidates))
    numbers = numbers[pooled.rows]
    places = np.flatnonzero(numbers >= 0)
    return places, numbers[places]


def defined_mean(values: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """Mean of the segments of each group, shape (groups,), those undefined left out.

    Parameters
    ----------
    values, group : arrays, shape (n_segments,)
        NaN where undefined. A group without any defined value has NaN.
    """
    there = ~np.isnan(values)
    total = np.bincount(group[there], weights=values[there], minlength=groups)
    return ratio(total, np.bincount(group[there], minlength=groups))


def _per_image(values: npt.ArrayLike | None, n: int, default: int, what: str) -> IntArray:
    if values is None:
        return np.full(n, default)
    found = np.asarray(values)
    if found.shape != (n,) or found.dtype.kind not in "iub":
        raise ValueError(f"{what}: {n} integers, one an image, not {found.dtype} {found.shape}")
    return found.astype(np.int64)
