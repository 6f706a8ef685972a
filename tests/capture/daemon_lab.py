"""A daemon's service over devices in memory, with a shutter that a test holds open."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.testclient import TestClient

import rig.bench
from capture.daemon.events import Hub
from capture.daemon.jobs import SweepSpec
from capture.daemon.service import Service
from capture.daemon.site import make_site
from rig.protocols import Picture
from rig.web.security import Policy
from tests.capture.lab import SMALL, Lab
from tests.devices import HastyClock

VERSION = "0.0-test"
WRITE = {"X-Snaprig": "1"}


class Shutter:
    """Holds the camera within an exposure: `wait_for(n)` returns when the n-th one has begun."""

    def __init__(self, lab: Lab) -> None:
        self._shoot = lab.camera.shoot
        self._begun = 0
        self._changed = threading.Condition()
        self._held_at: int | None = None
        lab.camera.shoot = self._held  # type: ignore[method-assign]

    def hold_at(self, number: int) -> None:
        """Have the n-th exposure last until `release`."""
        with self._changed:
            self._held_at = number

    def wait_for(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._begun >= number, 30)

    def release(self) -> None:
        with self._changed:
            self._held_at = None
            self._changed.notify_all()

    @property
    def begun(self) -> int:
        with self._changed:
            return self._begun

    def _held(self, timeout_s: float) -> Picture:
        with self._changed:
            self._begun += 1
            self._changed.notify_all()
            mine = self._begun
            self._changed.wait_for(lambda: self._held_at is None or mine < self._held_at, 60)
        return self._shoot(timeout_s)


class DaemonLab:
    """One service, what it said, and how to wait for it."""

    def __init__(self, lab: Lab, **options: Any) -> None:
        self.lab = lab
        self.shutter = Shutter(lab)
        self.hub = Hub(VERSION)
        self.service = Service(lab.workspace, self.hub, VERSION, **options)

    def begin(self, **options: Any) -> str:
        """Start the small sweep; returns the job's id."""
        options = {"plan": SMALL, "checklist_done": True, "references": False, **options}
        spec = SweepSpec(scene="cups", lighting="bright", **options)
        return self.service.begin(spec)[0].id

    @property
    def state(self) -> dict[str, Any]:
        return self.service.snapshot()

    def wait(self, *states: str) -> dict[str, Any]:
        """Wait until it is in one of these."""
        return self.until(lambda state: state["state"] in states)

    def until(self, good: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while not good(state := self.state):
            assert time.monotonic() < deadline, state["sentence"]
            time.sleep(0.005)
        return state

    def events(self, name: str) -> list[str]:
        """Data of all events of that name."""
        return [event.data for event in self.hub.since(0) or () if event.name == name]

    @contextmanager
    def site(self, **policy: Any) -> Iterator[TestClient]:
        """Everything that it serves, by HTTP in this process."""
        guard = make_site(self.service, Policy.of("127.0.0.1", **policy), VERSION)
        with TestClient(guard, base_url="http://127.0.0.1:8417", headers=WRITE) as client:
            yield client


@contextmanager
def daemon_lab(lab: Lab, monkeypatch, **options: Any) -> Iterator[DaemonLab]:
    """A service that takes orders; devices in memory, light watched by a real thread."""
    lab.clock = lab.camera.clock = lab.meter.clock = HastyClock()

    @contextmanager
    def bench(_config):
        found = lab.bench()
        try:
            yield found
        finally:
            found.camera.close()
            found.meter.close()

    monkeypatch.setattr(rig.bench, "open_bench", bench)
    monkeypatch.setattr(rig.bench, "camera_of", lambda _config: lab.camera)
    monkeypatch.setattr(rig.bench, "meter_of", lambda _config: lab.meter)
    daemon = DaemonLab(lab, **options)
    daemon.service.start()
    try:
        yield daemon
    finally:
        daemon.shutter.release()
        assert daemon.service.close(30)
