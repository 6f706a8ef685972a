"""A detector's figures with intervals, resampling scenes (or images) without matching anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray, IntArray
from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.bootstrap import Interval, bootstrap_weights, interval
from evaluate.metrics.lrp import optimal_lrp
from evaluate.metrics.matching import Matching

#: The figures, in the order of `detection_figures`.
FIGURES = ("ap", "ap50", "olrp", "olrp_loc", "olrp_fp", "olrp_fn")

#: Fewer than for means: each accumulates all detections anew.
RESAMPLES = 500


def detection_figures(
    matching: Matching,
    groups: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    area: str = "all",
) -> FloatArray:
    """`FIGURES` of each group of images, shape (6, n_groups).

    Parameters
    ----------
    groups, weights : arrays of int, shape (n_images,), optional
        As for `pool`.
    """
    chosen = matching.only(area)
    precision = average_precision(chosen, groups, weights, recall_limits=())
    errors = optimal_lrp(chosen, groups, weights).by_group(area)
    return np.stack(
        [precision.by_group(area=area), precision.by_group(0.5, area=area), *errors.values()]
    )


def detection_intervals(
    matching: Matching,
    clusters: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    area: str = "all",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[dict[str, Interval]]:
    """`FIGURES` of each group of images, with 95 % intervals.

    Parameters
    ----------
    clusters : array, shape (n_images,)
        What is resampled: the scene of each of `matching.images`, or the image itself.
    groups : array of int, shape (n_images,), optional
        As for `pool`. All groups are of the same draws.

    Returns
    -------
    list of dict
        One a group; `n` counts images.
    """
    places = np.zeros(len(matching.images), np.int64) if groups is None else np.asarray(groups)
    chosen = matching.only(area)

    def statistic(weights: IntArray) -> FloatArray:
        return detection_figures(chosen, places, weights, area)

    values = detection_figures(chosen, places, area=area)
    low, high = bootstrap_weights(statistic, clusters, seed, resamples)
    sizes = np.bincount(places[places >= 0], minlength=values.shape[1]).tolist()
    return [
        {
            name: interval(value, lowest, highest, size)
            for name, value, lowest, highest in zip(FIGURES, *ends, strict=True)
        }
        for size, *ends in zip(
            sizes, values.T.tolist(), low.T.tolist(), high.T.tolist(), strict=True
        )
    ]
