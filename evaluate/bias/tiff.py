"""The tags of exposure in a TIFF structure, which is what an Exif block is.

Exif 2.32 (CIPA DC-008), sections 4.5 and 4.6. A broken entry costs itself, never the rest.
"""

from __future__ import annotations

import struct
from functools import lru_cache
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


#: Byte order by the first bytes: TIFF itself, and raw files of Panasonic and Olympus.
ORDERS: Final = {
    b"II*\0": _order("<"), b"IIU\0": _order("<"), b"IIRO": _order("<"), b"IIRS": _order("<"),
    b"MM\0*": _order(">"),
}  # fmt: skip

#: Types that a pointer to a directory may have; another one is damage.
_POINTERS: Final = frozenset({4, 9, 13})

_SEEN: Final = WANTED | {_EXIF_IFD}

#: An IFD has a few dozen entries; the count is two bytes of a file that may be hostile.
_MOST_ENTRIES = 2000
#: Longest value that counts, in bytes: an XMP packet in a TIFF file. Texts are cut at 256.
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
    xmp : Window or None
        An XMP packet kept as a tag (TIFF files).
    """

    tags: Tags
    broken: bool
    xmp: Window | None


def read_tiff(window: Window) -> Directory | None:
    """The exposure tags of a TIFF structure that begins at offset 0; None if it is none.

    Raises
    ------
    BudgetError
        If the structure wants more reads than an honest file.
    """
    head = window.at(0, 8)
    order = ORDERS.get(head[:4])
    if order is None:
        return None
    if len(head) < 8:
        return Directory({}, True, None)
    (first,) = order.long.unpack_from(head, 4)
    tags: Tags = {}
    main = _read_ifd(window, first, order, tags)
    if main is None:
        return Directory(tags, True, None)
    exif_at, broken, xmp = main
    if exif_at == first:
        broken = True
    elif exif_at:
        own: Tags = {}
        exif = _read_ifd(window, exif_at, order, own)
        broken = broken or exif is None or exif[1]
        tags.update(own)
    return Directory(tags, broken, xmp)


def _read_ifd(
    window: Window, offset: int, order: _Order, tags: Tags
) -> tuple[int, bool, Window | None] | None:
    """Fill `tags`; where the Exif IFD begins, whether anything was cut, and an XMP packet."""
    entries = _entries(window, offset, order.short)
    if entries is None:
        return None
    raw, cut = entries
    sign, _, long, entry, rational = order
    little = sign == "<"
    exif_at, xmp = 0, None
    head, base = window.head, window.base
    known = min(len(head), window.end)
    for place in _places(sign, raw[::12], raw[1::12]):
        tag, kind, number, value = entry.unpack_from(raw, place)
        if tag in tags:
            continue
        # the common cases without a call: this loop is most of the time of a scan
        if kind == _ASCII and 4 < number <= _LONGEST_TEXT and base + value <= known - number:
            if text := _text(head[base + value : base + value + number]):
                tags[tag] = text
        elif kind == _SHORT and number == 1:
            tags[tag] = value & 0xFFFF if little else value >> 16
        elif kind == _RATIONAL and number == 1 and base + value <= known - 8:
            tags[tag] = rational.unpack_from(head, base + value)
        elif tag == _EXIF_IFD:
            exif_at = value if kind in _POINTERS else 0
        elif tag == _XMP:
            xmp = window.part(value, number)  # of bytes, whatever the type says
        else:
            data = _payload(window, kind, number, long.pack(value), value)
            if data is None:
                cut = True
            elif data and (decoded := _decode(data, kind, order)) is not None:
                tags[tag] = decoded
    return exif_at, cut, xmp


def _entries(window: Window, offset: int, short: struct.Struct) -> tuple[bytes, bool] | None:
    """A directory's entries of 12 bytes each and whether some are cut off; None if it is none."""
    counted = window.at(offset, 2)
    if offset < 8 or len(counted) < 2:
        return None
    (count,) = short.unpack(counted)
    raw = window.at(offset + 2, 12 * min(count, _MOST_ENTRIES))
    if len(raw) == 12 * count:
        return raw, False
    return raw[: len(raw) // 12 * 12], True


@lru_cache(maxsize=1024)
def _places(sign: str, first: bytes, second: bytes) -> tuple[int, ...]:
    """Offsets of the wanted entries by the first and second bytes of all entries' tags.

    A camera writes the same directory each time, so this is computed once a camera.
    """
    tags = zip(second, first, strict=True) if sign == "<" else zip(first, second, strict=True)
    return tuple(12 * nth for nth, (high, low) in enumerate(tags) if high << 8 | low in _SEEN)


def _payload(window: Window, kind: int, number: int, inline: bytes, at: int) -> bytes | None:
    """The bytes of an entry; empty for a type or count that cannot be, None if they are cut."""
    size = _SIZE[kind] * number if kind < len(_SIZE) else 0
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
        return _text(data) or None
    values = struct.unpack_from(order.sign + _CODE[kind], data)
    return values[0] if len(values) == 1 else values


def _text(data: bytes) -> str:
    """Up to the first NUL, without blanks around it; Exif's ASCII is Latin-1 where it is not."""
    return data.partition(b"\0")[0].decode("latin-1").strip()
