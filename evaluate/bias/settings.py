"""From raw tags to exposure settings, with the reason where there are none. Pure.

Each value says where it came from: `exif` (the tag itself), `apex` (ShutterSpeedValue and
ApertureValue), `rei` (the sensitivity tags of Exif 2.3, where ISO has no room or is missing),
`xmp`. A value that cannot be is left out and named, never mended.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final, NamedTuple

from evaluate.bias import tiff
from evaluate.bias.tiff import Tags, Value

#: What a camera can be set to. Longer exposures, wider lenses and higher sensitivities are typing
#: errors of firmware: a 4,294,967,295 s exposure is "unknown" by another name.
SHUTTER_RANGE_S: Final = (1e-6, 7 * 24 * 3600.0)
F_NUMBER_RANGE: Final = (0.5, 512.0)
ISO_RANGE: Final = (1.0, 10_000_000.0)

#: The ISO tag has 16 bits; this value says "more than fits" (Exif 2.3, 4.6.6).
_ISO_FULL: Final = 65535

_SENSITIVITIES: Final = (
    tiff.RECOMMENDED_EXPOSURE_INDEX,
    tiff.STANDARD_OUTPUT_SENSITIVITY,
    tiff.ISO_SPEED,
)
#: What stands between the numbers of ``2014:05:06 07:08:09``, at 4, 7, 10, 13 and 16.
_DATE_MARKS: Final = frozenset({":: ::", "::T::"})
_DATES: Final = (
    (tiff.DATE_TIME_ORIGINAL, "original"),
    (tiff.DATE_TIME_DIGITIZED, "digitized"),
    (tiff.DATE_TIME, "modified"),
)


class Setting(NamedTuple):
    """One value: positive and finite, or None with the reason.

    `source` is "" where there is no value, `reason` is "" where there is one.
    """

    value: float | None
    source: str
    reason: str


_MISSING: Final = Setting(None, "", "missing")


class Settings(NamedTuple):
    """What a picture's header says of its exposure.

    Attributes
    ----------
    shutter, f_number, iso : Setting
        In seconds; as f-number; as ISO speed.
    exposure_mode, exposure_program : int or None
        The tags as they stand: 0 auto, 1 manual, 2 auto bracket; 1 manual, 2 normal, ….
    mode : str
        auto, manual or unknown: by ExposureMode, else by ExposureProgram.
    mode_conflict : bool
        Whether the two tags disagree on manual.
    date : datetime or None
        Of the camera's clock, without a zone.
    date_source : str
        original, digitized or modified; "" without a date.
    """

    shutter: Setting
    f_number: Setting
    iso: Setting
    exposure_mode: int | None
    exposure_program: int | None
    mode: str
    mode_conflict: bool
    date: datetime | None
    date_source: str


def interpret(tags: Tags) -> Settings:
    """Settings from the tags of one picture."""
    mode, program = _whole(tags.get(tiff.EXPOSURE_MODE)), _whole(tags.get(tiff.EXPOSURE_PROGRAM))
    by_mode = None if mode is None else mode == 1 if mode in (0, 1, 2) else None
    by_program = None if program is None else program == 1 if 1 <= program <= 8 else None
    manual = by_program if by_mode is None else by_mode
    date, date_source = _date(tags)
    return Settings(
        _shutter(tags),
        _f_number(tags),
        _iso(tags),
        mode,
        program,
        "unknown" if manual is None else "manual" if manual else "auto",
        by_mode is not None and by_program is not None and by_mode != by_program,
        date,
        date_source,
    )


def exposure_value(shutter_s: float, f_number: float, iso: float) -> float:
    """EV at ISO 100: log2(N^2 / t) - log2(ISO / 100)."""
    return math.log2(f_number * f_number / shutter_s) - math.log2(iso / 100)


def number(value: Value) -> tuple[float | None, str]:
    """A raw value as a number, or None with the reason."""
    if isinstance(value, tuple):
        numerator, denominator = value
        return (numerator / denominator, "") if denominator else (None, "zero_denominator")
    if isinstance(value, str):
        try:
            parsed = float(value.split()[0])
        except ValueError:
            return None, "not_a_number"
        return (parsed, "") if math.isfinite(parsed) else (None, "not_a_number")
    return (float(value), "") if math.isfinite(value) else (None, "not_a_number")


def _shutter(tags: Tags) -> Setting:
    found = _plain(tags, tiff.EXPOSURE_TIME, SHUTTER_RANGE_S)
    if found.value is None and tiff.SHUTTER_SPEED_VALUE in tags:
        apex, _ = number(tags[tiff.SHUTTER_SPEED_VALUE])
        # Tv = -log2 t; beyond +-25 it is a time in the wrong field
        if apex is not None and abs(apex) <= 25:
            return Setting(2.0**-apex, "apex", "")
    return found


def _f_number(tags: Tags) -> Setting:
    found = _plain(tags, tiff.F_NUMBER, F_NUMBER_RANGE)
    if found.value is None and tiff.APERTURE_VALUE in tags:
        apex, _ = number(tags[tiff.APERTURE_VALUE])
        # Av = 2 log2 N; 0 stands for "no lens electronics" more often than for f/1
        if apex is not None and 0 < apex <= 18:
            return Setting(2.0 ** (apex / 2), "apex", "")
    return found


def _iso(tags: Tags) -> Setting:
    found = _plain(tags, tiff.ISO, ISO_RANGE)
    if found.value is not None and found.value != _ISO_FULL:
        return found
    for tag in _SENSITIVITIES:
        other = _plain(tags, tag, ISO_RANGE)
        if other.value is not None and other.value != _ISO_FULL:
            return Setting(other.value, "rei", "")
    if found.value == _ISO_FULL:
        return Setting(None, "", "saturated")
    return found


def _plain(tags: Tags, tag: int, allowed: tuple[float, float]) -> Setting:
    raw = tags.get(tag)
    if raw is None:
        return _MISSING
    value, reason = number(raw)
    if value is None:
        return Setting(None, "", reason)
    if allowed[0] <= value <= allowed[1]:
        return Setting(value, "exif", "")
    return Setting(None, "", "zero" if value == 0 else "out_of_range")


def _whole(value: Value | None) -> int | None:
    return value if isinstance(value, int) else None


def _date(tags: Tags) -> tuple[datetime | None, str]:
    for tag, source in _DATES:
        text = tags.get(tag)
        if isinstance(text, str) and text[4:17:3] in _DATE_MARKS:
            try:
                # a camera's clock has no zone
                return datetime.fromisoformat(text[:19].replace(":", "-", 2)), source
            except ValueError:
                continue
    return None, ""
