"""What the body chooses in P, Av, Tv and the fully automatic mode.

The meter's target is an exposure value for the light on the scene; a program line then splits
it between shutter, aperture and ISO, in thirds of a stop, within what body and lens have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hardware_mocks.canon_properties import Mode
from hardware_mocks.optics import METER_CONSTANT
from schemas.exposure import Exposure, stops_between

#: Below this the meter reads no less.
_DARKEST_LUX = 1e-3
#: Hand-held limit of the program line and the highest ISO that Auto ISO goes to.
_SLOWEST_PROGRAM_S = 1 / 60
_AUTO_ISO_MAX = 3200
#: The program closes the aperture by one stop for each stop of shutter above this EV.
_PROGRAM_KNEE_EV = 9.0


@dataclass(frozen=True)
class Choices:
    """What body and lens have: marked seconds, ISO and F-numbers."""

    shutter_s: Sequence[float]
    iso: Sequence[int]
    f_number: Sequence[float]


@dataclass(frozen=True)
class Wishes:
    """What the photographer has set; None where the body chooses. Compensation in stops."""

    shutter_s: float | None = None
    iso: int | None = None
    f_number: float | None = None
    compensation_ev: float = 0.0


def metered_ev(lux: float) -> float:
    """EV (ISO 100) that the meter asks for under this illuminance: log2(100 * lux / C)."""
    return math.log2(100 * max(lux, _DARKEST_LUX) / METER_CONSTANT)


def choose(mode: Mode, lux: float, wishes: Wishes, choices: Choices) -> Exposure:
    """The triplet of marked settings that the body exposes with."""
    target_ev = metered_ev(lux) - wishes.compensation_ev
    iso = wishes.iso or _auto_iso(target_ev, wishes, choices)
    # EV = log2(N^2 / t) - log2(ISO / 100)
    stops = target_ev + math.log2(iso / 100)
    if mode == Mode.TV and wishes.shutter_s is not None:
        f_number = _nearest(math.sqrt(wishes.shutter_s * 2**stops), choices.f_number)
        return Exposure(wishes.shutter_s, iso, f_number)
    if mode == Mode.AV and wishes.f_number is not None:
        f_number = wishes.f_number
    else:
        widest = min(choices.f_number)
        closed_stops = max(0.0, (stops - _PROGRAM_KNEE_EV) / 2)
        f_number = _nearest(widest * 2 ** (closed_stops / 2), choices.f_number)
    return Exposure(_nearest(f_number**2 / 2**stops, choices.shutter_s), iso, f_number)


def _auto_iso(target_ev: float, wishes: Wishes, choices: Choices) -> int:
    """The lowest ISO that keeps the shutter at the hand-held limit, up to the body's ceiling."""
    shutter_s = wishes.shutter_s or _SLOWEST_PROGRAM_S
    f_number = wishes.f_number or min(choices.f_number)
    wanted = 100 * f_number**2 / shutter_s / 2**target_ev
    usable = [iso for iso in choices.iso if iso <= _AUTO_ISO_MAX]
    return next((iso for iso in usable if iso >= wanted), usable[-1])


def _nearest(value: float, choices: Sequence[float]) -> float:
    return min(choices, key=lambda choice: abs(stops_between(choice, value)))
