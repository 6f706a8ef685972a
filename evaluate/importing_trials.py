"""`snaprig import trials`: trials of people and models in the model-vs-human format.

One CSV file a session with the columns subj, session, trial, rt, object_response, category,
condition, imagename (github.com/bethgelab/model-vs-human). ``na`` is no response in time.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from evaluate.errors import EvaluateError
from evaluate.importing import ImportReport, Source, SourceReport
from evaluate.importing_pictures import Picture, put_pictures, scene_name
from evaluate.question_judges import OTHER
from schemas.answer_store import CHOICE, ORIGINAL, put_observer
from schemas.catalog import Catalog
from schemas.import_store import (
    ResponseRow,
    Stimuli,
    answered_stimuli,
    delete_responses,
    known_imports,
    put_import,
    put_responses,
)
from schemas.records import Observer, ObserverKind, Scene

KIND = "trials"

NO_RESPONSE = "na"

COLUMNS = (
    "subj",
    "session",
    "trial",
    "rt",
    "object_response",
    "category",
    "condition",
    "imagename",
)

#: Before the picture's own name: trial, experiment, subject, condition, category, a number.
_PREFIX = re.compile(r"\d+_[^_]+_[^_]+_[^_]+_[^_]+_\d+_")

#: What the name of a person begins with.
PERSON = re.compile(r"(subject|participant|human)", re.IGNORECASE)

#: The condition of pictures that are shown as they are.
_UNCHANGED = ("", "0", "original")


@dataclass(frozen=True)
class Trial:
    """One row. `view` is the manipulation that the condition names."""

    subject: str
    session: str
    trial: str
    rt_s: float | None
    response: str
    category: str
    view: str
    image: str
    imagename: str


def import_trials(catalog: Catalog, folder: Path) -> ImportReport:
    """Import every session in a folder; the folder's name is the data set's.

    Raises
    ------
    EvaluateError
        If there is no such file, or one lacks a column.
    """
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise EvaluateError(f"{folder} holds no CSV file of trials")
    dataset = folder.name
    report = ImportReport()
    sources = [Source.read(path, folder) for path in paths]
    named = [Source(one.path, f"{dataset}/{one.name}", one.sha256) for one in sources]
    # the options of a choice are those of the whole data set, not of one session
    everything = [(source, list(_read(source.path))) for source in named]
    categories = {row["category"] for _, rows in everything for row in rows}
    said = {row["object_response"].strip() for _, rows in everything for row in rows}
    # `export trials` writes "other" for what is none of them: a wrong answer, not a row to drop
    options = tuple(sorted(categories | ({OTHER} & said)))
    new = dict(report.split(named, known_imports(catalog, KIND)))
    for source, rows in everything:
        if source in new:
            changed = source.name in report.changed
            _import_session(catalog, dataset, source, rows, options, new[source], changed=changed)
    return report


def _import_session(
    catalog: Catalog,
    dataset: str,
    source: Source,
    rows: list[dict[str, str]],
    options: tuple[str, ...],
    report: SourceReport,
    *,
    changed: bool,
) -> None:
    trials = list(_trials(rows, options, report))
    observers = {
        subject: put_observer(catalog, _observer(dataset, subject))
        for subject in sorted({trial.subject for trial in trials})
    }
    with catalog.write() as connection:
        scenes = {
            one.image: Scene(scene_name(dataset, one.image), one.category, 1) for one in trials
        }
        reason = f"imported from the trials of {dataset}"
        frames = put_pictures(connection, (Picture(scene) for scene in scenes.values()), reason)
        frame_of = {image: frames[scene.name] for image, scene in scenes.items()}
        if changed:  # what the file said before goes; other sessions of its subjects stay
            for trial in {(one.subject, one.session): one for one in trials}.values():
                delete_responses(connection, observers[trial.subject], [CHOICE], trial.session)
        _put_answers(connection, trials, observers, frame_of, options, report)
        put_import(connection, KIND, source.name, source.sha256, report.to_json())


def _put_answers(
    connection: Connection,
    trials: list[Trial],
    observers: dict[str, int],
    frame_of: dict[str, int],
    options: tuple[str, ...],
    report: SourceReport,
) -> None:
    answered = {key: answered_stimuli(connection, key) for key in observers.values()}
    new: dict[tuple[int, int], ResponseRow] = {}
    for view in sorted({trial.view for trial in trials}):
        shown = [trial for trial in trials if trial.view == view]
        stimuli = Stimuli(KIND, view).put(
            connection, CHOICE, {frame_of[trial.image]: options for trial in shown}
        )
        for trial in shown:
            key = (observers[trial.subject], stimuli[frame_of[trial.image]].id)
            if key in new or key[1] in answered[key[0]]:
                report.reject("a picture shown twice to one subject", trial.imagename)
                continue
            new[key] = ResponseRow(
                key[1],
                key[0],
                "" if trial.response == NO_RESPONSE else trial.response,
                payload=json.dumps({"imagename": trial.imagename, "response": trial.response}),
                latency_s=trial.rt_s,
                timing=json.dumps({"session": trial.session, "trial": trial.trial}),
            )
            report.counts["no_response"] += trial.response == NO_RESPONSE
    report.counts["responses"] = put_responses(connection, new.values())
    report.counts["trials"] = len(trials)


def _trials(
    rows: list[dict[str, str]], options: tuple[str, ...], report: SourceReport
) -> Iterator[Trial]:
    for row in rows:
        response, condition = row["object_response"].strip(), row["condition"].strip()
        if response not in options and response != NO_RESPONSE:
            report.reject("response is none of the data set's categories", response)
            continue
        if not row["subj"] or not row["imagename"]:
            report.reject("no subject or picture", row["imagename"])
            continue
        yield Trial(
            row["subj"],
            row["session"],
            row["trial"],
            _seconds(row["rt"]),
            response,
            row["category"],
            ORIGINAL if condition in _UNCHANGED else condition,
            _PREFIX.sub("", row["imagename"], count=1),
            row["imagename"],
        )


def _read(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a session; the column names' case differs between data sets."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = [name.strip().lower() for name in reader.fieldnames or ()]
            if missing := set(COLUMNS) - set(header):
                raise EvaluateError(f"{path.name} lacks the columns {', '.join(sorted(missing))}")
            reader.fieldnames = header
            for row in reader:
                yield {name: row[name] or "" for name in COLUMNS}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EvaluateError(f"{path} cannot be read as CSV: {error}") from error


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _observer(dataset: str, subject: str) -> Observer:
    kind: ObserverKind = "person" if PERSON.match(subject) else "model"
    spec = {"source": "model-vs-human", "dataset": dataset, "subject": subject}
    return Observer(f"{dataset}-{subject}", kind, spec)
