"""Pure: the JSON trees and notification lines of a hub with one Yocto-Light-V3.

Key order matters: the library's JZON form drops the names, and its C parser turns JZON off where
the order differs from a real hub's. Checked by running yoctopuce 2.1.16695 against it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from hardware_mocks.light_meter import MeterState

Tree = dict[str, Any]

HUB_SERIAL = "VIRTHUB0-fa4e000001"
#: "VIRT" here, and "virtual" in the firmware, mark every reading as simulated.
METER_SERIAL = "LIGHTMK3-VIRT01"
METER_FIRMWARE = "75129-virtual"
_HUB_FIRMWARE = "75129"
_PRODUCT = "Yocto-Light-V3"
_PRODUCT_ID = 0x50  # USB 24e0:0050

_METER_INDEX = 1  # place of the meter in whitePages, which notifications refer to
_SENSOR_INDEX = 0
_TIME_INDEX = 15


@dataclass
class MeterSettings:
    """What a host can change on the meter; lost when the cable is pulled."""

    report_frequency: str = "OFF"
    measure_type: int = 0
    adv_mode: int = 0
    calibration: str = "0,"
    logical_name: str = ""
    beacon: int = 0
    luminosity: int = 50

    def change(self, attribute: str, value: str) -> bool:
        """Apply ``attribute=value`` of a request; False where there is no such attribute.

        Raises
        ------
        ValueError
            For a text where the attribute is a number.
        """
        names = {
            "reportFrequency": "report_frequency",
            "measureType": "measure_type",
            "advMode": "adv_mode",
            "calibrationParam": "calibration",
            "logicalName": "logical_name",
            "beacon": "beacon",
            "luminosity": "luminosity",
        }
        if attribute not in names:
            return False
        kind = type(getattr(self, names[attribute]))
        setattr(self, names[attribute], kind(value))
        return True


def jzon(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """The form without names that the library asks for with ``?fw=``."""
    if isinstance(value, dict):
        return [jzon(v) for v in value.values()]
    if isinstance(value, list):
        return [jzon(v) for v in value]
    return value


def advertised(lux: float) -> str:
    """The value as notifications carry it: six characters at most."""
    return (f"{lux:.0f}" if lux >= 1000 else f"{lux:.1f}" if lux >= 100 else f"{lux:.2f}")[:6]


def _fixed_point(lux: float) -> int:
    return round(lux * 65536)


def _module(serial: str, product: str, product_id: int, firmware: str, uptime_ms: int) -> Tree:
    return {
        "productName": product,
        "serialNumber": serial,
        "logicalName": "",
        "productId": product_id,
        "productRelease": 1,
        "firmwareRelease": firmware,
        "persistentSettings": 0,
        "luminosity": 50,
        "beacon": 0,
        "upTime": uptime_ms,
        "usbCurrent": 20,
        "rebootCountdown": 0,
        "userVar": 0,
    }


def hub_info(port: int) -> Tree:
    """info.json: the first thing that the library asks for."""
    return {
        "serialNumber": HUB_SERIAL,
        "productName": "VirtualHub",
        "productId": 0,
        "firmwareRelease": _HUB_FIRMWARE,
        "securityMode": 1,
        "port": [f"http:{port}"],
    }


def hub_tree(meter: MeterState, settings: MeterSettings, uptime_ms: int) -> Tree:
    """The hub's api.json: itself, and the meter where it is plugged in."""
    white = [
        {
            "serialNumber": HUB_SERIAL,
            "logicalName": "",
            "productName": "VirtualHub",
            "productId": 0,
            "networkUrl": "/api",
            "beacon": 0,
            "index": 0,
        }
    ]
    yellow = {"Network": [_yellow(0, f"{HUB_SERIAL}.network", "", "127.0.", 0)]}
    if meter.plugged:
        white.append(
            {
                "serialNumber": METER_SERIAL,
                "logicalName": settings.logical_name,
                "productName": _PRODUCT,
                "productId": _PRODUCT_ID,
                "networkUrl": f"/bySerial/{METER_SERIAL}/api",
                "beacon": settings.beacon,
                "index": _METER_INDEX,
            }
        )
        shown = advertised(meter.lux)
        yellow["LightSensor"] = [
            _yellow(1, f"{METER_SERIAL}.lightSensor", "", shown, _SENSOR_INDEX)
        ]
        yellow["DataLogger"] = [_yellow(0, f"{METER_SERIAL}.dataLogger", "", "OFF", 1)]
    network = {
        "logicalName": "",
        "advertisedValue": "",
        "readiness": 4,
        "macAddress": "",
        "ipAddress": "127.0.0.1",
        "userPassword": "",
        "adminPassword": "",
    }
    return {
        "module": _module(HUB_SERIAL, "VirtualHub", 0, _HUB_FIRMWARE, uptime_ms),
        "network": network,
        "services": {"whitePages": white, "yellowPages": yellow},
    }


