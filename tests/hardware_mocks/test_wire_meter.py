"""The real yoctopuce library takes the hub for a VirtualHub with a Yocto-Light-V3."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire

# The library keeps global state and threads: a process of its own, told what to do line by line.
_PROBE = """
import json, sys, ctypes, time
import libusb_package
ctypes.CDLL(str(libusb_package.get_library_path()), mode=ctypes.RTLD_GLOBAL)
from yoctopuce.yocto_api import YAPI, YRefParam
from yoctopuce.yocto_lightsensor import YLightSensor

error = YRefParam()
assert YAPI.RegisterHub(sys.argv[1], error) == YAPI.SUCCESS, error.value
YAPI.DisableExceptions()
sensor = YLightSensor.FirstLightSensor()

def read():
    sensor.clearCache()
    value = sensor.get_currentValue()
    module = sensor.get_module()
    return {"lux": value, "online": sensor.isOnline(), "uptime_ms": module.get_upTime()}

def identify():
    module = sensor.get_module()
    return {"product": module.get_productName(), "serial": module.get_serialNumber(),
            "firmware": module.get_firmwareRelease(), "unit": sensor.get_unit(),
            "calibration": sensor.get_calibrationParam() if hasattr(
                sensor, "get_calibrationParam") else ""}

def poll():
    return {"values": [read()["lux"] for _ in range(300)]}

def reports():
    seen = []
    sensor.registerTimedReportCallback(lambda s, m: seen.append(m.get_averageValue()))
    sensor.set_reportFrequency("4/s")
    end = time.monotonic() + 10
    while len(seen) < 3 and time.monotonic() < end:
        YAPI.Sleep(50, error)
    return {"reports": seen}

def wait_online():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        YAPI.UpdateDeviceList(error)
        if sensor.isOnline():
            break
        time.sleep(0.05)
    return read()

for line in sys.stdin:
    print(json.dumps(globals()[line.strip()]()), flush=True)
"""


class Probe:
    def __init__(self, hub: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROBE, hub],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: str):
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def room(photo):
    with darkroom(photo, seed=1) as running:
        yield running


@pytest.fixture(scope="module")
def connected(room):
    started = Probe(room.hub)
    yield started
    started.close()


@pytest.fixture
def probe(room, connected):
    room.post("/lux", {"lux": 1000})
    settle(room)
    return connected


def settle(room):
    """Wait until the meter has taken a sample of the present light (4 Hz)."""
    first = room.state()["meter"]["uptime_ms"]
    while room.state()["meter"]["uptime_ms"] < first + 260:
        pass


def test_meter_names_itself_as_virtual(probe):
    found = probe.ask("identify")
    assert found["product"] == "Yocto-Light-V3"
    assert found["serial"].startswith("LIGHTMK3-VIRT")
    assert "virtual" in found["firmware"]
    assert found["unit"] == "lx"


@pytest.mark.parametrize("lux", [10, 1000, 88000])
def test_reading_is_the_light_that_was_set(room, probe, lux):
    room.post("/lux", {"lux": lux})
    settle(room)
    reading = probe.ask("read")
    assert reading["lux"] == pytest.approx(lux, rel=0.005)
    assert reading["online"]


def test_uptime_advances_and_polling_never_tires_the_hub(room, probe):
    first = probe.ask("read")["uptime_ms"]
    values = probe.ask("poll")["values"]
    assert all(v == pytest.approx(1000, rel=0.005) for v in values)
    assert probe.ask("read")["uptime_ms"] > first


def test_timed_reports_arrive(probe):
    assert all(v == pytest.approx(1000, rel=0.005) for v in probe.ask("reports")["reports"])


def test_unplugged_meter_is_offline_and_comes_back(room, probe):
    assert probe.ask("read")["online"]
    room.post("/meter", {"plugged": False})
    deadline = time.monotonic() + 20  # the library hears of it by notification
    while probe.ask("read")["online"]:
        assert time.monotonic() < deadline
    room.post("/meter", {"plugged": True})
    reading = probe.ask("wait_online")
    assert reading["online"]
    assert reading["lux"] == pytest.approx(1000, rel=0.005)


def test_browser_like_request_is_answered_too(room):
    with urllib.request.urlopen(f"http://{room.hub}/api.json", timeout=10) as answer:
        tree = json.load(answer)
    assert "LightSensor" in tree["services"]["yellowPages"]
