"""Put right what a verification found, without losing anything: `snaprig check --repair`."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from schemas.catalog import Catalog
from schemas.check import CheckResult, Problem
from schemas.records import Frame, Outcome, utc_now
from schemas.tables import events, frames
from schemas.workspace import PARTIAL, Workspace, WorkspaceError


@dataclass(frozen=True)
class Repaired:
    """One thing that was put right. `file` is where it was, relative to the workspace."""

    file: str
    problem: str
    action: str


@dataclass(frozen=True)
class RepairResult:
    """What was put right, what is left, and the commands that shoot again.

    Attributes
    ----------
    left : CheckResult
        The verification without what was repaired.
    repaired : list of Repaired
    next : list of str
    """

    left: CheckResult
    repaired: list[Repaired] = field(default_factory=list)
    next: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        repaired = [asdict(one) for one in self.repaired]
        return {**self.left.to_json(), "repaired": repaired, "next": self.next}


def repair(workspace: Workspace, catalog: Catalog, found: CheckResult) -> RepairResult:
    """Queue damaged frames to be shot again, and clear away files without a row.

    A damaged file moves to ``quarantine/``; its row becomes ``failed`` and keeps what was
    measured until the shot is taken again, so that the next run over its sweep takes it. A
    picture without a row moves to ``quarantine/orphans``, unfinished files are deleted, other
    files without a row stay. No good file is touched. The caller owns the workspace.

    Raises
    ------
    WorkspaceError
        If the catalog itself is damaged: nothing is changed then.
    """
    catalog_name = workspace.catalog_path.name
    broken = [p.problem for p in found.problems if p.frame is None and p.file == catalog_name]
    if broken:
        raise WorkspaceError(
            f"the catalog itself is damaged ({broken[0]}): nothing was repaired; "
            "put back a backup of catalog.sqlite, then check again"
        )
    repaired, left, commands = [], [], []
    for problem in found.problems:
        if problem.frame is None:
            left.append(problem)
            continue
        repaired.append(_requeue(workspace, catalog, problem, problem.frame))
        commands += _commands(problem.frame)
    stray = []
    for orphan in found.orphans:
        action = clear_orphan(workspace, workspace.root / orphan)
        if action:
            repaired.append(Repaired(orphan, "no row", action))
        else:
            stray.append(orphan)
    return RepairResult(
        CheckResult(found.checked, left, stray), repaired, list(dict.fromkeys(commands))
    )


def _requeue(workspace: Workspace, catalog: Catalog, problem: Problem, frame: Frame) -> Repaired:
    # The file first: after a crash in between it is missing, which the next repair settles.
    moved = ""
    path = workspace.root / frame.path
    if os.path.lexists(path) and workspace.holds(path) and not _claimed(catalog, frame):
        moved = workspace.relative(workspace.set_aside(path, "frames"))
    reason = f"damaged: {problem.problem}" + (f"; moved to {moved}" if moved else "")
    with catalog.write() as connection:
        connection.execute(
            update(frames)
            .where(frames.c.id == frame.id)
            .values(outcome=Outcome.FAILED, reason=reason, path="", sha256="", size_bytes=None)
        )
        connection.execute(
            insert(events).values(
                run_id=frame.run_id,
                at=utc_now(),
                kind="damaged",
                setting=frame.setting,
                detail=reason,
            )
        )
    # Each run takes reference frames of its own, under new numbers.
    later = "not needed again" if frame.kind == "reference" else "to be shot again"
    action = f"moved to {moved}, {later}" if moved else later
    return Repaired(problem.file, problem.problem, action)


def _claimed(catalog: Catalog, frame: Frame) -> bool:
    """Whether the row of another frame names the same file, which may be good."""
    query = select(frames.c.id).where(frames.c.path == frame.path, frames.c.id != frame.id)
    with catalog.read() as connection:
        return connection.execute(query).first() is not None


def clear_orphan(workspace: Workspace, path: Path) -> str:
    """Clear one file without a row away; says how, or nothing where it is not ours to touch.

    A whole picture is kept: after a catalog was restored from an old backup it may be the only
    copy.
    """
    if path.name.endswith(PARTIAL):
        path.unlink()
        return "unfinished, deleted"
    if path.suffix.lower() == ".jpg":
        return f"moved to {workspace.relative(workspace.set_aside(path, 'orphans'))}"
    return ""


def _commands(frame: Frame) -> list[str]:
    """What takes a frame again."""
    if frame.kind == "reference":
        return []
    verb = "auto-frame" if frame.kind == "auto" else "resume"
    return [f"snaprig capture {verb} --scene {frame.scene} --lighting {frame.lighting}"]
