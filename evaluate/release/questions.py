"""The release's questions: which was asked of which frame, with the options as shown.

The published shuffles cannot be made again from the released script, and its ``SNAP_VQA.json``
is not always at hand. What is known stands in the design of the human experiment, word for
word; for the other frames the order of the options stays unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection

from evaluate.errors import EvaluateError
from evaluate.importing import SourceReport
from evaluate.release.sheets import Table, text_of
from schemas.import_store import Stimuli

ORIGIN = "snap"

#: The experiment numbered its questions 3 to 6; the paper calls them 1 to 4.
TASKS = {"3": "q1", "4": "q2", "5": "q3", "6": "q4"}

_OPTIONS = "Select one of the following options:"

#: (path, task) to the options in the order they were shown.
Options = dict[tuple[str, str], tuple[str, ...]]


def parse_options(question: str, task: str) -> tuple[str, ...]:
    """Options in the order shown; empty for the open questions."""
    _, found, shown = question.partition(_OPTIONS)
    if not found:
        return ()
    separator = r",\s*" if task == "q3" else r"\s{2,}"
    return tuple(option for option in re.split(separator, shown.strip()) if option)


def import_design(
    connection: Connection,
    stimuli: Stimuli,
    table: Table,
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    """Stimuli from the design of the human experiment (``exp_samples.xlsx``)."""
    asked = (
        (text_of(path), TASKS.get(text_of(number), ""), text_of(question))
        for path, number, question in _columns(table, "Path", "Q_id", "Q")
    )
    _import_questions(connection, stimuli, asked, frames, report)


def import_vqa_json(
    connection: Connection,
    stimuli: Stimuli,
    path: Path,
    name: str,
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    """Stimuli from the release's own list (``SNAP_VQA.json``): four questions a path."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        asked = [
            (image, f"q{number}", str(questions[f"Q{number}"]))
            for image, questions in document.items()
            for number in range(1, 5)
        ]
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise EvaluateError(f"{name} is no list of questions by path: {error!r}") from error
    _import_questions(connection, stimuli, iter(asked), frames, report)


def reject_practice(table: Table, frames: dict[str, int], report: SourceReport) -> None:
    """Practice pictures: counted and named; those of no listed frame cannot be used."""
    for (path,) in _columns(table, "Path"):
        known = text_of(path) in frames
        reason = "a practice trial" if known else "a practice picture that is not in the metadata"
        report.reject(reason, path)


def _import_questions(
    connection: Connection,
    stimuli: Stimuli,
    asked: Iterator[tuple[str, str, str]],
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    options: dict[str, dict[int, tuple[str, ...]]] = {task: {} for task in TASKS.values()}
    paths: dict[int, str] = {}
    for path, task, question in asked:
        frame_id = frames.get(path)
        if frame_id is None:
            report.reject("path not in the metadata", path)
            continue
        if task not in options:
            report.reject("unknown question number", path)
            continue
        shown = parse_options(question, task)
        if options[task].setdefault(frame_id, shown) != shown:
            report.reject("asked twice with the options in different orders", f"{path} {task}")
            continue
        paths[frame_id] = path
        report.counts["questions_read"] += 1
    for task, by_frame in options.items():
        stored = stimuli.put(connection, task, by_frame)
        for frame_id, shown in by_frame.items():
            if stored[frame_id].options != shown:
                report.reject("the catalog has other options for it", f"{paths[frame_id]} {task}")
        if by_frame:
            report.counts[f"stimuli_{task}"] = len(by_frame)


def _columns(table: Table, *names: str) -> Iterator[tuple[object, ...]]:
    places = [table.column(name) for name in names]
    return (tuple(row[place] for place in places) for row in table.rows)
