"""Verdicts on answers in words: Q1 to Q4 and choices, under the protocols `paper` and `release`.

Answers repeat: of a million, a few ten thousand are different. Each is judged once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from evaluate.answer_text import Phrases, Reading, State, read_classes, read_count, read_option
from evaluate.errors import EvaluateError
from evaluate.release.rules import CLASSES, judge
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import CHOICE
from schemas.verdict_store import TruthRow, VerdictRow

NO_ANSWER = "no_answer"
UNSURE = "unsure"
UNSCORABLE = "unscorable"
FACTUAL = "factual"
FAITHFULNESS = "faithfulness"
BOTH = "factual_and_faithfulness"

QUESTIONS = ("q1", "q2", "q3", "q4", CHOICE)

#: A count is at most this long: ``A) 2``, ``four``.
COUNT_LENGTH = 4

OTHER = "other"

_Outcome = tuple[str, bool | None, bool | None, str]


@dataclass
class QuestionJudge:
    """Judges answers in words under one protocol, and remembers what it judged.

    Attributes
    ----------
    unscorable : dict
        What could not be scored, and what to do about it.
    """

    vocabulary: Vocabulary
    release: bool
    unscorable: dict[str, str] = field(default_factory=dict)
    _seen: dict[tuple[object, ...], _Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = {
            category: (category.replace("_", " "), *entry.synonyms)
            for category, entry in self.vocabulary.entries.items()
            if entry.synonyms
        }
        self._digest = self.vocabulary.digest
        self._names = {**names, OTHER: (OTHER,)}
        self._phrases: dict[str, Phrases] = {}
        # one limit for all, or a long name would be unfaithful where a short one is right
        self._name_length = max(
            (len(name) for known in names.values() for name in known), default=0
        )

    def verdict(self, row: TruthRow) -> VerdictRow:
        """Judge one response."""
        key = row[1:]
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = self._judge(row)
        return VerdictRow(row.response_id, *found)

    def _judge(self, row: TruthRow) -> _Outcome:
        if row.error:
            return self._outcome(None, None, NO_ANSWER)
        options = tuple(str(option) for option in json.loads(row.options))
        text = row.text or ""
        if row.task == CHOICE:
            right = text == row.category
            kind = NO_ANSWER if not text else "" if right else FACTUAL
            return self._outcome(right, right, kind, [text] if text else [], len(text))
        if row.task == "q4" and not options:
            self.unscorable["q4"] = (
                "Q4 of frames whose order of options is not known: letters have no meaning there"
            )
            return self._outcome(None, None, UNSCORABLE)
        if self.release:
            return self._release(row, text, options)
        return self._paper(row, text, options)

    def _release(self, row: TruthRow, text: str, options: tuple[str, ...]) -> _Outcome:
        if row.category not in CLASSES:
            self.unscorable[row.category] = f"protocol release knows no category {row.category!r}"
            return self._outcome(None, None, UNSCORABLE)
        cleaned = str(json.loads(row.payload).get("cleaned", text))
        person = row.observer_kind == "person"
        ruling = judge(
            row.task, cleaned, len(text), row.category, row.objects, options, person=person
        )
        if ruling is None:
            return self._outcome(None, None, UNSCORABLE)
        kind = _kind(ruling.factual_error, ruling.faithfulness_error)
        if not cleaned.strip():
            kind = NO_ANSWER
        return self._outcome(ruling.soft, ruling.hard, kind, [cleaned], len(text))

    def _paper(self, row: TruthRow, text: str, options: tuple[str, ...]) -> _Outcome:
        length = len(text.strip())
        if row.task in ("q1", "q3"):
            truth = self.vocabulary.name_of(row.category) or row.category
            if truth not in self._names:
                self._say_unknown(row.category)
                return self._outcome(None, None, UNSCORABLE)
            reading = read_classes(text, self._phrases_for(truth))
            if row.task == "q1":
                fits = length <= self._name_length and OTHER not in reading.named
            else:
                offered = options or (*(name.replace("_", " ") for name in CLASSES), OTHER)
                named = text.strip().rstrip(".").casefold()
                fits = any(named == option.casefold() for option in offered)
        else:
            truth = str(row.objects)
            fits = length <= COUNT_LENGTH
            if row.task == "q2":
                reading = read_count(text)
            else:
                by_letter = dict(option.split(") ", 1) for option in options if ") " in option)
                reading = read_option(text, by_letter)
        return self._read(reading, truth, length, fits=fits)

    def _read(self, reading: Reading, truth: str, length: int, *, fits: bool) -> _Outcome:
        named = list(reading.named)
        if reading.state is not State.READ:
            kind = NO_ANSWER if reading.state is State.NO_ANSWER else UNSURE
            return self._outcome(None, None, kind, named, length)
        soft = truth in named
        unfaithful = not (reading.alone and fits)
        return self._outcome(
            soft, soft and not unfaithful, _kind(not soft, unfaithful), named, length
        )

    def _outcome(
        self,
        soft: bool | None,
        hard: bool | None,
        kind: str,
        named: list[str] | None = None,
        length: int | None = None,
    ) -> _Outcome:
        parsed: dict[str, object] = {"vocabulary": self._digest}
        if named is not None:
            parsed |= {"named": named, "length": length}
        return json.dumps(parsed), soft, hard, kind

    def _phrases_for(self, truth: str) -> Phrases:
        """All names; one that two categories share (cup, coffee cup) stands for the truth."""
        found = self._phrases.get(truth)
        if found is None:
            others = {name: known for name, known in self._names.items() if name != truth}
            found = self._phrases[truth] = Phrases.of({**others, truth: self._names[truth]})
        return found

    def _say_unknown(self, category: str) -> None:
        try:
            self.vocabulary.accepted_classes(category)
        except EvaluateError as error:
            self.unscorable[category] = str(error)
        else:
            self.unscorable[category] = (
                f"category {category!r} has no synonyms; add them to vocabulary.toml in the "
                f"workspace: [category.{json.dumps(category)}] synonyms = [WORD, …]"
            )


def _kind(factual: bool, unfaithful: bool) -> str:
    if factual and unfaithful:
        return BOTH
    return FACTUAL if factual else FAITHFULNESS if unfaithful else ""
