"""What color discrimination does to accuracy, in numbers. Pure.

After ColorSense (arXiv 2212.08650), IV-C and IV-D. The formulas are general: groups may be those of
color discrimination, or any other grouping.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

Key = TypeVar("Key", bound=Hashable)


def accuracy_by(groups: Sequence[Key], right: Sequence[bool]) -> dict[Key, tuple[float, int]]:
    """Accuracy and number of answers of each group that has any.

    Parameters
    ----------
    groups : sequence
        The group of each answer.
    right : sequence of bool
        Whether it is right, in the same order.

    Raises
    ------
    ValueError
        If the two differ in length.
    """
    hits: dict[Key, list[int]] = {}
    for group, one in zip(groups, right, strict=True):
        counted = hits.setdefault(group, [0, 0])
        counted[0] += bool(one)
        counted[1] += 1
    return {group: (hit / n, n) for group, (hit, n) in hits.items()}


def absolute_gap(accuracies: Sequence[float]) -> float:
    """AG = |max - min| over the groups; NaN below two groups.

    Examples
    --------
    >>> round(absolute_gap([0.7511, 0.7645, 0.7790]), 4)
    0.0279
    """
    known = [value for value in accuracies if not math.isnan(value)]
    return max(known) - min(known) if len(known) > 1 else math.nan


def weighted_deviation(accuracies: Sequence[float], weights: Sequence[float]) -> float:
    """Population deviation around the weighted mean: sqrt(sum w (a - m)^2 / sum w).

    NaN without weight.
    """
    values, weight = np.asarray(accuracies, float), np.asarray(weights, float)
    total = weight.sum()
    if total <= 0:
        return math.nan
    mean = (weight * values).sum() / total
    return float(np.sqrt((weight * (values - mean) ** 2).sum() / total))


def scvr(accuracy: float, accuracies: Sequence[float], weights: Sequence[float]) -> float:
    """Scaled color-vision robustness: total accuracy over the weighted deviation of the groups.

    Higher is more robust. Infinite where all groups are equally accurate.

    Parameters
    ----------
    accuracy : float
        Over all answers, share or percent as `accuracies`: the unit cancels.
    accuracies, weights : sequence of float
        Of each group; weights are its numbers of images.
    """
    return _over(accuracy, weighted_deviation(accuracies, weights))


def scr(accuracy: float, by_severity: Sequence[float]) -> float:
    """Scaled corruption robustness: total accuracy over the deviation across severities.

    The paper's formula has the weights in its denominator only; all severities weigh the same here.
    """
    return _over(accuracy, weighted_deviation(by_severity, [1.0] * len(by_severity)))


def degradation(by_color: Mapping[Key, tuple[float, int]]) -> dict[Key, float]:
    """How far each subgroup's accuracy lies from that of all answers together.

    Positive: favored. A color that is a spurious correlation has values far from 0.
    """
    total = sum(n for _, n in by_color.values())
    if not total:
        return {}
    mean = sum(accuracy * n for accuracy, n in by_color.values()) / total
    return {key: accuracy - mean for key, (accuracy, _) in by_color.items()}


def _over(accuracy: float, deviation: float) -> float:
    if math.isnan(deviation) or math.isnan(accuracy):
        return math.nan
    return math.inf if deviation == 0 else accuracy / deviation
