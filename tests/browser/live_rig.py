"""A `snaprig daemon` on the devices of a virtual dark room, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rig.config import default_rig_toml
from schemas.capture_store import add_scene
from schemas.plan import SweepPlan
from schemas.records import Scene
from schemas.workspace import Workspace
from tests.capture.fault_lab import squares
from tests.darkroom_process import ROOT, DarkroomProcess, darkroom

#: Accepted, black and white; the marked times are the real ones.
QUICK = SweepPlan(shutter=("1/4000", "1/60", "1/8"), iso=(100, 6400), f_number=(5.6,))
#: Long enough to be stopped by a person.
SLOW = SweepPlan(shutter=("1",), iso=(100, 200, 400), f_number=(5.6, 8, 11, 16))
#: Long enough for a kill in the middle.
SHORT = SweepPlan(shutter=("0.5",), iso=(100, 200, 400), f_number=(8, 11))
NAMES = ("cups", "balls", "mugs", "plates", "lamps")


@dataclass
class LiveRig:
    """The dark room, the workspace, and the daemon that runs on them."""

    room: DarkroomProcess
    workspace: Workspace
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)
    options: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the daemon, and wait until it listens."""
        command = [sys.executable, "-m", "rig", "-w", str(self.workspace.root), "daemon"]
        command += ["--listen", f"127.0.0.1:{self.port}", *self.options]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        announced = self.workspace.root / "daemon.json"
        while not self._announces(announced):
            assert self.process.poll() is None, "the daemon did not start"
            time.sleep(0.05)

    def _announces(self, path: Path) -> bool:
        try:
            return bool(self.process and json.loads(path.read_text())["pid"] == self.process.pid)
        except FileNotFoundError:
            return False

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the daemon; returns its exit status."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        try:
            return self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process = None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def live_rig(folder: Path) -> Iterator[LiveRig]:
    """Within: a daemon with scenes and two plans, and nothing shot yet."""
    # libgphoto2 keeps settings in the user's folder: none of it here.
    (folder / "xdg" / "gphoto").mkdir(parents=True)
    os.environ["XDG_CONFIG_HOME"] = str(folder / "xdg")
    with darkroom(squares(folder / "squares.png"), timescale=1.0, seed=3) as room:
        text = default_rig_toml(room.camera, room.hub).replace("settle_s = 2.0", "settle_s = 0.5")
        workspace = Workspace.create(folder / "lab", text)
        with workspace.catalog() as catalog:
            for name in NAMES:
                add_scene(catalog, Scene(name, "square", 8))
        for name, plan in (("quick", QUICK), ("slow", SLOW), ("short", SHORT)):
            (workspace.root / f"{name}.toml").write_text(plan.to_toml())
        rig = LiveRig(room, workspace, free_port())
        rig.start()
        try:
            yield rig
        finally:
            rig.end()
