"""Responses to verdicts: parsing what was said, then scoring it, without asking anyone again.

The three stages stay apart: `evaluate.inference` asks, `parse_top5` reads an answer, and
`score_labels` compares it with the truth.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluate.errors import EvaluateError
from evaluate.model import Label
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import CLASSIFICATION, Scorable, list_scorable, put_verdicts
from schemas.catalog import Catalog
from schemas.records import Verdict

#: The default protocol: the paper's rule, one for people and models.
PAPER = "paper"

NO_ANSWER = "no_answer"
UNSCORABLE = "unscorable"
FACTUAL = "factual"

_COMMIT_EVERY = 10_000


@dataclass(frozen=True)
class Scoring:
    """What one pass did. `unscorable` tells for each such category what to add."""

    scored: int
    unscorable: dict[str, str]


def score_catalog(catalog: Catalog, vocabulary: Vocabulary, *, only_new: bool = False) -> Scoring:
    """Score the responses to the classification task under protocol `paper`.

    With `only_new`, only those without a verdict under this very vocabulary. A response whose
    scene has no known truth gets a verdict of kind `unscorable`: neither right nor wrong.
    """
    judge = _Judge(vocabulary)
    digest = vocabulary.digest
    found = list_scorable(catalog, CLASSIFICATION, PAPER, digest if only_new else None)
    scored = 0
    for group in _groups(found):
        put_verdicts(catalog, [judge.verdict(item) for item in group])
        scored += len(group)
    return Scoring(scored, judge.unscorable)


def parse_top5(payload: dict[str, Any]) -> list[Label]:
    """The labels of a classification response, likeliest first.

    Raises
    ------
    EvaluateError
        For a payload that is none.
    """
    try:
        return [Label(int(index), str(name), float(p)) for index, name, p in payload["top5"]]
    except (KeyError, TypeError, ValueError) as error:
        raise EvaluateError(f"not a top-5 answer: {payload!r}") from error


def score_labels(labels: list[Label], accepted: frozenset[int]) -> int | None:
    """Place of the first accepted class among the labels, 1 for the likeliest; None if absent."""
    return next(
        (place for place, label in enumerate(labels, 1) if label.class_index in accepted), None
    )


def unknown_categories(vocabulary: Vocabulary, categories: Iterable[str]) -> dict[str, str]:
    """Those categories that cannot be scored, each with what to add."""
    unknown = {}
    for category in sorted(categories):
        try:
            vocabulary.accepted_classes(category)
        except EvaluateError as error:
            unknown[category] = str(error)
    return unknown


class _Judge:
    """Remembers the accepted classes of each category, and which have none."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._digest = vocabulary.digest
        self._accepted: dict[str, frozenset[int]] = {}
        self.unscorable: dict[str, str] = {}

    def verdict(self, item: Scorable) -> Verdict:
        accepted = self._accepted_classes(item.category)
        parsed: dict[str, Any] = {"vocabulary": self._digest}
        if item.error:
            return Verdict(item.response_id, PAPER, parsed, None, None, NO_ANSWER)
        labels = parse_top5(item.payload)
        first = labels[0]
        parsed |= {"label": first.class_index, "name": first.name, "probability": first.probability}
        if accepted is None:
            return Verdict(item.response_id, PAPER, parsed, None, None, UNSCORABLE)
        place = score_labels(labels, accepted)
        parsed["place"] = place
        # A label is one of the classes offered and nothing else: soft and hard are one.
        right = place == 1
        return Verdict(item.response_id, PAPER, parsed, right, right, "" if right else FACTUAL)

    def _accepted_classes(self, category: str) -> frozenset[int] | None:
        if category in self.unscorable:
            return None
        if category not in self._accepted:
            try:
                self._accepted[category] = self._vocabulary.accepted_classes(category)
            except EvaluateError as error:
                self.unscorable[category] = str(error)
                return None
        return self._accepted[category]


def _groups(found: Iterator[Scorable]) -> Iterator[list[Scorable]]:
    while group := list(itertools.islice(found, _COMMIT_EVERY)):
        yield group
