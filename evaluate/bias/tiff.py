"""The tags of exposure in a TIFF structure, which is what an Exif block is.

Exif 2.32 (CIPA DC-008), sections 4.5 and 4.6. A broken entry costs itself, never the rest.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from evaluate.bias.window import Window

#: Tags that are read, by number.
EXPOSURE_TIME: Final = 0x829A
F_NUMBER: Final = 0x829D
EXPOSURE_PROGRAM: Final = 0x8822
ISO: Final = 0x8827
SENSITIVITY_TYPE: Final = 0x8830
STANDARD_OUTPUT_SENSITIVITY: Final = 0x8831
RECOMMENDED_EXPOSURE_INDEX: Final = 0x8832
ISO_SPEED: Final = 0x8833
DATE_TIME_ORIGINAL: Final = 0x9003
DATE_TIME_DIGITIZED: Final = 0x9004
SHUTTER_SPEED_VALUE: Final = 0x9201
APERTURE_VALUE: Final = 0x9202
EXPOSURE_MODE: Final = 0xA402
MAKE: Final = 0x010F
MODEL: Final = 0x0110
DATE_TIME: Final = 0x0132
_XMP: Final = 0x02BC
_EXIF_IFD: Final = 0x8769

WANTED: Final = frozenset(
    {
        EXPOSURE_TIME, F_NUMBER, EXPOSURE_PROGRAM, ISO, SENSITIVITY_TYPE,
        STANDARD_OUTPUT_SENSITIVITY, RECOMMENDED_EXPOSURE_INDEX, ISO_SPEED,
        DATE_TIME_ORIGINAL, DATE_TIME_DIGITIZED, SHUTTER_SPEED_VALUE, APERTURE_VALUE,
        EXPOSURE_MODE, MAKE, MODEL, DATE_TIME, _XMP,
    }
)  # fmt: skip

#: Bytes of one value by type: byte, ASCII, short, long, rational, their signed sisters, float,
#: double, IFD. Types beyond are not of TIFF 6.
_SIZE: Final = {
    1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4,
}  # fmt: skip
_CODE: Final = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I"}

#: Types that a pointer to a directory may have; another one is damage.
_POINTERS: Final = frozenset({4, 9, 13})

#: An IFD has a few dozen entries; the count is two bytes of a file that may be hostile.
_MOST_ENTRIES = 2000
#: Longest value that is read, in bytes: an XMP packet in a TIFF file. Texts are cut at 256.
_LONGEST = 256 * 1024
_LONGEST_TEXT = 256


class Rational(NamedTuple):
    """A fraction as it stands in the file; the denominator may be 0."""

    numerator: int
    denominator: int


#: A value as it stands in the file: a number, a fraction, a text.
Value = int | float | Rational | str

Tags = dict[int, Value]


class Directory(NamedTuple):
    """What a TIFF structure says.

    Attributes
    ----------
    tags : dict
        Values by tag; those of the Exif IFD win over the main one's.
    broken : bool
        Whether a pointer led nowhere or a directory was cut.
    xmp : bytes
        An XMP packet kept as a tag (TIFF files), or nothing.
    """

    tags: Tags
    broken: bool
    xmp: bytes


def read_tiff(window: Window) -> Directory | None:
    """The exposure tags of a TIFF structure that begins at offset 0; None if it is none."""
    head = window.at(0, 8)
    if head[:4] in (b"II*\0", b"IIU\0"):
        order = "<"
    elif head[:4] == b"MM\0*":
        order = ">"
    else:
        return None
    if len(head) < 8:
        return Directory({}, True, b"")
    (first,) = struct.unpack(order + "I", head[4:])
    tags: Tags = {}
    main = _read_ifd(window, first, order, tags)
    broken = main is None
    xmp = b""
    if main is not None:
        exif_at, broken, xmp = main
        if exif_at and exif_at != first:
            own: Tags = {}
            exif = _read_ifd(window, exif_at, order, own)
            broken = broken or exif is None or exif[1]
            tags |= own
        elif exif_at:
            broken = True
    return Directory(tags, broken, xmp)


def _read_ifd(
    window: Window, offset: int, order: str, tags: Tags
) -> tuple[int, bool, bytes] | None:
    """Fill `tags`; where the Exif IFD begins, whether anything was cut, and an XMP packet."""
    counted = window.at(offset, 2)
    if offset < 8 or len(counted) < 2:
        return None
    (count,) = struct.unpack(order + "H", counted)
    raw = window.at(offset + 2, 12 * min(count, _MOST_ENTRIES))
    cut = len(raw) < 12 * count
    if cut:
        raw = raw[: len(raw) // 12 * 12]
    exif_at, xmp = 0, b""
    for tag, kind, number, inline in struct.iter_unpack(order + "HHI4s", raw):
        if tag == _EXIF_IFD and kind in _POINTERS:
            (exif_at,) = struct.unpack(order + "I", inline)
        elif tag in WANTED and tag not in tags:
            data = _payload(window, kind, number, inline, order)
            if data is None:
                cut = True
            elif tag == _XMP:
                xmp = data
            elif data and (value := _decode(data, kind, order)) is not None:
                tags[tag] = value
    return exif_at, cut, xmp


def _payload(window: Window, kind: int, number: int, inline: bytes, order: str) -> bytes | None:
    """The bytes of an entry; empty for a type or count that cannot be, None if they are cut."""
    size = _SIZE.get(kind, 0) * number
    if size <= 4:
        return inline[:size]
    if size > _LONGEST:
        return b""
    if kind == 2 and size > _LONGEST_TEXT:
        size = _LONGEST_TEXT
    (at,) = struct.unpack(order + "I", inline)
    data = window.at(at, size)
    return data if len(data) == size else None


def _decode(data: bytes, kind: int, order: str) -> Value | None:
    """The first value of an entry; None for an empty text."""
    if kind == 5:
        return Rational(*struct.unpack(order + "II", data[:8]))
    if kind == 10:
        return Rational(*struct.unpack(order + "ii", data[:8]))
    if kind in (2, 7):
        return data.partition(b"\0")[0].decode("latin-1").strip() or None
    value: Value = struct.unpack_from(order + _CODE[kind], data)[0]
    return value
