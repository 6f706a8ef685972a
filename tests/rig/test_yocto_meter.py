"""What the library raises and gives, turned into ours; without a hub."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from rig import yocto_meter
from rig.errors import Reconnect, Retry
from rig.yocto_meter import _Device, _Library

INVALID = -1.79769313486231e308


class StubModule:
    def __init__(self, uptime_ms: int = 5) -> None:
        self.uptime_ms = uptime_ms

    def clearCache(self) -> None:  # noqa: N802 - the library's name
        pass

    def load(self, _valid_ms: int) -> None:
        pass

    def get_upTime(self) -> int:  # noqa: N802
        return self.uptime_ms


class StubSensor(StubModule):
    def __init__(self, lux: float = 100.0, state: int = 0, error: Exception | None = None) -> None:
        self.lux, self.state, self.error = lux, state, error

    def load(self, _valid_ms: int) -> None:
        if self.error:
            raise self.error

    def get_currentValue(self) -> float:  # noqa: N802
        return self.lux

    def get_sensorState(self) -> int:  # noqa: N802
        return self.state


def test_a_good_reading_carries_the_meters_own_clock():
    reading = _Device(StubSensor(lux=12.5), StubModule(uptime_ms=77)).read()
    assert (reading.lux, reading.uptime_ms) == (12.5, 77)


def test_a_firmware_that_knows_no_sensor_state_is_read():
    assert _Device(StubSensor(state=-2147483648), StubModule()).read().lux == 100


@pytest.mark.parametrize(
    "sensor",
    [StubSensor(lux) for lux in (INVALID, -1.0, float("nan"), float("inf"))]
    + [StubSensor(state=1)],
)
def test_a_value_that_cannot_be_is_a_retry(sensor):
    with pytest.raises(Retry):
        _Device(sensor, StubModule()).read()


def test_a_meter_without_a_clock_is_a_retry():
    with pytest.raises(Retry, match="running"):
        _Device(StubSensor(), StubModule(uptime_ms=-2147483648)).read()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("YoctoApi error : Device not found (yapi:5243)"), Reconnect),
        (RuntimeError("Unexpected HTTP return code:404"), Reconnect),
        (RuntimeError("Unexpected HTTP return code:500"), Retry),
        (RuntimeError("JSON error: could not parse"), Retry),
        (AttributeError("'NoneType' object has no attribute 'getString'"), Retry),
        (RuntimeError("Hub enumeration timeout (yapi:2198)"), Reconnect),
    ],
)
def test_an_error_is_told_by_its_words_never_by_its_type(error, kind):
    with pytest.raises(kind):
        _Device(StubSensor(error=error), StubModule()).read()


def test_libusb_comes_from_its_package_where_the_system_has_none(monkeypatch):
    loaded = []

    def load(name: str, mode: int = 0) -> None:
        if name == "libusb-1.0.so.0":
            raise OSError("no such library")
        loaded.append((Path(name), mode))

    monkeypatch.setattr(yocto_meter.ctypes, "CDLL", load)
    yocto_meter._provide_libusb()

    assert [mode for _, mode in loaded] == [ctypes.RTLD_GLOBAL]
    assert loaded[0][0].is_file()


def test_a_hub_whose_answer_breaks_off_is_registered_again_later(monkeypatch):
    class Broken:
        def RegisterHub(self, _url, _text):  # noqa: N802 - the library's name
            raise IndexError("string index out of range")  # as its parser does

    library = object.__new__(_Library)
    monkeypatch.setattr(library, "_yapi", Broken(), raising=False)
    monkeypatch.setattr(library, "_text", str, raising=False)
    with pytest.raises(Reconnect, match="no usable answer: string index"):
        library.register("http://127.0.0.1:4444")
