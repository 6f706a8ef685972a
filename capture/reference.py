"""The reference frame: one well-exposed picture that opens a sweep and comes back. Pure.

It anchors what brightness is predicted from (`capture.prediction`), and as the same exposure of the
same scene again and again it shows what settings and light meter cannot: that somebody bumped the
table, or that something between lamp and sensor creeps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capture.prediction import Anchor, light_stops
from rig.preflight_task import not_offered
from rig.protocols import OfferedSettings
from schemas.acceptance import Histogram, extremes
from schemas.exposure import Exposure, parse_f_number, parse_shutter_s
from schemas.plan import Shot

#: Planned shots from one reference frame to the next.
EVERY_SHOTS = 100
#: Below this correlation with the first reference frame the scene has moved. On the virtual
#: sensor an unmoved scene has 0.997 or more whatever its noise and light; a shift by 12 of 1920
#: pixels has 0.96 or less, by 24 at most 0.92.
MOVED_BELOW = 0.97
#: A picture whose small luma varies less than this many levels shows nothing that could move.
_LEAST_CONTRAST = 4.0
#: A creep of the brightness that the meter does not explain is noted from here on, in stops.
CREEP_STOPS = 0.25
#: A plan's own exposure is taken for the reference if it lies so near to EV offset 0.
_NEAR_EV = 0.5

Luma = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference frame that was believed.

    Attributes
    ----------
    number : int
        0 for the first one of a sweep.
    exposure : Exposure
    lux : float
        While it was exposed.
    histogram : Histogram
    luma : array of uint8, shape (H, W)
        Its luma, about 240 x 160.
    focal_length_mm : float or None
        Where the zoom stood; None where the picture does not say.
    """

    number: int
    exposure: Exposure
    lux: float
    histogram: Histogram
    luma: Luma
    focal_length_mm: float | None = None

    @property
    def stops(self) -> float:
        """Its `light_stops`."""
        return light_stops(self.exposure, self.lux)


def choose(shots: Iterable[Shot], offered: OfferedSettings, ev_reference: int) -> Exposure:
    """The exposure of a sweep's reference frames: nearest to EV offset 0, least noise, sharp.

    One of the plan's, if it has one within half a stop; otherwise any that the body offers. The
    same plan at the same body gives the same one.

    Raises
    ------
    ValueError
        If the body offers nothing.
    """
    planned = [shot.exposure for shot in shots]
    near = [e for e in planned if abs(e.ev - ev_reference) <= _NEAR_EV]
    near = [e for e in near if not not_offered([e], offered)]
    return min(near or _offered(offered), key=lambda e: _preference(e, ev_reference))


def _offered(offered: OfferedSettings) -> list[Exposure]:
    shutters = _values(offered.shutter, parse_shutter_s)
    isos = _values(offered.iso, float)
    numbers = _values(offered.f_number, parse_f_number)
    return [
        Exposure(shutter_s, int(iso), number)
        for shutter_s, iso, number in itertools.product(shutters, isos, numbers)
    ]


def _values(names: Iterable[str], parse: Callable[[str], float]) -> list[float]:
    found = []
    for name in names:
        try:
            found.append(parse(name))
        except ValueError:  # bulb, Auto: no value
            continue
    return found


def _preference(exposure: Exposure, ev_reference: int) -> tuple[float, ...]:
    """Smaller is better: half stops from EV offset 0, then ISO, then stops from f/8, then time."""
    half_stops = round(2 * abs(exposure.ev - ev_reference))
    from_f8 = abs(2 * math.log2(exposure.f_number / 8))
    return half_stops, exposure.iso, from_f8, exposure.shutter_s


def fault(histogram: Histogram) -> str:
    """Why a picture cannot be a reference at all; empty if it can."""
    ends = extremes(histogram)
    if ends.black_fraction > 0.95 or ends.mean < 3:
        return (
            "the reference frame is black, though exposed for EV offset 0: lens cap, shutter, lamp "
            "or the lighting's ev_reference"
        )
    if ends.white_fraction > 0.95 or ends.mean > 252:
        return (
            "the reference frame is white, though exposed for EV offset 0: stray light or the "
            "lighting's ev_reference"
        )
    return ""


def similarity(first: Luma, other: Luma) -> float:
    """Normalized cross-correlation of two small pictures, -1 to 1; 1 where nothing can move.

    Blind to brightness and contrast, so a creep of the light does not look like a bump. Pictures
    of different size or cut have 0.
    """
    if first.shape != other.shape:
        return 0.0
    a, b = (picture.astype(np.float64) - picture.mean() for picture in (first, other))
    spread = float(np.sqrt((a * a).mean() * (b * b).mean()))
    if spread < _LEAST_CONTRAST**2:
        return 1.0
    return float((a * b).mean()) / spread


def creep_stops(first: Reference, other: Reference) -> float:
    """By how many stops a reference frame is brighter than the first one lets expect.

    The difference that the light meter explains is taken off.
    """
    anchor = Anchor.of(first.histogram, first.stops)
    return anchor.shift(extremes(other.histogram).mean) - (other.stops - first.stops)


class Schedule:
    """When the next reference frame is due: before the first shot, then every so many.

    Parameters
    ----------
    exposure : Exposure
        What it is taken with.
    number : int
        Of the first one: a resumed sweep counts on.
    every : int
        Shots between two.
    """

    def __init__(self, exposure: Exposure, number: int = 0, every: int = EVERY_SHOTS) -> None:
        self.exposure = exposure
        self._number = number
        self._every = every
        self._left = 0

    def next(self) -> int | None:
        """Number of the reference frame to take before the next shot; None if none is due."""
        if self._left > 0:
            return None
        self._left, self._number = self._every, self._number + 1
        return self._number - 1

    def extra(self) -> int:
        """Number of a reference frame that is needed now, due or not."""
        self._left = 0
        number = self.next()
        return self._number - 1 if number is None else number

    def count(self) -> None:
        """A shot of the plan was exposed."""
        self._left -= 1
