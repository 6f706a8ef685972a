"""A pause of a run: after the frame at hand, for as long as wanted, and steered by signals."""

import itertools
import os
import signal
import subprocess
import sys

import pytest

from capture.asking import helped
from capture.states import RunState as S
from capture.steering import GO_ON, PAUSE, tell
from capture.stopping import StopRequest, stop_on_signals
from rig.errors import Abort, AskOperator, Reconnect
from rig.ownership import holder, owned
from tests.capture.lab import NoWait
from tests.capture.test_stopping import wait_for
from tests.darkroom_process import ROOT


def walk(lab):
    return [state for state, _ in itertools.groupby(s.state for s in lab.snapshots)]


class Person:
    """Asks for a pause at the n-th exposure, and does something after a while of it."""

    def __init__(self, lab, at, then, looks=5):
        self.lab, self.at, self.then, self.looks = lab, at, then, looks
        self.stop = NoWait()
        self.rows_while_paused = set()

    def watch(self, snapshot):
        self.lab.snapshots.append(snapshot)
        if snapshot.shot and len(self.lab.camera.taken) == self.at:
            self.stop.hold()
        if snapshot.state is S.PAUSED:
            self.rows_while_paused.add((len(self.lab.frames()), len(self.lab.camera.taken)))
            self.looks -= 1
            if self.looks == 0:
                self.then(self.stop)


def test_a_pause_comes_when_what_is_in_hand_is_stored(lab):
    person = Person(lab, 3, StopRequest.release)
    summary = lab.sweep(stop=person.stop, watch=person.watch)
    assert (summary.status, summary.remaining) == ("done", 0)
    assert walk(lab) == [S.PREPARING, S.RUNNING, S.PAUSING, S.PAUSED, S.RUNNING, S.DONE]
    ((rows, pictures),) = person.rows_while_paused
    assert rows == pictures == 4
    assert [kind for kind, _ in lab.events()] == ["paused", "pause_ended"]
    assert len(lab.camera.taken) == 8


def test_a_pause_is_no_time_of_the_sweep(lab):
    """Minutes of pause leave rate and time left as they were."""
    plain = [s.shots_per_min for s in lab.snapshots]
    person = Person(lab, 3, StopRequest.release, looks=1_200)
    lab.sweep(stop=person.stop, watch=person.watch)
    paused = [s for s in lab.snapshots if s.state is S.PAUSED]
    assert lab.clock.now_s() > 300
    assert len({round(s.left_s, 6) for s in paused}) == 1
    assert max(s.shots_per_min for s in paused) < 1.2 * min(s.shots_per_min for s in paused)
    assert plain == []


def test_a_stop_ends_a_pause(lab):
    person = Person(lab, 3, lambda stop: stop.ask("enough"))
    summary = lab.sweep(stop=person.stop, watch=person.watch)
    assert (summary.status, summary.reason, summary.remaining) == ("stopped", "enough", 4)
    assert walk(lab)[-3:] == [S.PAUSED, S.STOPPING, S.STOPPED]
    assert lab.sweep().status == "done"
    assert len(lab.camera.taken) == 8


def test_a_pause_before_the_first_shot(lab):
    person = Person(lab, -1, StopRequest.release)
    person.stop.hold()
    assert lab.sweep(stop=person.stop, watch=person.watch).status == "done"
    assert person.rows_while_paused == {(0, 0)}


def test_a_pause_while_the_light_is_wrong(lab):
    person = Person(lab, -1, StopRequest.release)

    def watch(snapshot):
        person.watch(snapshot)
        if len(lab.camera.taken) == 2:
            lab.meter.lux = 500
        if snapshot.state is S.SUSPENDED and person.looks > 0:
            person.stop.hold()
        if snapshot.state is S.PAUSED:
            lab.meter.lux = 1000

    assert lab.sweep(stop=person.stop, watch=watch).status == "done"
    states = walk(lab)
    at = states.index(S.SUSPENDED)
    assert states[at : at + 3] == [S.SUSPENDED, S.PAUSING, S.PAUSED]


