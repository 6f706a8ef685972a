"""Scenes, lightings, runs, light readings and events in the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from schemas.catalog import Catalog, CatalogError
from schemas.plan import Lighting, SweepPlan
from schemas.records import (
    RunStatus,
    Scene,
    utc_now,
)
from schemas.tables import events, light_readings, lightings, runs, scenes

#: Kind of a run that stands for shots taken elsewhere: its frames may lack their files.
IMPORTED = "import"

_LIGHTING_COLUMNS = {"name", "lux", "tolerance", "ev_reference"}


@dataclass(frozen=True)
class Run:
    """One execution of a plan, or the taking of one auto frame.

    `status` None means that it is running, or crashed.
    """

    id: int
    scene: str
    lighting: str
    kind: str
    plan: SweepPlan | None
    plan_digest: str
    simulated: bool
    devices: dict[str, Any]
    versions: dict[str, Any]
    started_at: datetime
    ended_at: datetime | None
    status: RunStatus | None
    reason: str


@dataclass(frozen=True)
class StoredReading:
    """A light reading as stored: UTC moment, illuminance in lux, the meter's own clock."""

    at: datetime
    lux: float
    uptime_ms: int


def add_scene(catalog: Catalog, scene: Scene) -> None:
    """Add a scene. Raises CatalogError if the name is taken by a different one."""
    known = find_scene(catalog, scene.name)
    if known == scene:
        return
    if known is not None:
        raise CatalogError(
            f"scene {scene.name} exists already: {known.count} x {known.category}; "
            "choose another name"
        )
    with catalog.write() as connection:
        connection.execute(
            insert(scenes).values(
                name=scene.name,
                category=scene.category,
                count=scene.count,
                created_at=utc_now(),
            )
        )


def find_scene(catalog: Catalog, name: str) -> Scene | None:
    """The scene of that name, or None."""
    return next((scene for scene in list_scenes(catalog) if scene.name == name), None)


def list_scenes(catalog: Catalog) -> list[Scene]:
    """All scenes in the order they were added."""
    query = select(scenes.c.name, scenes.c.category, scenes.c.count).order_by(scenes.c.id)
    with catalog.read() as connection:
        return [Scene(*row) for row in connection.execute(query)]


def put_lighting(catalog: Catalog, lighting: Lighting) -> None:
    """Record a lighting. Raises CatalogError if frames hang on a different definition.

    EV offsets are relative to the lighting's reference: it cannot change under its frames.
    Tolerance and exact lux of one without runs may still change. How a run waits for the light
    (hysteresis, settle time) is not part of the dataset: each run records its own.
    """
    values = lighting.model_dump(include=_LIGHTING_COLUMNS)
    with catalog.write() as connection:
        row = connection.execute(select(lightings).where(lightings.c.name == lighting.name)).first()
        if row is None:
            connection.execute(insert(lightings).values(**values))
            return
        known = _lighting(row)
        if known.model_dump(include=_LIGHTING_COLUMNS) == values:
            return
        used = connection.execute(select(runs.c.id).where(runs.c.lighting_id == row.id)).first()
        if used is not None and (known.ev_reference, known.lux) != (
            lighting.ev_reference,
            lighting.lux,
        ):
            raise CatalogError(
                f"lighting {lighting.name} was recorded with {known.lux:g} lux and EV reference "
                f"{known.ev_reference}, and has frames; give the new lighting another name"
            )
        connection.execute(update(lightings).where(lightings.c.id == row.id).values(**values))


def move_ev_reference(catalog: Catalog, name: str, ev_reference: int) -> None:
    """Change a lighting's EV reference. Raises CatalogError once a sweep was shot under it.

    Auto frames alone do not hold it: it may come from them. Who calls this moves their offsets.
    """
    with catalog.write() as connection:
        lighting_id = id_of(connection, lightings, name)
        swept = select(runs.c.id).where(runs.c.lighting_id == lighting_id, runs.c.kind == "sweep")
        known = connection.execute(
            select(lightings.c.ev_reference).where(lightings.c.id == lighting_id)
        ).scalar_one()
        if known != ev_reference and connection.execute(swept).first() is not None:
            raise CatalogError(f"lighting {name} has sweeps under EV reference {known}")
        connection.execute(
            update(lightings).where(lightings.c.id == lighting_id).values(ev_reference=ev_reference)
        )


def list_lightings(catalog: Catalog) -> list[Lighting]:
    """All recorded lightings, brightest first; without that of pictures of unknown light."""
    known = select(lightings).where(lightings.c.lux > 0)
    with catalog.read() as connection:
        rows = connection.execute(known.order_by(lightings.c.lux.desc()))
        return [_lighting(row) for row in rows]