def _yellow(base: int, hardware_id: str, name: str, value: str, index: int) -> Tree:
    return {
        "baseType": base,
        "hardwareId": hardware_id,
        "logicalName": name,
        "advertisedValue": value,
        "index": index,
    }


def hub_jzon(tree: Tree) -> list[Any]:
    """JZON of the hub's tree: the class names of yellowPages stay."""
    services = tree["services"]
    yellow = {name: jzon(entries) for name, entries in services["yellowPages"].items()}
    return [jzon(tree["module"]), jzon(tree["network"]), [jzon(services["whitePages"]), yellow]]


def meter_tree(meter: MeterState, settings: MeterSettings, utc_s: int) -> Tree:
    """The meter's api.json."""
    value = _fixed_point(meter.lux)
    module = _module(METER_SERIAL, _PRODUCT, _PRODUCT_ID, METER_FIRMWARE, meter.uptime_ms)
    module |= {
        "logicalName": settings.logical_name,
        "luminosity": settings.luminosity,
        "beacon": settings.beacon,
    }
    return {
        "module": module,
        "lightSensor": {
            "logicalName": "",
            "advertisedValue": advertised(meter.lux),
            "unit": "lx",
            "currentValue": value,
            "lowestValue": _fixed_point(meter.lowest_lux),
            "highestValue": _fixed_point(meter.highest_lux),
            "currentRawValue": value,
            "logFrequency": "OFF",
            "reportFrequency": settings.report_frequency,
            "advMode": settings.adv_mode,
            "calibrationParam": settings.calibration,
            "resolution": _fixed_point(0.01),
            "sensorState": 0,
            "measureType": settings.measure_type,
        },
        "dataLogger": {
            "logicalName": "",
            "advertisedValue": "OFF",
            "currentRunIndex": 0,
            "timeUTC": utc_s,
            "recording": 0,
            "autoStart": 0,
            "beaconDriven": 0,
            "usage": 0,
            "clearHistory": 0,
        },
    }


# --- lines of not.byn


def value_line(lux: float) -> bytes:
    """The advertised value has changed."""
    return f"y{chr(65 + _METER_INDEX)}{_SENSOR_INDEX}{advertised(lux)}\n".encode()


def plug_line(plugged: bool) -> bytes:
    """The meter has come or gone."""
    return f"YN012{HUB_SERIAL},{METER_SERIAL},{int(plugged)},\n".encode()


def report_period_s(frequency: str) -> float | None:
    """Seconds between timed reports of ``4/s``, ``30/m``, ``1/h``; None for OFF."""
    count, _, unit = frequency.partition("/")
    if not count.isdigit() or int(count) == 0:
        return None
    return {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}.get(unit, 1.0) / int(count)


def report_lines(lux: float, utc_s: float, period_s: float) -> bytes:
    """A timed report: a time reference, then the value in milli-lux."""
    device = chr(65 + _METER_INDEX)
    whole = int(utc_s)
    ms = int((utc_s - whole) * 1000)
    duration, unit = int(period_s * 1000), 0
    if duration > 0xFFF:
        duration, unit = int(period_s), 0x10
    stamp = struct.pack("<I", whole) + bytes(
        [ms >> 2, (ms & 3) << 6 | unit | duration >> 8 & 0xF, duration & 0xFF]
    )
    average = struct.pack("<i", round(lux * 1000))
    time_line = f"x{device}{chr(48 + _TIME_INDEX)}{stamp.hex().upper()}\n"
    if period_s < 1:
        value = f"x{device}{_SENSOR_INDEX}{average.hex().upper()}\n"
    else:  # 03: average in 4 bytes, distances to minimum and maximum in one byte each
        value = f"z{device}{_SENSOR_INDEX}{(bytes([3]) + average + bytes(2)).hex().upper()}\n"
    return (time_line + value).encode()
