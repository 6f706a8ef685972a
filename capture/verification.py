"""Does a picture's Exif block say what was requested? Pure.

Exif and request are both snapped to the strings that the body offers, in stops: a Canon offers
"10.3" and writes 10 s, offers "0.3" and writes 3/10. Float equality would refuse those; APEX
values hold true stops and would accept a neighbor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from rig.protocols import OfferedSettings
from schemas.exposure import Exposure, parse_f_number, parse_shutter_s
from schemas.jpeg import Exif

#: Half of a 1/3 stop: beyond it a value belongs to no offered setting.
_REACH_STOPS = 1 / 6


def mismatches(requested: Exposure, exif: Exif, offered: OfferedSettings) -> list[str]:
    """What the picture was not taken with, one phrase per setting; empty if all three agree.

    Parameters
    ----------
    requested : Exposure
        The commanded marked settings.
    exif : Exif
        As the camera wrote them: nominal values.
    offered : OfferedSettings
        The body's own lists. They may hold ``bulb`` or ``Auto``, which name no value.
    """
    compared = (
        ("shutter speed", requested.shutter_s, exif.shutter_s, offered.shutter, parse_shutter_s),
        ("ISO", requested.iso, exif.iso, offered.iso, float),
        ("F-number", requested.f_number, exif.f_number, offered.f_number, parse_f_number),
    )
    found = []
    for name, wanted, seen, names, parse in compared:
        # An F-number moves by half its logarithm per stop.
        stops = 2.0 if name == "F-number" else 1.0
        wanted_name = snap(wanted, names, parse, stops)
        if seen is None:
            found.append(f"the picture does not say its {name}")
        elif wanted_name is None or snap(seen, names, parse, stops) != wanted_name:
            found.append(f"{name} {seen:g} instead of {wanted:g}")
    return found


def snap(
    value: float, names: Iterable[str], parse: Callable[[str], float], stops: float = 1.0
) -> str | None:
    """The offered name nearest to `value` in log2, or None if none lies within 1/6 stop.

    `stops` is the number of stops per doubling: 1 for seconds and ISO, 2 for F-numbers.
    """
    best: tuple[float, str] | None = None
    for name in names:
        try:
            distance = abs(stops * math.log2(value / parse(name)))
        except ValueError:  # bulb, Auto: no value
            continue
        if best is None or distance < best[0]:
            best = (distance, name)
    return best[1] if best is not None and best[0] <= _REACH_STOPS else None
