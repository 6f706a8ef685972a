"""What there is to scan: pictures in folders and lists, and shards that hold many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

#: Files of a folder that are taken for pictures. Formats whose Exif is not read, or that have no
#: room for it, count as well: they are images of the collection.
PICTURES: Final = frozenset(
    ".jpg .jpeg .jpe .jfif .mpo .png .webp .tif .tiff .heic .heif .hif .avif "
    ".gif .bmp .psd .dng .cr2 .nef .nrw .arw .orf .pef .srw".split()
)

#: Kinds of shards by the end of their name.
SHARDS: Final = {
    ".tar": "tar",
    ".zip": "zip",
    ".parquet": "parquet",
    ".json": "records",
    ".jsonl": "records",
    ".csv": "records",
}
#: Those that a folder's walk takes: a JSON or CSV file there is more often about the pictures.
_WALKED: Final = dict.fromkeys(PICTURES, "picture") | {
    suffix: SHARDS[suffix] for suffix in (".tar", ".zip", ".parquet")
}
_LISTS: Final = frozenset({".txt", ".lst", ".list"})


class SourceError(Exception):
    """A source is missing or of no known kind."""


class Unit(NamedTuple):
    """A file that is read on its own.

    Attributes
    ----------
    kind : str
        ``picture``, or a value of `SHARDS`.
    path : str
        Where it is, as the rows name it.
    """

    kind: str
    path: str


def stamp_of(file: str | int) -> str:
    """Size in bytes and time of change in ns of a path or descriptor: same stamp, same content.

    "" for a file that is not there.
    """
    try:
        state = os.stat(file)
    except OSError:
        return ""
    return f"{state.st_size}:{state.st_mtime_ns}"


def find_units(sources: Iterable[Path]) -> Iterator[Unit]:
    """Every unit of the sources, always in the same order. Folders are walked as they are read.

    Raises
    ------
    SourceError
        If a source does not exist or is neither a folder, a list, a shard nor a picture.
    """
    for source in sources:
        suffix = source.suffix.lower()
        if source.is_dir():
            yield from _walk(str(source))
        elif not source.exists():
            raise SourceError(f"{source} does not exist")
        elif suffix in _LISTS:
            yield from _listed(source)
        elif suffix in SHARDS:
            yield Unit(SHARDS[suffix], str(source))
        elif suffix in PICTURES:
            yield Unit("picture", str(source))
        else:
            raise SourceError(
                f"{source} is no source: give a folder, a list of paths (.txt), "
                f"a picture, or one of {', '.join(SHARDS)}"
            )


def _walk(folder: str) -> Iterator[Unit]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=attrgetter("name"))
    except OSError as error:
        raise SourceError(f"{folder} cannot be listed: {error.strerror}") from error
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
            continue
        name = entry.name
        kind = _WALKED.get(name[name.rfind(".") :].lower())
        if kind:
            yield Unit(kind, entry.path)


def _listed(listing: Path) -> Iterator[Unit]:
    with listing.open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            name = line.rstrip("\r\n")
            if not name:
                continue
            path = os.path.join(listing.parent, name)
            kind = SHARDS.get(os.path.splitext(name)[1].lower(), "picture")
            yield Unit(kind, path)
