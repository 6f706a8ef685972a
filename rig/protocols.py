"""What a camera and a light meter can do: few verbs, each with its post-condition.

The real drivers (`rig.gphoto_camera`, `rig.yocto_meter`) and the in-memory devices of the
tests implement these; `tests/conformance` holds all of them to the same promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from schemas.exposure import Exposure


@dataclass(frozen=True)
class CameraInfo:
    """Who answered: as the body names itself, for the record.

    `simulated` is what the body's own identification says of itself (firmware or serial
    marked as virtual), never a guess from the port.
    """

    model: str
    serial: str
    firmware: str
    lens: str
    port: str
    simulated: bool


@dataclass(frozen=True)
class OfferedSettings:
    """The strings that the body offers now, with this lens, zoom and mode dial."""

    shutter: tuple[str, ...]
    iso: tuple[str, ...]
    f_number: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """One exposure as it came off the camera.

    Attributes
    ----------
    data : bytes
        The file, byte for byte.
    name : str
        The camera's name for it.
    commanded_at : datetime
        UTC, when the release was sent.
    commanded_monotonic_s, ended_monotonic_s : float
        Host monotonic clock when the release was sent, and when the camera announced the
        picture: the exposure lies between them.
    """

    data: bytes
    name: str
    commanded_at: datetime
    commanded_monotonic_s: float
    ended_monotonic_s: float


class Camera(Protocol):
    """A tethered camera in manual mode. All calls come from one thread.

    Attributes
    ----------
    leftovers : int
        Pictures that the last `open` found waiting in the body and discarded.
    """

    leftovers: int

    def open(self) -> CameraInfo:
        """Take the body. Afterwards: one session, JPEG only, no leftover picture in the buffer.

        The settings found are remembered for `close`. Raises Reconnect when nothing answers,
        AskOperator when another program holds the body.
        """
        ...

    def mode(self) -> str:
        """The mode dial now: ``Manual``, ``P``, ``AV``, ``TV``, ``Auto`` and the like."""
        ...

    def read_settings(self) -> Mapping[str, str]:
        """Every readable setting now, spelled and named as libgphoto2 does (``iso``, ...).

        A session that takes long may hold some as they were at its beginning (the clock).
        """
        ...

    def offered(self) -> OfferedSettings:
        """What the body offers now."""
        ...

    def apply(self, exposure: Exposure) -> None:
        """Command a triplet. Afterwards the body has been told all three; the Exif is the proof.

        What the body accepted last is not sent again, unless something went wrong since.
        Raises Retry when busy, AskOperator when the body does not offer the setting.
        """
        ...

    def forget(self) -> None:
        """Doubt what the body holds, as after a picture whose Exif differs from the request.

        Afterwards the next `apply` sends all three settings.
        """
        ...

    def shoot(self, timeout_s: float) -> Picture:
        """Expose once and download. Afterwards the camera holds no picture of this session.

        Raises Retry when no picture arrived within `timeout_s` or the body was busy,
        Reconnect when the session is dead.
        """
        ...

    def close(self) -> None:
        """Put back the settings found by `open` and release the body. Never raises RigError."""
        ...


@dataclass(frozen=True)
class MeterInfo:
    """Who measured. `calibration` is the meter's own calibration string, as read."""

    model: str
    serial: str
    firmware: str
    hub: str
    calibration: str
    simulated: bool


@dataclass(frozen=True)
class LightReading:
    """One illuminance sample.

    Attributes
    ----------
    lux : float
        Illuminance in lux.
    at : datetime
        UTC when the value was received.
    monotonic_s : float
        Host monotonic clock when the value was received; the sample itself is at most 250 ms
        older (a Yocto-Light-V3 measures at 4 Hz).
    uptime_ms : int
        The meter's own clock: one that stands still is a frozen meter.
    """

    lux: float
    at: datetime
    monotonic_s: float
    uptime_ms: int


class LightMeter(Protocol):
    """A lux meter. Safe to call from any thread; a call never blocks beyond its deadline."""

    def open(self) -> MeterInfo:
        """Find the sensor. Raises Reconnect when the hub or the sensor is not there."""
        ...

    def read(self) -> LightReading:
        """A fresh sample, never a cached one.

        Raises Retry for a passing fault, Reconnect when hub or sensor are gone.
        """
        ...

    def close(self) -> None:
        """Release the hub. Never raises RigError."""
        ...
