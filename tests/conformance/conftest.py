"""The devices that the conformance suites run over.

``memory``: `tests.devices`. ``wire``: the real drivers against the virtual dark room, a process of
its own. ``real``: whatever ``pytest --rig rig.toml`` names; skipped without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rig.bench import meter_of
from rig.config import CameraConfig, MeterConfig, RigConfig
from tests.conformance.under_test import CameraUnderTest, MeterUnderTest, on_the_wire
from tests.darkroom_process import DarkroomProcess, darkroom
from tests.devices import FakeClock, InMemoryCamera, InMemoryMeter

KINDS = ["memory", pytest.param("wire", marks=pytest.mark.wire), "real"]


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A photograph of gray stripes."""
    path = tmp_path_factory.mktemp("scene") / "stripes.png"
    stripes = np.repeat(np.linspace(5, 250, 16).astype(np.uint8), 48)
    Image.fromarray(np.tile(stripes, (512, 1))).convert("RGB").save(path)
    return path


@pytest.fixture(scope="session")
def shared_room(scene: Path) -> Iterator[DarkroomProcess]:
    """One dark room for all tests that leave it as it was."""
    with darkroom(scene, timescale=0) as room:
        yield room


@pytest.fixture
def room(shared_room: DarkroomProcess) -> Iterator[DarkroomProcess]:
    yield shared_room
    shared_room.post("/dial", {"mode": "M"})
    shared_room.post("/lux", {"lux": 1000})
    shared_room.post("/meter", {"plugged": True})


@pytest.fixture
def real(request: pytest.FixtureRequest) -> RigConfig:
    path = request.config.getoption("--rig", default=None)
    if path is None:
        pytest.skip("no real devices: give --rig rig.toml")
    return RigConfig.load(Path(path))


@pytest.fixture(params=KINDS)
def camera_under_test(request: pytest.FixtureRequest) -> CameraUnderTest:
    match request.param:
        case "memory":
            body = InMemoryCamera(FakeClock())

            def turn_dial(mode: str) -> None:
                body.dial = {"M": "Manual"}.get(mode, mode)

            return CameraUnderTest(
                make=lambda: body,
                settings=lambda: dict(body.settings),
                exposures=lambda: len(body.taken),
                turn_dial=turn_dial,
            )
        case "wire":
            room = request.getfixturevalue("room")
            found = on_the_wire(CameraConfig(port=room.camera))
            return replace(found, turn_dial=lambda mode: room.post("/dial", {"mode": mode}))
        case _:
            return on_the_wire(request.getfixturevalue("real").camera)


@pytest.fixture(params=KINDS)
def meter_under_test(request: pytest.FixtureRequest) -> MeterUnderTest:
    match request.param:
        case "memory":
            meter = InMemoryMeter(FakeClock())

            def set_lux(lux: float) -> None:
                meter.lux = lux

            return MeterUnderTest(make=lambda: meter, set_lux=set_lux)
        case "wire":
            room = request.getfixturevalue("room")
            return MeterUnderTest(
                make=lambda: meter_of(MeterConfig(hub=room.hub)),
                set_lux=lambda lux: room.post("/lux", {"lux": lux}),
                plug=lambda plugged: room.post("/meter", {"plugged": plugged}),
            )
        case _:
            config = request.getfixturevalue("real").meter
            return MeterUnderTest(make=lambda: meter_of(config))
