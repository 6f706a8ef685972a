"""Where a picture file keeps its Exif block and its XMP packet.

Only headers are walked: JPEG segments up to the scan, PNG and RIFF chunks, ISO boxes.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from evaluate.bias import heif
from evaluate.bias.tiff import ORDERS
from evaluate.bias.window import STEP_BYTES, BudgetError, Window

_XMP_HEADER: Final = b"http://ns.adobe.com/xap/1.0/\0"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_HEXADECIMAL: Final = re.compile(rb"[0-9A-Fa-f \t\r\n]+")
#: Largest block that is unpacked or copied, in bytes: a bomb in a PNG stays small.
_LONGEST: Final = 256 * 1024
#: Steps over bytes that belong to no segment before a JPEG is given up.
_MOST_GARBAGE: Final = 32 * 1024
#: Chunks of pixels that are stepped over before a PNG's end is looked at instead: libpng makes
#: one of every 8 KiB.
_MOST_PIXEL_CHUNKS: Final = 32
#: Bytes at the end of a PNG in which metadata behind the pixels is looked for, what such a chunk
#: begins with (its length, its kind), and how many of these are looked at: pixels can be anything.
_TAIL_BYTES: Final = 64 * 1024
_METADATA_KINDS: Final = (b"eXIf", b"zTXt", b"iTXt", b"tEXt")
_METADATA_CHUNK: Final = re.compile(b"(.{4})(" + b"|".join(_METADATA_KINDS) + b")", re.DOTALL)
_MOST_CANDIDATES: Final = 64
#: JPEG markers: those that begin a segment with a length; start of scan and end of image, behind
#: which there is no metadata. TEM, RST0 to RST7 and SOI stand alone, 0xFFFF are fill bytes.
_APP1: Final = 0xFFE1
_END: Final = frozenset({0xFFDA, 0xFFD9})
_SEGMENTS: Final = frozenset(range(0xFF02, 0xFFFF)) - _END - frozenset(range(0xFFD0, 0xFFD9))
_SEGMENT: Final = struct.Struct(">HH")


@dataclass(slots=True)
class Found:
    """What a container holds.

    Attributes
    ----------
    format : str
        jpeg, tiff, png, webp, heif or avif; "" if it is none of these.
    exif : list of Window
        TIFF structures in file order; later ones win.
    xmp : list of Window
        XMP packets.
    reason : str
        Why there may be more: truncated, if the file ended within its header; budget, if the
        header wants more reads than any honest file; "" otherwise.
    """

    format: str
    exif: list[Window]
    xmp: list[Window]
    reason: str


def find_metadata(window: Window) -> Found:
    """Exif and XMP of a picture. Raises OSError where reading on fails."""
    kind, walk = _container(window.head)
    found = Found(kind, [], [], "")
    try:
        walk(window, found)
    except BudgetError:
        found.reason = "budget"
    return found


def _container(head: bytes) -> tuple[str, Callable[[Window, Found], None]]:
    """The format and the function that walks through it."""
    if head[:2] == b"\xff\xd8":
        return "jpeg", _jpeg
    if head[:4] in ORDERS:
        return "tiff", lambda window, found: found.exif.append(window)
    if head[:8] == _PNG:
        return "png", _png
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp", _webp
    brand = heif.brand(head)
    return (brand, _heif) if brand else ("", lambda _window, _found: None)


def _jpeg(window: Window, found: Found) -> None:
    # the bytes from `origin` on; most pictures end their header within the first ones
    data, origin, last = window.head, 0, min(len(window.head), window.end) - 4
    at, garbage = 2, 0
    while True:
        if at - origin > last:
            data, origin = window.at(at, STEP_BYTES), at
            last = len(data) - 4
            if last < 0:
                # the end of the picture in place of a segment is short, and no fault
                if data[:2] != b"\xff\xd9":
                    found.reason = "truncated"
                return
        marker, size = _SEGMENT.unpack_from(data, at - origin)
        if marker in _SEGMENTS:
            if marker == _APP1 and size > 8:
                _app1(window, at + 4, size - 2, found)
            at += 2 + size if size > 2 else 4
        elif marker in _END:
            return
        else:
            at += 1 if marker & 0xFF == 0xFF else 2
            garbage += marker < 0xFF00
            if garbage > _MOST_GARBAGE:
                found.reason = "truncated"
                return


def _app1(window: Window, at: int, size: int, found: Found) -> None:
    mark = window.at(at, len(_XMP_HEADER))
    if mark.startswith((b"Exif\0\0", b"Exif\0\xff")):
        found.exif.append(window.part(at + 6, size - 6))
    elif mark == _XMP_HEADER:
        found.xmp.append(window.part(at + len(_XMP_HEADER), size - len(_XMP_HEADER)))


def _png(window: Window, found: Found) -> None:
    at, pixel_chunks = 8, 0
    while True:
        header = window.at(at, 8)
        if len(header) < 8:
            found.reason = "truncated"
            return
        size, kind = struct.unpack(">I4s", header)
        if kind == b"IEND":
            return
        if kind == b"IDAT":
            pixel_chunks += 1
            if pixel_chunks > _MOST_PIXEL_CHUNKS:
                _png_tail(window, found)
                return
        elif kind in _METADATA_KINDS and size <= _LONGEST:
            _png_metadata(kind, window.at(at + 8, size), found)
        at += 12 + size


def _png_tail(window: Window, found: Found) -> None:
    """Chunks with metadata behind the pixels, told from pixels by their checksums."""
    tail = window.tail(_TAIL_BYTES)
    if b"IEND" not in tail:
        found.reason = "truncated"
    for match in islice(_METADATA_CHUNK.finditer(tail), _MOST_CANDIDATES):
        size, kind, at = int.from_bytes(match[1], "big"), match[2], match.end()
        body, check = tail[at : at + size], tail[at + size : at + size + 4]
        if zlib.crc32(kind + body).to_bytes(4, "big") == check:
            _png_metadata(kind, body, found)


def _png_metadata(kind: bytes, body: bytes, found: Found) -> None:
    if kind == b"eXIf":
        found.exif.append(_block(body))
    else:
        _png_text(kind, body, found)


def _png_text(kind: bytes, data: bytes, found: Found) -> None:
    """Exif as ImageMagick's raw profile, or an XMP packet."""
    name, _, rest = data.partition(b"\0")
    if name.lower() in (b"raw profile type exif", b"raw profile type app1"):
        text = rest if kind == b"tEXt" else _inflate(rest[1:])
        # a newline, the name, a newline, the length, a newline, then hexadecimal digits; there are
        # writers that do not end the text there, and others whose length is wrong
        fields = text.split(None, 2)
        if len(fields) == 3:
            text = b"".join(_HEXADECIMAL.findall(fields[2])[:1]).translate(None, b" \t\r\n")
            block = bytes.fromhex(text[: len(text) // 2 * 2].decode("ascii"))
            if block.startswith(_XMP_HEADER):
                found.xmp.append(Window(block[len(_XMP_HEADER) :]))
            else:
                found.exif.append(_block(block))
    elif name == b"XML:com.adobe.xmp" and kind == b"iTXt" and len(rest) > 2:
        packet = rest[2:].split(b"\0", 2)[-1]
        found.xmp.append(Window(_inflate(packet) if rest[0] else packet))


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, _LONGEST)
    except zlib.error:
        return b""


def _webp(window: Window, found: Found) -> None:
    (riff_bytes,) = struct.unpack_from("<I", window.head, 4)
    at = 12
    while at + 8 <= riff_bytes + 8:
        header = window.at(at, 8)
        if len(header) < 8:
            found.reason = "truncated"
            return
        kind, size = struct.unpack("<4sI", header)
        if kind == b"EXIF" and size <= _LONGEST:
            found.exif.append(_block(window.at(at + 8, size)))
        elif kind == b"XMP " and size <= _LONGEST:
            found.xmp.append(window.part(at + 8, size))
        at += 8 + size + (size & 1)


def _heif(window: Window, found: Found) -> None:
    items = heif.metadata_items(window)
    if items is None:
        found.reason = "truncated"
        return
    for kind, block in items:
        if kind == b"Exif" and len(block) > 4:
            (skip,) = struct.unpack_from(">I", block)
            found.exif.append(_block(block[4 + skip :]))
        elif kind == b"mime":
            found.xmp.append(Window(block))


def _block(block: bytes) -> Window:
    """The TIFF structure of a block that may begin with JPEG's own `Exif` mark."""
    return Window(block[6:] if block.startswith(b"Exif\0") else block)
