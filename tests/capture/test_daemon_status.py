"""One sentence a state, and none but idle looks idle."""

import itertools
from dataclasses import replace

import pytest

from capture.daemon.jobs import ENDED, BatchSpec, Cause, Fault, Job, PreflightSpec, State, SweepSpec
from capture.daemon.questions import Question
from capture.daemon.status import Situation, confirmation, left_text, sentence, state_of
from capture.states import RunState

JOB = Job(
    SweepSpec(scene="cups-3", lighting="bright"),
    state=State.RUNNING,
    scene="cups-3",
    lighting="bright",
    planned=630,
    done=214,
)
QUESTION = Question("operator", "the mode dial is on P", "turn it to M", ("done", "stop"))


def situation(state, **changes):
    job = replace(
        JOB, state=state, cause=changes.pop("cause", None), fault=changes.pop("fault", None)
    )
    question = QUESTION if state is State.NEEDS_OPERATOR else None
    given = {"phase": RunState.RUNNING, "left_s": 1260.0, "question": question, **changes}
    return Situation(state, job, **given)


def test_every_state_has_a_sentence_of_its_own():
    told = {state: sentence(situation(state))[0] for state in State}
    assert len(set(told.values())) == len(State)
    for state, text in told.items():
        assert text.endswith((".", "P")), text
        assert text.startswith("Idle") is (state is State.IDLE)
    for state in set(State) - {State.IDLE, State.PREPARING, State.NEEDS_OPERATOR}:
        assert "214 of 630" in told[state], state
    for state in set(State) - {State.IDLE, State.NEEDS_OPERATOR}:
        assert "cups-3 under bright" in told[state] or state in ENDED, state


def test_who_must_act_is_said_where_somebody_must():
    acts = {state for state in State if sentence(situation(state, unfinished="x"))[1]}
    assert acts == {
        State.IDLE,
        State.PAUSED,
        State.NEEDS_OPERATOR,
        State.FAILED,
        State.INTERRUPTED,
    }
    assert sentence(situation(State.NEEDS_OPERATOR)) == (
        "Waiting for you: the mode dial is on P",
        "turn it to M",
    )


@pytest.mark.parametrize("cause", [c for c in Cause if c is not Cause.COMPLETED])
@pytest.mark.parametrize("spec", [JOB.spec, BatchSpec(batch="b.toml"), PreflightSpec()])
def test_an_end_says_why(cause, spec):
    fault = Fault("code", "the lamp went out", "change it")
    for state in (State.FAILED, State.INTERRUPTED):
        now = situation(state, cause=cause, fault=fault)
        text, action = sentence(replace(now, job=replace(now.job, spec=spec)))
        assert "lamp" in text or cause is Cause.LIMIT
        assert action


def test_the_time_left_is_on_hold_while_paused():
    assert left_text(State.RUNNING, 1260.0) == "21 min left"
    assert left_text(State.PAUSED, 1260.0) == "on hold, 21 min of shooting left"
    assert left_text(State.PAUSED, None) == "on hold"
    assert "measuring" in left_text(State.RUNNING, None)


def test_the_camera_that_is_woken_and_the_pause_that_is_late_are_told():
    waking = sentence(situation(State.RUNNING, phase=RunState.RECONNECTING, message="reconnecting"))
    assert waking[0].startswith("Waking the camera (reconnecting)")
    late = sentence(situation(State.PAUSING, late=True))
    assert "longer than any exposure" in late[0]
    assert "stop" in late[1]


def test_a_stop_is_asked_with_what_is_lost():
    text = confirmation(JOB)
    assert "cups-3 under bright" in text
    assert "214 of 630" in text
    assert "416 are missing" in text


FLAGS = ("stopping", "held", "asking", "resuming", "light", "batch")


@pytest.mark.parametrize("phase", RunState)
def test_a_job_at_hand_never_looks_idle_or_over(phase):
    for values in itertools.product((False, True), repeat=len(FLAGS)):
        flags = dict(zip(FLAGS, values, strict=True))
        state = state_of(phase, **flags)
        assert state not in ENDED | {State.IDLE}
        assert (state is State.STOPPING) is flags["stopping"] or phase in (
            RunState.STOPPING,
            RunState.STOPPED,
            RunState.FAILED,
        )


def test_a_sweep_of_a_batch_that_ended_is_followed_by_the_next():
    none = dict.fromkeys(FLAGS, False)
    assert state_of(RunState.DONE, **none | {"batch": True}) is State.PREPARING
    assert state_of(RunState.FAILED, **none | {"batch": True}) is State.PREPARING
    assert state_of(RunState.DONE, **none) is State.RUNNING
    assert state_of(RunState.PAUSED, **none | {"resuming": True}) is State.RESUMING
    assert state_of(RunState.RUNNING, **none | {"held": True}) is State.PAUSING
    assert state_of(RunState.PAUSED, **none | {"held": True}) is State.PAUSED
