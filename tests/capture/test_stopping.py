"""Asking a run to stop, by signal and by hand; one owner at a time."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from capture.stopping import StopRequest, stop_on_signals
from rig.errors import Abort
from rig.ownership import owned
from tests.darkroom_process import ROOT


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def interrupt(number):
    os.kill(os.getpid(), number)
    wait_for(lambda: False)


def test_the_first_reason_stays():
    stop = StopRequest()
    assert not stop.asked
    assert not stop.wait(0)
    stop.ask("Ctrl-C")
    stop.ask("SIGTERM")
    assert stop.reason == "Ctrl-C"
    assert stop.wait(1000)


def test_a_wait_ends_when_somebody_asks():
    stop = StopRequest()
    threading.Timer(0.01, stop.ask, ["enough"]).start()
    assert stop.wait(1000)


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")],
)
def test_a_signal_asks_and_a_second_one_interrupts(number, name):
    stop, said = StopRequest(), []
    before = signal.getsignal(number)
    with stop_on_signals(stop, said.append):
        os.kill(os.getpid(), number)
        wait_for(lambda: stop.asked)
        assert stop.reason == name
        with pytest.raises(KeyboardInterrupt):
            interrupt(number)
    assert said == [
        f"{name}: stopping after the frame at hand (again: at once)",
        f"{name}: stopping at once",
    ]
    assert signal.getsignal(number) == before
    assert number not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_sigint_that_a_shell_ignored_for_a_background_job_is_obeyed():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stop = StopRequest()
        with stop_on_signals(stop, lambda _text: None):
            os.kill(os.getpid(), signal.SIGINT)
            wait_for(lambda: stop.asked)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_nohup_is_respected():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop = StopRequest()
        with stop_on_signals(stop, lambda _text: None):
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.wait(0.05)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_workspace_has_one_owner(lab):
    holder = rf"process {os.getpid()} \(since .* UTC\)"
    with owned(lab.workspace), pytest.raises(Abort, match=holder), owned(lab.workspace):
        pass
    with owned(lab.workspace):
        pass


def test_a_killed_owner_holds_nothing(lab):
    code = (
        "import sys, time; from pathlib import Path; from rig.ownership import owned\n"
        "from schemas.workspace import Workspace\n"
        "with owned(Workspace(Path(sys.argv[1]))): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(lab.workspace.root)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(Abort, match=f"process {process.pid} "), owned(lab.workspace):
            pass
        process.kill()
        process.wait()
    with owned(lab.workspace):
        pass
