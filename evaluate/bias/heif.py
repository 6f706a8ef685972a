"""Metadata items of a HEIF or AVIF file (ISO/IEC 14496-12 and 23008-12)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from evaluate.bias.window import Window

#: Longest box or item that is read, in bytes.
_LONGEST: Final = 512 * 1024
_MOST_BOXES: Final = 64
#: An Exif item is one piece, rarely a few. Fields of zero bytes would make any count cheap.
_MOST_EXTENTS: Final = 64
_BRANDS: Final = {
    b"avif": "avif", b"avis": "avif",
    b"heic": "heif", b"heix": "heif", b"hevc": "heif", b"heim": "heif", b"heis": "heif",
    b"mif1": "heif", b"msf1": "heif",
}  # fmt: skip


def brand(head: bytes) -> str:
    """Give avif or heif by the file type box; "" if it is another file."""
    if head[4:8] != b"ftyp":
        return ""
    (size,) = struct.unpack_from(">I", head)
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, min(size, 64), 4))]
    known = [_BRANDS[b] for b in brands if b in _BRANDS]
    return "avif" if "avif" in known else "heif" if known else ""


def metadata_items(window: Window) -> list[tuple[bytes, bytes]] | None:
    """Items of type Exif and of mime type XMP as (type, bytes); None if the file is cut."""
    meta = _top_box(window, b"meta")
    if meta is None:
        return None
    boxes = dict(_boxes(meta[4:]))
    wanted = _item_types(boxes.get(b"iinf", b""))
    found = []
    for item, method, extents in _locations(boxes.get(b"iloc", b"")):
        kind = wanted.get(item)
        if kind is None:
            continue
        source = boxes.get(b"idat", b"")
        parts = [
            window.at(offset, length) if method == 0 else source[offset : offset + length]
            for offset, length in extents
            if length <= _LONGEST
        ]
        found.append((kind, b"".join(parts)[:_LONGEST]))
    return found


def _top_box(window: Window, wanted: bytes) -> bytes | None:
    at = 0
    for _ in range(_MOST_BOXES):
        header = window.at(at, 16)
        if len(header) < 8:
            return None
        size, kind = struct.unpack_from(">I4s", header)
        start = 8
        if size == 1 and len(header) == 16:
            (size,) = struct.unpack_from(">Q", header, 8)
            start = 16
        if kind == wanted:
            body = min(size - start, _LONGEST) if size else _LONGEST
            return window.at(at + start, body) if body > 4 else None
        if size < start:
            return None
        at += size
    return None


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if size < 8:
            return
        yield kind, data[at + 8 : at + size]
        at += size


def _item_types(iinf: bytes) -> dict[int, bytes]:
    """Item id → type, of Exif items and mime items of XMP."""
    if len(iinf) < 6:
        return {}
    found = {}
    for kind, body in _boxes(iinf[6 if iinf[0] == 0 else 8 :]):
        if kind != b"infe" or len(body) < 12 or body[0] < 2:
            continue
        wide = body[0] >= 3
        (item,) = struct.unpack_from(">I" if wide else ">H", body, 4)
        start = 10 if wide else 8
        item_type = body[start : start + 4]
        if item_type == b"Exif" or (item_type == b"mime" and b"application/rdf+xml" in body):
            found[item] = item_type
    return found


def _locations(iloc: bytes) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """(item id, construction method, extents as (offset, length)); stops where it is cut."""
    if len(iloc) < 8:
        return
    version = iloc[0]
    offset_size, length_size = iloc[4] >> 4, iloc[4] & 15
    base_size, index_size = iloc[5] >> 4, iloc[5] & 15 if version in (1, 2) else 0
    reader = _Reader(iloc, 6)
    try:
        for _ in range(min(reader.number(4 if version == 2 else 2), 10_000)):
            item = reader.number(4 if version == 2 else 2)
            method = reader.number(2) & 15 if version in (1, 2) else 0
            reader.number(2)  # which file: another than this one is not read
            base = reader.number(base_size)
            count = reader.number(2)
            if count > _MOST_EXTENTS:
                return
            extents = []
            for _ in range(count):
                reader.number(index_size)
                offset = base + reader.number(offset_size)
                extents.append((offset, reader.number(length_size)))
            yield item, method, extents
    except EOFError:
        return


class _Reader:
    """Big-endian numbers one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def number(self, size: int) -> int:
        """The next one of `size` bytes; 0 for none. Raises EOFError at the end."""
        end = self._at + size
        if end > len(self._data):
            raise EOFError
        value = int.from_bytes(self._data[self._at : end], "big")
        self._at = end
        return value
