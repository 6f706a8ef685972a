"""The rows of units: of a picture, or of every picture in a shard."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, tee
from typing import Final

from evaluate.bias.header import Header, parse, read_ahead
from evaluate.bias.metadata_tables import parquet_rows, record_rows
from evaluate.bias.rows import Row, broken_row, make_row
from evaluate.bias.sources import PICTURES, Unit, stamp_of
from evaluate.bias.tarball import TarError, members
from evaluate.bias.window import BUDGET_BYTES, HEAD_BYTES, Window

#: Bytes of a zip member that are unpacked at once: headers with their thumbnail.
_UNPACKED_BYTES: Final = 64 * 1024


def read_units(units: Iterable[Unit]) -> Iterator[Row]:
    """The rows of units, in order. What cannot be read is a row with the reason, no exception."""
    for is_picture, group in groupby(units, _is_picture_file):
        if is_picture:
            pictures, ahead = tee(group)
            headers = read_ahead(unit.path for unit in ahead)
            for unit, (stamp, header) in zip(pictures, headers, strict=True):
                yield make_row(unit, stamp, unit.path, header)
        else:
            for unit in group:
                yield from _READERS[unit.kind](unit)


def _is_picture_file(unit: Unit) -> bool:
    return unit.kind == "picture"


def _tar(unit: Unit) -> Iterator[Row]:
    try:
        descriptor = os.open(unit.path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        yield broken_row(unit, "", "unreadable")
        return
    stamp = stamp_of(descriptor)
    try:
        for name, start, size in members(descriptor):
            if _is_picture(name):
                head = os.pread(descriptor, min(size, HEAD_BYTES), start)
                header = parse(Window(head, descriptor, start, size))
                yield make_row(unit, stamp, f"{unit.path}/{name}", header)
    except (TarError, OSError):
        yield broken_row(unit, stamp, "broken_shard")
    finally:
        os.close(descriptor)


def _zip(unit: Unit) -> Iterator[Row]:
    stamp = stamp_of(unit.path)
    try:
        with zipfile.ZipFile(unit.path) as archive:
            for member in archive.infolist():
                if _is_picture(member.filename):
                    header = _zip_member(archive, member)
                    yield make_row(unit, stamp, f"{unit.path}/{member.filename}", header)
    except (zipfile.BadZipFile, OSError, ValueError):
        yield broken_row(unit, stamp, "broken_shard" if os.path.exists(unit.path) else "unreadable")


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Header:
    """Unpack the head; more, within the budget, only where the header goes on behind it."""
    try:
        with archive.open(member) as file:
            data = file.read(_UNPACKED_BYTES)
            header = parse(Window(data))
            if header.reason and len(data) == _UNPACKED_BYTES:
                data += file.read(BUDGET_BYTES - _UNPACKED_BYTES)
                header = parse(Window(data))
            if header.reason == "truncated" and len(data) < member.file_size:
                return header._replace(reason="budget")  # cut by us
            return header
    # RuntimeError: encrypted; NotImplementedError: a method of packing that Python lacks
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError):
        return Header("", {}, False, "unreadable")


def _is_picture(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in PICTURES


_READERS: Final[dict[str, Callable[[Unit], Iterator[Row]]]] = {
    "tar": _tar,
    "zip": _zip,
    "parquet": parquet_rows,
    "records": record_rows,
}
