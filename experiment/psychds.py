"""Sessions as a Psych-DS dataset: CSV files with a dictionary of every column.

One file a study, one row a showing, in the order of participants and trials. The logs are the
source; the catalog adds what is known of the frame, and how the answer was scored.
Source of the rules: psych-ds.github.io, version 0.4 (file names, `variableMeasured`).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.demographics import FEWEST, Person, read_person, summarize
from experiment.dictionary import COLUMNS, PERSON_COLUMNS, Column
from experiment.errors import ExperimentError
from experiment.importing import Session, counted, read_session, session_logs
from experiment.trial_log import MISSED, TrialRecord
from schemas.catalog import Catalog
from schemas.design_store import FrameKey, ShownFrame, list_shown_frames
from schemas.session_store import SessionVerdict, session_verdicts
from schemas.workspace import Workspace, write_atomically

PROTOCOL = "paper"


@dataclass(frozen=True)
class Exported:
    """What was written; `unscored` answers were not scored yet."""

    folder: Path
    files: list[str]
    participants: int
    rows: int
    unscored: int
    robots_left_out: int


def export_psychds(
    catalog: Catalog,
    workspace: Workspace,
    folder: Path,
    *,
    with_demographics: bool = False,
    with_robots: bool = False,
) -> Exported:
    """Write all sessions as a Psych-DS dataset, in place of an earlier one.

    Raises
    ------
    ExperimentError
        If there is no session.
    """
    everything = [read_session(path) for path in session_logs(workspace)]
    sessions = [one for one in everything if with_robots or not one.robot]
    if not sessions:
        robots = f", but {len(everything)} of robots: add --with-robots" if everything else ""
        raise ExperimentError(f"no session of a person in {workspace.sessions}{robots}")
    frames = {
        frame.key: frame
        for kind in ("manual", "picture")
        for frame in list_shown_frames(catalog, kind)
    }
    files: dict[str, bytes] = {}
    unscored = rows = 0
    for study in sorted({one.header.study for one in sessions}):
        table = []
        for session in sessions:
            if session.header.study == study:
                verdicts = session_verdicts(catalog, session.header.participant, PROTOCOL)
                table += list(_rows(session, frames, verdicts))
        unscored += sum(
            row["counts"] == "true" and row["hard"] is None and row["error_kind"] is None
            for row in table
        )
        rows += len(table)
        _put_table(files, f"task-{study}", COLUMNS, table)
    participants = sorted({one.header.participant for one in sessions})
    people = {name: read_person(workspace, name) for name in participants}
    columns = list(COLUMNS)
    if with_demographics:
        table = [
            {"participant": name, "age": person.age_years, "sex": person.sex}
            for name, person in people.items()
        ]
        _put_table(files, "description-participants", PERSON_COLUMNS, table)
        columns += PERSON_COLUMNS[1:]
    files["dataset_description.json"] = _json(_description(columns, list(people.values())))
    files["README.md"] = _readme(len(participants)).encode()
    for name in ("task-questions", "task-rt3", "description-participants"):
        for suffix in (".csv", ".json"):
            if (stale := f"data/{name}_data{suffix}") not in files:
                (folder / stale).unlink(missing_ok=True)
    for name, data in files.items():
        write_atomically(folder / name, data)
    return Exported(
        folder=folder,
        files=sorted(files),
        participants=len(participants),
        rows=rows,
        unscored=unscored,
        robots_left_out=len(everything) - len(sessions),
    )


def to_csv(columns: Iterable[Column], rows: Iterable[dict[str, Any]]) -> bytes:
    """A table in UTF-8 in which any text survives: every cell is quoted, quotes are doubled."""
    text = io.StringIO(newline="")
    names = [column.name for column in columns]
    writer = csv.DictWriter(text, names, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _rows(
    session: Session,
    frames: dict[FrameKey, ShownFrame],
    verdicts: dict[tuple[str, str, str, str], SessionVerdict],
) -> Iterator[dict[str, Any]]:
    for _, showings in sorted(session.showings.items()):
        best = counted(showings)
        for one in showings:
            key = (one.scene, one.lighting, one.setting)
            verdict = verdicts.get((*key, one.task)) if one is best else None
            yield {
                **_place(session, one),
                "counts": _bool(one is best),
                **_truth(frames.get(key)),
                **_answer(one),
                "soft": None if verdict is None else verdict.soft,
                "hard": None if verdict is None else verdict.hard,
                "error_kind": None if verdict is None else verdict.error_kind,
            }


def _place(session: Session, one: TrialRecord) -> dict[str, Any]:
    header = session.header
    return {
        "row_id": f"{header.participant}.{header.study}.{one.index}.{one.showing}",
        "participant": header.participant,
        "robot": _bool(session.robot),
        "study": header.study,
        "group": header.group,
        "block": one.block,
        "trial": one.index,
        "showing": one.showing,
        "design_sha256": header.design_digest,
    }


def _truth(frame: ShownFrame | None) -> dict[str, Any]:
    if frame is None:
        return {"ev_offset": None, "category": None, "objects": None}
    return {"ev_offset": frame.ev_offset, "category": frame.category, "objects": frame.objects}


def _answer(one: TrialRecord) -> dict[str, Any]:
    return {
        "task": one.task,
        "options": json.dumps(one.options, ensure_ascii=False) if one.options else "",
        "scene": one.scene,
        "lighting": one.lighting,
        "setting": one.setting,
        "answer": one.answer,
        "missed": _bool(one.error == MISSED),
        "latency": one.latency_s,
        "first_input": one.extra.get("first_input_s"),
        "interrupted": one.extra.get("interrupted_s"),
        "timing_status": one.status,
        "fixation_onset": one.fixation_onset_s,
        "image_onset": one.image_onset_s,
        "mask_onset": one.mask_onset_s,
        "prompt_onset": one.prompt_onset_s,
        "image_duration": one.image_s or None,
        "mask_duration": one.mask_s or None,
        "image_frames": one.image_frames,
        "mask_frames": one.mask_frames,
        "dropped_frames": one.dropped_frames,
        "early_keys": json.dumps(one.early_keys, ensure_ascii=False) if one.early_keys else "",
        "frame_sha256": one.frame_sha256,
        "answered_at": one.at,
    }


def _put_table(
    files: dict[str, bytes], stem: str, columns: tuple[Column, ...], rows: list[dict[str, Any]]
) -> None:
    files[f"data/{stem}_data.csv"] = to_csv(columns, rows)
    files[f"data/{stem}_data.json"] = _json(
        {"variableMeasured": [column.as_json() for column in columns]}
    )


def _description(columns: list[Column], people: list[Person]) -> dict[str, Any]:
    summary = summarize(people)
    told = json.dumps(summary) if summary else f"not given for fewer than {FEWEST} people"
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": "Answers of people to pictures under different capture conditions",
        "description": (
            "Trials of people who were shown pictures for 200 ms, masked, and named the class or "
            f"the number of the objects. Participants: {told}."
        ),
        "variableMeasured": [column.as_json() for column in columns],
    }


def _readme(participants: int) -> str:
    return (
        f"# Human trials\n\nPsych-DS dataset of {participants} participants, written by "
        "`snaprig experiment export`.\nEvery column is described in `dataset_description.json`; "
        "rows with `counts` true are the answers that are scored.\n"
    )


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def _bool(value: bool) -> str:
    return "true" if value else "false"
