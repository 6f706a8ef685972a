"""Whether the files of a workspace are what their rows say, and the database is whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy.exc import DatabaseError

from schemas.capture_store import IMPORTED, Run, list_runs, list_scenes
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import list_frames
from schemas.jpeg import JpegError, read_exif
from schemas.records import Frame, Outcome, Scene, reference_setting
from schemas.stamp import provenance, read_stamp, unstamp
from schemas.workspace import PARTIAL, Workspace, WorkspaceError

#: The number of a run is its catalog's own: where workspaces were joined, another one is right.
_NOT_COMPARED = ("run",)


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be.

    Attributes
    ----------
    file : str
        Relative to the workspace; for an accepted frame without one, the frame.
    problem : str
        All that is wrong with it, in words.
    frame : Frame or None
        The frame that would have to be shot again; None where that would not help.
    """

    file: str
    problem: str
    frame: Frame | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, str]:
        """File and problem."""
        return {"file": self.file, "problem": self.problem}


@dataclass(frozen=True)
class CheckResult:
    """What a verification found.

    Attributes
    ----------
    checked : int
        Files compared with their rows.
    problems : list of Problem
        Damage, one for each file: missing, changed, unreadable or contradicting its row; and
        a broken database.
    orphans : list of str
        Files without a row: what a crash left behind, harmless.
    """

    checked: int
    problems: list[Problem] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No damage."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        return {
            "ok": self.ok,
            "checked": self.checked,
            "problems": [problem.to_json() for problem in self.problems],
            "orphans": self.orphans,
        }


def check_files(
    workspace: Workspace,
    catalog: Catalog,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    quick: bool = False,
    workers: int = 4,
) -> CheckResult:
    """Compare every stored file with its row, and verify the database.

    Size and sha256 of the file, its Exif settings and its XMP against the row, and the camera's
    own digest against the file without its XMP. A frame stored before files carried XMP is the
    camera's file and is held to the rest.

    Parameters
    ----------
    progress : callable
        Called with files done and files in all.
    quick : bool
        Only whether each file is there and has its size.
    """
    try:
        problems = [
            Problem(workspace.catalog_path.name, text) for text in _database_faults(catalog, quick)
        ]
        scenes = {scene.name: scene for scene in list_scenes(catalog)}
        runs = {run.id: run for run in list_runs(catalog)}
        frames = list(list_frames(catalog, kind=None))
    except DatabaseError as error:
        return CheckResult(0, [Problem(workspace.catalog_path.name, f"unreadable: {error.orig}")])
    problems += [
        Problem(
            f"{frame.scene}/{frame.lighting}/{frame.setting}",
            "an accepted frame without a file",
            frame,
        )
        for frame in frames
        if frame.outcome is Outcome.ACCEPTED
        and not frame.path
        and runs[frame.run_id].kind != IMPORTED
    ]
    stored = [frame for frame in frames if frame.path]

    def fault(frame: Frame) -> Problem | None:
        return _file_problem(workspace, frame, scenes[frame.scene], runs.get(frame.run_id), quick)

    with ThreadPoolExecutor(workers) as pool:
        # Reading and hashing release the interpreter: files are done side by side.
        for done, problem in enumerate(pool.map(fault, stored), start=1):
            problems += [problem] if problem else []
            progress(done, len(stored))
    known = {frame.path for frame in stored}
    orphans = [
        name
        for path in workspace.stored_files()
        if (name := workspace.relative(path)) not in known or name.endswith(PARTIAL)
    ]
    return CheckResult(len(stored), problems, sorted(orphans))


def _file_problem(
    workspace: Workspace, frame: Frame, scene: Scene, run: Run | None, quick: bool
) -> Problem | None:
    try:
        path = workspace.resolve(frame.path)
        size = path.stat().st_size
        data = b"" if quick else path.read_bytes()
    except FileNotFoundError:
        return Problem(frame.path, "missing", frame)
    except PermissionError as error:  # the file may be perfect
        return Problem(frame.path, f"unreadable: {error.strerror}; change its permissions")
    except OSError as error:
        return Problem(frame.path, f"unreadable: {error.strerror}", frame)
    except WorkspaceError as error:
        return Problem(frame.path, str(error), frame)
    if run is None:
        return Problem(frame.path, f"its run {frame.run_id} is missing from the catalog")
    expected = provenance(frame, scene, run)
    if size != frame.size_bytes:
        fault = f"{size} bytes, the row says {frame.size_bytes}" + _identity(data, expected)
    elif quick:
        fault = ""
    elif hashlib.sha256(data).hexdigest() != frame.sha256:
        fault = "its bytes changed: sha256 differs from the row" + _identity(data, expected)
    elif run.kind == IMPORTED:  # the file is another's: nothing of ours is in it
        fault = ""
    else:
        fault = "; ".join(_contradictions(data, frame, expected))
    again = None if run.kind == IMPORTED else frame  # nobody here can shoot an imported one
    return Problem(frame.path, fault, again) if fault else None


def _contradictions(data: bytes, frame: Frame, expected: dict[str, str]) -> list[str]:
    """What an undamaged file says against its row."""
    try:
        exif, said = read_exif(data), read_stamp(data)
        camera_sha256 = hashlib.sha256(unstamp(data)).hexdigest()
    except JpegError as error:
        return [f"no picture: {error}"]
    faults = []
    if frame.exif is not None:
        faults += [
            f"its Exif says {name} {getattr(exif, name)}, the row {wanted}"
            for name in ("shutter_s", "iso", "f_number")
            if getattr(exif, name) != (wanted := getattr(frame.exif, name))
        ]
    if said or frame.sha256 != frame.camera_sha256:
        faults += [
            f"its XMP says {name} {said.get(name, 'nothing')}, the row {expected.get(name)}"
            for name in {**expected, **said}
            if name not in _NOT_COMPARED and said.get(name) != expected.get(name)
        ]
    if camera_sha256 != frame.camera_sha256:
        faults.append("without its XMP it is not what the camera gave: sha256 differs")
    return faults


def _identity(data: bytes, expected: dict[str, str]) -> str:
    """Which other frame a damaged file belongs to, where its XMP still says so."""
    try:
        said = read_stamp(data)
    except JpegError:
        return ""
    named = _named(said)
    return "" if named in ("", _named(expected)) else f"; its XMP names another frame: {named}"


def _named(fields: dict[str, str]) -> str:
    """The key of a frame from its provenance; empty if that is not whole."""
    try:
        setting = fields["kind"]
        if setting == "reference":
            setting = reference_setting(int(fields["reference"]))
        elif setting == "manual":
            setting = Exposure(
                float(fields["requestedShutterSeconds"]),
                int(fields["requestedIso"]),
                float(fields["requestedFNumber"]),
            ).stem
    except (KeyError, ValueError):
        return ""
    return f"{fields.get('scene')}/{fields.get('lighting')}/{setting}"


def _database_faults(catalog: Catalog, quick: bool) -> list[str]:
    pragma = "quick_check" if quick else "integrity_check"
    with catalog.read() as connection:
        rows = connection.exec_driver_sql(f"PRAGMA {pragma}(10)").scalars().all()
        faults = [str(row) for row in rows if row != "ok"]
        dangling = list(islice(connection.exec_driver_sql("PRAGMA foreign_key_check"), 10))
    faults += [f"row {row[1]} of {row[0]} refers to a missing row of {row[2]}" for row in dangling]
    return faults
