"""Exposure arithmetic in nominal and true stops, and Canon's spelling of settings.

A body *marks* 1/60, 30 s and f/5.6 but *exposes* 1/64, 32 s and f/5.657. Settings are
compared and stored in nominal (marked) values; physics uses the true ones, which lie on
powers of two: 2**(k/6) covers the full, 1/2 and 1/3 stop scales alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

Step = Literal["1", "1/2", "1/3"]

#: Marked shutter speeds of a Canon EOS body, longest first, by setting step.
#: The 1/3-stop list is the T7's own (libgphoto2 names 10 s "10.3"); 1/2-stop needs C.Fn 1.
SHUTTER_SPEEDS: dict[Step, tuple[str, ...]] = {
    "1": tuple(
        "30 15 8 4 2 1 0.5 1/4 1/8 1/15 1/30 1/60 1/125 1/250 1/500 1/1000 1/2000 1/4000".split()
    ),
    "1/2": tuple(
        "30 20 15 10.3 8 6 4 3 2 1.5 1 0.7 0.5 0.3 1/4 1/6 1/8 1/10 1/15 1/20 1/30 1/45 1/60 1/90 "
        "1/125 1/180 1/250 1/350 1/500 1/750 1/1000 1/1500 1/2000 1/3000 1/4000".split()
    ),
    "1/3": tuple(
        "30 25 20 15 13 10.3 8 6.3 5 4 3.2 2.5 2 1.6 1.3 1 0.8 0.6 0.5 0.4 0.3 1/4 1/5 1/6 1/8 "
        "1/10 1/13 1/15 1/20 1/25 1/30 1/40 1/50 1/60 1/80 1/100 1/125 1/160 1/200 1/250 1/320 "
        "1/400 1/500 1/640 1/800 1/1000 1/1250 1/1600 1/2000 1/2500 1/3200 1/4000".split()
    ),
}

#: Marked F-numbers from wide open to fully stopped down, by setting step.
F_NUMBERS: dict[Step, tuple[float, ...]] = {
    "1": (5.6, 8.0, 11.0, 16.0, 22.0),
    "1/2": (5.6, 6.7, 8.0, 9.5, 11.0, 13.0, 16.0, 19.0, 22.0),
    "1/3": (5.6, 6.3, 7.1, 8.0, 9.0, 10.0, 11.0, 13.0, 14.0, 16.0, 18.0, 20.0, 22.0),
}

#: A T7 offers full ISO stops only, whatever the step of the other two.
ISO_SPEEDS: tuple[int, ...] = (100, 200, 400, 800, 1600, 3200, 6400)


def parse_shutter_s(text: str) -> float:
    """Seconds of a shutter speed as Canon bodies, libgphoto2 and people spell it.

    Understands ``1/250``, ``0.5``, ``30``, ``0"4`` (0.4 s on the body's display), ``30"`` and a
    trailing ``s``.

    Raises
    ------
    ValueError
        For anything else, ``bulb`` and ``auto`` included: neither names a duration.
    """
    clean = text.strip().lower().removesuffix("s").strip()
    if '"' in clean:  # 0"4 is 0.4 s, 30" is 30 s
        whole, _, tenths = clean.partition('"')
        clean = f"{whole or 0}.{tenths or 0}"
    try:
        seconds = float(Fraction(clean))
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"not a shutter speed: {text!r}") from error
    if seconds <= 0:
        raise ValueError(f"not a shutter speed: {text!r}")
    return seconds


def parse_f_number(text: str) -> float:
    """F-number from ``5.6``, ``f5.6``, ``f/5.6`` or ``F5.6``; ValueError otherwise."""
    clean = text.strip().lower().removeprefix("f").removeprefix("/")
    try:
        number = float(clean)
    except ValueError as error:
        raise ValueError(f"not an F-number: {text!r}") from error
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"not an F-number: {text!r}")
    return number


def spell_shutter(shutter_s: float, offered: Iterable[str] = ()) -> str:
    """The spelling of the marked speed nearest in stops, from `offered` or every Canon list.

    Raises
    ------
    ValueError
        If nothing offered lies within 1/8 stop: the body has no such speed.
    """
    return _spell_shutter(shutter_s, tuple(offered) or _EVERY_SPEED)


def spell_f_number(f_number: float, offered: Iterable[str] = ()) -> str:
    """The spelling of an F-number: of the offered one within 1/8 stop, else ``5.6``, ``8``."""
    names = [name for name in offered if _is_f_number(name)]
    if not names:
        return f"{f_number:g}"
    # An F-number is a square root of a stop: log2(N^2) counts stops.
    squares = {name: parse_f_number(name) ** 2 for name in names}
    return _nearest(f_number**2, squares, "F-number")


def stops_between(value: float, reference: float) -> float:
    """Signed distance log2(value / reference) in stops, of two durations, ISOs or N^2."""
    return math.log2(value / reference)


def true_shutter_s(shutter_s: float) -> float:
    """The duration that a marked speed exposes: the nearest 2**(k/6) s (1/60 is 1/64, 30 is 32)."""
    return float(2.0 ** (_sixths(math.log2(shutter_s)) / 6))


def true_f_number(f_number: float) -> float:
    """The aperture behind a marked F-number: 5.6 is 2**2.5 = 5.657, 22 is 22.63."""
    return float(2.0 ** (_sixths(2 * math.log2(f_number)) / 12))


def ev(shutter_s: float, iso: float, f_number: float) -> float:
    """Exposure value at ISO 100: log2(N^2 / t) - log2(ISO / 100).

    Source: S. F. Ray, "Camera exposure determination" (The Manual of Photography, 2000), as
    used in the SNAP paper, appendix B.
    """
    return math.log2(f_number**2 / shutter_s) - math.log2(iso / 100)


def ev_index(exact_ev: float) -> int:
    """Nearest integer EV, ties half up."""
    return math.floor(exact_ev + 0.5)


@dataclass(frozen=True, order=True)
class Exposure:
    """A triplet of marked settings.

    Attributes
    ----------
    shutter_s : float
        Marked exposure time in seconds (1/60 is 0.0166…, though the body exposes 1/64 s).
    iso : int
        ISO sensitivity.
    f_number : float
        Marked F-number.
    """

    shutter_s: float
    iso: int
    f_number: float

    @property
    def ev(self) -> float:
        """Exact exposure value of the marked settings."""
        return ev(self.shutter_s, self.iso, self.f_number)

    @property
    def ev_index(self) -> int:
        """Exposure value rounded to the nearest integer, ties half up."""
        return ev_index(self.ev)

    def ev_offset(self, ev_reference: int) -> int:
        """Stops of over-exposure relative to a lighting's reference EV: EV_ref - EV."""
        return ev_reference - self.ev_index

    @property
    def stem(self) -> str:
        """The setting as a file stem without dots or slashes, e.g. ``1-250_400_f5-6``."""
        shutter = spell_shutter(self.shutter_s).replace("/", "-").replace(".", "-")
        return f"{shutter}_{self.iso}_f{spell_f_number(self.f_number).replace('.', '-')}"

    def __str__(self) -> str:
        return f"{spell_shutter(self.shutter_s)} s, ISO {self.iso}, f/{self.f_number:g}"


