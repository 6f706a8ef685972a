"""Read the header of one picture: as few bytes as needed, and never an exception for a bad one."""

from __future__ import annotations

import os
from typing import NamedTuple

from evaluate.bias import tiff
from evaluate.bias.containers import find_metadata
from evaluate.bias.tiff import Tags, read_tiff
from evaluate.bias.window import HEAD_BYTES, BudgetError, Window
from evaluate.bias.xmp import read_xmp

_TRIPLE = frozenset({tiff.EXPOSURE_TIME, tiff.F_NUMBER, tiff.ISO})


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
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
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
    try:
        found = find_metadata(window)
    except BudgetError:
        return Header("", {}, False, "budget")
    if not found.format:
        return Header("", {}, False, "unknown_format")
    tags: Tags = {}
    reason = "truncated" if found.truncated else ""
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
            tags = tags | directory.tags if tags else directory.tags
            if directory.xmp:
                packets.append(directory.xmp)
    if packets and _TRIPLE.isdisjoint(tags):
        for packet in packets:
            lost = read_xmp(packet)
            if not _TRIPLE.isdisjoint(lost):
                return Header(found.format, tags | lost, True, reason)
    if not found.exif and not reason:
        reason = "no_exif"
    return Header(found.format, tags, False, reason)
