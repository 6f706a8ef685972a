"""How the release names a frame: ``1_cup/10/-5/9_0_2.jpg`` and ``1_cup/10_auto.jpg``.

The last part holds places in the lists of shutter speeds (shortest first), ISO speeds and
F-numbers (narrowest first). Everything of the release is joined by these paths, never by row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from schemas.exposure import F_NUMBERS, ISO_SPEEDS, SHUTTER_SPEEDS, Exposure, parse_shutter_s
from schemas.plan import Lighting

SHUTTERS_S = tuple(parse_shutter_s(name) for name in reversed(SHUTTER_SPEEDS["1"]))
ISOS = ISO_SPEEDS
APERTURES = tuple(reversed(F_NUMBERS["1"]))

#: The two lightings of the release, by lux.
LIGHTINGS = {
    1000: Lighting(name="bright", lux=1000, ev_reference=11),
    10: Lighting(name="dim", lux=10, ev_reference=5),
}

_MANUAL = re.compile(r"([^/]+)/(\d+)/(-?\d+)/(\d+)_(\d+)_(\d+)\.jpg")
_AUTO = re.compile(r"([^/]+)/(\d+)_auto\.jpg")


@dataclass(frozen=True)
class Shot:
    """What a path says. `exposure` and `ev_offset` are None for an auto frame."""

    scene: str
    lux: int
    exposure: Exposure | None = None
    ev_offset: int | None = None


def parse_path(path: str) -> Shot | None:
    """The shot behind a path; None for anything that is not spelled so."""
    manual = _MANUAL.fullmatch(path)
    if manual is not None:
        scene, lux, offset, *places = manual.groups()
        exposure = _exposure(*(int(place) for place in places))
        return None if exposure is None else Shot(scene, int(lux), exposure, int(offset))
    auto = _AUTO.fullmatch(path)
    return None if auto is None else Shot(auto[1], int(auto[2]))


def spell_path(shot: Shot) -> str:
    """The path of a shot. Raises ValueError for settings off the release's grid."""
    if shot.exposure is None:
        return f"{shot.scene}/{shot.lux}_auto.jpg"
    return f"{shot.scene}/{shot.lux}/{shot.ev_offset}/{_stem(shot.exposure)}.jpg"


def split_scene(scene: str) -> tuple[int, str] | None:
    """(1, "cup") of ``1_cup``; None for another form."""
    number, _, category = scene.partition("_")
    return (int(number), category) if number.isdigit() and category else None


@cache
def _exposure(shutter: int, iso: int, aperture: int) -> Exposure | None:
    try:
        return Exposure(SHUTTERS_S[shutter], ISOS[iso], APERTURES[aperture])
    except IndexError:
        return None


@cache
def _stem(exposure: Exposure) -> str:
    return "_".join(
        str(listed.index(value))
        for listed, value in (
            (SHUTTERS_S, exposure.shutter_s),
            (ISOS, exposure.iso),
            (APERTURES, exposure.f_number),
        )
    )


def spell_seconds(seconds: float) -> str:
    """A duration as the release's list has it (``1/40``, ``0.4``); reading it gives it back."""
    denominator = round(1 / seconds)
    if denominator > 1 and 1 / denominator == seconds and seconds < 0.3:
        return f"1/{denominator}"
    short = f"{seconds:g}"
    return short if float(short) == seconds else repr(seconds)
