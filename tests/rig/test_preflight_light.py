"""Meter, light, flicker and disk: each check on readings and pictures made for it."""

import io
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from PIL import Image

from rig.config import PreflightConfig
from rig.errors import Reconnect, Retry
from rig.preflight import MeterSeen, Place
from rig.preflight_light import (
    burst_exposure,
    check_burst,
    check_meter,
    check_no_burst,
    measure_burst,
)
from rig.preflight_place import check_disk
from rig.preflight_read import look_at_camera, look_at_meter, take_burst
from rig.protocols import LightReading, MeterInfo, OfferedSettings
from schemas.exposure import Exposure
from schemas.plan import Lighting
from tests.devices import FakeClock, InMemoryCamera, InMemoryMeter, render

NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
LIMITS = PreflightConfig()
INFO = MeterInfo("Yocto-Light-V3", "LIGHTMK3-1", "1", "usb", "0,", False)
FAST = Exposure(1 / 4000, 6400, 5.6)


def meter(*lux, frozen=False, fault="", calibration="0,"):
    readings = tuple(
        LightReading(value, NOW, 0.25 * i, 1000 if frozen else 1000 + 250 * i)
        for i, value in enumerate(lux)
    )
    info = MeterInfo(**{**asdict(INFO), "calibration": calibration})
    return MeterSeen(info, readings, fault)


def findings(what, lighting=BRIGHT):
    return {finding.check: finding for finding in check_meter(what, lighting, LIMITS)}


def test_a_steady_meter_in_the_band_passes():
    found = findings(meter(*[1000.0, 1001.0] * 10))
    assert {f.status for f in found.values()} == {"ok"}
    assert list(found) == ["meter", "meter_alive", "calibration", "meter_noise", "light"]
    assert found["calibration"].found == "factory"


@pytest.mark.parametrize(
    ("check", "status", "what"),
    [
        ("meter_alive", "fail", meter(1000, 1000, frozen=True)),
        ("meter_alive", "fail", meter(1000)),
        ("meter_alive", "fail", meter()),
        ("meter_alive", "fail", meter(1000, 1000, fault="the hub is gone")),
        ("calibration", "warn", meter(1000, 1000, calibration="")),
        ("calibration", "ok", meter(1000, 1000, calibration="1.0,2.0")),
        ("meter_noise", "warn", meter(985, 1015, 985, 1015)),
        ("meter_noise", "fail", meter(900, 1100, 900, 1100)),
        ("meter_noise", "ok", meter(0, 0)),
        ("light", "fail", meter(899, 899)),
        ("light", "ok", meter(901, 901)),
        ("light", "fail", meter(1101, 1101)),
        ("light", "fail", meter(0, 0)),
    ],
)
def test_each_check_of_the_meter(check, status, what):
    assert findings(what)[check].status == status


def test_the_panels_are_turned_the_right_way():
    assert "up" in findings(meter(10, 10))["light"].action
    assert "down" in findings(meter(9000, 9000))["light"].action


def test_without_a_lighting_there_is_no_band():
    assert findings(meter(5, 5), None)["light"].status == "warn"


def test_the_meter_is_watched_for_as_long_as_told():
    clock = FakeClock()
    device = InMemoryMeter(clock, lux=1000)
    what = look_at_meter(device, device.open(), 5.0, clock.sleep)
    assert len(what.readings) == 21
    assert what.readings[-1].monotonic_s - what.readings[0].monotonic_s >= 5
    assert len(look_at_meter(device, INFO, 0.0, clock.sleep).readings) == 2


def test_a_meter_that_is_lost_meanwhile_is_what_was_seen():
    clock = FakeClock()
    device = InMemoryMeter(clock)
    device.open()
    device.faults.add("read", Reconnect("the cable is out"))
    what = look_at_meter(device, INFO, 1.0, clock.sleep)
    assert (what.fault, what.readings) == ("the cable is out", ())
    assert findings(what)["meter_alive"].found == "the cable is out"


# ---- flicker


