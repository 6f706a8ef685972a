"""Read the header of one picture: as few bytes as needed, and never an exception for a bad one."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from evaluate.bias import tiff
from evaluate.bias.containers import find_metadata
from evaluate.bias.sources import stamp_of
from evaluate.bias.tiff import Tags, read_tiff
from evaluate.bias.window import HEAD_BYTES, BudgetError, Window
from evaluate.bias.xmp import read_xmp

#: Files that are opened, and bytes of each that are asked for, before they are read. Exif blocks
#: with a thumbnail end within 64 KiB, which costs a disk hardly more than 16.
_AHEAD_FILES: Final = 32
_AHEAD_BYTES: Final = 64 * 1024
#: macOS has none.
_ADVISE: Final = hasattr(os, "posix_fadvise")

_TRIPLE: Final = frozenset({tiff.EXPOSURE_TIME, tiff.F_NUMBER, tiff.ISO})


class Header(NamedTuple):
    """What the header of a picture holds.

    Attributes
    ----------
    format : str
        jpeg, tiff, png, webp, heif, avif; "" for anything else.
    tags : dict
        Raw values by Exif tag.
    from_xmp : bool
        Whether the tags come from an XMP packet, for want of Exif.
    reason : str
        Why there are no tags, or not all: unreadable, empty, unknown_format, truncated,
        no_exif, bad_exif, budget; "" if nothing is wrong.
    """

    format: str
    tags: Tags
    from_xmp: bool
    reason: str


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header of a file. A file that cannot be read has the reason ``unreadable``."""
    return _read(_open(path))


def read_ahead(paths: Iterable[str]) -> Iterator[tuple[str, Header]]:
    """The stamps and headers of many files, in order.

    While one is parsed, the disk is asked for the next `_AHEAD_FILES`: it then reads in parallel
    and in its own order, which no number of threads does as well.
    """
    opened: deque[tuple[str, int | None]] = deque()
    try:
        for path in paths:
            descriptor = _open(path)
            stamp = ""
            if descriptor is not None:
                _ask_for(descriptor)
                # before the content: a file that changes now is read again by the next scan
                stamp = stamp_of(descriptor)
            opened.append((stamp, descriptor))
            if len(opened) > _AHEAD_FILES:
                stamp, descriptor = opened.popleft()
                yield stamp, _read(descriptor)
        while opened:
            stamp, descriptor = opened.popleft()
            yield stamp, _read(descriptor)
    finally:
        for _, descriptor in opened:
            if descriptor is not None:
                os.close(descriptor)


def _open(path: str | os.PathLike[str]) -> int | None:
    try:
        # a pipe without a writer would hang otherwise
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None


def _ask_for(descriptor: int) -> None:
    if not _ADVISE:
        return
    try:  # noqa: SIM105 - a context costs as much as the call
        os.posix_fadvise(descriptor, 0, _AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
    except OSError:
        pass  # a hint: pipes and some file systems take none


def _read(descriptor: int | None) -> Header:
    """The header of an open file, which is closed; None has the reason ``unreadable``."""
    if descriptor is None:
        return Header("", {}, False, "unreadable")
    try:
        return parse(Window(os.read(descriptor, HEAD_BYTES), descriptor))
    except OSError:
        return Header("", {}, False, "unreadable")
    finally:
        os.close(descriptor)


def parse(window: Window) -> Header:
    """The header of a picture behind a window. Raises OSError where reading on fails."""
    if not window.head:
        return Header("", {}, False, "empty")
    found = find_metadata(window)
    if not found.format:
        return Header("", {}, False, "unknown_format")
    tags: Tags = {}
    reason = found.reason
    packets = found.xmp
    for block in found.exif:
        try:
            directory = read_tiff(block)
        except BudgetError:
            reason = "budget"
            continue
        if directory is None or directory.broken:
            reason = reason or "bad_exif"
        if directory is not None:
            tags.update(directory.tags)
            if directory.xmp is not None:
                packets.append(directory.xmp)
    if packets and _TRIPLE.isdisjoint(tags):
        for packet in packets:
            try:
                lost = read_xmp(packet.rest())
            except BudgetError:
                reason = "budget"
                continue
            if not _TRIPLE.isdisjoint(lost):
                return Header(found.format, tags | lost, True, reason)
    if not found.exif and not reason:
        reason = "no_exif"
    return Header(found.format, tags, False, reason)
