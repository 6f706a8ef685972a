"""The daemon as a process on the wire: one owner, clients, signals, kills."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from capture.daemon.client import find_daemon
from capture.daemon.server import Listen, read_token
from rig.errors import Abort
from schemas.plan import SweepPlan
from tests.capture.fault_lab import FaultLab, squares
from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire

SNAPRIG = (sys.executable, "-m", "rig")
#: Three long shots among short ones.
LONG = SweepPlan(shutter=("30", "1/60"), iso=(100, 200, 400), f_number=(22,))


class Daemon:
    """A running daemon and a client of it."""

    def __init__(self, lab: FaultLab, *options: str, **environment: str) -> None:
        self.lab = lab
        self.process = subprocess.Popen(
            [*SNAPRIG, "-w", str(lab.root), "daemon", "--listen", "127.0.0.1:0", *options],
            cwd=ROOT,
            env={**os.environ, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.file = lab.root / "daemon.json"
        document = until(self._announced)
        self.address, self.key = document["address"], document["key"]

    def _announced(self) -> dict | None:
        assert self.process.poll() is None, self.process.communicate()[1]
        try:
            document = json.loads(self.file.read_text())
        except FileNotFoundError:
            return None
        return document if document["pid"] == self.process.pid else None

    def get(self, path: str = "/api/state") -> dict:
        return httpx.get(self.address + path, timeout=30).json()

    def post(self, path: str, **body) -> dict:
        answer = httpx.post(self.address + path, json=body, headers={"X-Snaprig": "1"}, timeout=30)
        assert answer.is_success, answer.text
        return answer.json()

    def start(self) -> dict:
        body = {"kind": "sweep", "scene": "squares", "lighting": "bright", "plan": "plan.toml"}
        rev = self.get()["rev"]
        return self.post("/api/start", **body, checklist_done=True, rev=rev)

    def wait(self, *states: str) -> dict:
        return until(lambda: (s := self.get())["state"] in states and s)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; exit status and what it said."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=90)[1]
        return self.process.returncode, said


def until(good, patience_s=90.0):
    deadline = time.monotonic() + patience_s
    while not (found := good()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


@contextmanager
def daemon(lab: FaultLab, *options: str, **environment: str) -> Iterator[Daemon]:
    running = Daemon(lab, *options, **environment)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate()


def snaprig(lab: FaultLab, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*SNAPRIG, "-w", str(lab.root), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def run_arguments(lab: FaultLab) -> tuple[str, ...]:
    plan = str(lab.root / "plan.toml")
    where = ("--scene", "squares", "--lighting", "bright")
    return ("capture", "run", *where, "--plan", plan, "--checklist-done", "--json")


@pytest.fixture(scope="module")
def slow_room(tmp_path_factory):
    """A tenth of real time: a long exposure can be met."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "xdg" / "gphoto").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "xdg"))
        with darkroom(squares(folder / "squares.png"), timescale=0.1, seed=3) as running:
            yield running


def test_one_owner_and_clients_that_find_it(make_fault_lab, fault_free, tmp_path):
    lab = make_fault_lab()
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd,
        daemon_notifying(lab, systemd, tmp_path) as running,
    ):
        assert systemd.recv(100) == b"READY=1"
        assert stat.S_IMODE(running.file.stat().st_mode) == 0o600
        second = snaprig(lab, "daemon", "--listen", "127.0.0.1:0")
        assert second.returncode == 1
        assert f"the daemon at {running.address}, process {running.process.pid}" in second.stderr
        nothing = snaprig(lab, "capture", "pause")
        assert (nothing.returncode, "nothing to pause" in nothing.stderr) == (1, True)
        ended = snaprig(lab, *run_arguments(lab))
        assert ended.returncode == 0, ended.stderr
        document = json.loads(ended.stdout)
        assert (document["status"], document["planned"]) == ("done", 20)
        assert lab.outcomes() == fault_free
        lab.check_truth()
        state = json.loads(snaprig(lab, "capture", "status", "--json").stdout)
        assert (state["state"], state["job"]["cause"]) == ("done", "completed")
        code, said = running.end(signal.SIGINT)
        assert code == 0, said
        until(lambda: systemd.recv(100) == b"STOPPING=1")
        assert not running.file.exists()
    assert snaprig(lab, "capture", "status").stdout.startswith("Done")


@contextmanager
def daemon_notifying(lab, systemd, tmp_path):
    path = str(tmp_path / "n")
    systemd.bind(path)
    systemd.settimeout(60)
    with daemon(lab, NOTIFY_SOCKET=path) as running:
        yield running


def test_killed_twice_it_says_so_and_resumes_on_request(make_fault_lab, fault_free):
    lab = make_fault_lab()
    with daemon(lab) as running:
        running.start()
        kill_at(running, 6)
    with daemon(lab) as running:
        said_to_be_interrupted(running)
        running.post("/api/resume")
        kill_at(running, 12)
    with daemon(lab) as running:
        said_to_be_interrupted(running)
        running.post("/api/resume")
        running.wait("done")
        causes = [run["cause"] for run in running.get("/api/history")]
        assert causes == ["completed", "killed", "killed"]
    assert lab.outcomes() == fault_free
    lab.check_truth()
    assert lab.statuses() == [None, None, "done"]


