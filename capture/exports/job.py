"""One export: which frames, from where, into which folder; pictures verified on their way."""

from __future__ import annotations

import hashlib
import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from sqlalchemy import Connection

from capture.exports.facts import About, Facts
from capture.exports.folder import ExportFolder
from rig.errors import Abort
from schemas.catalog import Catalog
from schemas.export_store import (
    ExportRow,
    Extent,
    Selection,
    measure,
    reading,
    stream_rows,
)
from schemas.workspace import Workspace, WorkspaceError

Progress = Callable[[int, int], None]

#: Pictures that are read ahead of the one that is written: they are what an export holds in memory.
_AHEAD = 8

_ORIENTATION = 0x0112
#: Exif orientations that turn a picture by a quarter.
_TURNED = (5, 6, 7, 8)

IMAGES = "images"

#: Reasons why an accepted frame stays behind.
NO_FILE = "imported without its picture"


class Picture(NamedTuple):
    """A frame's picture in the export. `size_px` is as it is shown: turned as its Exif says."""

    name: str
    data: bytes
    size_px: tuple[int, int]


@dataclass
class Job:
    """What a format gets to write itself with.

    Attributes
    ----------
    connection : Connection
        One snapshot of the catalog for the whole export.
    """

    workspace: Workspace
    connection: Connection
    selection: Selection
    extent: Extent
    folder: ExportFolder
    facts: Facts
    progress: Progress
    done: int = field(default=0)

    def rows(self) -> Iterator[ExportRow]:
        """The frames of the export, in their order."""
        return stream_rows(self.connection, self.selection)

    def pictures(
        self, named: Iterable[tuple[ExportRow, str]]
    ) -> Iterator[tuple[ExportRow, Picture]]:
        """Put the picture of every row at its name, verified; in order, a few read ahead.

        Raises
        ------
        Abort
            If a stored file is missing or not what its row says.
        """
        waiting: deque[tuple[ExportRow, str, Future[tuple[bytes, bool]]]] = deque()
        rest = iter(named)
        with ThreadPoolExecutor(2) as pool:
            try:
                while True:
                    for row, name in islice(rest, _AHEAD - len(waiting)):
                        waiting.append((row, name, pool.submit(self._place, row, name)))
                    if not waiting:
                        return
                    row, name, coming = waiting.popleft()
                    data, written = coming.result()
                    self.folder.copied += written
                    self.folder.kept += not written
                    self.folder.register(name, row.sha256, len(data))
                    self.count(row)
                    yield row, Picture(name, data, shown_size(data))
            finally:
                pool.shutdown(cancel_futures=True)

    def read(self, row: ExportRow) -> bytes:
        """The bytes of a frame's stored file.

        Raises
        ------
        Abort
            If it is missing or not what its row says.
        """
        try:
            data = self.workspace.resolve(row.path).read_bytes()
        except (OSError, WorkspaceError) as error:
            raise _damaged(row, getattr(error, "strerror", None) or str(error)) from error
        if hashlib.sha256(data).hexdigest() != row.sha256:
            raise _damaged(row, "its bytes changed, sha256 differs from the row")
        return data

    def count(self, row: ExportRow) -> None:
        """Note a frame that is in the export."""
        self.facts.add(row)
        self.done += 1
        self.progress(self.done, self.extent.real + self.extent.simulated)

    def _place(self, row: ExportRow, name: str) -> tuple[bytes, bool]:
        return self.folder.put_picture(name, row.sha256, lambda: self.read(row))


#: A format: writes itself with a job.
Form = Callable[[Job], None]


def run_export(
    workspace: Workspace,
    catalog: Catalog,
    out: Path,
    form: str,
    write: Form,
    *,
    about: About,
    selection: Selection,
    mixed: bool = False,
    datasheet: Callable[[Facts, ExportFolder, str], str],
    progress: Progress = lambda _done, _total: None,
) -> dict[str, Any]:
    """Write an export, or go on with a stopped one; its summary.

    Parameters
    ----------
    mixed : bool
        Frames of real and of virtual devices may stand side by side.

    Raises
    ------
    Abort
        If there is nothing to export, simulated and real frames would mix unasked, the folder
        holds something else, or a stored file is damaged.
    """
    extent = _extent(catalog, selection, mixed=mixed)
    chosen = {
        "scenes": sorted(selection.scenes),
        "lightings": sorted(selection.lightings),
        "simulated": selection.simulated,
    }
    folder = ExportFolder(out, form, chosen)
    facts = Facts.of(catalog, about)
    if extent.without_file:
        facts.left_out[NO_FILE] = extent.without_file
    with reading(catalog) as connection:
        write(Job(workspace, connection, selection, extent, folder, facts, progress))
    if not facts.frames:
        reasons = ", ".join(f"{number} {why}" for why, number in facts.left_out.items())
        raise Abort(f"no frame can be exported as {form}: {reasons}")
    edited = not folder.put_readme(datasheet(facts, folder, form))
    if edited:
        facts.notes.append("README.md was edited and stays as it is")
    summary = folder.finish(facts.to_json())
    return {
        "format": form,
        "folder": str(out),
        **summary,
        "copied": folder.copied,
        "kept": folder.kept,
    }


def image_name(row: ExportRow) -> str:
    """Where a frame lies in an export: ``images/SCENE/LIGHTING/OFFSET/SETTING.jpg``.

    No dot but that of the suffix: tools that group files by name end a key at the first one.
    """
    offset = row.ev_offset if row.kind == "manual" else row.kind
    suffix = Path(row.path).suffix.lower()
    return f"{IMAGES}/{row.scene}/{row.lighting}/{offset}/{row.setting}{suffix}"


def shown_size(data: bytes) -> tuple[int, int]:
    """Width and height of a picture in pixels as it is shown: turned as its Exif says."""
    with Image.open(io.BytesIO(data)) as picture:
        width, height = picture.size
        turned = picture.getexif().get(_ORIENTATION) in _TURNED
    return (height, width) if turned else (width, height)


def _extent(catalog: Catalog, selection: Selection, *, mixed: bool) -> Extent:
    extent = measure(catalog, selection)
    if extent.real and extent.simulated and not mixed:
        raise Abort(
            f"{extent.simulated} frames come from virtual devices, {extent.real} do not: "
            "a dataset should not mix them",
            "choose with --include real, simulated or both",
        )
    if not extent.real + extent.simulated:
        if extent.without_file:
            raise Abort(
                f"the {extent.without_file} accepted frames were imported without their pictures",
                "import the pictures: snaprig import snap FOLDER",
            )
        raise Abort("there is no accepted frame to export", "snaprig status")
    return extent


def _damaged(row: ExportRow, what: str) -> Abort:
    return Abort(
        f"{row.path}: {what}",
        "snaprig check --repair, then export again: what is there is kept",
    )