def start_run(
    catalog: Catalog,
    *,
    scene: str,
    lighting: str,
    plan: SweepPlan | None,
    simulated: bool,
    devices: dict[str, Any],
    versions: dict[str, Any],
) -> int:
    """Open a run and return its id; it has no status until `end_run`."""
    with catalog.write() as connection:
        result = connection.execute(
            insert(runs).values(
                scene_id=id_of(connection, scenes, scene),
                lighting_id=id_of(connection, lightings, lighting),
                kind="auto" if plan is None else "sweep",
                plan=None if plan is None else plan.model_dump(mode="json"),
                plan_digest="" if plan is None else plan.digest,
                simulated=int(simulated),
                devices=devices,
                versions=versions,
                started_at=utc_now(),
                reason="",
            )
        )
        return int(result.inserted_primary_key[0])  # type: ignore[index]  # one row, one key


def end_run(catalog: Catalog, run_id: int, status: RunStatus, reason: str) -> None:
    """Say how a run ended."""
    with catalog.write() as connection:
        connection.execute(
            update(runs)
            .where(runs.c.id == run_id)
            .values(status=status, reason=reason, ended_at=utc_now())
        )


def list_runs(
    catalog: Catalog, *, scene: str | None = None, lighting: str | None = None
) -> list[Run]:
    """Runs in the order they started."""
    query = (
        select(runs, scenes.c.name.label("scene"), lightings.c.name.label("lighting"))
        .join(scenes)
        .join(lightings)
        .order_by(runs.c.id)
    )
    query = where_names(query, scene, lighting)
    with catalog.read() as connection:
        return [_run(row) for row in connection.execute(query)]


def find_run(catalog: Catalog, run_id: int) -> Run | None:
    """The run of that number."""
    query = (
        select(runs, scenes.c.name.label("scene"), lightings.c.name.label("lighting"))
        .join(scenes)
        .join(lightings)
        .where(runs.c.id == run_id)
    )
    with catalog.read() as connection:
        row = connection.execute(query).first()
        return None if row is None else _run(row)


def add_readings(catalog: Catalog, run_id: int, readings: Iterable[StoredReading]) -> None:
    """Append light readings of a run."""
    rows = [
        {"run_id": run_id, "at": r.at, "lux": r.lux, "uptime_ms": r.uptime_ms} for r in readings
    ]
    if rows:
        with catalog.write() as connection:
            connection.execute(insert(light_readings), rows)


def list_readings(catalog: Catalog, run_id: int) -> list[StoredReading]:
    """Light readings of a run in the order they came, which a jump of the clock does not change."""
    query = (
        select(light_readings.c.at, light_readings.c.lux, light_readings.c.uptime_ms)
        .where(light_readings.c.run_id == run_id)
        .order_by(light_readings.c.id)
    )
    with catalog.read() as connection:
        return [StoredReading(*row) for row in connection.execute(query)]


def add_event(catalog: Catalog, run_id: int, kind: str, setting: str, detail: str) -> None:
    """Note what happened beside the frames: a failed attempt, a reconnect, an orphan file."""
    with catalog.write() as connection:
        connection.execute(
            insert(events).values(
                run_id=run_id, at=utc_now(), kind=kind, setting=setting, detail=detail
            )
        )


def list_events(catalog: Catalog, run_id: int | None = None) -> list[Row[Any]]:
    """Events (run_id, at, kind, setting, detail) in order."""
    query = select(events).order_by(events.c.id)
    if run_id is not None:
        query = query.where(events.c.run_id == run_id)
    with catalog.read() as connection:
        return list(connection.execute(query))


def id_of(connection: Connection, table: Any, name: str) -> int:  # noqa: ANN401 - a Table
    """Primary key of a named row; CatalogError if there is none."""
    row = connection.execute(select(table.c.id).where(table.c.name == name)).first()
    if row is None:
        raise CatalogError(f"no {table.name.removesuffix('s')} called {name!r} in the catalog")
    return int(row.id)


def where_names(query: Select[Any], scene: str | None, lighting: str | None) -> Select[Any]:
    """Narrow a query that joins scenes and lightings to one of each, where named."""
    if scene is not None:
        query = query.where(scenes.c.name == scene)
    if lighting is not None:
        query = query.where(lightings.c.name == lighting)
    return query


def _lighting(row: Row[Any]) -> Lighting:
    return Lighting(
        name=row.name, lux=row.lux, tolerance=row.tolerance, ev_reference=row.ev_reference
    )


def _run(row: Row[Any]) -> Run:
    return Run(
        id=row.id,
        scene=row.scene,
        lighting=row.lighting,
        kind=row.kind,
        plan=None if row.plan is None else SweepPlan.model_validate(row.plan),
        plan_digest=row.plan_digest,
        simulated=bool(row.simulated),
        devices=row.devices,
        versions=row.versions,
        started_at=row.started_at,
        ended_at=row.ended_at,
        status=None if row.status is None else RunStatus(row.status),
        reason=row.reason,
    )
