"""The diagram of a run's states, arrow by arrow."""

import itertools

import pytest

from capture.states import ARROWS, Machine, RunState
from rig.errors import Abort, AskOperator, Reconnect
from schemas.capture_store import list_runs
from tests.capture.lab import NoWait

S = RunState
FINAL = {S.DONE, S.STOPPED, S.FAILED}


def walk(lab):
    """States in the order they were seen."""
    return [state for state, _ in itertools.groupby(s.state for s in lab.snapshots)]


@pytest.mark.parametrize(("origin", "target"), list(itertools.product(RunState, RunState)))
def test_every_arrow_is_allowed_and_no_other(origin, target):
    machine = Machine()
    machine._state = origin
    if target in ARROWS[origin]:
        machine.to(target)
        assert machine.state is target
    else:
        with pytest.raises(RuntimeError, match=f"from {origin} to {target}"):
            machine.to(target)
        assert machine.state is origin


def test_every_state_can_be_reached_and_only_final_ones_are_left_by_nothing():
    assert {target for arrows in ARROWS.values() for target in arrows} == set(RunState) - {
        S.PREPARING
    }
    assert {state for state, arrows in ARROWS.items() if not arrows} == FINAL


def test_a_smooth_run(lab):
    assert lab.sweep().status == "done"
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.DONE]


def test_a_lost_camera_that_comes_back(lab):
    lab.camera.faults.add("shoot", Reconnect("pulled"))
    assert lab.sweep().status == "done"
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.RECONNECTING, S.RUNNING, S.DONE]


def test_a_lost_camera_that_stays_away(lab):
    opened = lab.camera.open

    def only_once():
        if lab.camera.sets:
            raise Reconnect("still away")
        return opened()

    lab.camera.open = only_once
    lab.camera.faults.add("shoot", Reconnect("pulled"))
    assert lab.sweep().status == "stopped"
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.RECONNECTING, S.STOPPING, S.STOPPED]


@pytest.mark.parametrize(
    ("error", "end"), [(AskOperator("card full"), S.STOPPED), (Abort("no"), S.FAILED)]
)
def test_a_device_error_that_ends_the_run(lab, error, end):
    lab.camera.faults.add("apply", error)
    assert lab.sweep().status == end
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.STOPPING, end]


def test_a_defect_fails_the_run(lab):
    lab.camera.faults.add("apply", ValueError("a defect"))
    with pytest.raises(ValueError, match="a defect"):
        lab.sweep()
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.STOPPING, S.FAILED]


def test_a_stop_while_running(lab):
    stop = NoWait()
    taken = []

    def watch(snapshot):
        lab.snapshots.append(snapshot)
        taken.append(snapshot.shot)
        if len([shot for shot in taken if shot]) == 3:
            stop.ask("Ctrl-C")

    summary = lab.sweep(stop=stop, watch=watch)
    assert (summary.status, summary.reason, summary.attempts) == ("stopped", "Ctrl-C", 3)
    assert len(lab.frames()) == 3
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.STOPPING, S.STOPPED]


def test_a_stop_while_reconnecting(lab):
    stop = NoWait()

    def watch(snapshot):
        lab.snapshots.append(snapshot)
        if snapshot.state is S.RECONNECTING:
            stop.ask("SIGTERM")

    lab.camera.faults.add("shoot", Reconnect("pulled"))
    assert lab.sweep(stop=stop, watch=watch).reason == "SIGTERM"
    assert walk(lab)[-3:] == [S.RECONNECTING, S.STOPPING, S.STOPPED]


def test_shots_that_were_given_up_fail_the_run_at_its_end(lab):
    lab.spoil(2, 3, lambda data: data[:100])
    summary = lab.sweep(attempts=3)
    assert summary.status == "failed"
    states = [state for state in walk(lab) if state is not S.RECONNECTING]
    assert [state for state, _ in itertools.groupby(states)] == [
        S.PREPARING,
        S.RUNNING,
        S.STOPPING,
        S.FAILED,
    ]


def test_a_limited_run_is_not_done(lab):
    assert lab.sweep(limit=2).status == "stopped"
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.STOPPING, S.STOPPED]


def test_a_refusal_while_preparing_leaves_no_run(lab):
    lab.camera.dial = "P"
    with pytest.raises(AskOperator, match="dial is on P"):
        lab.sweep()
    assert walk(lab) == [S.PREPARING]
    assert not list_runs(lab.catalog)
