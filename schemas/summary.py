"""What is in a catalog."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import func, select

from schemas.capture_store import Run, list_lightings, list_runs, list_scenes
from schemas.catalog import Catalog
from schemas.plan import SweepPlan
from schemas.records import Outcome
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
