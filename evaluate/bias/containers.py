"""Where a picture file keeps its Exif block and its XMP packet.

Only headers are walked: JPEG segments up to the scan, PNG and RIFF chunks, ISO boxes.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import Final

from evaluate.bias import heif
from evaluate.bias.window import Window

_XMP_HEADER: Final = b"http://ns.adobe.com/xap/1.0/\0"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
#: Largest block that is unpacked or copied, in bytes: a bomb in a PNG stays small.
_LONGEST: Final = 256 * 1024
#: Steps over bytes that belong to no segment before a JPEG is given up.
_MOST_GARBAGE: Final = 32 * 1024
_APP1: Final = 0xE1
#: Start of scan and end of image: no metadata behind.
_END: Final = frozenset({0xDA, 0xD9})
#: Markers that begin no segment: the ends, TEM, RST0 to RST7, SOI, and fill bytes.
_SPECIAL: Final = _END | {0x00, 0x01, 0xFF, *range(0xD0, 0xD9)}


@dataclass(slots=True)
class Found:
    """What a container holds.

    Attributes
    ----------
    format : str
        jpeg, tiff, png, webp, heif or avif; "" if it is none of these.
    exif : list of Window
        TIFF structures in file order; later ones win.
    xmp : list of bytes
        XMP packets.
    truncated : bool
        Whether the file ended within its header.
    """

    format: str
    exif: list[Window] = field(default_factory=list)
    xmp: list[bytes] = field(default_factory=list)
    truncated: bool = False


def find_metadata(window: Window) -> Found:
    """Exif and XMP of a picture.

    Raises
    ------
    BudgetError
        If its header wants more reads than an honest file.
    """
    head = window.head
    if head[:2] == b"\xff\xd8":
        return _jpeg(window)
    if head[:4] in (b"II*\0", b"MM\0*", b"IIU\0"):
        return Found("tiff", [window])
    if head[:8] == _PNG:
        return _png(window)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(window)
    brand = heif.brand(head)
    if brand:
        return _heif(window, brand)
    return Found("")


def _jpeg(window: Window) -> Found:
    found = Found("jpeg", [], [])
    head = window.head
    known = len(head) - 4
    at, garbage = 2, 0
    while True:
        if at <= known:
            mark, code, high, low = head[at : at + 4]
        else:
            header = window.at(at, 4)
            if len(header) < 4:
                # the end of the picture in place of a segment is short, and no fault
                found.truncated = header[:2] != b"\xff\xd9"
                return found
            mark, code, high, low = header
        if mark == 0xFF and code not in _SPECIAL:
            size = high << 8 | low
            if code == _APP1 and size > 8:
                _app1(window, at + 4, size - 2, found)
            at += 2 + size if size > 2 else 4
        elif mark == 0xFF and code in _END:
            return found
        elif mark == 0xFF:
            at += 1 if code == 0xFF else 2
        else:
            at += 1 if code == 0xFF else 2
            garbage += 1
            if garbage > _MOST_GARBAGE:
                found.truncated = True
                return found


def _app1(window: Window, at: int, size: int, found: Found) -> None:
    mark = window.at(at, 29)
    if mark[:6] in (b"Exif\0\0", b"Exif\0\xff"):
        found.exif.append(window.part(at + 6, size - 6))
    elif mark == _XMP_HEADER:
        found.xmp.append(window.at(at + 29, size - 29))


def _png(window: Window) -> Found:
    found = Found("png")
    at = 8
    while True:
        header = window.at(at, 8)
        if len(header) < 8:
            found.truncated = True
            return found
        size, kind = struct.unpack(">I4s", header)
        if kind == b"IEND":
            return found
        if kind == b"eXIf" and size <= _LONGEST:
            found.exif.append(Window(_after_exif_header(window.at(at + 8, size))))
        elif kind in (b"zTXt", b"iTXt", b"tEXt") and size <= _LONGEST:
            _png_text(kind, window.at(at + 8, size), found)
        at += 12 + size


def _png_text(kind: bytes, data: bytes, found: Found) -> None:
    """Exif as ImageMagick's raw profile, or an XMP packet."""
    name, _, rest = data.partition(b"\0")
    if name.lower() in (b"raw profile type exif", b"raw profile type app1"):
        text = rest if kind == b"tEXt" else _inflate(rest[1:])
        # a newline, the name, a newline, the length, a newline, then hexadecimal digits
        fields = text.split(None, 2)
        if len(fields) == 3:
            try:
                block = bytes.fromhex(fields[2].decode("ascii"))
            except ValueError:
                found.truncated = True
                return
            if block.startswith(_XMP_HEADER):
                found.xmp.append(block[len(_XMP_HEADER) :])
            else:
                found.exif.append(Window(_after_exif_header(block)))
    elif name == b"XML:com.adobe.xmp" and kind == b"iTXt" and len(rest) > 2:
        packet = rest[2:].split(b"\0", 2)[-1]
        found.xmp.append(_inflate(packet) if rest[0] else packet)


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, _LONGEST)
    except zlib.error:
        return b""


def _webp(window: Window) -> Found:
    found = Found("webp")
    (riff_bytes,) = struct.unpack_from("<I", window.head, 4)
    at = 12
    while at + 8 <= riff_bytes + 8:
        header = window.at(at, 8)
        if len(header) < 8:
            found.truncated = True
            return found
        kind, size = struct.unpack("<4sI", header)
        if kind == b"EXIF" and size <= _LONGEST:
            found.exif.append(Window(_after_exif_header(window.at(at + 8, size))))
        elif kind == b"XMP " and size <= _LONGEST:
            found.xmp.append(window.at(at + 8, size))
        at += 8 + size + (size & 1)
    return found


def _heif(window: Window, brand: str) -> Found:
    found = Found(brand)
    items = heif.metadata_items(window)
    if items is None:
        found.truncated = True
        return found
    for kind, block in items:
        if kind == b"Exif" and len(block) > 4:
            (skip,) = struct.unpack_from(">I", block)
            found.exif.append(Window(_after_exif_header(block[4 + skip :])))
        elif kind == b"mime":
            found.xmp.append(block)
    return found


def _after_exif_header(block: bytes) -> bytes:
    """The TIFF structure of a block that may begin with JPEG's own `Exif` mark."""
    return block[6:] if block.startswith(b"Exif\0") else block
