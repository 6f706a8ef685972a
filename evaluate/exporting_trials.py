"""Trials of people and models as CSV files in the model-vs-human format.

The inverse of `evaluate.importing_trials`: one file an observer, in a folder for each data set
or question. Answers in words and top-5 labels become the class that they name.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from evaluate.importing_trials import COLUMNS, NO_RESPONSE, PERSON
from evaluate.question_judges import NO_ANSWER, OTHER, UNSURE
from evaluate.scoring import PAPER, score_catalog, unknown_categories
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import CHOICE, CLASSIFICATION, list_observers, shows_original
from schemas.catalog import Catalog
from schemas.records import Observer
from schemas.trial_store import AnswerRow, list_answer_rows
from schemas.workspace import PARTIAL

#: Tasks whose answers name one class.
TASKS = (CHOICE, "q1", "q3", CLASSIFICATION)


@dataclass(frozen=True)
class Written:
    """One file. `path` is relative to the folder of the export."""

    path: str
    observer: str
    kind: str
    task: str
    trials: int
    no_response: int


def export_trials(catalog: Catalog, vocabulary: Vocabulary, folder: Path) -> list[Written]:
    """Write a file for each observer and task that has answers; scores what is unscored."""
    score_catalog(catalog, vocabulary, PAPER, only_new=True)
    return [
        _write(folder, observer, task, list(_trials(observer, rows, vocabulary)))
        for observer in list_observers(catalog)
        for task in TASKS
        if observer.id is not None and (rows := list_answer_rows(catalog, observer.id, task, PAPER))
    ]


def subject(observer: Observer) -> str:
    """Name of an observer in the column `subj`: it tells people from models by its beginning."""
    name = str(observer.spec.get("subject", observer.name))
    if observer.kind == "person":
        return name if PERSON.match(name) else f"subject-{name:0>2}"
    return f"model-{name}" if PERSON.match(name) else name


def _trials(
    observer: Observer, rows: list[AnswerRow], vocabulary: Vocabulary
) -> Iterator[tuple[object, ...]]:
    subj = subject(observer)
    naming = _Naming(vocabulary, {row.category for row in rows})
    for number, row in enumerate(rows, start=1):
        timing = json.loads(row.timing)
        trial = timing.get("trial", number)
        condition = _condition(row)
        silent = row.latency_s is None or observer.kind == "model"
        yield (
            subj,
            timing.get("session", timing.get("block", 1)),
            trial,
            "NaN" if silent else repr(row.latency_s),
            naming.response(row),
            row.category,
            condition,
            json.loads(row.payload).get("imagename") or _image_name(number, row, subj, condition),
        )


@dataclass
class _Naming:
    """The class that an answer names, among those of the trials."""

    vocabulary: Vocabulary
    categories: set[str]

    def __post_init__(self) -> None:
        known = self.categories - unknown_categories(self.vocabulary, self.categories).keys()
        self._accepted = {name: self.vocabulary.accepted_classes(name) for name in sorted(known)}

    def response(self, row: AnswerRow) -> str:
        """A category; ``other`` for anything else named; ``na`` for no or no single answer."""
        if row.error:
            return NO_RESPONSE
        if row.task == CHOICE:
            return row.text or NO_RESPONSE
        parsed = json.loads(row.parsed or "{}")
        if row.task == CLASSIFICATION:
            index = parsed.get("label")
            if index is None:
                return NO_RESPONSE
            # a class that two categories accept stands for the truth
            names = [name for name, classes in self._accepted.items() if index in classes]
            return row.category if row.category in names else (*names, OTHER)[0]
        named = parsed.get("named", [])
        if row.error_kind in (NO_ANSWER, UNSURE) or len(named) > 1 or "named" not in parsed:
            return NO_RESPONSE
        return str(named[0]) if named else OTHER


def _condition(row: AnswerRow) -> str:
    """The manipulation: a view, or the EV offset of a frame that is shown as it is."""
    if not shows_original(row.view):
        return row.view
    return "0" if row.ev_offset is None else str(row.ev_offset)


def _image_name(number: int, row: AnswerRow, subj: str, condition: str) -> str:
    """As the format has it: what the trial was, between underscores, before the picture's name."""
    parts = [part.replace("_", "-") for part in (row.task, subj, condition, row.category)]
    return "_".join([f"{number:04d}", *parts, "00", f"{row.scene}/{row.lighting}/{row.setting}"])


def _write(
    folder: Path, observer: Observer, task: str, trials: list[tuple[object, ...]]
) -> Written:
    dataset = str(observer.spec.get("dataset", "")) if task == CHOICE else ""
    path = folder / quote(dataset or task, safe=" ") / f"{quote(observer.name, safe=' ')}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(trials, key=lambda trial: (_number(trial[1]), _number(trial[2])))
    # written aside, then renamed: nobody reads half a table
    partial = path.with_name(path.name + PARTIAL)
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(ordered)
    partial.replace(path)
    silent = sum(trial[COLUMNS.index("object_response")] == NO_RESPONSE for trial in trials)
    relative = path.relative_to(folder).as_posix()
    return Written(relative, observer.name, observer.kind, task, len(trials), silent)


def _number(place: object) -> tuple[int, str]:
    """Order in a session: numbers as numbers."""
    text = str(place)
    return int(text) if text.isdecimal() else 0, text
