"""The folder of an export: files with their digests, resumed where it was stopped.

`export.json` says what the folder holds and whether it is whole; `manifest-sha256.txt` lists
every file, as ``sha256sum -c`` reads it. A file is written aside and renamed; whether it is what
it should be, its digest says, so nothing has to be synchronized on the way.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from rig.errors import Abort
from schemas.copying import sha256_of
from schemas.workspace import PARTIAL, write_atomically

MARKER = "export.json"
MANIFEST = "manifest-sha256.txt"

#: The one file that the lab goes on writing: never overwritten once it was edited.
README = "README.md"


class CsvWriter(Protocol):
    """What the csv module's writers do."""

    def writerow(self, row: Iterable[Any], /) -> object:
        """Write one row."""

    def writerows(self, rows: Iterable[Iterable[Any]], /) -> object:
        """Write rows."""


class ExportFolder:
    """One export being written.

    Parameters
    ----------
    root : Path
    form : str
        Name of the format.
    options : dict
        What decides which files it has; another export does not go into the same folder.

    Attributes
    ----------
    copied, kept : int
        Pictures that were written; that were there with the right digest.
    """

    def __init__(self, root: Path, form: str, options: dict[str, Any]) -> None:
        self.root = root
        self.copied = self.kept = 0
        self.size_bytes = 0
        self._what: dict[str, Any] = {"format": form, "options": options}
        self._digests: dict[str, str] = {}
        self._before = self._open()

    def put_picture(self, name: str, sha256: str, read: Callable[[], bytes]) -> tuple[bytes, bool]:
        """The bytes of the picture at `name`, and whether they had to be written.

        Safe to call from several threads; register the picture afterwards.
        """
        path = self.root / name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if data and hashlib.sha256(data).hexdigest() == sha256:
            return data, False
        data = read()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + PARTIAL)
        partial.write_bytes(data)
        partial.replace(path)
        return data, True

    def register(self, name: str, sha256: str, size_bytes: int) -> None:
        """Note a file of the export. Raises ValueError for a name that came already."""
        if name in self._digests:
            raise ValueError(f"two files of the export are called {name}")
        self._digests[name] = sha256
        self.size_bytes += size_bytes

    @contextmanager
    def file(self, name: str) -> Iterator[IO[bytes]]:
        """A file to write, in place and registered once the block ends well."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + PARTIAL)
        with partial.open("wb") as opened:
            yield opened
        self.take(partial, name)

    @contextmanager
    def table(self, name: str, header: Sequence[str]) -> Iterator[CsvWriter]:
        """A CSV file to write, its header written; in place once the block ends well."""
        with (
            self.file(name) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True) as text,
        ):
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(header)
            yield writer

    def take(self, partial: Path, name: str) -> str:
        """Put a finished file in its place and register it; its sha256."""
        digest = sha256_of(partial)
        self.register(name, digest, partial.stat().st_size)
        partial.replace(self.root / name)
        return digest

    def put_text(self, name: str, text: str) -> str:
        """Write a small text file; its sha256."""
        with self.file(name) as file:
            file.write(text.encode())
        return self._digests[name]

    def put_readme(self, text: str) -> bool:
        """Write the datasheet, unless somebody edited it since; whether it was written."""
        path = self.root / README
        ours = hashlib.sha256(text.encode()).hexdigest()
        if path.exists():
            found = sha256_of(path)
            if found not in (self.noted("readme"), ours):
                self.register(README, found, path.stat().st_size)
                return False
        self.put_text(README, text)
        self.note("readme", ours)
        return True

    def digest(self, name: str) -> str:
        """The sha256 of a registered file."""
        return self._digests[name]

    @property
    def names(self) -> list[str]:
        """Registered files in the order they came."""
        return list(self._digests)

    def note(self, key: str, value: Any) -> None:  # noqa: ANN401 - JSON
        """Remember something in the marker for a later resume."""
        self._what[key] = value
        self._write_marker(complete=False)

    def noted(self, key: str) -> Any:  # noqa: ANN401 - JSON
        """What was remembered under a key; None for nothing."""
        return self._what.get(key)

    def finish(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Write manifest and marker; remove what an earlier export left; the marker's content."""
        lines = "".join(f"{digest}  {name}\n" for name, digest in self._digests.items())
        # Until here only names and digests counted: now it is to survive a power cut.
        os.sync()
        write_atomically(self.root / MANIFEST, lines.encode())
        self._remove_former()
        self._what["summary"] = whole = {
            **summary,
            "files": len(self._digests),
            "bytes": self.size_bytes,
            "manifest": MANIFEST,
            "manifest_sha256": hashlib.sha256(lines.encode()).hexdigest(),
        }
        self._write_marker(complete=True)
        return whole

    def _open(self) -> dict[str, str]:
        """Make or recognize the folder; digests of an earlier export in it, by name."""
        marker = self.root / MARKER
        if marker.exists():
            try:
                before = json.loads(marker.read_text(encoding="utf-8"))
                same = {key: before[key] for key in ("format", "options")} == self._what
            except (ValueError, KeyError, TypeError) as error:
                raise Abort(f"{marker} is broken: {error!r}", "name a new folder") from error
            if not same:
                raise Abort(
                    f"{self.root} holds another export: {before['format']}, "
                    f"{json.dumps(before['options'])}",
                    "name a new folder, or export with the same options",
                )
            self._what = {**before, **self._what}
        elif self.root.exists() and any(self.root.iterdir()):
            raise Abort(f"{self.root} is not empty", "name a new folder")
        self.root.mkdir(parents=True, exist_ok=True)
        self._write_marker(complete=False)
        manifest = self.root / MANIFEST
        if not manifest.exists():
            return {}
        lines = manifest.read_text(encoding="utf-8").splitlines()
        return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}

    def _write_marker(self, *, complete: bool) -> None:
        self._what["complete"] = complete
        write_atomically(self.root / MARKER, (json.dumps(self._what, indent=2) + "\n").encode())

    def _remove_former(self) -> None:
        """Files that an earlier export wrote here and this one has not, and unfinished ones."""
        for name in self._before.keys() - self._digests.keys():
            path = (self.root / name).resolve()
            if path.is_relative_to(self.root.resolve()):
                path.unlink(missing_ok=True)
        for path in self.root.rglob(f"*{PARTIAL}"):
            path.unlink()
