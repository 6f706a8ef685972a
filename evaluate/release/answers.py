"""Raw results of the release's models: top-5 lists of classifiers, texts of VLMs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import Connection

from evaluate.errors import EvaluateError
from evaluate.importing import SourceReport
from evaluate.release.sheets import Cell, Table, text_of
from evaluate.release.top5 import top5_json
from schemas.answer_store import CLASSIFICATION
from schemas.import_store import ResponseRow, Stimuli, put_responses

QUESTIONS = ("q1", "q2", "q3", "q4")

#: A text as JSON, without the cost of an encoder a row.
_quoted = json.encoder.encode_basestring_ascii

NOT_LISTED = "path not in the metadata"


def import_classifier(
    connection: Connection,
    stimuli: Stimuli,
    table: Table,
    observer_id: int,
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    """Responses to the classification task: one row a frame, its top-5 as a Python list."""
    column = table.column("Pred")
    rows = dict(_joined(table, frames, report))
    stored = stimuli.put(connection, CLASSIFICATION, dict.fromkeys(rows, ()))
    new = []
    for frame_id, row in rows.items():
        literal = row[column]
        if literal == "":
            new.append(ResponseRow(stored[frame_id].id, observer_id, None, error="empty cell"))
            report.counts["empty_answers"] += 1
            continue
        payload = top5_json(text_of(literal))
        if payload is None:
            report.reject("not a list of (class, name, probability)", literal)
            continue
        new.append(ResponseRow(stored[frame_id].id, observer_id, None, payload))
    report.counts["responses"] = put_responses(connection, new)


def import_vlm(
    connection: Connection,
    stimuli: Stimuli,
    table: Table,
    observer_id: int,
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    """Responses to Q1 to Q4: one row a frame, a column (or a raw and a cleaned one) a question.

    The raw text is the answer; what the release's authors made of it stays beside it as
    ``payload["cleaned"]``. An empty cell is the empty answer, the word ``None`` a word.
    """
    rows = dict(_joined(table, frames, report))
    if not any(table.has(f"A{number}") for number in range(1, 5)):
        raise EvaluateError(f"{table.name} has none of the columns A1 to A4")
    new: list[ResponseRow] = []
    for number, task in enumerate(QUESTIONS, start=1):
        if not table.has(f"A{number}"):
            report.reject(f"column A{number} is not there", table.name)
            continue
        stored = stimuli.put(connection, task, dict.fromkeys(rows, ()))
        cleaned = table.column(f"A{number}")
        raw = table.column(f"A{number}_raw") if table.has(f"A{number}_raw") else None
        for frame_id, row in rows.items():
            stimulus = stored[frame_id]
            text = text_of(row[cleaned if raw is None else raw])
            payload = "{}" if raw is None else _cleaned(text_of(row[cleaned]))
            if not text.strip():
                report.counts["empty_answers"] += 1
            new.append(ResponseRow(stimulus.id, observer_id, text, payload))
    report.counts["responses"] = put_responses(connection, new)


def _joined(
    table: Table, frames: dict[str, int], report: SourceReport
) -> Iterator[tuple[int, list[Cell]]]:
    """Rows with the frame of their path; the first of a path counts."""
    column = table.column("Path")
    paths = [text_of(row[column]) for row in table.rows]
    report.note_order(paths, frames)
    seen: set[int] = set()
    for path, row in zip(paths, table.rows, strict=True):
        frame_id = frames.get(path)
        if frame_id is None:
            report.reject(NOT_LISTED, path)
        elif frame_id in seen:
            report.reject("path twice in this file", path)
        else:
            seen.add(frame_id)
            yield frame_id, row
    report.missing = len(frames) - len(seen)


def _cleaned(text: str) -> str:
    return f'{{"cleaned": {_quoted(text)}}}'
