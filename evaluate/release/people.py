"""Trials of the human experiment: pseudonyms, answers, place in the session."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Connection

from evaluate.importing import SourceReport
from evaluate.release.answers import NOT_LISTED, QUESTIONS
from evaluate.release.questions import TASKS
from evaluate.release.sheets import Table, text_of
from schemas.import_store import ResponseRow, Stimuli, put_responses
from schemas.records import Observer

SHEET = "all_subjects"

#: What the sheet holds for the three questions that a trial did not ask.
NOT_ASKED = "-"

#: Subjects up to this number answered Q1 and Q4, the others Q2 and Q3.
_FIRST_GROUP = 50


@dataclass(frozen=True)
class Trial:
    """One trial: who was asked what about which frame, and the answer as typed."""

    subject: int
    path: str
    task: str
    text: str


#: (subject, path, task) to where in the session it was asked.
Places = dict[tuple[int, str, str], dict[str, int]]


def pseudonym(subject: int) -> str:
    """Name of a person in the catalog: the release's own number, nothing else is known."""
    return f"snap-subject-{subject:02d}"


def observer_of(subject: int, source: str) -> Observer:
    """A person as an observer, with the group whose questions he was asked."""
    group = 1 if subject <= _FIRST_GROUP else 2
    spec = {"source": "SNAP release", "file": source, "subject": subject, "group": group}
    return Observer(pseudonym(subject), "person", spec)


def read_trials(table: Table, report: SourceReport) -> list[Trial]:
    """Trials of the sheet. The question asked is the one whose answer was scored."""
    path_column, subject_column = table.column("Path"), table.column("Subject_id")
    asked = {
        task: (table.column(f"A{number}_pred"), table.column(f"A{number}_acc"))
        for number, task in enumerate(QUESTIONS, start=1)
    }
    trials = []
    for row in table.rows:
        path = text_of(row[path_column])
        scored = [task for task, (_, accuracy) in asked.items() if row[accuracy] != ""]
        subject = text_of(row[subject_column])
        if len(scored) != 1:
            report.reject("not exactly one question in this trial", path)
        elif not subject.isdigit():
            report.reject("no subject number", path)
        else:
            (task,) = scored
            trials.append(Trial(int(subject), path, task, text_of(row[asked[task][0]])))
    return trials


def read_places(design: Table) -> Places:
    """Block and trial of every planned question, from the design of the experiment."""
    names = ("Subject_id", "Path", "Q_id", "Block_id", "Trial_id")
    columns = [design.column(name) for name in names]
    places: Places = {}
    for row in design.rows:
        subject, path, number, block, trial = (text_of(row[column]) for column in columns)
        if subject.isdigit() and block.isdigit() and trial.isdigit():
            key = (int(subject), path, TASKS.get(number, ""))
            places[key] = {"block": int(block), "trial": int(trial)}
    return places


def import_trials(
    connection: Connection,
    stimuli: Stimuli,
    trials: list[Trial],
    observers: dict[int, int],
    places: Places,
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    """Responses of people to Q1 to Q4.

    Parameters
    ----------
    observers : dict
        Observer id of each subject.
    """
    new: dict[tuple[int, int], ResponseRow] = {}
    for task in QUESTIONS:
        of_task = [trial for trial in trials if trial.task == task]
        known = {frames[trial.path]: () for trial in of_task if trial.path in frames}
        stored = stimuli.put(connection, task, known)
        for trial in of_task:
            frame_id = frames.get(trial.path)
            if frame_id is None:
                report.reject(NOT_LISTED, trial.path)
                continue
            stimulus = stored[frame_id]
            key = (observers[trial.subject], stimulus.id)
            if key in new:
                report.reject("a person answers a question once", f"{trial.subject} {trial.path}")
            else:
                place = places.get((trial.subject, trial.path, task), {})
                new[key] = ResponseRow(stimulus.id, key[0], trial.text, timing=json.dumps(place))
                if not trial.text.strip():
                    report.counts["empty_answers"] += 1
    report.counts["subjects"] = len({observer_id for observer_id, _ in new})
    report.counts["responses"] = put_responses(connection, new.values())
