"""Where things stand, in one sentence and as one document. Pure.

The sentence is written here and nowhere else: page, terminal and API show the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

from capture.daemon.jobs import Cause, Job, State
from capture.daemon.questions import Question
from capture.progress import duration
from capture.states import RunState

#: What the engine does, as a state of the daemon.
_STATES = {
    RunState.PREPARING: State.PREPARING,
    RunState.RUNNING: State.RUNNING,
    RunState.RECONNECTING: State.RUNNING,
    RunState.SUSPENDED: State.NEEDS_OPERATOR,
    RunState.ASKING: State.RUNNING,  # as long as no question is open yet, or any more
    RunState.PAUSING: State.PAUSING,
    RunState.PAUSED: State.PAUSED,
    RunState.DONE: State.RUNNING,  # the last rows are written
}
_ENDS = {RunState.DONE, RunState.STOPPED, RunState.FAILED}
#: In these a run is on its way, and a pause will come.
_ON_ITS_WAY = {
    RunState.PREPARING,
    RunState.RUNNING,
    RunState.RECONNECTING,
    RunState.SUSPENDED,
    RunState.PAUSING,
}
#: In these nothing is shot: the time counts as paused.
WAITING = frozenset({State.PAUSED, State.NEEDS_OPERATOR})


def state_of(
    phase: RunState,
    *,
    stopping: bool,
    held: bool,
    asking: bool,
    resuming: bool,
    light: bool,
    batch: bool = False,
) -> State:
    """The state of a daemon with a job at hand.

    Parameters
    ----------
    phase : RunState
        What the engine said last.
    stopping, held : bool
        What it was asked for.
    asking : bool
        Whether a question is open.
    resuming : bool
        Whether it was told to go on and has not said so yet.
    light : bool
        Whether it waits for somebody to set the panels.
    batch : bool
        Whether another sweep follows one that has ended.
    """
    if stopping:
        return State.STOPPING
    if asking or light:
        return State.NEEDS_OPERATOR
    if held and phase in _ON_ITS_WAY:
        return State.PAUSING
    if resuming and phase in (RunState.PAUSED, RunState.PAUSING):
        return State.RESUMING
    if batch and phase in _ENDS:
        return State.PREPARING
    return _STATES.get(phase, State.STOPPING)


@dataclass(frozen=True)
class Situation:
    """All that the sentence depends on.

    Attributes
    ----------
    job : Job or None
        The one at hand, or the last one.
    phase : RunState
    message : str
        What the engine said last.
    question : Question or None
    left_s : float or None
        Of the shooting.
    late : bool
        Whether a pause takes longer than any exposure.
    unfinished : str
        The sweep that could go on; empty if there is none.
    """

    state: State
    job: Job | None = None
    phase: RunState = RunState.PREPARING
    message: str = ""
    question: Question | None = None
    left_s: float | None = None
    late: bool = False
    unfinished: str = ""


def left_text(state: State, left_s: float | None) -> str:
    """The time left, for a person."""
    if state is State.PAUSED:
        return "on hold" if left_s is None else f"on hold, {duration(left_s)} of shooting left"
    return "still measuring how long it takes" if left_s is None else f"{duration(left_s)} left"


def sentence(now: Situation) -> tuple[str, str]:  # noqa: PLR0911 - one a state
    """What is being done and how far, and what somebody has to do next (empty: nothing)."""
    job = now.job
    if job is None or now.state is State.IDLE:
        if now.unfinished:
            return f"Idle. Unfinished: {now.unfinished}.", "resume it, or start another sweep"
        return "Idle: nothing is being shot.", "start a sweep"
    if job.over:
        return _ended(now, job)
    of = f"{job.done} of {job.planned} shots"
    what = _capital(job.title)
    match now.state:
        case State.PREPARING:
            doing = now.message or "checking camera, meter and light"
            return f"Preparing {job.title}: {doing}.", ""
        case State.RUNNING if now.phase is RunState.RECONNECTING:
            doing = now.message or "it does not answer"
            return f"Waking the camera ({doing}); {what.lower()} stands at {of}.", ""
        case State.RUNNING:
            left = left_text(now.state, now.left_s)
            return f"Shooting {_object(job)}: {of}, {left}.", ""
        case State.PAUSING if now.late:
            return (
                f"Pausing takes longer than any exposure: the camera does not answer. "
                f"{what} stands at {of}.",
                "look at the camera, or stop",
            )
        case State.PAUSING:
            return f"Pausing after the frame at hand: {what.lower()} stands at {of}.", ""
        case State.PAUSED:
            hold = left_text(now.state, now.left_s)
            return f"Paused: {what.lower()} stands at {of}, {hold}.", "resume, or stop"
        case State.RESUMING:
            return f"Going on with {job.title} at {of}.", ""
        case State.NEEDS_OPERATOR if now.question is not None:
            return f"Waiting for you: {now.question.text}", now.question.action
        case State.NEEDS_OPERATOR:
            return (
                f"Waiting for the light: {now.message or 'it is wrong'}.",
                "set the panels, look at lamp and meter; it goes on by itself",
            )
    return f"Stopping after the frame at hand: {what.lower()} stands at {of}.", ""


def _ended(now: Situation, job: Job) -> tuple[str, str]:  # noqa: PLR0911 - one a cause
    missing = max(job.planned - job.done, 0)
    of = f"{job.done} of {job.planned} shots have their frame"
    fault = job.fault
    why = f": {fault.text}" if fault else ""
    resume = "resume it, or start another sweep" if now.unfinished else "start a sweep"
    if job.spec.kind == "preflight":
        if job.state is State.DONE:
            return "The preflight is done.", "look at its findings, then start a sweep"
        return f"The preflight ended early{why}.", (fault.action if fault else "") or "run it again"
    if job.spec.kind == "batch":
        return _batch_ended(job, why)
    match job.state, job.cause:
        case State.DONE, _:
            return f"Done: {job.title} is complete, {job.done} of {job.planned} shots.", ""
        case State.FAILED, _:
            text = f"Failed{why or f': {job.title}'}."
            return f"{text} {of}." if job.planned else text, (fault and fault.action) or resume
        case _, Cause.KILLED:
            return f"Interrupted{why}; {of}.", resume
        case _, Cause.LIMIT:
            return f"Took as many shots as it was asked for: {of}, {missing} are missing.", resume
        case _, Cause.OPERATOR:
            return f"Interrupted{why}; {of}.", (fault and fault.action) or resume
    return f"Stopped {job.title}{why}; {of}, {missing} are missing.", resume


def _batch_ended(job: Job, why: str) -> tuple[str, str]:
    if job.state is State.DONE:
        return f"Done: {job.title} is complete.", ""
    how = "Failed" if job.state is State.FAILED else "Stopped"
    if job.cause in (Cause.KILLED, Cause.OPERATOR):
        how = "Interrupted"
    action = job.fault.action if job.fault else ""
    return f"{how} {job.title}{why}.", action or "resume it: what is complete is skipped"


def confirmation(job: Job) -> str:
    """What a person reads before a stop: what is kept and what is lost."""
    missing = max(job.planned - job.done, 0)
    return (
        f"Stop {job.title}? {job.done} of {job.planned} shots have their frame and keep it; "
        f"{missing} are missing and can be shot later."
    )


def _object(job: Job) -> str:
    """``cups-3 under bright``."""
    return job.title.removeprefix("the sweep of ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
