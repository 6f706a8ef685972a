"""Prepared frames on disk, by the frame's bytes and what was done to them.

One file each: a header (width and height of the frame, checksum), then the array of uint8. A file
that is cut or changed is as good as none. When the folder grows beyond its bound, the oldest go.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import threading
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_HEADER = struct.Struct("<4sIIQ")  # magic, width, height, CRC-32 of the rest
_MAGIC = b"SRP1"

#: Room is made down to this part of the bound, so that it is made seldom.
_KEPT = 0.9


class Cached(NamedTuple):
    """A prepared frame, and the size of the picture it was made of."""

    prepared: npt.NDArray[np.uint8]
    size_px: tuple[int, int]


class PreparedCache:
    """A folder of prepared frames. Several threads and processes may share it.

    Each process counts what was there when it started and what it added: with several at once
    the folder can grow to that many times its bound.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._total = sum(size for _, size, _ in self._files())

    def get(self, sha256: str, key: str) -> Cached | None:
        """What was stored for a frame under a transform's key."""
        try:
            data = self._path(sha256, key).read_bytes()
        except OSError:
            return None  # not stored, or made room for another
        if len(data) < _HEADER.size:
            return None
        magic, width, height, checksum = _HEADER.unpack_from(data)
        body = data[_HEADER.size :]
        if magic != _MAGIC or zlib.crc32(body) != checksum:
            return None
        prepared = np.load(io.BytesIO(body), allow_pickle=False)
        return Cached(prepared, (width, height))

    def put(self, sha256: str, key: str, cached: Cached) -> None:
        """Store a prepared frame; a full disk is the caller's OSError."""
        buffer = io.BytesIO()
        np.save(buffer, cached.prepared, allow_pickle=False)
        body = buffer.getvalue()
        path = self._path(sha256, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
        partial.write_bytes(_HEADER.pack(_MAGIC, *cached.size_px, zlib.crc32(body)) + body)
        partial.replace(path)
        with self._lock:
            self._total += _HEADER.size + len(body)
            if self._total > self._limit:
                self._make_room()

    def _make_room(self) -> None:
        files = sorted(self._files())
        self._total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._total <= _KEPT * self._limit:
                break
            path.unlink(missing_ok=True)
            self._total -= size

    def _files(self) -> list[tuple[float, int, Path]]:
        found = []
        for path in self._folder.glob("*/*/*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # another process made room
            found.append((status.st_mtime, status.st_size, path))
        return found

    def _path(self, sha256: str, key: str) -> Path:
        transform = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._folder / transform / sha256[:2] / sha256
