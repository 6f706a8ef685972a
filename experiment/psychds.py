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
from experiment.importing import Session, counted, read_session, session_logs
from experiment.trial_log import MISSED, TrialRecord
from schemas.catalog import Catalog
from schemas.design_store import FrameKey, ShownFrame, list_shown_frames
from schemas.session_store import SessionVerdict, session_verdicts
from schemas.workspace import Workspace, write_atomically

PROTOCOL = "paper"


@dataclass(frozen=True)
class Column:
    """A column of the table, as the dictionary describes it."""

    name: str
    description: str
    unit: str = ""
    levels: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """A schema.org PropertyValue."""
        found: dict[str, Any] = {
            "@type": "PropertyValue",
            "name": self.name,
            "description": self.description,
        }
        if self.unit:
            found["unitText"] = self.unit
        if self.levels:
            found["levels"] = list(self.levels)
        return found


_YES_NO = ("true", "false")

COLUMNS = (
    Column("row_id", "Unique within the dataset: participant, study, trial and showing."),
    Column("participant", "Pseudonym."),
    Column("robot", "Answered by a program, for tests of the equipment.", levels=_YES_NO),
    Column("study", "The experiment.", levels=("questions", "rt3")),
    Column(
        "group",
        "1: counts by multiple choice, class in own words; 2: the other way round; 0: neither.",
    ),
    Column("block", "From 0 in the session; a block has one question."),
    Column("trial", "From 0 in the session, in the order planned."),
    Column("showing", "1, or more where the trial was shown again at the end of its block."),
    Column("counts", "Whether this showing's answer is the one that is scored.", levels=_YES_NO),
    Column(
        "task",
        "q1: class, q2: count, in own words; q3: class, q4: count, by multiple choice; "
        "choice: class by key, against the clock.",
        levels=("q1", "q2", "q3", "q4", "choice"),
    ),
    Column("options", "Options in the order shown, as a JSON list; empty for open questions."),
    Column("scene", "Name of the arrangement of objects."),
    Column("lighting", "Name of the light it was taken under."),
    Column("setting", "Shutter speed, ISO and F-number of the frame, as its file is named."),
    Column(
        "ev_offset",
        "Exposure relative to the lighting's reference; positive: over-exposed.",
        "stops",
    ),
    Column("category", "True class of the objects."),
    Column("objects", "True number of objects; 0 where nobody counted."),
    Column("answer", "Whole and raw, as typed or chosen."),
    Column("missed", "Whether the time ran out.", levels=_YES_NO),
    Column("latency", "From the onset of the question to the answer.", "s"),
    Column("soft", "1: the answer names the truth, 0: it does not; empty: no answer, not scored."),
    Column("hard", "1: it names the truth and nothing else, as was asked; 0, empty: as above."),
    Column("error_kind", "Kind of error; empty for right answers and unscored ones."),
    Column(
        "timing_status",
        "Evidence of the presentation times: every refresh came; one was "
        "missed; the screen gives no proof.",
        levels=("proven", "failed", "unproven"),
    ),
    Column("fixation_onset", "On the session's monotonic clock.", "s"),
    Column("image_onset", "On the session's monotonic clock.", "s"),
    Column("mask_onset", "On the session's monotonic clock.", "s"),
    Column("prompt_onset", "On the session's monotonic clock.", "s"),
    Column("image_duration", "Measured.", "s"),
    Column("mask_duration", "Measured.", "s"),
    Column("image_frames", "Refreshes of the screen; 0 where they cannot be counted."),
    Column("mask_frames", "Refreshes of the screen; 0 where they cannot be counted."),
    Column("dropped_frames", "Refreshes missed while image and mask were shown."),
    Column("early_keys", "Keys and clicks before the question, as a JSON list; ignored."),
    Column("frame_sha256", "Of the file that was shown."),
    Column("design_sha256", "Of the design that the trial belongs to."),
    Column("answered_at", "UTC."),
)

PERSON_COLUMNS = (
    Column("participant", "Pseudonym."),
    Column("age", "As stated; empty: not stated.", "years"),
    Column("sex", "As stated; empty: not stated."),
)


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
    """Write all sessions as a Psych-DS dataset, in place of an earlier one."""
    everything = [read_session(path) for path in session_logs(workspace)]
    sessions = [one for one in everything if with_robots or not one.robot]
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
        "timing_status": one.status,
        "fixation_onset": one.fixation_onset_s,
        "image_onset": one.image_onset_s,
        "mask_onset": one.mask_onset_s,
        "prompt_onset": one.prompt_onset_s,
        "image_duration": one.image_s,
        "mask_duration": one.mask_s,
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