def kill_at(running: Daemon, frames: int) -> None:
    until(lambda: len(running.lab.outcomes()) >= frames)
    running.process.kill()
    running.process.wait()


def said_to_be_interrupted(running: Daemon) -> None:
    before = running.lab.outcomes()
    state = running.get()
    assert (state["state"], state["job"]["cause"]) == ("interrupted", "killed")
    assert "squares under bright" in state["sentence"]
    assert f"{len(before)} of 20" in state["sentence"]
    assert state["next"].startswith("resume it")
    assert running.lab.outcomes() == before, "nothing is resumed unasked"


def test_sigterm_amid_an_exposure_with_three_pages_open(slow_room, tmp_path):
    lab = FaultLab(tmp_path / "lab", slow_room.afresh(), plan=LONG)
    found = slow_room.state()["settings"]
    with daemon(lab) as running:
        streams = [threading.Thread(target=listen, args=(running,)) for _ in range(3)]
        for stream in streams:
            stream.start()
        running.start()
        until(lambda: (running.get()["job"] or {}).get("shot"))
        exposing = until(lambda: "30" in str(running.get()["job"]["shot"]) and running.get())
        assert exposing["state"] == "running"
        time.sleep(0.5)  # into the exposure
        code, said = running.end()
        assert code == 0, said
        for stream in streams:
            stream.join(30)
            assert not stream.is_alive()
    pictures = len(lab.room.pictures())
    assert len(lab.frames()) == pictures, "every picture that was taken has its row"
    lab.check_truth()
    assert lab.statuses() == ["stopped"]
    state = slow_room.state()
    assert state["buffer"] == []
    assert state["settings"] == found, "the camera is as it was found"
    with daemon(lab) as back:
        assert back.get()["job"]["cause"] == "daemon_ended"


def listen(running: Daemon) -> None:
    """A page that is open."""
    with httpx.stream("GET", f"{running.address}/api/events", timeout=60) as answer:
        for _line in answer.iter_lines():
            pass


def test_a_network_listener_needs_a_token(make_fault_lab, tmp_path):
    everywhere = Listen.parse("0.0.0.0:0")
    with pytest.raises(Abort, match="needs a token") as error:
        read_token(None, everywhere)
    assert "--token-file" in error.value.action
    assert read_token(None, Listen.parse("[::1]:8417")) is None
    token = tmp_path / "token"
    for bad in ("short\n", "", "ümlaute-sind-keine-zeichen", "two\nlines-of-a-token"):
        token.write_text(bad)
        with pytest.raises(Abort, match="16 plain characters"):
            read_token(token, everywhere)
    with pytest.raises(Abort, match="cannot be read"):
        read_token(tmp_path / "missing", everywhere)
    token.write_text("the-secret-of-this-test-0123\n")
    lab = make_fault_lab()
    with daemon(lab, "--listen", "0.0.0.0:0", "--token-file", str(token)) as running:
        for path in ("/api/state", "/api/events", "/"):
            assert httpx.get(running.address + path).status_code == 401
        key = {"Authorization": "Bearer the-secret-of-this-test-0123"}
        assert httpx.get(running.address + "/api/state", headers=key).status_code == 200
        assert find_daemon(lab.workspace).get("/api/state")["state"] == "idle", "its own key"
        _, said = running.end()
    assert "the-secret" not in said
    assert running.key not in said


@pytest.mark.parametrize("text", ["8417", "127.0.0.1", ":8417", "127.0.0.1:", "a:99999", "a:-1"])
def test_where_to_listen_is_host_and_port(text):
    with pytest.raises(ValueError, match="HOST:PORT"):
        Listen.parse(text)


def test_ctrl_c_in_a_client_stops_the_sweep(slow_room, tmp_path):
    lab = FaultLab(tmp_path / "lab", slow_room.afresh())
    with daemon(lab) as running:
        client = subprocess.Popen(
            [*SNAPRIG, "-w", str(lab.root), *run_arguments(lab)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: len(lab.outcomes()) >= 3)
        paused = snaprig(lab, "capture", "pause")
        assert paused.stdout.startswith("Pausing")
        running.wait("paused")
        assert snaprig(lab, "capture", "status").stdout.startswith("Paused")
        assert snaprig(lab, "capture", "resume").returncode == 0
        running.wait("running")
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=90)
        assert client.returncode == 3, err
        assert json.loads(out)["status"] == "stopped"
        assert running.wait("interrupted")["job"]["cause"] == "stopped"
        assert 3 <= len(lab.outcomes()) < 20
        assert snaprig(lab, "capture", "stop").returncode == 1


