"""Start the virtual dark room as a process of its own and talk to its control endpoint.

Out of process because python-gphoto2 keeps the interpreter's lock in some calls: a responder in
the same process could not answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class DarkroomProcess:
    """A running dark room: the fields of its ready line, its process and its endpoint.

    `camera` is a libgphoto2 port (``ptpip:127.0.0.1:P:P``), `hub` is ``127.0.0.1:H``. The log
    begins after entry `seen`, and faults count pictures from `shot` on: see `afresh`.
    """

    camera: str
    hub: str
    control: str
    ready: dict[str, Any]
    proc: subprocess.Popen[str]
    seen: int = 0
    shot: int = 0

    def afresh(self) -> DarkroomProcess:
        """The same process for another test: put right, its log and its pictures begin now."""
        pictures = self.post("/reset", {})["pictures"]
        return replace(self, seen=len(self._request("/log")), shot=pictures)

    def script(self, name: str, at: int, **keys: Any) -> None:
        """Have a fault strike the `at`-th picture of this test."""
        self.post("/faults", [{"name": name, "at": self.shot + at, **keys}])

    def state(self) -> dict[str, Any]:
        """The room now."""
        return self._request("/state")

    def log(self, since: int = 0) -> list[dict[str, Any]]:
        """The journal: what really happened after entry `since`."""
        return self._request(f"/log?since={max(since, self.seen)}")

    def pictures(self) -> list[dict[str, Any]]:
        """The journal's exposures."""
        return [entry for entry in self.log() if entry["kind"] == "picture"]

    def post(self, path: str, document: Any) -> Any:
        """Change something: ``post("/lux", {"lux": 10})``; returns the new state."""
        return self._request(path, json.dumps(document).encode())

    def _request(self, path: str, body: bytes | None = None) -> Any:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        request = urllib.request.Request(self.control + path, body, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


@contextmanager
def darkroom(
    scene: Path,
    *,
    lux: float = 1000.0,
    timescale: float = 0.0,
    seed: int = 0,
    scene_lux: float | None = None,
    clock: str | None = None,
    faults: Path | Sequence[dict[str, Any]] = (),
    options: Sequence[str] = (),
) -> Iterator[DarkroomProcess]:
    """A dark room for the length of a `with` block; `faults` is a script's path or its entries."""
    command = [sys.executable, "-m", "hardware_mocks", "--scene", str(scene), "--lux", str(lux)]
    command += ["--timescale", str(timescale), "--seed", str(seed), *options]
    command += ["--end-with-stdin"]  # no orphan where a test is killed
    for name, value in (("--scene-lux", scene_lux), ("--clock", clock)):
        command += [] if value is None else [name, str(value)]
    command += ["--faults", str(faults)] if isinstance(faults, Path) else []
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as proc,
    ):
        try:
            line = proc.stdout.readline() if proc.stdout else ""
            if not line:
                proc.wait(10)
                errors.seek(0)
                raise RuntimeError(f"the dark room did not start: {errors.read()}")
            ready = json.loads(line)
            room = DarkroomProcess(ready["camera"], ready["hub"], ready["control"], ready, proc)
            if not isinstance(faults, Path) and faults:
                room.post("/faults", list(faults))
            yield room
        finally:
            proc.terminate()
            try:
                proc.wait(10)
            except subprocess.TimeoutExpired:
                proc.kill()
