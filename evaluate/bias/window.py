"""Random access to a picture of which only as much is read as is needed.

A window holds the first bytes of a picture and reads on where it must, within a budget: a
hostile file cannot make a scan read more than `BUDGET_BYTES` or seek more than `BUDGET_READS`
times.
"""

from __future__ import annotations

import os
from typing import Final

#: Bytes of a file that are read at once. Of 435 files with Exif, 419 need no more.
HEAD_BYTES: Final = 16 * 1024

#: The least that is read when the head does not suffice: the headers of several segments.
STEP_BYTES: Final = 4 * 1024

#: What a picture may cost at most behind its head. A JPEG segment has 64 KiB; an Exif block in
#: other containers rarely more.
BUDGET_BYTES: Final = 1024 * 1024
BUDGET_READS: Final = 256

#: Where a picture ends of which that is not known.
_NOWHERE: Final = 2**63


class BudgetError(Exception):
    """The picture's header wants more reads than any honest file needs."""


class Window:
    """A picture, or a part of one, as bytes at offsets.

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
        Bytes and reads that are left, of the window that this one is a part of.

    Attributes
    ----------
    head : bytes
        The first bytes of the whole picture, also for a part of it.
    base, end : int
        Where the part begins and ends in the picture.
    """

    __slots__ = ("_budget", "_cache", "_cache_at", "_descriptor", "_start", "base", "end", "head")

    def __init__(
        self,
        head: bytes,
        descriptor: int | None = None,
        start: int = 0,
        size: int | None = None,
        budget: list[int] | None = None,
    ) -> None:
        self.head = head
        self.base = 0
        self.end = len(head) if descriptor is None else _NOWHERE if size is None else size
        self._descriptor = descriptor
        self._start = start
        self._cache = b""
        self._cache_at = 0
        self._budget = budget or [BUDGET_BYTES, BUDGET_READS]

    def at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`, which is not negative; fewer where the part ends.

        Raises
        ------
        BudgetError
            If the picture has used up what it may read.
        OSError
            If the file cannot be read.
        """
        begin = self.base + offset
        end = begin + size
        if end > self.end:  # noqa: PLR1730 - this is called more than anything else
            end = self.end
        if end <= len(self.head):
            return self.head[begin:end]
        return self._read(begin, end)

    def rest(self) -> bytes:
        """The whole part; of a picture whose size is not known, what the budget allows."""
        return self.at(0, min(self.end - self.base, self._budget[0]))

    def part(self, offset: int, size: int) -> Window:
        """A window on `size` bytes from `offset`, out of the same budget."""
        part = Window(self.head, self._descriptor, self._start, self.end, self._budget)
        part.base = self.base + offset
        part.end = min(part.base + size, self.end)
        return part

    def tail(self, size: int) -> bytes:
        """The last bytes of the picture, at most `size`. Raises as `at` does."""
        end = self.end
        if end == _NOWHERE:
            end = os.fstat(self._descriptor).st_size - self._start  # type: ignore[arg-type]  # has one, else the end is known
        begin = max(self.base, end - size)
        return self.at(begin - self.base, end - begin)

    def _read(self, begin: int, end: int) -> bytes:
        if self._cache_at <= begin and end <= self._cache_at + len(self._cache):
            return self._cache[begin - self._cache_at : end - self._cache_at]
        if begin >= end:
            return b""
        # not beyond the part: what lies behind is another's
        wanted = min(max(end - begin, STEP_BYTES), self.end - begin)
        bytes_left, reads_left = self._budget
        if reads_left <= 0 or wanted > bytes_left:
            raise BudgetError
        self._budget[:] = bytes_left - wanted, reads_left - 1
        self._cache = os.pread(self._descriptor, wanted, self._start + begin)  # type: ignore[arg-type]  # has one, else the head is all
        self._cache_at = begin
        return self._cache[: end - begin]