_EVERY_SPEED = tuple(name for speeds in SHUTTER_SPEEDS.values() for name in speeds)


@cache  # a sweep spells the same few speeds over and over
def _spell_shutter(shutter_s: float, offered: tuple[str, ...]) -> str:
    usable = {name: parse_shutter_s(name) for name in offered if _is_shutter(name)}
    return _nearest(shutter_s, usable, "shutter speed")


def _sixths(log2_value: float) -> int:
    """Nearest sixth of a stop that is a full, half or third one: no body marks a plain 1/6."""
    first = math.floor(log2_value * 6) - 1
    marked = (k for k in range(first, first + 4) if k % 6 not in (1, 5))
    return min(marked, key=lambda k: abs(log2_value * 6 - k))


def _is_shutter(text: str) -> bool:
    try:
        parse_shutter_s(text)
    except ValueError:
        return False
    return True


def _is_f_number(text: str) -> bool:
    try:
        parse_f_number(text)
    except ValueError:
        return False
    return True


def _nearest(value: float, named: dict[str, float], what: str) -> str:
    name = min(named, key=lambda n: abs(stops_between(value, named[n])), default=None)
    if name is None or abs(stops_between(value, named[name])) > 1 / 8:
        raise ValueError(f"no {what} near {value:g} among {', '.join(named) or 'nothing'}")
    return name
