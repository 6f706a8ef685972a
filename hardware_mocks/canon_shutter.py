"""One exposure: from the opening of the shutter to the file, with the facts for the journal."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_properties import KIT_LENS, Destination, ImageFormat, Mode
from hardware_mocks.film import Film, Inscription
from hardware_mocks.light import Light
from hardware_mocks.occasions import ShutterOpens
from schemas.exposure import Exposure, ev, true_shutter_s

#: A bulb exposure ends after this even if nobody lets go.
_LONGEST_BULB_S = 60.0
#: What someone else's picture, left in the buffer, was exposed with.
_STRANGERS = Exposure(1 / 30, 800, 5.6)


@dataclass(frozen=True)
class Shot:
    """What was fixed when the release was pressed.

    Attributes
    ----------
    picture : int
        Number of the exposure since the dark room started.
    nth : int
        How often these settings were exposed before in this session.
    due_s : float
        Monotonic clock when the shutter is expected to close (infinite for bulb).
    released : threading.Event
        Set when the button is let go: the end of a bulb exposure.
    """

    picture: int
    exposure: Exposure
    nth: int
    due_s: float
    destination: Destination
    mode: Mode
    image_format: ImageFormat
    is_bulb: bool
    focal_mm: int
    released: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Taken:
    """A finished exposure: the JPEG, and what really happened (JSON-ready)."""

    exposure: Exposure
    jpeg: bytes
    taken_at: datetime
    inscription: Inscription
    facts: dict[str, Any]


class Shutter:
    """Lets the one light fall on the film for as long as the settings say.

    Parameters
    ----------
    timescale : float
        Factor on every exposure time: 1 is real time, 0 exposes at once.
    """

    def __init__(
        self, film: Film, light: Light, clock: BodyClock, serial: str, timescale: float
    ) -> None:
        self._film, self._light, self._clock = film, light, clock
        self._serial, self._timescale = serial, timescale

    def open_s(self, exposure: Exposure) -> float:
        """Seconds that the shutter stays open: the true stop, scaled."""
        return self._timescale * true_shutter_s(exposure.shutter_s)

    def expose(self, shot: Shot, opens: ShutterOpens, closed: Callable[[], int]) -> Taken:
        """Expose and develop; blocks for the scaled exposure time.

        `closed` is called when the shutter has closed and gives the body's next image number.
        """
        taken_at = self._clock.now()
        started_s = time.monotonic()
        exposure = shot.exposure
        if shot.is_bulb:
            shot.released.wait(_LONGEST_BULB_S)
            ended_s = time.monotonic()
            exposure = Exposure(ended_s - started_s, exposure.iso, exposure.f_number)
        else:
            self._film.prepare(exposure, self._light.at(started_s), shot.nth)
            ended_s = started_s + self.open_s(exposure)
            busy_until_s = ended_s + (ended_s - started_s if opens.dark_frame else 0.0)
            time.sleep(max(0.0, busy_until_s - time.monotonic()))
        number = closed()
        self._clock.exposed(exposure.shutter_s)
        light = self._light.span(started_s, ended_s)
        scene = self._film.scene
        lux = 0.0 if opens.blocked else light.mean_lux + opens.flash_lux
        developed = self._film.expose(exposure, lux, shot.nth)
        inscription = Inscription(
            taken_at,
            number,
            self._serial,
            KIT_LENS.name,
            shot.mode == Mode.M,
            shot.image_format.size_px,
            shot.focal_mm,
            flash_fired=opens.flash_lux > 0,
        )
        jpeg = self._film.write(developed, exposure, inscription)
        facts = {
            "picture": shot.picture,
            "image_number": number,
            "mode": shot.mode.name,
            "shutter_s": exposure.shutter_s,
            "iso": exposure.iso,
            "f_number": exposure.f_number,
            "ev": ev(exposure.shutter_s, exposure.iso, exposure.f_number),
            "true_shutter_s": developed.shutter_s,
            "true_f_number": developed.f_number,
            "lux": light.mean_lux,
            "lux_min": light.min_lux,
            "lux_max": light.max_lux,
            "flash_fired": opens.flash_lux > 0,
            "scene": scene.name,
            "scene_digest": scene.digest,
            "started_monotonic_s": started_s,
            "ended_monotonic_s": ended_s,
            "taken_at": taken_at.isoformat(),
            "destination": shot.destination.name.lower(),
            "sha256": hashlib.sha256(jpeg).hexdigest(),
            "bytes": len(jpeg),
        }
        return Taken(exposure, jpeg, taken_at, inscription, facts)

    def by_another(self, inscription: Inscription) -> bytes:
        """A picture that is not of this series: other settings, now."""
        developed = self._film.expose(_STRANGERS, self._light.lux, 0)
        return self._film.write(developed, _STRANGERS, inscription)