def test_the_settings_are_sent_again_after_a_pause(lab):
    """Somebody may have been at the body's knobs."""
    person = Person(lab, 3, StopRequest.release)

    def watch(snapshot):
        person.watch(snapshot)
        if snapshot.state is S.PAUSED:
            lab.camera.settings["iso"] = "6400"

    assert lab.sweep(stop=person.stop, watch=watch).retries == {}


# ---- who holds a workspace


def test_a_holder_says_what_it_is(lab):
    assert holder(lab.workspace) is None
    with owned(lab.workspace):
        found = holder(lab.workspace)
        assert (found.pid, found.steerable) == (os.getpid(), False)
        with pytest.raises(Abort, match="does not pause"):
            tell(lab.workspace, PAUSE, "pause")
    with owned(lab.workspace, who="the daemon at http://x", steerable=True):
        found = holder(lab.workspace)
        assert (found.pid, found.steerable) == (os.getpid(), True)
        assert found.text.startswith("the daemon at http://x, process ")
        assert "\n" not in found.text
        with (
            pytest.raises(Abort, match="the daemon at http://x, process"),
            owned(lab.workspace),
        ):
            pass
    assert holder(lab.workspace) is None
    with pytest.raises(Abort, match="nothing runs that could stop"):
        tell(lab.workspace, PAUSE, "stop")


def test_looking_does_not_keep_anybody_out(lab, monkeypatch):
    """Whoever only looks has the lock for an instant: who wants it tries again."""
    import fcntl

    real, left = fcntl.flock, [2]

    def busy(file, how):
        if how == fcntl.LOCK_EX | fcntl.LOCK_NB and left[0]:
            left[0] -= 1
            raise BlockingIOError
        return real(file, how)

    monkeypatch.setattr(fcntl, "flock", busy)
    with owned(lab.workspace):
        assert left == [0]


def test_signals_pause_and_go_on(lab):
    stop, said = StopRequest(), []
    with stop_on_signals(stop, said.append), owned(lab.workspace, steerable=True):
        tell(lab.workspace, PAUSE, "pause")
        wait_for(lambda: stop.held)
        tell(lab.workspace, GO_ON, "go on")
        wait_for(lambda: not stop.held)
    assert not stop.asked
    assert said == ["pausing after the frame at hand; `snaprig capture resume` goes on"]
    for number in (signal.SIGUSR1, signal.SIGUSR2):  # one that comes late kills nobody
        os.kill(os.getpid(), number)


def test_a_dead_holder_is_told_nothing(lab):
    code = (
        "import sys, time; from pathlib import Path; from rig.ownership import owned\n"
        "from schemas.workspace import Workspace\n"
        "with owned(Workspace(Path(sys.argv[1])), steerable=True):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(lab.workspace.root)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        assert holder(lab.workspace).pid == process.pid
        process.kill()
        process.wait()
    with pytest.raises(Abort, match="nothing runs"):
        tell(lab.workspace, PAUSE, "pause")


# ---- helped


def test_what_a_person_can_put_right_is_asked_and_tried_again():
    troubles = [Reconnect("no camera", "plug it in"), AskOperator("the dial is on P")]
    asked = []

    def work():
        if troubles:
            raise troubles.pop(0)
        return "done"

    def ask(error):
        asked.append((str(error), error.action))
        return True

    assert helped(work, ask, StopRequest()) == "done"
    assert asked == [("no camera", "plug it in"), ("the dial is on P", "put it right")]


def test_nobody_is_asked_who_is_not_there_or_cannot_help():
    def fails(error):
        def work():
            raise error

        return work

    with pytest.raises(Reconnect, match="no camera"):
        helped(fails(Reconnect("no camera")), None, StopRequest())
    with pytest.raises(Abort):
        helped(fails(Abort("a wrong plan")), lambda _error: True, StopRequest())
    with pytest.raises(AskOperator, match="dial"):
        helped(fails(AskOperator("dial")), lambda _error: False, StopRequest())
    stop = StopRequest()
    stop.ask("Ctrl-C")
    with pytest.raises(AskOperator):
        helped(fails(AskOperator("dial")), lambda _error: True, stop)
