"""Copies whose bytes are proven: read once, digested on the way, whole or absent."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from schemas.workspace import PARTIAL

_BLOCK = 1 << 20


class DigestError(Exception):
    """A file whose bytes are not those that its row says. The text names it."""


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_verified(source: Path, target: Path, sha256: str | None = None) -> str:
    """Copy a file so that it is either whole or absent, power cuts included; its sha256.

    The times of the source are kept, so that an unchanged file is known again.

    Raises
    ------
    DigestError
        If the source's bytes are not those of `sha256`; nothing is left at `target` then.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + PARTIAL)
    digest = hashlib.sha256()
    with source.open("rb") as reading, partial.open("wb") as writing:
        while block := reading.read(_BLOCK):
            digest.update(block)
            writing.write(block)
        writing.flush()
        os.fsync(writing.fileno())
        stat = os.fstat(reading.fileno())
    found = digest.hexdigest()
    if sha256 is not None and found != sha256:
        partial.unlink()
        raise DigestError(f"{source}: its bytes changed, sha256 differs from the row")
    os.utime(partial, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    partial.replace(target)
    sync_folder(target.parent)
    return found


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
