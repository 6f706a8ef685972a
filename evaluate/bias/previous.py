"""Rows of an earlier scan, to be taken over where a file has not changed.

The rows of a scan come in the order of its units, which is the same each time. So the earlier
scan is read alongside, and only a window of it is held, however large it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from evaluate.bias.rows import SCHEMA

#: Units of the earlier scan that are held. A unit that moved by more is read again.
_WINDOW: Final = 50_000


class Stored(NamedTuple):
    """Rows `start` to `end` of a batch of the earlier scan."""

    batch: pa.RecordBatch
    start: int
    end: int


class Previous:
    """Finished rows by unit, from the parts of an interrupted scan or from a whole one."""

    def __init__(self, files: list[Path]) -> None:
        self._batches = _batches(files)
        self._held: OrderedDict[str, tuple[str, list[Stored]]] = OrderedDict()

    def take(self, unit: str, stamp: str) -> list[Stored] | None:
        """The unit's rows, if it was read with this stamp; None if it must be read."""
        while unit not in self._held and len(self._held) < _WINDOW and self._load():
            pass
        found = self._held.pop(unit, None)
        if found is None and len(self._held) >= _WINDOW:
            # units that are gone, or far away
            for _ in range(_WINDOW // 2):
                self._held.popitem(last=False)
        return found[1] if found is not None and stamp and found[0] == stamp else None

    def _load(self) -> bool:
        batch = next(self._batches, None)
        if batch is None:
            return False
        units = batch.column("unit").to_pylist()
        stamps = batch.column("stamp").to_pylist()
        start = 0
        for end in range(1, len(units) + 1):
            if end < len(units) and units[end] == units[start]:
                continue
            rows = Stored(batch, start, end)
            held = self._held.get(units[start])
            if held is not None and held[0] == stamps[start]:
                held[1].append(rows)  # a shard whose rows go over several batches
            else:
                self._held[units[start]] = (stamps[start], [rows])
            start = end
        return True


def joined(stored: Iterable[Stored]) -> Iterator[pa.RecordBatch]:
    """The rows as few batches: neighbors are joined."""
    last: Stored | None = None
    for rows in stored:
        if last is not None and rows.batch is last.batch and rows.start == last.end:
            last = last._replace(end=rows.end)
            continue
        if last is not None:
            yield last.batch.slice(last.start, last.end - last.start)
        last = rows
    if last is not None:
        yield last.batch.slice(last.start, last.end - last.start)


def _batches(files: list[Path]) -> Iterator[pa.RecordBatch]:
    for path in files:
        with pq.ParquetFile(path) as file:
            if file.schema_arrow.names != SCHEMA.names:
                continue
            for batch in file.iter_batches(batch_size=8192):
                yield batch.cast(SCHEMA)
