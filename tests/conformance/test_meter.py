"""What every `rig.protocols.LightMeter` promises."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from yoctopuce.yocto_api import YAPI

from rig.bench import meter_of
from rig.config import MeterConfig
from rig.errors import Reconnect
from rig.protocols import LightMeter
from rig.yocto_meter import YoctoMeter
from tests.conformance.under_test import MeterUnderTest, stopped


@pytest.fixture
def meter(meter_under_test: MeterUnderTest) -> Iterator[LightMeter]:
    meter = meter_under_test.make()
    yield meter
    meter.close()


class TestLightMeter:
    def test_the_meter_names_itself_the_same_at_every_open(self, meter):
        first = meter.open()
        meter.close()
        assert meter.open() == first
        assert first.model
        assert first.serial

    def test_readings_are_fresh(self, meter):
        meter.open()
        readings = [meter.read() for _ in range(20)]
        uptimes = [reading.uptime_ms for reading in readings]
        times = [reading.monotonic_s for reading in readings]
        assert uptimes == sorted(uptimes)
        assert uptimes[-1] > uptimes[0]
        assert times == sorted(times)
        assert all(reading.lux >= 0 for reading in readings)
        assert all(reading.at.tzinfo is not None for reading in readings)

    def test_a_change_of_light_is_read(self, meter, meter_under_test):
        if meter_under_test.set_lux is None:
            pytest.skip("nobody here to turn the lamps")
        meter.open()
        for lux in (1000.0, 10.0):
            meter_under_test.set_lux(lux)
            assert _settled(meter, lux) == pytest.approx(lux, rel=0.25)

    def test_a_meter_that_is_not_open_asks_to_be_opened(self, meter):
        with pytest.raises(Reconnect):
            meter.read()
        meter.open()
        meter.close()
        meter.close()
        with pytest.raises(Reconnect):
            meter.read()

    def test_a_pulled_cable_is_reconnect_and_the_meter_comes_back(self, meter, meter_under_test):
        if meter_under_test.plug is None:
            pytest.skip("nobody here to pull the cable")
        meter.open()
        meter_under_test.plug(False)
        with pytest.raises(Reconnect):
            meter.read()
        with pytest.raises(Reconnect):
            meter.open()
        meter_under_test.plug(True)
        meter.open()
        assert meter.read().lux >= 0


@pytest.mark.wire
class TestMeterOnTheWire:
    """What takes a hub that can be made to fail."""

    def test_the_meter_says_that_it_is_virtual(self, room):
        meter = meter_of(MeterConfig(hub=room.hub))
        try:
            assert meter.open().simulated
        finally:
            meter.close()

    def test_a_meter_is_chosen_by_its_serial_number(self, room):
        meter = meter_of(MeterConfig(hub=room.hub))
        serial = meter.open().serial
        meter.close()
        chosen = meter_of(MeterConfig(hub=room.hub, serial=serial))
        assert chosen.open().serial == serial
        chosen.close()  # one library a process: a hub left open would be every later test's meter
        with pytest.raises(Reconnect, match="LIGHTMK3-NOBODY"):
            meter_of(MeterConfig(hub=room.hub, serial="LIGHTMK3-NOBODY")).open()

    def test_a_hub_that_hangs_costs_a_read_its_deadline_and_no_more(self, room):
        meter = YoctoMeter(room.hub, read_deadline_s=0.2)
        meter.open()
        with stopped(room):
            for _ in range(2):
                with pytest.raises(Reconnect, match=r"0\.2 s"):
                    meter.read()
            meter.close()
        meter.open()  # queued behind the call that hung, which comes back by itself
        assert meter.read().lux >= 0
        meter.close()

    def test_a_step_of_the_wall_clock_makes_no_old_reading_new(self, room, monkeypatch):
        meter = meter_of(MeterConfig(hub=room.hub))
        meter.open()
        first = meter.read()
        earlier = datetime.now() - timedelta(hours=1)  # noqa: DTZ005 - as the library counts
        monkeypatch.setattr(YAPI, "GetTickCount", staticmethod(lambda: earlier))
        room.post("/lux", {"lux": 20})
        assert _settled(meter, 20) == pytest.approx(20, rel=0.25)
        assert meter.read().uptime_ms > first.uptime_ms
        monkeypatch.undo()
        meter.close()

    def test_nobody_at_the_hubs_port_is_reconnect(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with pytest.raises(Reconnect) as caught:
            YoctoMeter(f"127.0.0.1:{port}").open()
        assert "rig.toml" in caught.value.action


def _settled(meter: LightMeter, lux: float) -> float:
    """The reading once it is near `lux`, or the last of many (a Yocto-Light measures at 4 Hz)."""
    for _ in range(2000):
        reading = meter.read()
        if abs(reading.lux - lux) < lux * 0.25:
            break
    return reading.lux
