"""What a session gave: into the catalog, through the common scoring, and as numbers."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiment.errors import ExperimentError
from experiment.importing import import_sessions
from experiment.records import ParticipantPlan
from experiment.trial_log import MISSED, Header, TrialRecord, read_log
from schemas.answer_store import list_observers
from schemas.verdict_store import load_conditions, load_scored
from schemas.workspace import Workspace

PROTOCOL = "paper"


def summarize(
    workspace: Workspace, plan: ParticipantPlan, path: Path, *, score: bool = True
) -> dict[str, Any]:
    """Bring the log into the catalog and say what is in it, as a JSON document.

    Parameters
    ----------
    score : bool
        Also score it, by `snaprig evaluate score` in a process of its own.
    """
    with workspace.catalog() as catalog:
        (landed,) = import_sessions(catalog, workspace, [path])
    records = read_log(path)
    shown = [record for record in records if isinstance(record, TrialRecord)]
    recorded = {record.index for record in shown}
    headers = [record for record in records if isinstance(record, Header)]
    document: dict[str, Any] = {
        "participant": plan.participant,
        "study": plan.study,
        "group": plan.group,
        "robot": landed.robot,
        "finished": landed.ended,
        "planned": len(plan.trials),
        "trials": len(recorded),
        "lost": _lost(plan, recorded, landed.trials, finished=landed.ended),
        "repeated": landed.shown_again,
        "starts": len(headers),
        "timing": timing_summary(shown, headers),
        "log": str(path),
    }
    if score:
        document |= _scores(workspace, plan)
    return document


def timing_summary(shown: Iterable[TrialRecord], headers: Iterable[Header]) -> dict[str, Any]:
    """Statuses, and image and mask durations in milliseconds."""
    shown = list(shown)
    masked = [record for record in shown if record.image_s > 0]
    return {
        "modes": sorted({header.timing_mode for header in headers}),
        "status": dict(Counter(record.status for record in shown)),
        "image_ms": spread([record.image_s * 1e3 for record in masked]),
        "mask_ms": spread([record.mask_s * 1e3 for record in masked]),
        "dropped_frames": sum(record.dropped_frames for record in shown),
        "latency_s": spread([one.latency_s for one in shown if one.latency_s is not None]),
        "missed": sum(one.error == MISSED for one in shown),
        "early_keys": sum(len(record.early_keys) for record in shown),
    }


def spread(values: list[float]) -> dict[str, float] | None:
    """Number, mean, standard deviation, least and greatest; None of nothing."""
    if not values:
        return None
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return {
        "n": len(values),
        "mean": round(statistics.fmean(values), 3),
        "sd": round(sd, 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
    }


def _lost(plan: ParticipantPlan, recorded: set[int], in_catalog: int, *, finished: bool) -> int:
    """Trials that were shown and are not in the catalog; of a finished session, all of the plan."""
    expected = len(plan.trials) if finished else len(recorded)
    return expected - min(len(recorded), in_catalog)


def _scores(workspace: Workspace, plan: ParticipantPlan) -> dict[str, Any]:
    command = [sys.executable, "-m", "rig", "-w", str(workspace.root), "evaluate", "score"]
    command += ["--protocol", PROTOCOL, "--json"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise ExperimentError(
            "the session is stored, but `snaprig evaluate score` failed; see above"
        )
    with workspace.catalog() as catalog:
        observer_id = next(
            (one.id for one in list_observers(catalog) if one.name == plan.participant), None
        )
        conditions = load_conditions(catalog)
        rows = (
            [] if observer_id is None else load_scored(catalog, observer_id, PROTOCOL, conditions)
        )
    tasks = {trial.task for trial in plan.trials}
    right: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        if row.task in tasks:  # no answer counts as a wrong one
            right[row.task].append(bool(row.soft))
    every = [one for some in right.values() for one in some]
    return {
        "scored": len(every),
        "accuracy": round(statistics.fmean(every), 4) if every else None,
        "accuracy_by_task": {
            task: round(statistics.fmean(some), 4) for task, some in sorted(right.items())
        },
    }
