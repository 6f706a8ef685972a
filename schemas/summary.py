"""What is in a catalog, and whether its files are what their rows say."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from schemas.capture_store import IMPORTED, Run, list_lightings, list_runs, list_scenes
from schemas.catalog import Catalog
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.records import Frame, Outcome
from schemas.tables import (
    frames,
    light_readings,
    lightings,
    observers,
    responses,
    runs,
    scenes,
    stimuli,
    verdicts,
)
from schemas.workspace import PARTIAL, Workspace


@dataclass(frozen=True)
class FrameCounts:
    """Planned shots and what they became. `remaining` were not shot yet."""

    planned: int
    accepted: int
    rejected_black: int
    rejected_white: int
    failed: int
    skipped: int
    remaining: int


_COUNTED = tuple(column.name for column in fields(FrameCounts))


@dataclass(frozen=True)
class Sweep:
    """All runs over one scene under one lighting, taken together."""

    scene: str
    lighting: str
    simulated: bool
    frames: FrameCounts


@dataclass(frozen=True)
class Summary:
    """Row counts of a catalog, whole and by sweep."""

    frames: FrameCounts
    auto_frames: int
    scenes: int
    lightings: int
    runs: int
    runs_unfinished: int
    light_readings: int
    stimuli: int
    observers: int
    responses: int
    failed_responses: int
    verdicts: int
    simulated: bool
    sweeps: tuple[Sweep, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        return asdict(self)


def planned_settings(found: list[Run]) -> dict[tuple[str, str], set[str]]:
    """Settings that were planned for each (scene, lighting): the union over its runs."""
    by_digest: dict[str, set[str]] = {}
    planned: dict[tuple[str, str], set[str]] = {}
    for run in found:
        if run.plan is None:
            continue
        settings = by_digest.setdefault(run.plan_digest, _stems(run.plan))
        planned.setdefault((run.scene, run.lighting), set()).update(settings)
    return planned


def summarize(catalog: Catalog) -> Summary:
    """Count everything, in one pass over the runs and one query a table."""
    found = list_runs(catalog)
    planned = planned_settings(found)
    simulated = {(run.scene, run.lighting): run.simulated for run in found}
    counts: dict[tuple[str, str], Counter[str]] = {key: Counter() for key in planned}
    for scene, lighting, outcome, number in _outcomes(catalog):
        counts.setdefault((scene, lighting), Counter())[outcome] += number
    by_sweep = {key: _frame_counts(len(planned.get(key, ())), counts[key]) for key in counts}
    sweeps = tuple(Sweep(*key, simulated[key], by_sweep[key]) for key in sorted(counts))
    total = FrameCounts(
        **{name: sum(getattr(one, name) for one in by_sweep.values()) for name in _COUNTED}
    )
    with catalog.read() as connection:

        def count(table: Any, *where: Any) -> int:  # noqa: ANN401 - a Table, conditions
            query = select(func.count()).select_from(table).where(*where)
            return int(connection.execute(query).scalar_one())

        return Summary(
            frames=total,
            auto_frames=count(frames, frames.c.kind == "auto"),
            scenes=len(list_scenes(catalog)),
            lightings=len(list_lightings(catalog)),
            runs=len(found),
            runs_unfinished=count(runs, runs.c.status.is_(None)),
            light_readings=count(light_readings),
            stimuli=count(stimuli),
            observers=count(observers),
            responses=count(responses),
            failed_responses=count(responses, responses.c.error != ""),
            verdicts=count(verdicts),
            simulated=any(simulated.values()),
            sweeps=sweeps,
        )


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be. `file` is relative to the workspace."""

    file: str
    problem: str


@dataclass(frozen=True)
class CheckResult:
    """What a verification found.

    Attributes
    ----------
    checked : int
        Files compared with their rows.
    problems : list of Problem
        Damage: missing, changed or unreadable files, a broken database.
    orphans : list of str
        Files without a row: what a crash left behind, harmless; the next run over their
        scene and lighting sets them aside.
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
        return {"ok": self.ok, **asdict(self)}


def check_files(
    workspace: Workspace,
    catalog: Catalog,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    workers: int = 4,
) -> CheckResult:
    """Compare every stored file with its row, by size and sha256, and verify the database.

    `progress` is called with files done and files in all.
    """
    problems = [Problem(workspace.catalog_path.name, text) for text in _database_faults(catalog)]
    stored: list[Frame] = []
    imported = {run.id for run in list_runs(catalog) if run.kind == IMPORTED}
    for frame in list_frames(catalog, kind=None):
        if frame.path:
            stored.append(frame)
        elif frame.outcome is Outcome.ACCEPTED and frame.run_id not in imported:
            where = f"{frame.scene}/{frame.lighting}/{frame.setting}"
            problems.append(Problem(where, "an accepted frame without a file"))
    with ThreadPoolExecutor(workers) as pool:
        # Hashing releases the interpreter: files are read and hashed side by side.
        faults = pool.map(lambda frame: _file_fault(workspace, frame), stored)
        for done, (frame, fault) in enumerate(zip(stored, faults, strict=True), start=1):
            if fault:
                problems.append(Problem(frame.path, fault))
            progress(done, len(stored))
    known = {frame.path for frame in stored}
    orphans = [
        name
        for path in workspace.stored_files()
        if (name := workspace.relative(path)) not in known or name.endswith(PARTIAL)
    ]
    return CheckResult(len(stored), problems, sorted(orphans))


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stems(plan: SweepPlan) -> set[str]:
    return {shot.exposure.stem for shot in plan}


def _outcomes(catalog: Catalog) -> list[tuple[str, str, str, int]]:
    query = (
        select(scenes.c.name, lightings.c.name, frames.c.outcome, func.count())
        .select_from(frames)
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .where(frames.c.kind == "manual")
        .group_by(frames.c.scene_id, frames.c.lighting_id, frames.c.outcome)
    )
    with catalog.read() as connection:
        return list(connection.execute(query))


def _frame_counts(planned: int, counts: Counter[str]) -> FrameCounts:
    outcomes = {outcome.value: counts[outcome] for outcome in Outcome}
    # imported frames were planned elsewhere: nothing of them is left to shoot here
    remaining = max(0, planned - counts.total())
    return FrameCounts(planned=planned, remaining=remaining, **outcomes)


def _file_fault(workspace: Workspace, frame: Frame) -> str:
    path = workspace.resolve(frame.path)
    try:
        size = path.stat().st_size
        if size != frame.size_bytes:
            return f"{size} bytes, the row says {frame.size_bytes}"
        if sha256_of(path) != frame.sha256:
            return "its bytes changed: sha256 differs from the row"
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return ""


def _database_faults(catalog: Catalog) -> list[str]:
    with catalog.read() as connection:
        rows = connection.exec_driver_sql("PRAGMA integrity_check(10)").scalars().all()
        faults = [str(row) for row in rows if row != "ok"]
        dangling = list(islice(connection.exec_driver_sql("PRAGMA foreign_key_check"), 10))
    faults += [f"row {row[1]} of {row[0]} refers to a missing row of {row[2]}" for row in dangling]
    return faults
