"""Scan collections into one parquet file: incremental, resumable, in constant memory.

Finished rows go to ``OUT.parts/`` every `PART_ROWS` rows; the end joins them into ``OUT``. A scan
that was killed takes its own parts over, a repeated one takes the rows of unchanged files over.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from evaluate.bias import shards
from evaluate.bias.previous import Previous, Stored, joined
from evaluate.bias.rows import SCHEMA, UNREADABLE, batch
from evaluate.bias.sources import Unit, stamp_of

#: Pictures that one task reads. A shard is a task of its own.
TASK_PICTURES: Final = 2000
#: Rows of one batch, and of a part.
_BATCH_ROWS: Final = 10_000
PART_ROWS: Final = 200_000

#: Under this key the parquet file's metadata says which collection it is of.
METADATA_KEY: Final = b"snaprig.collection"

Engine = Callable[
    [Callable[["list[Unit]"], "list[pa.RecordBatch]"], Iterable["list[Unit]"]],
    Iterator["list[pa.RecordBatch]"],
]


@dataclass(frozen=True)
class Collection:
    """What a scan is of.

    Attributes
    ----------
    name : str
        As the report calls it.
    year : int or None
        Of publication; collections are shown in this order.
    nominal : int or None
        Images that the collection is said to have; None: those that were found.
    """

    name: str
    year: int | None = None
    nominal: int | None = None


@dataclass
class Tally:
    """What was scanned so far."""

    images: int = 0
    reused: int = 0
    readable: int = 0
    with_all_three: int = 0
    mode_conflicts: int = 0
    by_source: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[str] = field(default_factory=Counter)
    by_mode: Counter[str] = field(default_factory=Counter)

    def add(self, rows: pa.RecordBatch) -> None:
        """Count a batch."""
        self.images += rows.num_rows
        for name, counter in (
            ("source", self.by_source),
            ("reason", self.by_reason),
            ("mode", self.by_mode),
        ):
            for entry in rows.column(name).value_counts().to_pylist():
                if entry["values"] is not None:
                    counter[entry["values"]] += entry["counts"]
        self.with_all_three = sum(self.by_source.values())
        self.readable = self.images - sum(self.by_reason[reason] for reason in UNREADABLE)
        self.mode_conflicts += rows.column("mode_conflict").true_count


def scan(
    units: Iterable[Unit],
    out: Path,
    collection: Collection,
    engine: Engine,
    watch: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Read the headers of all units into `out`.

    Parameters
    ----------
    engine : callable
        Maps a function over lists of units, in order (`evaluate.bias.engines`).
    watch : callable
        Is called after each batch.

    Raises
    ------
    OSError
        If `out` cannot be written.
    """
    parts = out.with_name(out.name + ".parts")
    parts.mkdir(parents=True, exist_ok=True)
    left = sorted(parts.glob("*.parquet"))
    run = 1 + max((int(path.stem.split("-")[0]) for path in left), default=0)
    earlier = (left, [out] if out.exists() else [])
    previous = [Previous(files) for files in earlier if files]
    tally = Tally()
    about = json.dumps(asdict(collection)).encode()
    writer = _Parts(parts, run, SCHEMA.with_metadata({METADATA_KEY: about}))
    try:
        for rows in _rows(_without(units, out, parts), previous, engine, tally):
            writer.add(rows)
            tally.add(rows)
            watch(tally)
        writer.close()
    except BaseException:
        with suppress(OSError):  # finished parts stay, for the next scan to take over
            parts.rmdir()
        raise
    _join(writer.paths, out, writer.schema)
    shutil.rmtree(parts)
    return tally


def read_units(units: list[Unit]) -> list[pa.RecordBatch]:
    """Batches of a task's rows; runs in a worker."""
    rows = shards.read_units(units)
    found = []
    # rows hold no cycles; looking for some costs a tenth of the time
    gc.disable()
    try:
        while chunk := list(islice(rows, _BATCH_ROWS)):
            found.append(batch(chunk))
    finally:
        gc.enable()
    return found


def _rows(
    units: Iterable[Unit], previous: list[Previous], engine: Engine, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Batches in the order of the tasks: what is taken over, then what was read."""
    taken: deque[list[Stored]] = deque()

    def tasks() -> Iterator[list[Unit]]:
        for old, new in _tasks(units, previous):
            taken.append(old)
            yield new

    for batches in engine(read_units, tasks()):
        for rows in joined(taken.popleft()):
            tally.reused += rows.num_rows
            yield rows
        yield from batches


def _without(units: Iterable[Unit], out: Path, parts: Path) -> Iterator[Unit]:
    """All but what this scan writes, where that lies in the folder that is scanned."""
    own, below = str(out.resolve()), f"{parts.resolve()}{os.sep}"
    for unit in units:
        if unit.kind == "parquet":
            path = os.path.realpath(unit.path)
            if path == own or path.startswith(below):
                continue
        yield unit


def _tasks(
    units: Iterable[Unit], previous: list[Previous]
) -> Iterator[tuple[list[Stored], list[Unit]]]:
    """Rows to take over and units to read, in steps of `TASK_PICTURES`; a shard ends a step."""
    old: list[Stored] = []
    new: list[Unit] = []
    count = 0
    for unit in units:
        found = _known(unit, previous) if previous else None
        if found is None:
            new.append(unit)
        else:
            old += found
        count += 1
        if count == TASK_PICTURES or (found is None and unit.kind != "picture"):
            yield old, new
            old, new, count = [], [], 0
    if old or new:
        yield old, new


def _known(unit: Unit, previous: list[Previous]) -> list[Stored] | None:
    stamp = stamp_of(unit.path)
    return next((rows for scan in previous if (rows := scan.take(unit.path, stamp))), None)


class _Parts:
    """Parquet files of `PART_ROWS` rows each, whole or absent."""

    def __init__(self, folder: Path, run: int, schema: pa.Schema) -> None:
        self._folder = folder
        self._run = run
        self.schema = schema
        self._rows: list[pa.RecordBatch] = []
        self._count = 0
        self.paths: list[Path] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Hold rows, and write a part when there are enough."""
        self._rows.append(rows)
        self._count += rows.num_rows
        if self._count >= PART_ROWS:
            self.close()

    def close(self) -> None:
        """Write what is held."""
        if not self._rows:
            return
        path = self._folder / f"{self._run:04}-{len(self.paths):06}.parquet"
        partial = path.with_suffix(".partial")
        rows = pa.Table.from_batches(self._rows, SCHEMA).cast(self.schema)
        pq.write_table(rows, partial, compression="zstd")
        partial.rename(path)
        self.paths.append(path)
        self._rows, self._count = [], 0


def _join(parts: list[Path], out: Path, schema: pa.Schema) -> None:
    if len(parts) == 1:
        parts[0].replace(out)  # the one part is the whole
        return
    partial = out.with_name(out.name + ".partial")
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for path in parts:
            with pq.ParquetFile(path) as file:
                for rows in file.iter_batches(batch_size=65_536):
                    writer.write_batch(rows.cast(schema))
    partial.replace(out)
