"""What the catalog says of earlier runs, for a daemon that comes back and for the page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from capture.daemon.jobs import Cause, Fault, Job, State, SweepSpec
from capture.daemon.questions import Question
from capture.daemon.status import Situation, sentence
from capture.recovery import COUNTED
from capture.states import RunState
from capture.sweep import survey
from capture.unfinished import Unfinished, find_unfinished
from rig.ownership import holder
from schemas.capture_store import Run, list_events, list_runs
from schemas.catalog import Catalog
from schemas.frame_store import FINAL
from schemas.history_store import WAITS, PastRun, last_event, latest_run, list_past_runs
from schemas.plan import SweepPlan
from schemas.records import RunStatus, utc_now
from schemas.workspace import Workspace

_CAUSES = {
    RunStatus.DONE: Cause.COMPLETED,
    RunStatus.STOPPED: Cause.STOPPED,
    RunStatus.FAILED: Cause.ERROR,
}


def unfinished_sweep(catalog: Catalog) -> Unfinished | None:
    """The sweep with shots left that ran last."""
    return next(iter(find_unfinished(catalog)), None)


def came_back(catalog: Catalog, last: Job | None, unfinished: Unfinished | None) -> Job | None:
    """The last job as it stands after a restart, counts and plan read anew.

    A `capture run` without a daemon that was killed shows the same way.
    """
    run = unfinished.run if unfinished else None
    cut_off = run is not None and run.status is None
    if run is not None and cut_off and not (last and _covers(last, run)):
        text = f"run {run.id} was cut off: the program was killed, or its power was cut"
        last = Job(
            SweepSpec(scene=run.scene, lighting=run.lighting),
            state=State.INTERRUPTED,
            cause=Cause.KILLED,
            fault=Fault("killed", text),
            scene=run.scene,
            lighting=run.lighting,
            run=run.id,
            simulated=run.simulated,
            created_at=run.started_at,
        )
    if last is not None and last.ended_at is None:
        last = replace(last, ended_at=utc_now())  # when it was found: nobody saw its end
    return last and standing_anew(catalog, last)


def _covers(job: Job, run: Run) -> bool:
    """Whether a run was part of a job, or came before it."""
    return job.run == run.id or job.ended_at is None or run.started_at <= job.ended_at


def standing_anew(catalog: Catalog, job: Job) -> Job:
    """A job with run, plan and counts as the catalog has them."""
    if not (job.scene and job.lighting):
        return job
    plan = plan_of_sweep(catalog, job.scene, job.lighting)
    if plan is None:
        return job
    now = survey(catalog, job.scene, job.lighting, plan)
    return replace(
        job,
        run=job.run or latest_run(catalog, job.scene, job.lighting),
        plan=plan,
        planned=len(plan),
        done=sum(n for outcome, n in now.counts.items() if outcome in FINAL),
        counts={str(outcome): n for outcome, n in now.counts.items()},
    )


def plan_of_sweep(catalog: Catalog, scene: str, lighting: str) -> SweepPlan | None:
    """The plan that a sweep was last run with."""
    found = [run.plan for run in list_runs(catalog, scene=scene, lighting=lighting) if run.plan]
    return found[-1] if found else None


def load_findings(catalog: Catalog) -> dict[str, Any] | None:
    """The last preflight that a run recorded."""
    found = last_event(catalog, "preflight")
    if found is None:
        return None
    at, detail = found
    return {"at": at.isoformat(timespec="seconds"), "findings": json.loads(detail)}


def history(
    catalog: Catalog, live: int | None, *, limit: int, before: int | None
) -> list[dict[str, Any]]:
    """Runs with their cause, newest first; `live` is the one at hand."""
    return [
        _told(run, running=run.id == live)
        for run in list_past_runs(catalog, limit=limit, before=before)
    ]


def _told(run: PastRun, *, running: bool) -> dict[str, Any]:
    end = run.ended_at or run.last_at or run.started_at
    total_s = (end - run.started_at).total_seconds()
    status: str = run.status or ("running" if running else "interrupted")
    cause = (
        None if running else _CAUSES.get(run.status, Cause.KILLED) if run.status else Cause.KILLED
    )
    return {
        "run": run.id,
        "scene": run.scene,
        "lighting": run.lighting,
        "simulated": run.simulated,
        "started_at": _iso(run.started_at),
        "ended_at": _iso(run.ended_at),
        "status": status,
        "cause": cause,
        "reason": run.reason,
        "planned": run.planned,
        "counts": {str(outcome): n for outcome, n in run.counts.items()},
        "work_s": round(max(total_s - run.waited_s, 0.0), 1),
        "paused_s": round(run.waited_s, 1),
        "retries": {kind: n for kind, n in run.events.items() if kind in COUNTED},
    }


def run_events(catalog: Catalog, run: int) -> list[dict[str, Any]]:
    """What happened in a run, in order."""
    return [
        {"at": _iso(event.at), "kind": event.kind, "setting": event.setting, "text": event.detail}
        for event in list_events(catalog, run)
        if event.kind != "preflight"
    ]


def offline_state(workspace: Workspace, catalog: Catalog) -> dict[str, Any]:
    """Where a workspace stands that has no daemon: from lock, runs and events."""
    owner = holder(workspace)
    found = unfinished_sweep(catalog)
    unfinished = str(found) if found else ""
    run = next(iter(list_past_runs(catalog, limit=1)), None)
    job = None
    if run is None:
        now = Situation(State.IDLE, unfinished=unfinished)
    else:
        live = owner is not None and run.status is None
        now = _live(catalog, run) if live else Situation(_ended(run))
        cause = _CAUSES[run.status] if run.status else Cause.KILLED
        job = Job(
            SweepSpec(scene=run.scene, lighting=run.lighting),
            state=now.state,
            cause=None if live else cause,
            scene=run.scene,
            lighting=run.lighting,
            run=run.id,
            simulated=run.simulated,
            created_at=run.started_at,
            ended_at=run.ended_at,
            fault=Fault("ended", run.reason) if run.reason else None,
        )
        job = standing_anew(catalog, job)
        now = replace(now, job=job, unfinished=unfinished)
    text, following = sentence(now)
    return {
        "state": now.state,
        "sentence": text,
        "next": following,
        "holder": owner.text if owner else None,
        "job": job.to_json() if job else None,
    }


def _ended(run: PastRun) -> State:
    if run.status is RunStatus.DONE:
        return State.DONE
    return State.FAILED if run.status is RunStatus.FAILED else State.INTERRUPTED


def _live(catalog: Catalog, run: PastRun) -> Situation:
    """What a run is doing, by the last of its events that begins or ends a wait."""
    kind = detail = ""
    for event in list_events(catalog, run.id):
        if event.kind in WAITS:
            kind, detail = event.kind, event.detail
        elif kind and event.kind in WAITS[kind]:
            kind = ""
    match kind:
        case "paused":
            return Situation(State.PAUSED, phase=RunState.PAUSED)
        case "suspended":
            return Situation(State.NEEDS_OPERATOR, phase=RunState.SUSPENDED, message=detail)
        case "asked":
            question = Question("operator", detail, "answer at the terminal where it runs", ())
            return Situation(State.NEEDS_OPERATOR, phase=RunState.ASKING, question=question)
    return Situation(State.RUNNING, phase=RunState.RUNNING)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
