"""Pictures of a tar file, found by stepping from header to header; nothing is unpacked.

POSIX.1-1988 ustar, with the long names of GNU and pax.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

_BLOCK: Final = 512
_LONGEST_NAME: Final = 64 * 1024


class TarError(Exception):
    """A header is broken: what follows cannot be found."""


def members(descriptor: int) -> Iterator[tuple[str, int, int]]:
    """(name, offset, size in bytes) of each regular file.

    Raises
    ------
    TarError
        Where a header is broken or the file is cut; members before it were given.
    """
    end = os.fstat(descriptor).st_size
    at = 0
    name = ""
    size_override: int | None = None
    while at + _BLOCK <= end:
        block = os.pread(descriptor, _BLOCK, at)
        if block.count(0) == _BLOCK:
            return
        size = _number(block[124:136])
        if size < 0 or not _checks(block):
            raise TarError(f"broken header at byte {at}")
        kind = block[156:157]
        body = at + _BLOCK
        if kind == b"L":
            name = _text(os.pread(descriptor, min(size, _LONGEST_NAME), body))
        elif kind == b"x":
            fields = _pax(os.pread(descriptor, min(size, _LONGEST_NAME), body))
            name = fields.get(b"path", b"").decode("utf-8", "surrogateescape") or name
            if fields.get(b"size", b"").isdigit():
                size_override = int(fields[b"size"])
        else:
            if size_override is not None:
                size = size_override
            if kind in (b"0", b"\0", b"7"):
                if body + size > end:
                    raise TarError(f"cut within the member at byte {at}")
                yield name or _name(block), body, size
            name, size_override = "", None
        at = body + (size + _BLOCK - 1) // _BLOCK * _BLOCK
    if at > end:
        raise TarError("cut at its end")


def _checks(block: bytes) -> bool:
    """Whether the header's checksum holds: the sum of its bytes with the field as blanks."""
    return _number(block[148:156]) == sum(block) - sum(block[148:156]) + 8 * 32


def _number(field: bytes) -> int:
    if field[0] & 0x80:  # GNU: base 256
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0", 1)[0].strip()
    try:
        return int(digits or b"0", 8)
    except ValueError:
        return -1


def _name(block: bytes) -> str:
    name = _text(block[:100])
    prefix = (
        _text(block[345:500]) if block[257:262] == b"ustar" and block[257:264] != b"ustar  " else ""
    )
    return f"{prefix}/{name}" if prefix else name


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _pax(data: bytes) -> dict[bytes, bytes]:
    """Records of a pax header: length, key, value, newline."""
    fields = {}
    while data:
        length, _, rest = data.partition(b" ")
        if not length.isdigit() or not 0 < int(length) <= len(data):
            break
        key, _, value = rest[: int(length) - len(length) - 2].partition(b"=")
        fields[key] = value
        data = data[int(length) :]
    return fields
