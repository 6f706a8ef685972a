"""What an import did: every row used, or counted and named with a reason."""

from __future__ import annotations

import base64
import gc
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evaluate.errors import EvaluateError
from schemas.import_store import Imported

#: How many rejected rows are named in full for each reason.
EXAMPLES = 5


@contextmanager
def without_collector() -> Iterator[None]:
    """Switch the cycle collector off while millions of rows, free of cycles, are alive.

    It would walk all of them again and again: a third of the time of an import.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def pack_places(places: list[int]) -> str:
    """Places in a list as text: differences of neighbors, compressed (a few tens of kilobytes)."""
    steps = np.diff(places, prepend=0).astype("<i4")
    return base64.b64encode(zlib.compress(steps.tobytes(), 9)).decode()


def unpack_places(packed: str) -> list[int]:
    """The places that `pack_places` packed."""
    steps = np.frombuffer(zlib.decompress(base64.b64decode(packed)), "<i4")
    return [int(place) for place in np.cumsum(steps)]


@dataclass(frozen=True)
class Source:
    """A file to import.

    Attributes
    ----------
    name : str
        Path within the imported folder, with slashes: its key in the catalog.
    sha256 : str
    """

    path: Path
    name: str
    sha256: str

    @classmethod
    def read(cls, path: Path, root: Path) -> Source:
        """Digest a file. Raises EvaluateError if it cannot be read."""
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EvaluateError(f"cannot read {path}: {error.strerror or error}") from error
        return cls(path, path.relative_to(root).as_posix(), digest)


@dataclass
class SourceReport:
    """What became of the rows of one source.

    Attributes
    ----------
    counts : Counter
        What went into the catalog, by kind (``frames``, ``responses``, …).
    rejected : dict
        Reason to (rows, examples).
    missing : int
        Frames that a file of one row a frame has no row for.
    order : str
        Digest of the paths in the order of the rows, for files of one row a frame.
    first : str
        First path of that order.
    places : str
        Where the rows of that order stand in the list of frames (see `pack_places`); empty where
        they come in the list's own order.
    """

    counts: Counter[str] = field(default_factory=Counter)
    rejected: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    missing: int = 0
    order: str = ""
    first: str = ""
    places: str = ""

    def reject(self, reason: str, example: object) -> None:
        """Count a row that cannot be used."""
        rows, examples = self.rejected.get(reason, (0, []))
        if rows < EXAMPLES:
            examples = [*examples, str(example)]
        self.rejected[reason] = (rows + 1, examples)

    def note_order(self, paths: Iterable[str], frames: Mapping[str, int] | None = None) -> None:
        """Remember in which order the rows come, against that of the list of frames if given.

        A program that pastes columns of two such files together by position mixes up the frames;
        what that does to a score can be told from the orders (`evaluate.report.effects`).
        """
        listed = list(paths)
        self.order = hashlib.sha256("\n".join(listed).encode()).hexdigest()[:12]
        self.first = listed[0] if listed else ""
        if frames is not None and listed != list(frames):
            numbers = {path: place for place, path in enumerate(frames)}
            if len(listed) == len(numbers) and numbers.keys() == set(listed):
                self.places = pack_places([numbers[path] for path in listed])

    def to_json(self) -> dict[str, Any]:
        """As the catalog keeps it."""
        return {
            "counts": dict(self.counts),
            "rejected": {reason: list(value) for reason, value in self.rejected.items()},
            "missing": self.missing,
            "order": self.order,
            "first": self.first,
            **({"places": self.places} if self.places else {}),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> SourceReport:
        """The report that `to_json` made."""
        rejected = {reason: (rows, names) for reason, (rows, names) in stored["rejected"].items()}
        counts = Counter({str(kind): int(number) for kind, number in stored["counts"].items()})
        return cls(
            counts,
            rejected,
            stored["missing"],
            stored["order"],
            stored["first"],
            stored.get("places", ""),
        )


@dataclass
class ImportReport:
    """All sources of one import, in the order they were read."""

    sources: dict[str, SourceReport] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    not_used: list[str] = field(default_factory=list)

    def split(
        self, sources: Iterable[Source], known: Mapping[str, Imported]
    ) -> Iterator[tuple[Source, SourceReport]]:
        """Sources that are new or changed, each with its empty report to fill.

        One whose digest is in the catalog is skipped; its report comes from there.
        """
        for source in sources:
            before = known.get(source.name)
            if before is not None and before.sha256 == source.sha256:
                self.sources[source.name] = SourceReport.from_json(before.report)
                self.unchanged.append(source.name)
                continue
            (self.imported if before is None else self.changed).append(source.name)
            self.sources[source.name] = SourceReport()
            yield source, self.sources[source.name]

    @property
    def counts(self) -> dict[str, int]:
        """What the catalog holds of these sources, by kind."""
        total: Counter[str] = Counter()
        for report in self.sources.values():
            total.update(report.counts)
        return dict(sorted(total.items()))

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Rows that cannot be used, by source and reason."""
        return [
            {"source": name, "reason": reason, "rows": rows, "examples": examples}
            for name, report in self.sources.items()
            for reason, (rows, examples) in report.rejected.items()
        ]

    @property
    def row_orders(self) -> dict[str, Any]:
        """Which files list their frames in which order: the first order is the metadata's."""
        by_order: dict[str, list[str]] = {}
        for name, report in self.sources.items():
            if report.order:
                by_order.setdefault(report.order, []).append(name)
        orders = [
            {"order": digest, "first_path": self.sources[files[0]].first, "files": files}
            for digest, files in by_order.items()
        ]
        return {"distinct": len(orders), "joined_by": "path", "orders": orders}

    @property
    def missing(self) -> list[dict[str, Any]]:
        """Sources that lack rows for some frames."""
        return [
            {"source": name, "frames": report.missing}
            for name, report in self.sources.items()
            if report.missing
        ]

    def to_json(self, seconds: float) -> dict[str, Any]:
        """As ``--json`` prints it."""
        return {
            "counts": self.counts,
            "rejected": self.rejected,
            "missing": self.missing,
            "row_orders": self.row_orders,
            "sources": {
                "imported": len(self.imported),
                "changed": self.changed,
                "unchanged": len(self.unchanged),
                "not_used": self.not_used,
            },
            "seconds": round(seconds, 3),
        }
