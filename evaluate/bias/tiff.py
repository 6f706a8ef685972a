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

#: Bytes of one value by type: byte, ASCII, short, long, rational, undefined, their signed sisters,
#: float, double, IFD. Types beyond are not of TIFF 6.
_SIZE: Final = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4)
_BYTE, _ASCII, _SHORT, _LONG, _RATIONAL, _UNDEFINED = 1, 2, 3, 4, 5, 7
_CODE: Final = {
    1: "B",
    3: "H",
    4: "I",
    5: "II",
    6: "b",
    8: "h",
    9: "i",
    10: "ii",
    11: "f",
    12: "d",
    13: "I",
}


class _Order(NamedTuple):
    """Byte order with what is unpacked most."""

    sign: str
    short: struct.Struct
    long: struct.Struct
    entry: struct.Struct
    rational: struct.Struct


def _order(sign: str) -> _Order:
    return _Order(sign, *(struct.Struct(sign + code) for code in ("H", "I", "HHII", "II")))


_ORDERS: Final = {b"II*\0": _order("<"), b"IIU\0": _order("<"), b"MM\0*": _order(">")}

#: Types that a pointer to a directory may have; another one is damage.
_POINTERS: Final = frozenset({4, 9, 13})

_SEEN: Final = WANTED | {_EXIF_IFD}

#: An IFD has a few dozen entries; the count is two bytes of a file that may be hostile.
_MOST_ENTRIES = 2000
#: Longest value that is read, in bytes: an XMP packet in a TIFF file. Texts are cut at 256.
_LONGEST = 256 * 1024
_LONGEST_TEXT = 256


#: A fraction as it stands in the file: numerator and denominator, which may be 0.
Rational = tuple[int, int]

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
    """The exposure tags of a TIFF structure that begins at offset 0; None if it is none.

    Raises
    ------
    BudgetError
        If the structure wants more reads than an honest file.
    """
    head = window.at(0, 8)
    order = _ORDERS.get(head[:4])
    if order is None:
        return None
    if len(head) < 8:
        return Directory({}, True, b"")
    (first,) = order.long.unpack_from(head, 4)
    tags: Tags = {}
    main = _read_ifd(window, first, order, tags)
    if main is None:
        return Directory(tags, True, b"")
    exif_at, broken, xmp = main
    if exif_at == first:
        broken = True
    elif exif_at:
        own: Tags = {}
        exif = _read_ifd(window, exif_at, order, own)
        broken = broken or exif is None or exif[1]
        own = tags | own if tags else own
        return Directory(own, broken, xmp)
    return Directory(tags, broken, xmp)


def _read_ifd(
    window: Window, offset: int, order: _Order, tags: Tags
) -> tuple[int, bool, bytes] | None:
    """Fill `tags`; where the Exif IFD begins, whether anything was cut, and an XMP packet."""
    counted = window.at(offset, 2)
    if offset < 8 or len(counted) < 2:
        return None
    (count,) = order.short.unpack(counted)
    raw = window.at(offset + 2, 12 * min(count, _MOST_ENTRIES))
    cut = len(raw) < 12 * count
    if cut:
        raw = raw[: len(raw) // 12 * 12]
    exif_at, xmp = 0, b""
    head = window.head
    known = len(head)
    little = order.sign == "<"
    for tag, kind, number, value in order.entry.iter_unpack(raw):
        if tag not in _SEEN or tag in tags:
            continue
        # the common cases without a call: this loop is most of the time of a scan
        if kind == _SHORT and number == 1:
            tags[tag] = value & 0xFFFF if little else value >> 16
            continue
        if tag == _EXIF_IFD:
            exif_at = value if kind in _POINTERS else 0
            continue
        size = _SIZE[kind] * number if kind < 14 else 0
        if 4 < size <= _LONGEST_TEXT and value + size <= known:
            data: bytes | None = head[value : value + size]
        else:
            data = _payload(window, size, kind, order.long.pack(value), value)
        if data is None:
            cut = True
        elif tag == _XMP:
            xmp = data
        elif data and (decoded := _decode(data, kind, order)) is not None:
            tags[tag] = decoded
    return exif_at, cut, xmp


def _payload(window: Window, size: int, kind: int, inline: bytes, at: int) -> bytes | None:
    """The bytes of an entry; empty for a type or count that cannot be, None if they are cut."""
    if size <= 4:
        return inline[:size]
    if size > _LONGEST:
        return b""
    if kind == _ASCII and size > _LONGEST_TEXT:
        size = _LONGEST_TEXT
    data = window.at(at, size)
    return data if len(data) == size else None


def _decode(data: bytes, kind: int, order: _Order) -> Value | None:
    """The first value of an entry; None for an empty text."""
    if kind == _RATIONAL:
        return order.rational.unpack_from(data)
    if kind in (_ASCII, _UNDEFINED):
        return data.partition(b"\0")[0].decode("latin-1").strip() or None
    values = struct.unpack_from(order.sign + _CODE[kind], data)
    return values[0] if len(values) == 1 else values
