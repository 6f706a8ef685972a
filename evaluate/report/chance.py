"""What an observer that looks at nothing would reach."""

from __future__ import annotations

import numpy as np

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_names
from evaluate.metrics.answers import constant_answer_chance, guess_chance
from evaluate.release.rules import CLASSES
from evaluate.report.observed import Conditions
from evaluate.scores import QUESTIONS
from evaluate.scoring import RELEASE
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import CLASSIFICATION


def top1_chance(conditions: Conditions, vocabulary: Vocabulary, protocol: str) -> float | None:
    """Top-1 of a random class, over the frames that are evaluated; None without any."""
    asked = conditions.asked
    categories = asked.category[conditions.evaluated & (asked.task == CLASSIFICATION)]
    known: list[float] = []
    for category, number in zip(
        *np.unique(categories.astype(str), return_counts=True), strict=True
    ):
        accepted = _accepted(str(category), vocabulary, protocol)
        if accepted:
            known += [guess_chance(accepted, len(class_names()))] * int(number)
    return sum(known) / len(known) if known else None


def question_chance(conditions: Conditions) -> dict[str, float]:
    """Chance of each question, and ``all`` for their mean; without those it is not known of.

    With options: one of them at random. Without: the best answer that is always the same.
    """
    asked, found = conditions.asked, {}
    for question in QUESTIONS:
        here = conditions.evaluated & (asked.task == question)
        options = asked.options[here]
        offered = options[options > 0]
        if len(offered):
            found[question] = float(np.mean(1 / offered))
        elif question in ("q1", "q2") and here.any():
            truths = asked.category if question == "q1" else asked.count
            found[question] = constant_answer_chance(truths[here].astype(str))
    if found:
        found["all"] = sum(found.values()) / len(found)
    return found


def _accepted(category: str, vocabulary: Vocabulary, protocol: str) -> int:
    if protocol == RELEASE and category in CLASSES:
        return len(CLASSES[category])
    try:
        return len(vocabulary.accepted_classes(category))
    except EvaluateError:
        return 0  # the page lists what cannot be scored
