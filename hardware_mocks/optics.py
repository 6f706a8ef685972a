"""Light, lens and tone: what scene and sensor of the virtual dark room share.

A scene is measured in shares of the sensor's full scale at a *metered* exposure. The scene
loader runs the tone curve backwards, the sensor forwards, so a photograph comes back as it was.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Meter constant C of the SNAP rig in lux * s * ISO / N^2: its automatic exposures had a median
#: EV of 10.55 at 1000 lux and 3.98 at 10 lux (SNAP release, data.csv). With N^2/t = lux * ISO / C
#: and EV = log2(N^2/t) - log2(ISO/100) this is C = 100 * lux / 2**EV = 66.7 and 63.4.
#: An incident meter (ISO 2720) has C = 250: the rig's lux sensor stands off the objects' light.
METER_CONSTANT = 65.0

#: Linear signal, as share of full scale, that the JPEG engine renders as black and as white.
#: BLACK, CONTRAST and the scene's veiling glare were fitted so that the EV offsets at which 20
#: real SNAP scenes turn all black or all white agree with the release to 1/3 stop on average.
BLACK = 0.0025
WHITE = 0.97
#: Share of the S-shaped part in the tone curve (Canon's Standard picture style has one).
CONTRAST = 0.4

#: Loss of light in the corner in stops: natural (any aperture), and mechanical at f/4.
_NATURAL_STOPS = 0.25
_MECHANICAL_STOPS_AT_F4 = 0.7


class Falloff(NamedTuple):
    """Vignetting as a product of a row and a column profile (float32, 1.0 on the axis)."""

    rows: npt.NDArray[np.float32]
    columns: npt.NDArray[np.float32]


def relative_exposure(*, lux: float, shutter_s: float, iso: float, f_number: float) -> float:
    """Exposure relative to the one that the rig's meter chooses: lux * t * ISO / (C * N^2).

    1.0 is metered, 2.0 one stop over. Takes physical values, so true stops, not marked ones.
    """
    return lux * shutter_s * iso / (METER_CONSTANT * f_number**2)


def metered_lux(*, shutter_s: float, iso: float, f_number: float) -> float:
    """Light in lux under which the rig's meter would choose this exposure."""
    return METER_CONSTANT * f_number**2 / (shutter_s * iso)


def falloff(width: int, height: int, f_number: float) -> Falloff:
    """Vignetting of a zoom lens: weaker when stopped down, as the iris then hides the barrel.

    A Gaussian of the distance from the axis, which stays within 2 % of cos^4 in this frame and
    separates into rows and columns.
    """
    corner_stops = _NATURAL_STOPS + _MECHANICAL_STOPS_AT_F4 * (4 / f_number) ** 2
    y = np.linspace(-1, 1, height) * height / math.hypot(width, height)
    x = np.linspace(-1, 1, width) * width / math.hypot(width, height)
    rows, columns = (np.exp2(-corner_stops * axis**2).astype(np.float32) for axis in (y, x))
    return Falloff(rows, columns)


def tone(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """8-bit value, not yet rounded, of a linear signal in shares of full scale.

    sRGB (IEC 61966-2-1) between BLACK and WHITE, bent by a smoothstep of weight CONTRAST:
    0 and 255 beyond, exact once rounded.
    """
    level = np.clip((linear - BLACK) / (WHITE - BLACK), 0.0, 1.0)
    encoded = np.where(level <= 0.0031308, 12.92 * level, 1.055 * level ** (1 / 2.4) - 0.055)
    curved = (1 - CONTRAST) * encoded + CONTRAST * encoded**2 * (3 - 2 * encoded)
    return np.asarray(255.0 * np.clip(curved, 0.0, 1.0))


def tone_bins() -> npt.NDArray[np.float64]:
    """Linear signal at the lower edge of each 8-bit value; shape (257,), 0.0 first, 1.0 last.

    Value v was rendered from a signal between entries v and v + 1.
    """
    linear = np.linspace(0.0, 1.0, 1 << 17)
    inner = np.interp(np.arange(1, 256) - 0.5, tone(linear), linear)
    return np.concatenate(([0.0], inner, [1.0]))
