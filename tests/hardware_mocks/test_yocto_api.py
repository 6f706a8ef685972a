from __future__ import annotations

import struct

import pytest

from hardware_mocks import yocto_api
from hardware_mocks.light_meter import MeterState
from hardware_mocks.yocto_api import MeterSettings

STATE = MeterState(True, 123.46, 100.0, 200.0, 5000)


def test_jzon_drops_names_and_keeps_order():
    assert yocto_api.jzon({"a": 1, "b": {"c": [2, {"d": 3}]}}) == [1, [[2, [3]]]]


def test_hub_jzon_keeps_the_class_names():
    tree = yocto_api.hub_tree(STATE, MeterSettings(), 10)
    module, _, (white, yellow) = yocto_api.hub_jzon(tree)
    assert module[1] == yocto_api.HUB_SERIAL
    assert [entry[0] for entry in white] == [yocto_api.HUB_SERIAL, yocto_api.METER_SERIAL]
    assert set(yellow) == {"Network", "LightSensor", "DataLogger"}


def test_unplugged_meter_is_not_listed():
    gone = MeterState(False, 1.0, 1.0, 1.0, 0)
    services = yocto_api.hub_tree(gone, MeterSettings(), 10)["services"]
    assert len(services["whitePages"]) == 1
    assert "LightSensor" not in services["yellowPages"]


def test_value_is_fixed_point():
    sensor = yocto_api.meter_tree(STATE, MeterSettings(), 0)["lightSensor"]
    assert sensor["currentValue"] / 65536 == pytest.approx(123.46, abs=1e-4)
    assert sensor["unit"] == "lx"


def test_settings_change_what_is_reported():
    settings = MeterSettings()
    assert settings.change("measureType", "1")
    assert settings.change("calibrationParam", "0,")
    assert settings.change("reportFrequency", "4/s")
    assert not settings.change("nonsense", "1")
    with pytest.raises(ValueError, match="x"):
        settings.change("measureType", "x")
    sensor = yocto_api.meter_tree(STATE, settings, 0)["lightSensor"]
    assert (sensor["measureType"], sensor["reportFrequency"]) == (1, "4/s")


@pytest.mark.parametrize(
    ("lux", "shown"), [(0, "0.00"), (9.994, "9.99"), (123.46, "123.5"), (88000.0, "88000")]
)
def test_advertised_value_has_six_characters(lux, shown):
    assert yocto_api.advertised(lux) == shown
    assert len(shown) <= 6


def test_notification_lines():
    assert yocto_api.value_line(10.0) == b"yB010.00\n"
    serials = f"{yocto_api.HUB_SERIAL},{yocto_api.METER_SERIAL}".encode()
    assert yocto_api.plug_line(False) == b"YN012" + serials + b",0,\n"


@pytest.mark.parametrize(
    ("text", "period_s"),
    [("4/s", 0.25), ("1/s", 1.0), ("30/m", 2.0), ("1/h", 3600.0), ("OFF", None), ("0", None)],
)
def test_report_periods(text, period_s):
    assert yocto_api.report_period_s(text) == period_s


@pytest.mark.parametrize("period_s", [0.25, 2.0, 60.0])
def test_timed_report_holds_time_and_value(period_s):
    stamp, value, rest = yocto_api.report_lines(1000.5, 1_700_000_000.75, period_s).split(b"\n")
    assert rest == b""
    raw = bytes.fromhex(stamp[3:].decode())
    assert struct.unpack_from("<I", raw) == (1_700_000_000,)
    assert raw[4] << 2 | raw[5] >> 6 == 750
    payload = bytes.fromhex(value[3:].decode())
    average = payload[1:5] if period_s >= 1 else payload
    assert struct.unpack("<i", average) == (1_000_500,)
