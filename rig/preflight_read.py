"""What the preflight reads of the devices. The only part of it that touches them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from rig.errors import RigError
from rig.preflight import Burst, CameraSeen, MeterSeen
from rig.preflight_light import burst_exposure, measure_burst
from rig.protocols import Camera, CameraInfo, LightMeter, LightReading, MeterInfo

#: A Yocto-Light-V3 measures at 4 Hz.
_INTERVAL_S = 0.25
_BURST_PICTURES = 6
_BURST_TIMEOUT_S = 15.0

Sleep = Callable[[float], None]


def look_at_camera(camera: Camera, info: CameraInfo) -> CameraSeen:
    """Everything that an open body says. Raises RigError."""
    settings = camera.read_settings()
    read_at = datetime.now(UTC)
    return CameraSeen(info, settings, camera.offered(), camera.leftovers, read_at)


def look_at_meter(
    meter: LightMeter, info: MeterInfo, duration_s: float, sleep: Sleep = time.sleep
) -> MeterSeen:
    """Readings of an open meter at 4 Hz over `duration_s`, two at least; ends at the first fault.

    The meter's own fault is part of what was seen, not an error.
    """
    readings: list[LightReading] = []
    for number in range(max(2, round(duration_s / _INTERVAL_S) + 1)):
        if number:
            sleep(_INTERVAL_S)
        try:
            readings.append(meter.read())
        except RigError as error:
            return MeterSeen(info, tuple(readings), fault=str(error))
    return MeterSeen(info, tuple(readings))


def take_burst(camera: Camera, seen: CameraSeen, ev_reference: int) -> Burst:
    """Six pictures at a fast shutter, measured and forgotten; nothing of them stays anywhere.

    Raises RigError, and ValueError where the body offers nothing to shoot with.
    """
    exposure = burst_exposure(seen.offered, ev_reference)
    at = datetime.now(UTC)
    camera.apply(exposure)
    pictures = [camera.shoot(_BURST_TIMEOUT_S).data for _ in range(_BURST_PICTURES)]
    return measure_burst(pictures, exposure, at)
