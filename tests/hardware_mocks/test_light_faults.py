"""Faults of light, meter, hub and host, on the meter's wire and in the files they touch."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import time
import urllib.request

import pytest

from hardware_mocks.host_faults import BALLAST, fill
from hardware_mocks.yocto_api import METER_SERIAL
from tests.darkroom_process import darkroom

pytestmark = pytest.mark.wire


@pytest.fixture(scope="module")
def shared(photo):
    with darkroom(photo, timescale=0.02) as running:
        yield running


@pytest.fixture
def faulty(shared, connect):
    def start(name: str, **keys):
        room = shared.afresh()
        room.script(name, 1, **keys)
        session = connect(room)
        session.set(capturetarget="Internal RAM", shutterspeed="1/125", iso="100", aperture="8")
        return room, session

    return start


def read(room, timeout_s: float = 10.0) -> tuple[float, int]:
    """Lux and upTime as a host reads them."""
    url = f"http://{room.hub}/bySerial/{METER_SERIAL}/api.json"
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:
        tree = json.load(answer)
    return tree["lightSensor"]["currentValue"] / 65536, tree["module"]["upTime"]


def comes_true(condition, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_frozen_meter_stands_still_and_thaws(faulty):
    room, session = faulty("meter_frozen", for_s=0.0)
    session.capture()
    frozen = read(room)
    room.post("/lux", {"lux": 5})
    time.sleep(0.3)
    assert read(room) == frozen
    room.post("/meter", {"plugged": False})
    room.post("/meter", {"plugged": True})
    assert read(room)[0] == pytest.approx(5, rel=0.01)
    assert [e.get("frozen") for e in room.log() if e["kind"] == "meter"] == [True, None, None]


def test_frozen_meter_thaws_by_itself(faulty):
    room, session = faulty("meter_frozen", for_s=0.3)
    session.capture()
    frozen = read(room)
    assert comes_true(lambda: read(room)[1] > frozen[1])


def test_restarted_hub_refuses_and_comes_back_on_its_port(faulty):
    room, session = faulty("hub_restart", for_s=0.5)
    before = read(room)
    session.capture()
    with pytest.raises(OSError, match="refused"):
        read(room)

    def answers() -> bool:
        try:
            return read(room)[1] > before[1]
        except OSError:
            return False

    assert comes_true(answers), "the meter stayed powered: its clock went on"


def test_hanging_hub_accepts_and_answers_later(faulty):
    room, session = faulty("hub_hangs", for_s=1.5)
    session.capture()
    with pytest.raises(TimeoutError):
        read(room, timeout_s=0.2)
    assert read(room, timeout_s=20)[0] == pytest.approx(1000, rel=0.01)


def test_light_steps_amid_an_exposure_and_back(faulty):
    room, session = faulty("lux_step_mid_exposure", lux=500, for_s=0.3)
    session.set(shutterspeed="4")
    session.capture()
    (picture,) = room.pictures()
    assert (picture["lux_min"], picture["lux_max"]) == (500, 1000)
    assert picture["lux"] == pytest.approx(750, rel=0.01)
    assert comes_true(lambda: room.state()["lux"] == 1000)


def test_light_drifts_and_back(faulty):
    room, session = faulty("lux_drift", lux=800, over_s=0.1, for_s=2.0)  # long enough to be seen
    session.capture()
    assert comes_true(lambda: room.state()["lux"] == 800)
    assert comes_true(lambda: room.state()["lux"] == 1000)


def test_database_is_locked_by_another_program(faulty, tmp_path):
    path = tmp_path / "some.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    _, session = faulty("database_locked", database=str(path), for_s=0.5)
    session.capture()
    patient = sqlite3.connect(path, timeout=0.0, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        patient.execute("BEGIN IMMEDIATE")
    patient.execute("PRAGMA busy_timeout = 20000")
    patient.execute("BEGIN IMMEDIATE")
    patient.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB; only root can mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_disk_is_full_until_somebody_makes_room(faulty, small_disk):
    _, session = faulty("disk_full", folder=str(small_disk))
    session.capture()
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "file").write_bytes(b"x")
    (small_disk / BALLAST).unlink()
    (small_disk / "file").write_bytes(b"x")


def test_disk_is_full_for_a_while(faulty, small_disk):
    _, session = faulty("disk_full", folder=str(small_disk), for_s=0.2)
    session.capture()
    assert comes_true(lambda: not (small_disk / BALLAST).exists())


def test_a_large_disk_is_not_filled(tmp_path, monkeypatch):
    def large(_path):
        return os.statvfs_result((4096, 4096, 1 << 20, 1 << 20, 1 << 20, 0, 0, 0, 0, 255))

    monkeypatch.setattr(os, "statvfs", large)
    with pytest.raises(ValueError, match="4096 MB free"):
        fill(tmp_path / BALLAST)
    assert not (tmp_path / BALLAST).exists()
