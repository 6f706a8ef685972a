"""How bright will a picture be? A frame that was believed says it of any other exposure. Pure.

A believed frame is an *anchor*: its luma histogram, and how much light it got. Another exposure of
the same scene is the same histogram, linearized, scaled by the ratio of light and put through the
tone curve again. Turned around, the mean luma of a new picture says how many stops it lies from the
anchor; that and what the settings and the light meter say must agree.

Nothing is known of the camera's tone curve, so a plain power stands for it. It errs by a fraction
of what lies between picture and anchor (up to 3.8 stops at 8 stops, 1 at 3, 0.25 at 1, on the
virtual sensor, whose curve has a toe and a shoulder), so the nearest anchor is asked and the
tolerance grows with the distance. Where the mean does not tell exposures apart (all black, all
white) there is no upper or no lower bound, so nothing is refused for it. Light and time are those
of the frames; the first anchor is the reference frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.acceptance import Histogram, extremes
from schemas.exposure import Exposure, true_f_number, true_shutter_s

#: Exponent of the tone curve, as of most displays; sRGB and camera curves lie around it.
_GAMMA = 2.2
#: Shifts for which an anchor knows the mean, in stops.
_GRID = np.arange(-16.0, 16.01, 0.25)
#: Levels by which the mean of a picture may be off before stops are looked at: noise that is cut
#: off at black lifts the mean of dark pictures, and vignetting and glare move it.
_SLACK_LEVELS = 6.0
#: Tolerance in stops up to one stop from the anchor, and what each further stop adds.
TOLERANCE_STOPS, _PER_STOP = 1.5, 0.5
#: A picture with more than this share of black pixels shows nothing.
BLACK_SHARE = 0.95
#: Signal of the 95th percentile below which such a picture is honest, as log2 of digital white.
#: On the virtual sensor, fitted to a real T7's rejections, 95 % of the pixels are black at
#: predictions from -9.3 to -8.2.
_BLACKNESS_STOPS = -8.0
#: A black picture predicted so many stops above blackness is a dead shutter.
DEAD_SHUTTER_STOPS = 2.0
#: A frame with less than this share of black pixels shows something; a black picture with so many
#: stops more light is a dead shutter whatever the tone curve. (Noise moves the border by a stop.)
_SHOWN_SHARE, _MORE_LIGHT_STOPS = 0.5, 1.5
#: A black picture is doubted unless each believed frame with less than this share has so many
#: stops more light. Of 20 real scenes on the virtual sensor, no shot with 80 to 95 % black has more
#: than a stop less light than the darkest one below.
_GRAY_SHARE, _GRAY_REACH_STOPS = 0.8, 1.1
#: It is doubted too unless a believed frame with as much light, within this, was black, or it is
#: predicted so far below blackness.
_EQUAL_STOPS, _SURE_STOPS = 0.25, 3.0
#: What a picture of a dead shutter is called, and a black one that may be such or darkness.
SILENT, DOUBTFUL = "silent_black", "doubtful_black"
#: Anchors kept: one per step of this many stops.
_BIN_STOPS = 0.5


class Interval(NamedTuple):
    """Shifts in stops; infinite where there is no bound."""

    low: float
    high: float


def light_stops(exposure: Exposure, lux: float) -> float:
    """log2 of the light that an exposure collects and amplifies, by the true settings.

    log2(lux t ISO / N^2): arbitrary zero, differences count. `lux` must be positive.
    """
    number = true_f_number(exposure.f_number)
    return math.log2(lux * true_shutter_s(exposure.shutter_s) * exposure.iso / number**2)


@dataclass(frozen=True, eq=False)
class Anchor:
    """A believed frame.

    Attributes
    ----------
    stops : float
        Its `light_stops`.
    low_mean, high_mean : array of float, shape (129,)
        Mean luma that the scene would have at each of `_GRID`'s shifts, if every pixel held
        the least or the most light that its level stands for.
    bright_stops : float
        Signal of its 95th percentile as log2 of digital white.
    """

    stops: float
    low_mean: npt.NDArray[np.float64]
    high_mean: npt.NDArray[np.float64]
    bright_stops: float

    @classmethod
    def of(cls, histogram: Histogram, stops: float) -> Anchor:
        """The anchor that a frame of these luma counts makes."""
        shares = histogram / histogram.sum()
        level = int(np.searchsorted(np.cumsum(shares), 0.95))
        bright = _GAMMA * math.log2(max(level, 0.5) / 255)
        return cls(stops, _LEVELS_LOW @ shares, _LEVELS_HIGH @ shares, bright)

    def shift(self, mean: float) -> float:
        """The shift from this anchor that gives that mean luma, best guess; not near the ends."""
        return float(np.interp(mean, (self.low_mean + self.high_mean) / 2, _GRID))

    def shifts(self, mean: float) -> Interval:
        """All shifts from this anchor at which the scene could have that mean luma."""
        bright_enough = np.flatnonzero(self.high_mean >= mean - _SLACK_LEVELS)
        dark_enough = np.flatnonzero(self.low_mean <= mean + _SLACK_LEVELS)
        low = bright_enough[0] if len(bright_enough) else len(_GRID) - 1
        high = dark_enough[-1] if len(dark_enough) else 0
        return Interval(
            -math.inf if low == 0 else float(_GRID[low]),
            math.inf if high == len(_GRID) - 1 else float(_GRID[high]),
        )


@dataclass(frozen=True)
class Deviation:
    """A picture whose brightness does not fit.

    Attributes
    ----------
    kind : str
        `SILENT` for a dead shutter, `DOUBTFUL` for one that may be darkness, else
        ``too_dark`` or ``too_bright``.
    stops : float
        By how many stops it differs from the prediction, at least; negative is darker.
    detail : str
        A sentence.
    """

    kind: str
    stops: float
    detail: str


class Expectation:
    """What the believed frames of a run let expect of the next one.

    Parameters
    ----------
    reference : Histogram
        Luma counts of the reference frame.
    stops : float
        Its `light_stops`.
    """

    def __init__(self, reference: Histogram, stops: float) -> None:
        self._anchors: dict[int, Anchor] = {}
        self._darkest_shown = math.inf
        self._darkest_gray = math.inf
        self._lightest_black = -math.inf
        self._shutter_died = False
        self.renew(reference, stops)

    def renew(self, reference: Histogram, stops: float) -> None:
        """Take a newer reference frame."""
        self._reference = Anchor.of(reference, stops)
        self._shutter_died = False

    def learn(self, histogram: Histogram, stops: float) -> None:
        """Take a believed frame for an anchor; the newest of those with equal light counts."""
        self._anchors[round(stops / _BIN_STOPS)] = Anchor.of(histogram, stops)
        black = extremes(histogram).black_fraction
        self._shutter_died = self._shutter_died and black > BLACK_SHARE
        if black < _SHOWN_SHARE:
            self._darkest_shown = min(self._darkest_shown, stops)
        if black < _GRAY_SHARE:
            self._darkest_gray = min(self._darkest_gray, stops)
        elif black > BLACK_SHARE:
            # One that is taken back later counts on: it was believed far below blackness only,
            # where the next one would be believed without it.
            self._lightest_black = max(self._lightest_black, stops)

    def doubts_black(self, stops: float) -> bool:
        """Whether a believed frame makes a black picture with so much light doubtful."""
        return stops >= self._darkest_gray - _GRAY_REACH_STOPS

    def distrust_shutter(self) -> None:
        """It stayed shut: until a picture shows something, none is taken for darkness unproven."""
        self._shutter_died = True

    def deviation(self, histogram: Histogram, stops: float) -> Deviation | None:
        """How a picture contradicts the frames before it; None if it agrees.

        Parameters
        ----------
        histogram : Histogram
            Its luma counts.
        stops : float
            `light_stops` of what was requested, in the light that was measured.
        """
        ends = extremes(histogram)
        anchor = min((self._reference, *self._anchors.values()), key=lambda a: abs(a.stops - stops))
        if ends.black_fraction > BLACK_SHARE:
            dead = self._dead_shutter(stops)
            if dead is not None:
                return dead
        shift = stops - anchor.stops
        possible = anchor.shifts(ends.mean)
        tolerance = TOLERANCE_STOPS + _PER_STOP * max(abs(shift) - 1.0, 0.0)
        if shift > possible.high + tolerance:
            off = possible.high - shift
        elif shift < possible.low - tolerance:
            off = possible.low - shift
        else:
            return None
        word = "bright" if off > 0 else "dark"
        return Deviation(
            f"too_{word}",
            off,
            f"mean luma {ends.mean:.1f} is {abs(off):.1f} stops too {word} for these settings and "
            "this light",
        )

    def _dead_shutter(self, stops: float) -> Deviation | None:
        """Whether a black picture with so much light must, or may, be a dead shutter's."""
        above = self._reference.bright_stops + stops - self._reference.stops - _BLACKNESS_STOPS
        if above >= DEAD_SHUTTER_STOPS:
            detail = f"black, but predicted {above:.1f} stops above blackness: a dead shutter?"
            return Deviation(SILENT, -above, detail)
        more = stops - self._darkest_shown
        if more >= _MORE_LIGHT_STOPS:
            detail = f"black, but {more:.1f} stops less light showed something: a dead shutter?"
            return Deviation(SILENT, -more, detail)
        known = stops <= self._lightest_black + _EQUAL_STOPS
        contradicted = self._shutter_died or self.doubts_black(stops)
        if not contradicted and (known or above <= -_SURE_STOPS):
            return None
        detail = "black, which nothing confirms yet: to be shot again at the end"
        return Deviation(DOUBTFUL, -max(above, 0.0), detail)


def _rendered(signals: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Level that each of 256 linear signals is rendered at, after each shift; (129, 256)."""
    scaled = signals[None, :] * np.exp2(_GRID)[:, None]
    return np.asarray(255.0 * np.clip(scaled, 0.0, 1.0) ** (1 / _GAMMA))


_LEVELS = np.arange(256.0)
#: The least and the most signal that a level stands for: cameras crush the blacks, so that any
#: level may hold the signal at which black begins; white has no end.
_LEVELS_LOW = _rendered((np.maximum(_LEVELS - 0.5, 0.0) / 255) ** _GAMMA)
_TOE = 2.0**_BLACKNESS_STOPS
_LEVELS_HIGH = _rendered(np.append(((_LEVELS[:-1] + 0.5) / 255) ** _GAMMA + _TOE, np.inf))
