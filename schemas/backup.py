"""Incremental backup: a workspace of its own, every copy proven, nothing ever deleted.

The catalog is copied by SQLite's online backup, so capture may go on. It is put in its place
last: files are there before the rows that name them. What a new copy replaces moves to
``generations/MOMENT/``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.catalog import Catalog, CatalogError, snapshot
from schemas.check import CheckResult, Problem, check_files
from schemas.copying import DigestError, copy_verified, sha256_of, sync_folder
from schemas.frame_store import list_frames
from schemas.records import utc_now
from schemas.workspace import PARTIAL, Workspace, WorkspaceError, write_atomically

Progress = Callable[[int, int], None]

MARKER = "backup.json"
GENERATIONS = "generations"

#: Folders that are copied whole. Frames go by their rows; reports and exports are made again.
_FOLDERS = ("sessions", "quarantine")
#: Files that are not: of use only while a process runs, or the backup's own.
_LEFT = {"capture.lock", MARKER}


@dataclass
class BackupResult:
    """What a backup did.

    Attributes
    ----------
    copied, unchanged, size_bytes : int
        Files copied now and their bytes; files that were there already.
    generation : str
        Where the former catalog and replaced files lie; empty if nothing was replaced.
    problems : list of Problem
        Files that could not be copied because they are missing or damaged here. A good copy of
        such a file stays.
    """

    copied: int = 0
    unchanged: int = 0
    size_bytes: int = 0
    generation: str = ""
    problems: list[Problem] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        return {
            "copied": self.copied,
            "unchanged": self.unchanged,
            "bytes": self.size_bytes,
            "generation": self.generation,
            "problems": [problem.to_json() for problem in self.problems],
        }


def open_backup(workspace: Workspace, folder: Path) -> Workspace:
    """The folder of a backup, made if it is new.

    Raises
    ------
    WorkspaceError
        If it holds something else, or lies in the workspace.
    """
    here, there = workspace.root.resolve(), folder.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise WorkspaceError(f"{folder} and the workspace lie in each other: name another folder")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise WorkspaceError(f"{folder} is not empty and no backup: name a new folder")
    for part in ("frames", "reports", "sessions"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    if not (folder / MARKER).exists():
        _write_marker(folder, {"snaprig_backup": 1, "catalogs": [], "files": {}})
    return Workspace(folder)


def back_up(
    workspace: Workspace,
    backup: Workspace,
    progress: Progress = lambda _done, _total: None,
    *,
    force: bool = False,
) -> BackupResult:
    """Bring a backup up to date.

    Each file is read once, digested, written, and read back. Files of the same size and time
    are known from before.

    Parameters
    ----------
    force : bool
        Go on although the backup's catalog was changed since: it was used as a workspace.

    Raises
    ------
    WorkspaceError
        If it was, without `force`.
    CatalogError
        If the catalog is damaged.
    """
    marker = _read_marker(backup.root)
    if not force:
        _require_untouched(backup, marker)
    result, moment = BackupResult(), f"{utc_now():%Y%m%dT%H%M%S.%fZ}".replace(".", "-")
    generation = backup.root / GENERATIONS / moment
    fresh = backup.root / (backup.catalog_path.name + PARTIAL)
    for leftover in backup.root.glob(fresh.name + "*"):
        leftover.unlink()
    snapshot(workspace.catalog_path, fresh)
    catalog = Catalog(fresh)
    try:
        _require_sound(catalog)
        _copy_frames(workspace, backup, catalog, generation, result, progress)
    finally:
        catalog.close()
    marker["files"] = _copy_others(workspace, backup, generation, result, marker["files"])
    _place_catalog(backup, fresh, generation, marker)
    result.generation = f"{GENERATIONS}/{moment}" if generation.exists() else ""
    return result


def verify_backup(
    backup: Workspace, progress: Progress = lambda _done, _total: None
) -> CheckResult:
    """Read the whole backup and hold it against its catalog and its list of other files.

    Damaged copies lose their time, so that the next backup writes them anew.

    Raises
    ------
    WorkspaceError
        If the folder is no backup.
    """
    marker = _read_marker(backup.root)
    with tempfile.TemporaryDirectory(prefix="snaprig-verify-") as folder:
        copy = Path(folder) / "catalog.sqlite"
        snapshot(backup.catalog_path, copy)
        with Catalog.open(copy) as catalog:  # an older release's is brought to ours in the copy
            found = check_files(backup, catalog, progress)
    others = []
    for name, (digest, *_) in marker["files"].items():
        path = backup.root / name
        if not path.exists():
            others.append(Problem(name, "missing"))
        elif sha256_of(path) != digest:
            others.append(Problem(name, "its bytes changed since it was backed up"))
    checked = found.checked + len(marker["files"])
    problems = [*found.problems, *others]
    for problem in problems:  # the next backup does not take it for the file it knows
        path = backup.root / problem.file
        if path.is_file() and path != backup.catalog_path:
            os.utime(path, ns=(0, 0))
    return CheckResult(checked, problems, found.orphans)


def _copy_frames(
    workspace: Workspace,
    backup: Workspace,
    catalog: Catalog,
    generation: Path,
    result: BackupResult,
    progress: Progress,
) -> None:
    total = sum(1 for frame in list_frames(catalog, kind=None) if frame.path)
    done = 0
    for frame in list_frames(catalog, kind=None):
        if not frame.path:
            continue
        try:
            source, target = workspace.resolve(frame.path), backup.resolve(frame.path)
            if not backup.holds(target):
                raise WorkspaceError(f"{frame.path!r} does not lie among the frames")
            _bring(backup, source, target, frame.sha256, generation, result)
        except OSError as error:
            if not _of_file(error):
                raise
            result.problems.append(Problem(frame.path, error.strerror or str(error), frame))
        except (DigestError, WorkspaceError) as error:
            result.problems.append(Problem(frame.path, str(error), frame))
        done += 1
        progress(done, total)


def _bring(
    backup: Workspace,
    source: Path,
    target: Path,
    sha256: str,
    generation: Path,
    result: BackupResult,
) -> None:
    """Have a frame's file in the backup; what another picture had there moves aside."""
    stat = source.stat()
    if target.exists():
        there = target.stat()
        if (there.st_size, there.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns):
            result.unchanged += 1
            return
        if sha256_of(source) != sha256:  # never a damaged file over another one
            raise DigestError("its bytes changed, sha256 differs from the row")
        if sha256_of(target) == sha256:
            os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            result.unchanged += 1
            return
        _set_aside(backup, target, generation)
    _copy(source, target, sha256, result)


