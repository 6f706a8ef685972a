"""Exposure settings as other programs print them: by name, in words. Pure.

exifread (the `exif` column of img2dataset), ExifTool (which Flickr's ``photos.getExif`` passes
on), and flat tables name the same tags differently and print modes as words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from evaluate.bias import tiff
from evaluate.bias.tiff import Tags, Value

#: Spellings of a tag's name, in lower case without anything but letters and digits.
_NAMES: Final = {
    "exposuretime": tiff.EXPOSURE_TIME,
    "exposuretimes": tiff.EXPOSURE_TIME,
    "exposure": tiff.EXPOSURE_TIME,
    "shutter": tiff.EXPOSURE_TIME,
    "shutters": tiff.EXPOSURE_TIME,
    "shutterspeed": tiff.EXPOSURE_TIME,
    "fnumber": tiff.F_NUMBER,
    "fstop": tiff.F_NUMBER,
    "aperture": tiff.F_NUMBER,
    "iso": tiff.ISO,
    "isospeed": tiff.ISO,
    "isospeedratings": tiff.ISO,
    "photographicsensitivity": tiff.ISO,
    "recommendedexposureindex": tiff.RECOMMENDED_EXPOSURE_INDEX,
    "standardoutputsensitivity": tiff.STANDARD_OUTPUT_SENSITIVITY,
    "exposuremode": tiff.EXPOSURE_MODE,
    "exposureprogram": tiff.EXPOSURE_PROGRAM,
    "shutterspeedvalue": tiff.SHUTTER_SPEED_VALUE,
    "aperturevalue": tiff.APERTURE_VALUE,
    "datetimeoriginal": tiff.DATE_TIME_ORIGINAL,
    "datetaken": tiff.DATE_TIME_ORIGINAL,
    "date": tiff.DATE_TIME_ORIGINAL,
    "datetimedigitized": tiff.DATE_TIME_DIGITIZED,
    "createdate": tiff.DATE_TIME_DIGITIZED,
    "datetime": tiff.DATE_TIME,
    "modifydate": tiff.DATE_TIME,
    "make": tiff.MAKE,
    "model": tiff.MODEL,
    "camera": tiff.MODEL,
}
_GROUPS: Final = re.compile(r"^(exif|image|ifd0|exififd)[ :]", re.IGNORECASE)
_TEXTS: Final = frozenset(
    {tiff.MAKE, tiff.MODEL, tiff.DATE_TIME_ORIGINAL, tiff.DATE_TIME_DIGITIZED, tiff.DATE_TIME}
)

#: ExposureMode and ExposureProgram in the words of ExifTool and of exifread.
_MODES: Final = {
    "auto": 0, "auto exposure": 0,
    "manual": 1, "manual exposure": 1,
    "auto bracket": 2,
}  # fmt: skip
_PROGRAMS: Final = {
    "not defined": 0, "unidentified": 0, "undefined": 0,
    "manual": 1,
    "program ae": 2, "program normal": 2, "normal program": 2,
    "aperture-priority ae": 3, "aperture priority": 3,
    "shutter speed priority ae": 4, "shutter priority": 4,
    "creative (slow speed)": 5, "program creative": 5,
    "action (high speed)": 6, "program action": 6,
    "portrait": 7, "portrait mode": 7,
    "landscape": 8, "landscape mode": 8,
    "bulb": 9,
}  # fmt: skip
_FRACTION: Final = re.compile(r"(-?\d{1,10})\s*/\s*(-?\d{1,10})")
_NUMBER: Final = re.compile(r"-?\d{1,12}(?:\.\d{1,12})?(?:[eE][-+]?\d{1,3})?")
_ISO_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d:\d\d:\d\d)")


def named_tags(fields: Mapping[str, Any]) -> Tags:
    """Tags from names and printed values; unknown names and empty values are left out."""
    tags: Tags = {}
    for name, printed in fields.items():
        short = re.sub(r"[^a-z0-9]", "", _GROUPS.sub("", name).lower())
        tag = _NAMES.get(short)
        if tag is None or printed is None:
            continue
        value = _value(tag, printed)
        if value is not None:
            tags.setdefault(tag, value)
    return tags


def _value(tag: int, printed: Any) -> Value | None:  # noqa: ANN401 - JSON
    if isinstance(printed, list):
        printed = printed[0] if printed else None
    if isinstance(printed, int | float) and not isinstance(printed, bool):
        return None if tag in _TEXTS else printed
    if not isinstance(printed, str):
        return None
    text = printed.strip()
    if tag in _TEXTS:
        date = _ISO_DATE.match(text)
        return f"{date[1]}:{date[2]}:{date[3]} {date[4]}" if date else text or None
    words = {tiff.EXPOSURE_MODE: _MODES, tiff.EXPOSURE_PROGRAM: _PROGRAMS}.get(tag, {})
    return words.get(text.lower(), _number(text))


def _number(text: str) -> Value | None:
    """``1/125``, ``14/5``, ``f/2.8``, ``0.008 sec (1/125)``, ``[400, 0]``, ``200``."""
    text = text.lower().removeprefix("f/").strip("[] ")
    fraction = _FRACTION.match(text)
    if fraction:
        return (int(fraction[1]), int(fraction[2]))
    found = _NUMBER.match(text)
    if not found:
        return None
    number = float(found[0])
    return int(number) if number.is_integer() else number