def picture(gain=1.0, pulse=0.0, phase=0.0):
    """A gray ramp; `pulse` is the depth of a light that pulses while the curtain runs."""
    rows = 1 + pulse * np.sin(np.linspace(0, 12, 240) + phase)[:, None]
    linear = np.clip(np.linspace(0.05, 0.5, 360)[None, :] * rows * gain, 0, 1)
    image = Image.fromarray(np.rint(linear ** (1 / 2.2) * 255).astype(np.uint8))
    file = io.BytesIO()
    image.convert("RGB").save(file, "JPEG", quality=95)
    return file.getvalue()


def test_a_steady_light_neither_spreads_nor_bands():
    burst = measure_burst([picture()] * 6, FAST, NOW)
    assert burst.spread == pytest.approx(0, abs=1e-9)
    assert burst.banding == pytest.approx(0, abs=1e-9)
    assert burst.pictures == 6
    assert check_burst(burst, LIMITS).status == "ok"


def test_pictures_of_different_brightness_are_a_spread():
    burst = measure_burst([picture(1.0), picture(1.2), picture(1.1)], FAST, NOW)
    assert burst.spread == pytest.approx(0.2 / 1.1, rel=0.03)
    assert burst.banding < 0.02
    assert check_burst(burst, LIMITS).status == "warn"


def test_bands_that_move_between_pictures_are_banding():
    phases = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    burst = measure_burst([picture(pulse=0.2, phase=p) for p in phases], FAST, NOW)
    assert burst.banding == pytest.approx(0.4, rel=0.15)
    assert check_burst(burst, LIMITS).status == "fail"


def test_bands_that_belong_to_the_scene_are_none():
    burst = measure_burst([picture(pulse=0.3)] * 4, FAST, NOW)
    assert burst.banding == pytest.approx(0, abs=1e-9)


def test_a_black_burst_tells_nothing():
    burst = measure_burst([picture(0.0)] * 3, FAST, NOW)
    assert check_burst(burst, LIMITS).status == "warn"


def test_a_broken_picture_is_a_retry():
    with pytest.raises(Retry):
        measure_burst([picture(), picture()[:300]], FAST, NOW)


def test_the_burst_is_as_fast_as_the_light_allows():
    camera = InMemoryCamera()
    camera.open()
    offered = camera.offered()
    assert burst_exposure(offered, 11) == FAST
    dim = burst_exposure(offered, 5)
    assert dim == Exposure(1 / 250, 6400, 5.6)
    assert dim.ev == pytest.approx(7, abs=0.2)  # 2 stops under
    with pytest.raises(ValueError, match=r".+"):
        burst_exposure(OfferedSettings((), ("100",), ()), 11)


def test_a_burst_leaves_nothing_behind():
    camera = InMemoryCamera()
    before = dict(camera.settings)
    seen = look_at_camera(camera, camera.open())
    burst = take_burst(camera, seen, 11)
    assert camera.taken == [FAST] * 6
    assert burst.focal_length_mm == 35
    assert burst.mean > 0.01
    assert camera.buffer == []
    camera.close()
    assert camera.settings == before


def test_the_focal_length_is_that_of_the_pictures():
    burst = measure_burst([render(FAST, 1000, NOW)], FAST, NOW)
    assert burst.focal_length_mm == 35
    assert measure_burst([picture()], FAST, NOW).focal_length_mm is None


def test_without_a_burst_the_last_one_counts_for_a_day():
    last = {"found": "1 %", "wanted": "10 %", "action": "", "status": "ok", "at": NOW.isoformat()}
    assert check_no_burst(None, NOW).status == "warn"
    assert check_no_burst(last, NOW + timedelta(hours=23)).status == "ok"
    assert check_no_burst(last, NOW + timedelta(hours=25)).status == "warn"
    bad = {**last, "status": "fail", "action": "other lamps"}
    found = check_no_burst(bad, NOW + timedelta(hours=1))
    assert (found.status, found.action) == ("fail", "other lamps")


# ---- disk


@pytest.mark.parametrize(("free", "status"), [(10e9, "ok"), (2e9, "warn"), (1e9, "fail")])
def test_room_for_the_frames(free, status):
    place = Place(int(free), 2e6)
    assert check_disk(place, 630).status == status


def test_less_is_left_to_store_when_less_is_left_to_shoot():
    assert check_disk(Place(int(1e9), 2e6), 10).status == "ok"
