"""Answers in words: soft and hard accuracy, errors, lengths, chance, biases, confusions."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import FloatArray


@dataclass(frozen=True)
class AnswerScores:
    """What `n` answers to a question amount to; NaN for none.

    Attributes
    ----------
    soft, hard : float
        Shares of answers that name the truth; and that name nothing else, as asked.
    unanswered : float
        Share without an answer that could be read (refused, cut off, unreadable): a state of its
        own, reported beside the accuracy in which it counts as wrong or not at all.
    kinds : dict of str to float
        Share of each kind of error, answers without one under "".
    length : float
        Mean length in characters.
    """

    n: int
    soft: float
    hard: float
    unanswered: float
    kinds: dict[str, float]
    length: float


def answer_scores(
    soft: npt.ArrayLike,
    hard: npt.ArrayLike,
    kinds: npt.ArrayLike,
    lengths: npt.ArrayLike,
    unanswered: Literal["wrong", "left_out"] = "wrong",
) -> AnswerScores:
    """Accuracy, errors and length of answers, of one group (see `group_by`).

    Parameters
    ----------
    soft, hard : arrays of bool or None, shape (n,)
        Verdicts; None where there is no answer.
    kinds : array of str, shape (n,)
        Kind of error of each verdict, "" for none.
    lengths : array of int, shape (n,)
        Characters of the raw answer.
    unanswered : {"wrong", "left_out"}
        Whether no answer counts as a wrong one, so that an observer who always refuses is at 0, or
        is left out of the accuracies.

    Raises
    ------
    ValueError
        For different lengths, or an answer that is right in the hard sense only.
    """
    marks = as_scores(soft), as_scores(hard)
    names = np.asarray(kinds, dtype=object)
    characters = np.asarray(lengths, np.float64)
    if len({len(marks[0]), len(marks[1]), len(names), len(characters)}) > 1:
        raise ValueError("soft, hard, kinds and lengths differ in length")
    if (np.nan_to_num(marks[1]) > np.nan_to_num(marks[0])).any():
        raise ValueError("an answer is right in the hard sense and not in the soft one")
    n = len(names)
    if n == 0:
        return AnswerScores(0, math.nan, math.nan, math.nan, {}, math.nan)
    missing = np.isnan(marks[0])
    base = n if unanswered == "wrong" else n - int(missing.sum())
    right = [float(np.nansum(mark)) / base if base else math.nan for mark in marks]
    found, count = np.unique(names.astype(str), return_counts=True)
    return AnswerScores(
        n=n,
        soft=right[0],
        hard=right[1],
        unanswered=float(missing.mean()),
        kinds=dict(zip(found.tolist(), (count / n).tolist(), strict=True)),
        length=float(characters.mean()),
    )


def as_scores(verdicts: npt.ArrayLike) -> FloatArray:
    """Verdicts as 1, 0 and NaN for None, shape (n,): what all metrics here take."""
    marks = np.asarray(verdicts, dtype=object)
    return np.array([math.nan if mark is None else float(mark) for mark in marks])


def shares(values: npt.ArrayLike) -> dict[Any, float]:
    """Share of each value, such as of the option letters chosen, which shows a liking for one."""
    found, count = np.unique(np.asarray(values), return_counts=True)
    return dict(zip(found.tolist(), (count / max(count.sum(), 1)).tolist(), strict=True))


def guess_chance(accepted: int, options: int, guesses: int = 1) -> float:
    r"""Chance that one of several different random guesses is accepted.

    .. math:: 1 - \binom{options - accepted}{guesses} / \binom{options}{guesses}

    Examples
    --------
    A question of eleven options, and the top-5 of 1000 classes of which two are right:

    >>> round(guess_chance(1, 11), 4), round(guess_chance(2, 1000, guesses=5), 6)
    (0.0909, 0.00998)
    """
    if not (0 <= accepted <= options and 1 <= guesses <= options):
        raise ValueError(f"{accepted} accepted of {options}, {guesses} guesses")
    return 1 - math.comb(options - accepted, guesses) / math.comb(options, guesses)


def constant_answer_chance(truths: npt.ArrayLike) -> float:
    """Accuracy of the best answer that is always the same, the floor of open questions."""
    found = np.asarray(truths)
    if not found.size:
        return math.nan
    return float(np.unique(found, return_counts=True)[1].max() / found.size)


def shape_bias(answers: npt.ArrayLike, shapes: npt.ArrayLike, textures: npt.ArrayLike) -> float:
    """Share of decisions for the shape, of those for shape or texture, on cue-conflict pictures.

    Pictures whose shape and texture are of one category decide nothing, nor do answers that name
    neither; NaN where no answer is left. All decisions are pooled. Source: Geirhos et al.,
    ImageNet-trained CNNs are biased towards texture, ICLR 2019 (arXiv 1811.12231).

    Examples
    --------
    >>> shape_bias(["cat", "clock", "bird", "cat"], ["cat"] * 4, ["clock", "clock", "dog", "cat"])
    0.5
    """
    given, shape, texture = (np.asarray(column) for column in (answers, shapes, textures))
    if not given.shape == shape.shape == texture.shape:
        raise ValueError(f"shapes differ: {given.shape}, {shape.shape}, {texture.shape}")
    conflict = shape != texture
    for_shape = int((conflict & (given == shape)).sum())
    for_texture = int((conflict & (given == texture)).sum())
    decided = for_shape + for_texture
    return for_shape / decided if decided else math.nan


@dataclass(frozen=True)
class Confusion:
    """A wrong answer given for a category.

    Attributes
    ----------
    share : float
        Of all the category's answers, right ones included.
    """

    category: Hashable
    answer: Hashable
    count: int
    share: float


def top_confusions(
    categories: npt.ArrayLike, answers: npt.ArrayLike, right: npt.ArrayLike, most: int = 3
) -> list[Confusion]:
    """The most frequent wrong answers of each category, such as iPod for phones.

    Parameters
    ----------
    categories, answers : arrays, shape (n,)
        The truth, and the label given (likeliest class, or the answer as parsed).
    right : array of bool, shape (n,)

    Returns
    -------
    list
        By category, then falling count, then answer.
    """
    truth, given, correct = np.asarray(categories), np.asarray(answers), np.asarray(right, bool)
    if not truth.shape == given.shape == correct.shape:
        raise ValueError(f"shapes differ: {truth.shape}, {given.shape}, {correct.shape}")
    names, category, totals = np.unique(truth, return_inverse=True, return_counts=True)
    labels, label = np.unique(given, return_inverse=True)
    cells, count = np.unique((category * len(labels) + label)[~correct], return_counts=True)
    owner, answer = np.divmod(cells, max(len(labels), 1))
    order = np.lexsort((answer, -count, owner))
    owner, answer, count = owner[order], answer[order], count[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    kept = place < most
    return [
        Confusion(category, answer, times, times / total)
        for category, answer, times, total in zip(
            names[owner[kept]].tolist(),
            labels[answer[kept]].tolist(),
            count[kept].tolist(),
            totals[owner[kept]].tolist(),
            strict=True,
        )
    ]
