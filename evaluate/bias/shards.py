"""The rows of one unit: of a picture, or of every picture in a shard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

from evaluate.bias.header import Header, parse, read_header
from evaluate.bias.rows import Row, make_row
from evaluate.bias.sources import PICTURES, Unit
from evaluate.bias.tarball import TarError, members
from evaluate.bias.window import HEAD_BYTES, Window


def read_unit(unit: Unit) -> Iterator[Row]:
    """The rows of a unit. What cannot be read is a row with the reason, never an exception."""
    return _READERS[unit.kind](unit)


def broken(unit: Unit, member: str, reason: str) -> Row:
    """A row for what could not be read."""
    path = f"{unit.path}/{member}" if member else unit.path
    return make_row(path, unit.path, unit.stamp, Header("", {}, False, reason))


def _picture(unit: Unit) -> Iterator[Row]:
    yield make_row(unit.path, unit.path, unit.stamp, read_header(unit.path))


def _tar(unit: Unit) -> Iterator[Row]:
    try:
        descriptor = os.open(unit.path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        yield broken(unit, "", "unreadable")
        return
    try:
        for name, start, size in members(descriptor):
            if os.path.splitext(name)[1].lower() not in PICTURES:
                continue
            head = os.pread(descriptor, min(size, HEAD_BYTES), start)
            header = parse(Window(head, descriptor, start, size))
            yield make_row(f"{unit.path}/{name}", unit.path, unit.stamp, header)
    except (TarError, OSError):
        yield broken(unit, "", "broken_shard")
    finally:
        os.close(descriptor)


_READERS: Final[dict[str, Callable[[Unit], Iterator[Row]]]] = {
    "picture": _picture,
    "tar": _tar,
}