def _copy_others(
    workspace: Workspace,
    backup: Workspace,
    generation: Path,
    result: BackupResult,
    known: dict[str, list[Any]],
) -> dict[str, list[Any]]:
    """Copy configuration, plans, sessions and what else lies there; digest, size and time of all.

    Files that are gone here stay in the backup, and in its list.
    """
    listed = dict(known)
    for source in _others(workspace):
        name = source.relative_to(workspace.root).as_posix()
        target = backup.root / name
        try:
            stat = source.stat()
            before = known.get(name)
            if target.exists():
                there = [target.stat().st_size, target.stat().st_mtime_ns]
                if before and before[1:] == [stat.st_size, stat.st_mtime_ns] == there:
                    result.unchanged += 1
                    continue
                _set_aside(backup, target, generation)
            digest = _copy(source, target, None, result)
        except OSError as error:
            if not _of_file(error):
                raise
            result.problems.append(Problem(name, error.strerror or str(error)))
            continue
        listed[name] = [digest, stat.st_size, stat.st_mtime_ns]
    return listed


def _others(workspace: Workspace) -> Iterator[Path]:
    files = [path for folder in _FOLDERS for path in sorted((workspace.root / folder).rglob("*"))]
    for path in [*sorted(workspace.root.iterdir()), *files]:
        ours = path.name in _LEFT or path.name.startswith(workspace.catalog_path.name)
        if path.is_file() and not (ours or path.is_symlink() or path.suffix == PARTIAL):
            yield path


def _of_file(error: OSError) -> bool:
    """Whether only this file is affected: a disk that is full or gone ends the backup."""
    return isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError)


def _copy(source: Path, target: Path, sha256: str | None, result: BackupResult) -> str:
    digest = copy_verified(source, target, sha256)
    if sha256_of(target) != digest:
        raise DigestError(f"{target}: what was written reads back differently; is the disk broken?")
    result.copied += 1
    result.size_bytes += target.stat().st_size
    return digest


def _set_aside(backup: Workspace, path: Path, generation: Path) -> None:
    aside = generation / path.resolve().relative_to(backup.root.resolve())
    aside.parent.mkdir(parents=True, exist_ok=True)
    path.rename(aside)


def _place_catalog(
    backup: Workspace, fresh: Path, generation: Path, marker: dict[str, Any]
) -> None:
    """Put the new catalog in the place of the former one, which becomes a generation."""
    digest = sha256_of(fresh)
    place = backup.catalog_path
    if place.exists():
        if sha256_of(place) == digest:
            fresh.unlink()
        else:
            generation.mkdir(parents=True, exist_ok=True)
            # A second name, then the replacement: at every moment there is a catalog.
            _second_name(place, generation / place.name)
            for name in ("-wal", "-shm"):
                side = place.with_name(place.name + name)
                if side.exists():  # it belongs to the former one: beside ours it would be poison
                    side.rename(generation / side.name)
    # Both digests are known before the name changes hands: killed in between, it is ours still.
    _write_marker(backup.root, {**marker, "catalogs": [digest, *marker["catalogs"][:1]]})
    if fresh.exists():
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(place)
        sync_folder(backup.root)
    _write_marker(backup.root, {**marker, "catalogs": [digest]})


def _second_name(path: Path, other: Path) -> None:
    try:
        os.link(path, other)
    except OSError:  # a disk without links
        copy_verified(path, other)


def _require_untouched(backup: Workspace, marker: dict[str, Any]) -> None:
    place = backup.catalog_path
    if not place.exists():
        return
    wal = place.with_name(place.name + "-wal")
    used = wal.exists() and wal.stat().st_size > 0
    if used or sha256_of(place) not in marker["catalogs"]:
        raise WorkspaceError(
            f"the catalog in {backup.root} was changed since the last backup: somebody used it as "
            f"a workspace. Bring that home with `snaprig merge {backup.root}`, then back up with "
            "--force: the changed catalog is kept among the generations"
        )


def _require_sound(catalog: Catalog) -> None:
    with catalog.read() as connection:
        faults = connection.exec_driver_sql("PRAGMA quick_check(1)").scalars().all()
    if faults != ["ok"]:
        raise CatalogError(
            f"the catalog is damaged ({faults[0]}): nothing was backed up over the good copy; "
            "look at it with `snaprig check`"
        )


def _read_marker(folder: Path) -> dict[str, Any]:
    try:
        marker: dict[str, Any] = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{folder} is no backup of a workspace: {error}") from error
    return marker


def _write_marker(folder: Path, marker: dict[str, Any]) -> None:
    write_atomically(folder / MARKER, (json.dumps(marker, indent=1) + "\n").encode())
