"""Random access to a picture of which only as much is read as is needed.

A window holds the first bytes of a picture and reads on where it must, within a budget: a
hostile file cannot make a scan read more than `BUDGET_BYTES` or seek more than `BUDGET_READS`
times.
"""

from __future__ import annotations

import os

#: Bytes of a file that are read at once. Of 435 files with Exif, 419 need no more.
HEAD_BYTES = 16 * 1024

#: The least that is read when the head does not suffice: the headers of several segments.
_STEP_BYTES = 4 * 1024

#: What a picture may cost at most behind its head. A JPEG segment has 64 KiB; an Exif block in
#: other containers rarely more.
BUDGET_BYTES = 1024 * 1024
BUDGET_READS = 256


class BudgetError(Exception):
    """The picture's header wants more reads than any honest file needs."""


class Window:
    """A picture as bytes at offsets.

    Parameters
    ----------
    head : bytes
        The first bytes; all of them for a picture in memory.
    descriptor : int or None
        File to read on from; None: there is no more than `head`.
    start : int
        Offset of the picture in that file: a member of a tar file does not begin at 0.
    size : int or None
        Length of the picture in bytes; None: not known beforehand, so to the end of the file.
    budget : list of int or None
        Of the window that this one is a part of.
    """

    __slots__ = ("_budget", "_cache", "_cache_at", "_descriptor", "_size", "_start", "head")

    def __init__(
        self,
        head: bytes,
        descriptor: int | None = None,
        start: int = 0,
        size: int | None = None,
        budget: list[int] | None = None,
    ) -> None:
        self.head = head
        self._descriptor = descriptor
        self._start = start
        self._size = size
        self._cache = b""
        self._cache_at = 0
        #: Bytes and reads that are left, shared by all windows on one picture.
        self._budget = budget or [BUDGET_BYTES, BUDGET_READS]

    def at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer where the picture ends.

        Raises
        ------
        BudgetError
            If the picture has used up what it may read.
        OSError
            If the file cannot be read.
        """
        end = offset + size
        if end <= len(self.head):
            return self.head[offset:end]
        if self._descriptor is None or offset < 0:
            return self.head[offset:end] if offset >= 0 else b""
        if self._cache_at <= offset and end <= self._cache_at + len(self._cache):
            return self._cache[offset - self._cache_at : end - self._cache_at]
        return self._read(offset, size)

    def part(self, offset: int, size: int) -> Window:
        """A window on `size` bytes from `offset`, out of the same budget."""
        head = self.head[offset : offset + size]
        if len(head) == size or self._descriptor is None:
            return Window(head)
        return Window(head, self._descriptor, self._start + offset, size, self._budget)

    def _read(self, offset: int, size: int) -> bytes:
        wanted = max(size, _STEP_BYTES)
        if self._size is not None:
            wanted = min(wanted, self._size - offset)
            if wanted <= 0:
                return b""
        bytes_left, reads_left = self._budget
        if reads_left <= 0 or wanted > bytes_left:
            raise BudgetError
        self._budget[:] = bytes_left - wanted, reads_left - 1
        self._cache = os.pread(self._descriptor, wanted, self._start + offset)  # type: ignore[arg-type]  # checked by the caller
        self._cache_at = offset
        return self._cache[:size]
