"""What a page shows of a catalog: runs with what came of them, light, and frames by number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select

from schemas.capture_store import where_names
from schemas.catalog import Catalog
from schemas.frame_store import frame_of
from schemas.records import Frame, Outcome, RunStatus
from schemas.tables import events, frames, light_readings, lightings, runs, scenes

#: Events between which a run shot nothing because it waited: how such a time begins and ends.
WAITS = {
    "suspended": ("resumed", "suspension_ended"),
    "paused": ("pause_ended",),
    "asked": ("answered",),
}


@dataclass(frozen=True)
class PastRun:
    """One sweep's run and what came of it.

    Attributes
    ----------
    status : RunStatus or None
        None: it runs, or the process died.
    planned : int
        Shots of its plan.
    counts : dict
        Rows that this run wrote last, by outcome.
    events : dict
        How often what happened.
    waited_s : float
        Seconds in which it waited for the light, or for somebody.
    last_at : datetime or None
        When it last wrote a row, for a run that has no end.
    """

    id: int
    scene: str
    lighting: str
    simulated: bool
    started_at: datetime
    ended_at: datetime | None
    status: RunStatus | None
    reason: str
    planned: int
    counts: dict[Outcome, int]
    events: dict[str, int]
    waited_s: float
    last_at: datetime | None


def latest_run(catalog: Catalog, scene: str, lighting: str) -> int | None:
    """Number of the sweep's run that began last."""
    query = where_names(
        select(func.max(runs.c.id))
        .join(scenes, runs.c.scene_id == scenes.c.id)
        .join(lightings, runs.c.lighting_id == lightings.c.id)
        .where(runs.c.kind == "sweep"),
        scene,
        lighting,
    )
    with catalog.read() as connection:
        found = connection.execute(query).scalar()
    return None if found is None else int(found)


def list_past_runs(
    catalog: Catalog, *, limit: int = 100, before: int | None = None
) -> list[PastRun]:
    """Runs of sweeps, newest first, those that began before run `before`."""
    query = (
        select(runs, scenes.c.name.label("scene"), lightings.c.name.label("lighting"))
        .join(scenes, runs.c.scene_id == scenes.c.id)
        .join(lightings, runs.c.lighting_id == lightings.c.id)
        .where(runs.c.kind == "sweep")
        .order_by(runs.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(runs.c.id < before)
    with catalog.read() as connection:
        found = list(connection.execute(query))
        ids = [row.id for row in found]
        rows = connection.execute(
            select(frames.c.run_id, frames.c.outcome, func.count(), func.max(frames.c.stored_at))
            .where(frames.c.run_id.in_(ids), frames.c.kind == "manual")
            .group_by(frames.c.run_id, frames.c.outcome)
        ).all()
        happened = connection.execute(
            select(events.c.run_id, events.c.kind, events.c.at)
            .where(events.c.run_id.in_(ids))
            .order_by(events.c.id)
        ).all()
    counts: dict[int, dict[Outcome, int]] = defaultdict(dict)
    last: dict[int, datetime] = {}
    for run_id, outcome, number, at in rows:
        counts[run_id][Outcome(outcome)] = number
        last[run_id] = max(at, last.get(run_id, at))
    by_run: dict[int, list[tuple[str, datetime]]] = defaultdict(list)
    for run_id, kind, at in happened:
        by_run[run_id].append((kind, at))
    return [_past(row, counts[row.id], by_run[row.id], last.get(row.id)) for row in found]


def _past(
    row: Row[Any],
    counts: dict[Outcome, int],
    happened: list[tuple[str, datetime]],
    last_at: datetime | None,
) -> PastRun:
    plan = row.plan or {}
    sides = [len(plan.get(name, ())) for name in ("shutter", "iso", "f_number")]
    end = row.ended_at or last_at or row.started_at
    return PastRun(
        id=row.id,
        scene=row.scene,
        lighting=row.lighting,
        simulated=bool(row.simulated),
        started_at=row.started_at,
        ended_at=row.ended_at,
        status=None if row.status is None else RunStatus(row.status),
        reason=row.reason,
        planned=sides[0] * sides[1] * sides[2],
        counts=counts,
        events=dict(Counter(kind for kind, _ in happened)),
        waited_s=sum((b - a).total_seconds() for a, b, _ in waits(happened, end)),
        last_at=last_at,
    )


def waits(
    happened: Iterable[tuple[str, datetime]], end: datetime
) -> list[tuple[datetime, datetime, str]]:
    """Times (from, to, kind) in which a run waited, one after the other; `end` closes the last."""
    found: list[tuple[datetime, datetime, str]] = []
    since: tuple[str, datetime] | None = None
    for kind, at in happened:
        if since is None and kind in WAITS:
            since = kind, at
        elif since is not None and kind in WAITS[since[0]]:
            found.append((since[1], at, since[0]))
            since = None
    if since is not None:
        found.append((since[1], max(end, since[1]), since[0]))
    return found


def list_lux(
    catalog: Catalog, run_id: int, *, since: datetime | None = None
) -> list[tuple[datetime, float]]:
    """Illuminance of a run in order of time, from a moment on."""
    query = (
        select(light_readings.c.at, light_readings.c.lux)
        .where(light_readings.c.run_id == run_id)
        .order_by(light_readings.c.at)
    )
    if since is not None:
        query = query.where(light_readings.c.at >= since)
    with catalog.read() as connection:
        return [(at, lux) for at, lux in connection.execute(query)]


def last_event(catalog: Catalog, kind: str) -> tuple[datetime, str] | None:
    """When the last event of a kind was, and its detail."""
    query = (
        select(events.c.at, events.c.detail)
        .where(events.c.kind == kind)
        .order_by(events.c.id.desc())
        .limit(1)
    )
    with catalog.read() as connection:
        row = connection.execute(query).first()
    return None if row is None else (row.at, row.detail)


def find_frame(catalog: Catalog, frame_id: int) -> Frame | None:
    """The frame of that number, without its histogram."""
    found = _frames(catalog, 1, frames.c.id == frame_id)
    return found[0] if found else None


def latest_frames(
    catalog: Catalog,
    *,
    scene: str | None = None,
    lighting: str | None = None,
    limit: int = 24,
) -> list[Frame]:
    """Shots of plans that were stored last, newest first."""
    where = [frames.c.kind == "manual"]
    if scene is not None:
        where.append(scenes.c.name == scene)
    if lighting is not None:
        where.append(lightings.c.name == lighting)
    return _frames(catalog, limit, *where)


def _frames(catalog: Catalog, limit: int, *where: Any) -> list[Frame]:  # noqa: ANN401 - conditions
    query = (
        select(frames, scenes.c.name.label("scene"), lightings.c.name.label("lighting"))
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .where(*where)
        .order_by(frames.c.stored_at.desc(), frames.c.id.desc())
        .limit(limit)
    )
    with catalog.read() as connection:
        return [frame_of(row) for row in connection.execute(query)]
