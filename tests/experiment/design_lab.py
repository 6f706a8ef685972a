"""A catalog of frames with questions, made without pictures, and sessions that a test writes."""

import itertools
import json
from pathlib import Path

from experiment.candidates import load_candidates
from experiment.design import Request, make_design
from experiment.design_files import load_participant, write_design
from experiment.trial_log import End, Header, LogWriter, TrialRecord, log_path
from schemas.capture_store import put_lighting
from schemas.catalog import Catalog
from schemas.import_store import FrameRow, put_frames, put_runs, put_scenes
from schemas.plan import Lighting
from schemas.question_store import add_questions
from schemas.records import Scene
from schemas.workspace import Workspace

CATEGORIES = ("cup", "tie", "laptop", "mouse")
LIGHTS = {"bright": 11, "dim": 5}
OFFSETS = range(-4, 5)


class DesignLab:
    """`scenes` scenes; each has `each` frames of every EV offset under both lights."""

    def __init__(self, root: Path, scenes: int = 12, each: int = 2, questions: bool = True) -> None:
        self.workspace = Workspace.create(root, "")
        self.catalog = Catalog.open(self.workspace.catalog_path)
        lights = {
            name: put_lighting(self.catalog, Lighting(name=name, lux=ev, ev_reference=ev))
            for name, ev in LIGHTS.items()
        }
        named = [
            Scene(f"s{number:02d}", CATEGORIES[number % len(CATEGORIES)], 2 + number % 4)
            for number in range(scenes)
        ]
        with self.catalog.write() as connection:
            ids = put_scenes(connection, named)
            light_ids = dict(connection.exec_driver_sql("SELECT name, id FROM lightings").all())
            pairs = list(itertools.product(ids.values(), light_ids.values()))
            runs = put_runs(connection, pairs, "made by a test")
            put_frames(
                connection,
                [
                    FrameRow(
                        ids[scene.name],
                        light_ids[light],
                        runs[ids[scene.name], light_ids[light]],
                        "manual",
                        f"{offset}-{number}",
                        1.0,
                        100,
                        8.0,
                        ev=float(LIGHTS[light] - offset),
                        ev_index=LIGHTS[light] - offset,
                        ev_offset=offset,
                        path=f"frames/{scene.name}/{light}/{offset}/{number}.jpg",
                        sha256=f"{scene.name}{light}{offset}{number}",
                    )
                    for scene in named
                    for light in lights or light_ids
                    for offset in OFFSETS
                    for number in range(each)
                ],
            )
            frames = connection.exec_driver_sql("SELECT id FROM frames ORDER BY id").all()
        if questions:
            options = {
                "q1": "[]",
                "q2": "[]",
                "q3": json.dumps([*CATEGORIES, "other"]),
                "q4": json.dumps(["A) 3", "B) 2", "C) 5", "D) 4"]),
            }
            add_questions(
                self.catalog, [(row[0], task, options[task]) for row in frames for task in options]
            )

    def design(self, participants: int = 4, trials: int = 8, seed: int = 1):
        """A design in use."""
        made = make_design(
            load_candidates(self.catalog).pictures, Request(participants, seed, trials)
        )
        write_design(self.workspace, made)
        return made

    def plan(self, participant: str = "P01"):
        """What a participant is shown."""
        return load_participant(self.workspace, self.catalog, participant)

    def execute(self, statement: str, *values: object) -> None:
        """Change the catalog behind everybody's back."""
        with self.catalog.write() as connection:
            connection.exec_driver_sql(statement, values)


def right_answer(trial) -> str:
    """What a person who sees everything answers."""
    if trial.task == "q4":
        return next(one for one in trial.options if one.endswith(f" {trial.objects}"))
    return str(trial.objects) if trial.task == "q2" else trial.category.replace("_", " ")


def header(plan, **changed) -> Header:
    """The first line of a start."""
    values = {
        "participant": plan.participant,
        "study": plan.study,
        "group": plan.group,
        "design_digest": plan.design_digest,
        "start": 1,
        "versions": {"snaprig": "0"},
        "display": {"hz": 60.0},
        "timing_mode": "frames",
    }
    return Header(**{**values, **changed})


def record(trial, answer: str, **changed) -> TrialRecord:
    """One showing of a trial."""
    values = {
        "showing": 1,
        "frame_sha256": trial.sha256,
        "answer": answer,
        "latency_s": 0.5,
        "fixation_onset_s": 1.0,
        "image_onset_s": 2.0,
        "mask_onset_s": 2.2,
        "prompt_onset_s": 2.4,
        "image_s": 0.2,
        "mask_s": 0.2,
        "status": "proven",
        "image_frames": 12,
        "mask_frames": 12,
    }
    return TrialRecord.of(trial, **{**values, **changed})


def write_session(lab, plan, answers, *, end: bool = True, **start) -> Path:
    """A whole session: `answers` gives the answer to a trial."""
    path = log_path(lab.workspace, plan.participant, plan.study)
    with LogWriter(path) as log:
        log.append(header(plan, **start))
        for trial in plan.trials:
            log.append(record(trial, answers(trial)))
        if end:
            log.append(End("done", len(plan.trials)))
    return path
