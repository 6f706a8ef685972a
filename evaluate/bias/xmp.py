"""Exposure settings from an XMP packet, for pictures whose Exif block was lost.

Adobe's XMP Specification Part 2 and CIPA DC-010 (Exif in XMP). Values are attributes
(``exif:FNumber="28/10"``) or elements, in a list for ISO; no XML parser is needed for that, and
none can be attacked.
"""

from __future__ import annotations

import re
from typing import Final

from evaluate.bias import tiff
from evaluate.bias.tiff import Tags

_FIELDS: Final = {
    b"ExposureTime": tiff.EXPOSURE_TIME,
    b"FNumber": tiff.F_NUMBER,
    b"ExposureProgram": tiff.EXPOSURE_PROGRAM,
    b"ExposureMode": tiff.EXPOSURE_MODE,
    b"DateTimeOriginal": tiff.DATE_TIME_ORIGINAL,
    b"ISOSpeedRatings": tiff.ISO,
    b"PhotographicSensitivity": tiff.ISO,
    b"ShutterSpeedValue": tiff.SHUTTER_SPEED_VALUE,
    b"ApertureValue": tiff.APERTURE_VALUE,
}
_TEXTS: Final = {b"Make": tiff.MAKE, b"Model": tiff.MODEL}
_FIELD: Final = re.compile(
    rb"\b(?:exif|exifEX|tiff):("
    + b"|".join([*_FIELDS, *_TEXTS])
    + rb")\s*(?:=\s*[\"']([^\"'<>]{1,64})[\"']"
    rb"|>\s*(?:<rdf:(?:Seq|Bag)>\s*<rdf:li>\s*)?([^<>]{1,64})<)"
)
_FRACTION: Final = re.compile(r"(-?\d{1,10})/(-?\d{1,10})")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?")


def read_xmp(packet: bytes) -> Tags:
    """The exposure settings of a packet as Exif tags; empty if it has none."""
    if packet[:2] in (b"\xfe\xff", b"\xff\xfe") or b"\0" in packet[:8]:
        packet = packet.decode("utf-16", "replace").encode()
    tags: Tags = {}
    for match in _FIELD.finditer(packet):
        name = match[1]
        text = (match[2] or match[3]).decode("utf-8", "replace").strip()
        if name in _TEXTS:
            tags.setdefault(_TEXTS[name], text)
        elif text:
            _add(tags, _FIELDS[name], text)
    return tags


def _add(tags: Tags, tag: int, text: str) -> None:
    if tag == tiff.DATE_TIME_ORIGINAL:
        date = _DATE.match(text)
        if date:
            year, month, day, hour, minute, second = date.groups(default="00")
            tags.setdefault(tag, f"{year}:{month}:{day} {hour}:{minute}:{second}")
        return
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        tags.setdefault(tag, (int(fraction[1]), int(fraction[2])))
        return
    try:
        number = float(text)
    except ValueError:
        return
    tags.setdefault(tag, int(number) if number.is_integer() else number)
