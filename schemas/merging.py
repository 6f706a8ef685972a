"""Join another workspace to this one: by digest, twice without harm, whole or not at all.

First everything is compared; one contradiction and nothing is written. Then unit by unit: files,
and once they are here, their rows in one transaction. Killed on the way, it leaves whole units
and perhaps files without rows, and goes on when it is called again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.catalog import Catalog, snapshot
from schemas.copying import copy_verified, sha256_of
from schemas.merge_conflict_store import find_conflicts
from schemas.merge_store import (
    FileToCopy,
    Sweep,
    files_to_copy,
    observer_names,
    put_answers,
    put_names,
    put_objects_and_questions,
    put_sweep,
    sweeps,
)
from schemas.workspace import Workspace, WorkspaceError

Progress = Callable[[int, int], None]

_FRAMES = "frames"
_SESSIONS = "sessions"


class MergeConflictError(WorkspaceError):
    """The two contradict each other; nothing was written.

    Attributes
    ----------
    conflicts : list of str
        All contradictions, in words.
    """

    def __init__(self, conflicts: list[str]) -> None:
        self.conflicts = conflicts
        named = "\n  ".join(conflicts[:20]) + ("\n  …" if len(conflicts) > 20 else "")
        super().__init__(f"the workspaces contradict each other; nothing was merged:\n  {named}")


@dataclass
class MergeResult:
    """What a merge did, or would do.

    Attributes
    ----------
    files, size_bytes : int
        Files to copy, of frames and sessions; those that are here already do not count.
    added : Counter
        Rows by kind. Empty for a dry run.
    set_aside : list of str
        Files without a row that lay in the place of one: moved to ``quarantine/orphans``.
    """

    files: int = 0
    size_bytes: int = 0
    added: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        return {
            "files": self.files,
            "bytes": self.size_bytes,
            "added": {name: number for name, number in self.added.items() if number},
            "conflicts": self.conflicts,
            "set_aside": self.set_aside,
        }


def merge_workspaces(
    ours: Workspace,
    theirs: Workspace,
    progress: Progress = lambda _done, _total: None,
    *,
    dry_run: bool = False,
) -> MergeResult:
    """Bring everything of another workspace into ours. The other is only read.

    Frames with histograms, runs with their readings and events, objects, questions, answers and
    rulings, notes of imports, session files. `rig.toml` and reports stay each workspace's own;
    verdicts are rebuilt.

    Raises
    ------
    MergeConflictError
        If the two contradict each other.
    DigestError
        If a file of the other workspace is not what its row says; what was merged before it is
        whole.
    """
    if ours.root.resolve() == theirs.root.resolve():
        raise WorkspaceError(f"{theirs.root} is this workspace itself")
    with _joined(ours, theirs) as catalog:
        with catalog.read() as connection:
            conflicts = find_conflicts(connection)
            found = sweeps(connection)
            files = {sweep: list(files_to_copy(connection, sweep)) for sweep in found}
        sessions, contradicting = _sessions(ours, theirs)
        conflicts += contradicting
        conflicts += _damage(theirs, [one for listed in files.values() for one in listed])
        result = MergeResult(conflicts=conflicts)
        result.files = sum(map(len, files.values())) + len(sessions)
        result.size_bytes = sum(one.size_bytes for listed in files.values() for one in listed)
        result.size_bytes += sum(path.stat().st_size for path in sessions)
        if dry_run:
            return result
        if conflicts:
            raise MergeConflictError(conflicts)
        _write(catalog, ours, theirs, files, sessions, result, progress)
    return result


def _write(
    catalog: Catalog,
    ours: Workspace,
    theirs: Workspace,
    files: dict[Sweep, list[FileToCopy]],
    sessions: list[Path],
    result: MergeResult,
    progress: Progress,
) -> None:
    done, total = 0, result.files
    with catalog.write() as connection:
        result.added.update(put_names(connection))
    for sweep, listed in files.items():
        for one in listed:
            _take(ours, theirs, one, result)
            done += 1
            progress(done, total)
        with catalog.write() as connection:
            result.added.update(put_sweep(connection, sweep))
    with catalog.write() as connection:
        result.added.update(put_objects_and_questions(connection))
        observers = observer_names(connection)
    for observer in observers:
        with catalog.write() as connection:
            result.added.update(put_answers(connection, observer))
    for path in sessions:
        copy_verified(path, ours.root / path.relative_to(theirs.root))
        done += 1
        progress(done, total)
    result.added["session_files"] = len(sessions)


def _take(ours: Workspace, theirs: Workspace, one: FileToCopy, result: MergeResult) -> None:
    """Have a file of theirs at the same place here."""
    target = _inside(ours, one.path)
    if target.exists():
        if sha256_of(target) == one.sha256:
            return
        # no row of ours names it, else it were a contradiction: a crash left it
        result.set_aside.append(ours.relative(ours.set_aside(ours.root / one.path, "orphans")))
    copy_verified(_inside(theirs, one.path), target, one.sha256)


def _inside(workspace: Workspace, path: str) -> Path:
    """A stored frame's file; WorkspaceError for a path that is none among the frames."""
    found = workspace.resolve(path)
    if not workspace.holds(found):
        raise WorkspaceError(f"{path!r} of {workspace.root} does not lie among its frames")
    return workspace.root / path


def _damage(theirs: Workspace, files: list[FileToCopy]) -> list[str]:
    """Files of theirs that are missing or of another size, seen without reading them."""
    found = []
    for one in files:
        try:
            size = _inside(theirs, one.path).stat().st_size
        except (OSError, WorkspaceError) as error:
            found.append(f"file {one.path} of theirs: {getattr(error, 'strerror', '') or error}")
            continue
        if size != one.size_bytes:
            found.append(f"file {one.path} of theirs has {size} bytes, its row {one.size_bytes}")
    return found


def _sessions(ours: Workspace, theirs: Workspace) -> tuple[list[Path], list[str]]:
    """Session files to copy, and those that contradict. They only ever grow at their end."""
    new, conflicts = [], []
    folder = theirs.root / _SESSIONS
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.exists() else []
    for path in paths:
        name = path.relative_to(theirs.root)
        here = ours.root / name
        if not here.exists():
            new.append(path)
        elif not _begins_with(here, path):  # ours is not theirs, nor has it grown from theirs
            if _begins_with(path, here):
                new.append(path)
            else:
                conflicts.append(f"session file {name.as_posix()}: the two differ")
    return new, conflicts


def _begins_with(longer: Path, shorter: Path) -> bool:
    if longer.stat().st_size < shorter.stat().st_size:
        return False
    with longer.open("rb") as one, shorter.open("rb") as other:
        while block := other.read(1 << 20):
            if one.read(len(block)) != block:
                return False
    return True


@contextmanager
def _joined(ours: Workspace, theirs: Workspace) -> Iterator[Catalog]:
    """Our catalog with a copy of theirs beside it: theirs may be older, and in use."""
    folder = Path(tempfile.mkdtemp(prefix="snaprig-merge-"))
    try:
        copy = folder / "other.sqlite"
        snapshot(theirs.catalog_path, copy)
        Catalog.open(copy).close()  # brings it to this release's tables
        with Catalog.open(ours.catalog_path, copy) as catalog:
            yield catalog
    finally:
        shutil.rmtree(folder)