def test_a_person_at_a_client_answers_the_daemons_questions(make_fault_lab, fault_free):
    lab = make_fault_lab()
    lab.room.post("/dial", {"mode": "P"})
    with daemon(lab) as running:
        terminal, theirs = pty.openpty()
        client = subprocess.Popen(
            [*SNAPRIG, "-w", str(lab.root), *run_arguments(lab)],
            cwd=ROOT,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        said = bytearray()
        reader = threading.Thread(target=read_all, args=(terminal, said))
        reader.start()
        until(lambda: b"press Enter when done" in said)
        assert b"WAITING FOR YOU" in said
        assert running.get()["state"] == "needs_operator"
        lab.room.post("/dial", {"mode": "M"})
        os.write(terminal, b"\n")
        out, _ = client.communicate(timeout=90)
        assert client.returncode == 0, bytes(said)
        assert json.loads(out)["status"] == "done"
        reader.join(30)
        os.close(terminal)
    assert lab.outcomes() == fault_free


def read_all(descriptor: int, into: bytearray) -> None:
    """What a terminal shows, until nobody writes any more."""
    with contextlib.suppress(OSError):  # so it says that the other end is closed
        while data := os.read(descriptor, 4096):
            into += data


def test_a_preflight_at_a_terminal_is_made_by_the_daemon(make_fault_lab):
    """The same findings as without one, and the same exit status."""
    lab = make_fault_lab()
    arguments = ("capture", "preflight", "--lighting", "bright", "--checklist-done", "--json")
    alone = snaprig(lab, *arguments)
    with daemon(lab) as running:
        beside = snaprig(lab, *arguments)
        assert running.get()["job"]["kind"] == "preflight"
        refused = snaprig(lab, *arguments, "--hub", "127.0.0.1:1")
        assert (refused.returncode, "leave them out" in refused.stderr) == (1, True)
        lab.room.post("/dial", {"mode": "P"})
        failed = snaprig(lab, *arguments)
        lab.room.post("/dial", {"mode": "M"})

    def verdicts(ended):
        return {one["check"]: one["status"] for one in json.loads(ended.stdout)}

    assert len(verdicts(alone)) > 10
    assert (beside.returncode, verdicts(beside)) == (alone.returncode, verdicts(alone))
    assert failed.returncode == 1
    assert "fail" in verdicts(failed).values()


def test_a_run_without_a_daemon_is_steered_by_the_same_commands(slow_room, tmp_path):
    lab = FaultLab(tmp_path / "lab", slow_room.afresh())
    assert "nothing runs" in snaprig(lab, "capture", "pause").stderr
    run = subprocess.Popen(
        [*SNAPRIG, "-w", str(lab.root), *run_arguments(lab)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: len(lab.outcomes()) >= 3)
        assert "pauses" in snaprig(lab, "capture", "pause").stdout
        until(lambda: "paused" in lab.events())
        status = snaprig(lab, "capture", "status", "--json")
        document = json.loads(status.stdout)
        assert document["state"] == "paused"
        assert f"process {run.pid}" in document["holder"]
        rows, pictures = len(lab.frames()), len(lab.room.pictures())
        assert rows == pictures, "it paused with every picture stored"
        refused = snaprig(lab, "daemon", "--listen", "127.0.0.1:0")
        assert f"process {run.pid}" in refused.stderr
        assert "goes on" in snaprig(lab, "capture", "resume").stdout
        until(lambda: len(lab.frames()) > rows)
        assert snaprig(lab, "capture", "status").stdout.startswith("Shooting")
        assert "ends after the frame" in snaprig(lab, "capture", "stop").stdout
        out, err = run.communicate(timeout=90)
        assert run.returncode == 3, err
        assert json.loads(out)["status"] == "stopped"
    finally:
        run.kill()
        run.communicate()
    assert len(lab.frames()) == len(lab.room.pictures())
    lab.check_truth()
    assert "Stopped" in snaprig(lab, "capture", "status").stdout


def test_the_unit_runs_this_daemon(make_fault_lab, tmp_path):
    lab = make_fault_lab()
    token = tmp_path / "to ken"
    token.write_text("the-secret-of-this-test-0123\n")
    printed = snaprig(
        lab, "daemon", "--print-unit", "--listen", "0.0.0.0:8417", "--token-file", str(token)
    )
    unit = dict(
        line.split("=", 1) for line in printed.stdout.splitlines() if "=" in line and line[0] != "#"
    )
    assert unit["Type"] == "notify"
    assert str(lab.root.resolve()) in unit["ExecStart"]
    assert f'"{token}"' in unit["ExecStart"]
    assert int(unit["WatchdogSec"]) > int(unit["TimeoutStopSec"]) > 60 + lab.margin_s
    assert "the-secret" not in printed.stdout
    if Path("/usr/bin/systemd-analyze").exists():
        path = tmp_path / "snaprig.service"
        path.write_text(printed.stdout)
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--user", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "snaprig.service" not in checked.stderr, checked.stderr
