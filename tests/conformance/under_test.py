"""A device under test, and ways to look at it and upset it past its driver."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rig.bench import camera_of
from rig.config import CameraConfig
from rig.gphoto_names import complete_port
from rig.gphoto_session import Session
from rig.protocols import Camera, LightMeter
from tests.darkroom_process import DarkroomProcess

#: What `Camera.close` must put back, as libgphoto2 names it.
OBSERVED = ("imageformat", "drivemode", "reviewtime", "shutterspeed", "iso", "aperture")


@dataclass(frozen=True)
class CameraUnderTest:
    """A way to make the driver, and to look at the body past it (only while it is closed)."""

    make: Callable[[], Camera]
    settings: Callable[[], dict[str, str]]
    exposures: Callable[[], int]
    turn_dial: Callable[[str], object] | None = None


@dataclass(frozen=True)
class MeterUnderTest:
    """A way to make the driver, and to change the light and the cable where that can be done."""

    make: Callable[[], LightMeter]
    set_lux: Callable[[float], object] | None = None
    plug: Callable[[bool], object] | None = None


@contextmanager
def stopped(room: DarkroomProcess) -> Iterator[None]:
    """The dark room accepts connections and answers nothing, as a hung device does."""
    os.kill(room.proc.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(room.proc.pid, signal.SIGCONT)


def on_the_wire(config: CameraConfig) -> CameraUnderTest:
    """A body behind libgphoto2, watched through plain sessions."""

    @contextmanager
    def plain_session() -> Iterator[Session]:
        session = Session(complete_port(config.port))
        try:
            yield session
        finally:
            session.exit()

    def settings() -> dict[str, str]:
        with plain_session() as session:
            return {name: session.value(name) for name in OBSERVED}

    def exposures() -> int:
        with plain_session() as session:
            return int(session.value("shuttercounter"))

    return CameraUnderTest(make=lambda: camera_of(config), settings=settings, exposures=exposures)
