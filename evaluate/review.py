"""Answers that the parser is unsure of, for a person to rule on."""

from __future__ import annotations

import heapq
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evaluate.answer_text import final_text
from evaluate.errors import EvaluateError
from evaluate.question_judges import NO_ANSWER, UNSCORABLE, UNSURE
from evaluate.rulings import Ruling
from evaluate.scoring import PAPER, score_catalog
from evaluate.vocabulary import Vocabulary
from schemas.catalog import Catalog
from schemas.records import utc_now
from schemas.ruling_store import (
    JudgedRow,
    find_judged,
    forget_verdicts,
    iter_judged,
    load_rulings,
    put_ruling,
)
from schemas.verdict_store import VerdictRow

#: Why a person should look, the most doubtful first.
EXCLUSIVE = "several answers that exclude each other"
CONTRADICTION = "letter and text contradict each other"
LANGUAGE = "nothing recognized in a text of another script"
SEVERAL = "several classes named"
INSIDE = "the answer stands somewhere inside a long text"

REASONS = (EXCLUSIVE, CONTRADICTION, LANGUAGE, SEVERAL, INSIDE)

#: A text of more characters is long: no answer of one class or number needs them.
LONG = 60

_LETTER_AND_NUMBER = re.compile(r"[A-Z]\) \d+")


@dataclass(frozen=True)
class Unsure:
    """An answer and why it should be looked at."""

    row: JudgedRow
    reason: str

    def as_json(self) -> dict[str, Any]:
        """As a JSON document."""
        row = self.row
        return {
            "response_id": row.response_id,
            "reason": self.reason,
            "observer": row.observer,
            "task": row.task,
            "text": row.text,
            "category": row.category,
            "objects": row.objects,
            "options": json.loads(row.options),
            "named": json.loads(row.parsed).get("named", []),
            "soft": None if row.soft is None else bool(row.soft),
            "hard": None if row.hard is None else bool(row.hard),
            "error_kind": row.error_kind,
        }


@dataclass(frozen=True)
class Review:
    """What is to be looked at: how many for each reason, and the first of them."""

    counts: dict[str, int]
    answers: list[Unsure]
    ruled: int


@lru_cache(maxsize=100_000)  # answers repeat
def why_unsure(task: str, text: str, named: Sequence[str], error_kind: str) -> str | None:
    """Why the parser is unsure of an answer; None where it is not."""
    if error_kind in (NO_ANSWER, UNSCORABLE):
        return None
    if any(_LETTER_AND_NUMBER.fullmatch(name) for name in named):
        return CONTRADICTION
    if error_kind == UNSURE:
        return EXCLUSIVE
    if not named:
        foreign = any(char.isalpha() and not char.isascii() for char in text)
        return LANGUAGE if foreign else None
    if task in ("q1", "q3") and len(named) > 1:
        return SEVERAL
    return INSIDE if len(final_text(text) or "") > LONG else None


def list_unsure(catalog: Catalog, vocabulary: Vocabulary, limit: int) -> Review:
    """Answers to Q1 to Q4 that nobody has ruled on, the most doubtful first; scores the new."""
    score_catalog(catalog, vocabulary, PAPER, only_new=True)
    ruled = load_rulings(catalog)
    counts: Counter[str] = Counter()
    worst: list[tuple[int, int, JudgedRow]] = []
    for row in iter_judged(catalog, PAPER):
        if row.response_id in ruled or not row.text:
            continue
        named = tuple(json.loads(row.parsed).get("named", ()))
        reason = why_unsure(row.task, row.text, named, row.error_kind)
        if reason is None:
            continue
        counts[reason] += 1
        # a heap of the `limit` most doubtful: its top is the least doubtful of them
        item = (-REASONS.index(reason), -row.response_id, row)
        (heapq.heappush if len(worst) < limit else heapq.heappushpop)(worst, item)
    answers = [Unsure(row, REASONS[-rank]) for rank, _, row in sorted(worst, reverse=True)]
    return Review({reason: counts[reason] for reason in REASONS}, answers, len(ruled))


def rule(
    catalog: Catalog, vocabulary: Vocabulary, rulings: Mapping[int, Ruling], by: str
) -> list[dict[str, Any]]:
    """Keep a person's rulings with name and time; the verdicts concerned are rebuilt at once.

    A later ruling on the same answer wins; the earlier one is kept in it, under `before`.

    Raises
    ------
    EvaluateError
        If one of the ids is no answer to Q1 to Q4; nothing is kept then.
    """
    score_catalog(catalog, vocabulary, PAPER, only_new=True)
    judged = find_judged(catalog, PAPER, tuple(rulings))
    if missing := sorted(rulings.keys() - judged.keys()):
        raise EvaluateError(
            f"no answer to Q1 to Q4 has the id {', '.join(map(str, missing))}; "
            "`snaprig evaluate review` lists ids"
        )
    earlier = load_rulings(catalog)
    now = utc_now().isoformat(timespec="seconds")
    kept = []
    with catalog.write() as connection:
        for key, ruling in rulings.items():
            stored: dict[str, Any] = {"ruling": ruling, "by": by, "at": now}
            if key in earlier:
                stored["before"] = earlier[key]
            right = {"right": True, "wrong": False}.get(ruling)
            put_ruling(connection, VerdictRow(key, json.dumps(stored), right, right, ""))
            kept.append({"response_id": key, "text": judged[key].text, **stored})
        forget_verdicts(connection, tuple(rulings), PAPER)
    score_catalog(catalog, vocabulary, PAPER, only_new=True)
    return kept
