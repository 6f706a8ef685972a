"""Responses to verdicts: parsing what was said, then scoring it, without asking anyone again.

The stages stay apart: `evaluate.engine` asks or an import brings answers, `parse_top5` and
`evaluate.answer_text` read them, `score_labels` and `evaluate.question_judges` compare them
with the truth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evaluate.errors import EvaluateError
from evaluate.importing import without_collector
from evaluate.model import Label
from evaluate.question_judges import (
    FACTUAL,
    NO_ANSWER,
    QUESTIONS,
    UNSCORABLE,
    QuestionJudge,
)
from evaluate.release.rules import CLASSES
from evaluate.rulings import overrule
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import CLASSIFICATION
from schemas.catalog import Catalog
from schemas.ruling_store import load_rulings
from schemas.verdict_store import TruthRow, VerdictRow, iter_truths, put_verdict_rows

#: The default protocol: one rule for people and models.
PAPER = "paper"

#: The released scripts' own rules, defects included.
RELEASE = "release"

PROTOCOLS = (PAPER, RELEASE)


@dataclass(frozen=True)
class Scoring:
    """What one pass did. `unscorable` tells for each such category what to add."""

    scored: int
    unscorable: dict[str, str]


def score_catalog(
    catalog: Catalog, vocabulary: Vocabulary, protocol: str = PAPER, *, only_new: bool = False
) -> Scoring:
    """Score the responses to classification, Q1 to Q4 and choices under a protocol.

    With `only_new`, only those without a verdict under this very vocabulary. A response whose
    truth is not known gets a verdict of kind `unscorable`: neither right nor wrong. A person's
    ruling wins, but not under `release`, which is to be as released.
    """
    labels = _LabelJudge(vocabulary, release=protocol == RELEASE)
    questions = QuestionJudge(vocabulary, release=protocol == RELEASE)
    digest = vocabulary.digest if only_new else None
    rulings = {} if protocol == RELEASE else load_rulings(catalog)
    scored = 0
    with without_collector():
        for block in iter_truths(catalog, (CLASSIFICATION, *QUESTIONS), protocol, digest):
            rows = [
                labels.verdict(row) if row.task == CLASSIFICATION else questions.verdict(row)
                for row in block
            ]
            if rulings:
                rows = [
                    overrule(row.task, verdict, rulings[row.response_id])
                    if row.response_id in rulings
                    else verdict
                    for row, verdict in zip(block, rows, strict=True)
                ]
            put_verdict_rows(catalog, protocol, rows)
            scored += len(rows)
    return Scoring(scored, labels.unscorable | questions.unscorable)


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


class _LabelJudge:
    """Remembers the accepted classes of each category, and which have none."""

    def __init__(self, vocabulary: Vocabulary, *, release: bool) -> None:
        self._vocabulary = vocabulary
        self._digest = vocabulary.digest
        self._accepted: dict[str, frozenset[int]] = {}
        if release:
            self._accepted = {name: frozenset(classes) for name, classes in CLASSES.items()}
        self.unscorable: dict[str, str] = {}

    def verdict(self, row: TruthRow) -> VerdictRow:
        """Judge one top-5 answer: a label is one of the classes offered, soft and hard are one."""
        accepted = self._accepted_classes(row.category)
        if row.error:
            parsed = f'{{"vocabulary": "{self._digest}"}}'
            return VerdictRow(row.response_id, parsed, None, None, NO_ANSWER)
        labels = _labels(row.payload)
        index, name, probability = labels[0]
        parsed = (
            f'{{"vocabulary": "{self._digest}", "label": {index}, "name": {name}, '
            f'"probability": {probability}'
        )
        if accepted is None:
            return VerdictRow(row.response_id, parsed + "}", None, None, UNSCORABLE)
        place = next((n for n, label in enumerate(labels, 1) if int(label[0]) in accepted), None)
        parsed += f', "place": {"null" if place is None else place}}}'
        right = place == 1
        return VerdictRow(row.response_id, parsed, right, right, "" if right else FACTUAL)

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


#: A label in a payload as this release and the imports write it.
_LABEL = re.compile(r'\[(\d+), ("[^"\\]*"), ([0-9.e-]+)\]')


def _labels(payload: str) -> list[tuple[str, str, str]]:
    """Labels of a payload as JSON texts; checked in full wherever the plain form is not met."""
    found = _LABEL.findall(payload)
    length = 10 + 2 * len(found) + sum(6 + sum(map(len, label)) for label in found)
    if found and length == len(payload) and payload.startswith('{"top5": [['):
        return found
    labels = parse_top5(json.loads(payload))
    return [(str(one.class_index), json.dumps(one.name), repr(one.probability)) for one in labels]
