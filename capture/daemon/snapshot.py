"""The snapshot of a daemon as one JSON document, and what is worth an alert."""

from __future__ import annotations

from typing import Any

from capture.daemon.alerts import Alert
from capture.daemon.events import Hub
from capture.daemon.jobs import Cause, Fault, State
from capture.daemon.live import Live
from capture.daemon.status import confirmation, left_text, sentence
from capture.progress import duration
from schemas.records import utc_now

#: Something that may end by itself is no alarm before so long.
_GRACE_S = 30.0


def snapshot(live: Live, hub: Hub, version: str, alert: Alert | None) -> dict[str, Any]:
    """Everything that a page needs at first."""
    with live.lock:
        live.settle_time()
        job, question = live.job, live.board.open
        text, following = sentence(live.situation)
        document: dict[str, Any] = {
            "boot": hub.boot,
            "seq": hub.seq,
            "turn": live.turns,
            "rev": live.rev,
            "version": version,
            "now": utc_now().isoformat(timespec="milliseconds"),
            "simulated": bool(job and job.simulated),
            "state": live.state,
            "phase": live.phase if live.running else None,
            "sentence": text,
            "next": following,
            "job": None,
            "light": live.light and {"lux": None, "trouble": "", **live.light},
            "question": question.to_json() if question else None,
            "last_frame": live.last_frame,
            "batch": _legs(live),
            "unfinished": str(live.unfinished) if live.unfinished else None,
            "alert": alert.to_json() if alert else None,
            "confirm": None,
            "can": _can(live),
            "rig": live.rig,
        }
        if job is not None:
            document["job"] = job.to_json() | _progress(live)
            if live.running:
                document["confirm"] = {"job": job.id, "text": confirmation(job)}
        return document


def _progress(live: Live) -> dict[str, Any]:
    if not live.running:
        return {"shot": None, "left_s": None, "left_text": "", "shots_per_min": None}
    rate = live.shots_per_min
    return {
        "shot": live.shot,
        "left_s": None if live.left_s is None else round(live.left_s, 1),
        "left_text": left_text(live.state, live.left_s),
        "shots_per_min": None if rate is None else round(rate, 2),
    }


def _can(live: Live) -> dict[str, Any]:
    """Whether a command would do something, or why not."""
    job, stop = live.job, live.stop
    answer: bool | str = True if live.board.open else "nothing was asked"
    if job is None or job.over:
        batch = job is not None and job.spec.kind == "batch" and job.state is not State.DONE
        return {
            "start": True,
            "pause": "nothing runs",
            "resume": True if live.unfinished or batch else "every sweep has all its frames",
            "stop": "nothing runs",
            "answer": answer,
        }
    can: dict[str, Any] = {"start": f"{job.title} is not over", "answer": answer}
    if stop.asked:
        return can | dict.fromkeys(("pause", "resume", "stop"), "it stops")
    can |= {"stop": True, "pause": True, "resume": "nothing is paused"}
    if job.spec.kind == "preflight":
        can["pause"] = "a preflight does not pause"
    elif stop.held:
        can |= {"pause": "it pauses already", "resume": True}
    return can


def _legs(live: Live) -> dict[str, Any] | None:
    if live.batch is None or live.job is None:
        return None
    (name, standings, run), job = live.batch, live.job
    legs, total_s, at = [], 0.0, None
    for one in standings:
        leg = one.leg
        here = (leg.scene.name, leg.lighting.name) == (job.scene, job.lighting)
        left_s = 0.0 if one.complete else one.left_s(run.pace)
        state = "complete" if one.complete else "waiting"
        if here and not job.over and not one.complete:
            state, at = "current", leg.number
            left_s = left_s if live.left_s is None else live.left_s
        total_s += left_s
        legs.append(
            {
                "number": leg.number,
                "scene": leg.scene.name,
                "lighting": leg.lighting.name,
                "state": state,
                "done": job.done if here else one.planned - len(one.remaining),
                "planned": one.planned,
                "left_s": round(left_s, 1),
            }
        )
    left = f"{duration(total_s)} of shooting left" if total_s else "nothing left to shoot"
    return {"name": name, "at": at, "legs": legs, "left_s": round(total_s, 1), "left_text": left}


def trouble(live: Live) -> tuple[str, Fault] | None:
    """What somebody should be told of who looks at no page, with a key of this trouble."""
    with live.lock:
        job, fault, question = live.job, _fault(live), live.board.open
        if job is None or fault is None:
            return None
        return f"{job.id} {fault.code} {question.id if question else ''}", fault


def _fault(live: Live) -> Fault | None:
    job, question = live.job, live.board.open
    if job is None:
        return None
    text, action = sentence(live.situation)
    lasts_s = live.clock() - live.since_s
    code = ""
    if job.over:
        if job.state is State.FAILED or job.cause in (Cause.OPERATOR, Cause.KILLED):
            code = str(job.cause)
    elif question is not None and question.kind == "operator":
        code = "question"
    elif live.late:
        code = "pause_late"
    elif live.state is State.NEEDS_OPERATOR and lasts_s > _GRACE_S:
        code = "question" if question else "light"
    return Fault(code, text, action) if code else None
