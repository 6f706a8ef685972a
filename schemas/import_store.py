"""Bulk writes for imported data: scenes, frames, objects, stimuli and responses by the file.

Every function works inside the caller's write transaction, so that one source file is in the
catalog whole or not at all. Rows of the large tables go to the driver as tuples: a release has
a million of them, and the mapper's work per row would cost more than SQLite's.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, delete, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from schemas.answer_store import DETECTION, ORIGINAL, view_of_origin
from schemas.capture_store import IMPORTED
from schemas.catalog import Catalog, CatalogError
from schemas.records import FrameKind, Instance, Outcome, RunStatus, Scene, utc_now
from schemas.tables import frames, imports, instances, lightings, responses, runs, scenes, stimuli

#: The light of imported pictures: a row that frames can refer to, not a lighting of a rig.
UNKNOWN_LIGHT = "unknown"


@dataclass(frozen=True)
class Imported:
    """A source file that is in the catalog: its digest, and what its import reported."""

    sha256: str
    report: dict[str, Any]


class FrameRow(NamedTuple):
    """An accepted frame that was taken elsewhere; `path` is empty where its file is not here."""

    scene_id: int
    lighting_id: int
    run_id: int
    kind: FrameKind
    setting: str
    shutter_s: float | None = None
    iso: int | None = None
    f_number: float | None = None
    exif_shutter_s: float | None = None
    exif_iso: int | None = None
    exif_f_number: float | None = None
    ev: float | None = None
    ev_index: int | None = None
    ev_offset: int | None = None
    path: str = ""
    size_bytes: int | None = None
    width_px: int | None = None
    height_px: int | None = None
    camera_sha256: str = ""
    sha256: str = ""
    camera_time: str = ""


class ResponseRow(NamedTuple):
    """A response as the driver takes it: `payload` and `timing` are JSON texts."""

    stimulus_id: int
    observer_id: int
    text: str | None
    payload: str = "{}"
    error: str = ""
    latency_s: float | None = None
    timing: str = "{}"
    frame_sha256: str = ""


class StimulusRow(NamedTuple):
    """A stimulus in the catalog. `origin` is empty where it was made here."""

    id: int
    options_json: str
    origin: str

    @property
    def options(self) -> tuple[str, ...]:
        """Options in the order shown; empty where there are none, or none are known."""
        return tuple(json.loads(self.options_json)) if self.options_json != "[]" else ()

    def unknown_options(self, origin: str) -> bool:
        """Whether it came from `origin` without its options."""
        return self.origin == origin and self.options_json == "[]"


def known_imports(catalog: Catalog, kind: str) -> dict[str, Imported]:
    """Sources of a kind that are in the catalog, by name."""
    query = select(imports).where(imports.c.kind == kind)
    with catalog.read() as connection:
        return {row.source: Imported(row.sha256, row.report) for row in connection.execute(query)}


def put_import(
    connection: Connection, kind: str, source: str, sha256: str, report: Mapping[str, Any]
) -> None:
    """Note that a source is in the catalog, with what its import reported."""
    values = {"sha256": sha256, "report": dict(report), "imported_at": utc_now()}
    statement = upsert(imports).values(kind=kind, source=source, **values)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["kind", "source"], set_=values)
    )


def put_scenes(connection: Connection, new: Iterable[Scene]) -> dict[str, int]:
    """Add scenes that are new; ids of all scenes by name.

    Raises CatalogError if a name is taken by a different scene.
    """
    columns = (scenes.c.name, scenes.c.category, scenes.c.count)
    known = {row[0]: Scene(*row) for row in connection.execute(select(*columns))}
    rows = []
    for scene in new:
        found = known.get(scene.name)
        if found is None:
            values = {"name": scene.name, "category": scene.category, "count": scene.count}
            rows.append({**values, "created_at": utc_now()})
        elif found != scene:
            raise CatalogError(
                f"scene {scene.name} exists already: {found.count} x {found.category}, the import "
                f"has {scene.count} x {scene.category}; import into a workspace of its own"
            )
    if rows:
        connection.execute(insert(scenes), rows)
    return {name: int(key) for name, key in connection.execute(select(scenes.c.name, scenes.c.id))}


def unknown_light(connection: Connection) -> int:
    """Id of the lighting row of pictures taken under unknown light."""
    values = {"name": UNKNOWN_LIGHT, "lux": 0.0, "tolerance": 0.1, "ev_reference": 0}
    connection.execute(upsert(lightings).values(**values).on_conflict_do_nothing())
    query = select(lightings.c.id).where(lightings.c.name == UNKNOWN_LIGHT)
    return int(connection.execute(query).scalar_one())


def put_runs(
    connection: Connection,
    pairs: Iterable[tuple[int, int]],
    reason: str,
    simulated: Collection[tuple[int, int]] = (),
) -> dict[tuple[int, int], int]:
    """Runs that stand for shots taken elsewhere, one for each (scene id, lighting id).

    `simulated` are those pairs whose shots came from virtual devices.
    """
    query = select(runs.c.scene_id, runs.c.lighting_id, runs.c.id).where(runs.c.kind == IMPORTED)
    known = {(row.scene_id, row.lighting_id): int(row.id) for row in connection.execute(query)}
    now = utc_now()
    rows = [
        {
            "scene_id": scene_id,
            "lighting_id": lighting_id,
            "kind": IMPORTED,
            "plan_digest": "",
            "simulated": int((scene_id, lighting_id) in simulated),
            "devices": {},
            "versions": {},
            "started_at": now,
            "ended_at": now,
            "status": RunStatus.DONE,
            "reason": reason,
        }
        for scene_id, lighting_id in sorted(set(pairs) - known.keys())
    ]
    if rows:
        connection.execute(insert(runs), rows)
    return {(row.scene_id, row.lighting_id): int(row.id) for row in connection.execute(query)}


def put_frames(connection: Connection, rows: Sequence[FrameRow]) -> int:
    """Add accepted frames; those whose shot has a row already stay. How many were added."""
    constant = (Outcome.ACCEPTED.value, "", 1, 0, _stored(utc_now()))
    names = (*FrameRow._fields, "outcome", "reason", "attempt", "light_readings", "stored_at")
    before = _count(connection, frames)
    _execute_many(connection, frames, names, [row + constant for row in rows])
    return _count(connection, frames) - before


def put_file(connection: Connection, frame_id: int, row: FrameRow) -> None:
    """Give an imported frame its file and what the file's Exif block says."""
    of_file = ("path", "size_bytes", "width_px", "height_px", "camera_sha256", "sha256")
    exif = ("exif_shutter_s", "exif_iso", "exif_f_number", "camera_time")
    values = {name: getattr(row, name) for name in of_file + exif}
    connection.execute(frames.update().where(frames.c.id == frame_id).values(**values))


def put_instances(connection: Connection, scene_id: int, found: Sequence[Instance]) -> None:
    """Set the objects of a scene, in order, replacing those it had."""
    connection.execute(delete(instances).where(instances.c.scene_id == scene_id))
    rows = [
        {
            "scene_id": scene_id,
            "number": number,
            "category": one.category,
            **dict(zip(("x_px", "y_px", "width_px", "height_px"), one.box_xywh_px, strict=True)),
            "area_px": one.area_px,
            "crowd": int(one.crowd),
            "rle": one.rle,
            "image_width_px": one.image_size_px[0],
            "image_height_px": one.image_size_px[1],
        }
        for number, one in enumerate(found, start=1)
    ]
    if rows:
        connection.execute(insert(instances), rows)


def list_instances(catalog: Catalog) -> dict[str, list[Instance]]:
    """Objects of every scene that has any, in order, by scene name."""
    query = (
        select(scenes.c.name, instances)
        .join(instances, instances.c.scene_id == scenes.c.id)
        .order_by(instances.c.scene_id, instances.c.number)
    )
    found: dict[str, list[Instance]] = {}
    with catalog.read() as connection:
        for row in connection.execute(query):
            found.setdefault(row.name, []).append(
                Instance(
                    row.category,
                    (row.x_px, row.y_px, row.width_px, row.height_px),
                    row.area_px,
                    (row.image_width_px, row.image_height_px),
                    bool(row.crowd),
                    row.rle,
                )
            )
    return found


def frame_scenes(catalog: Catalog) -> dict[int, tuple[int, str]]:
    """Frame id and scene name of every stimulus to detect objects in, by stimulus id."""
    query = (
        select(stimuli.c.id, frames.c.id, scenes.c.name)
        .select_from(stimuli)
        .join(frames, stimuli.c.frame_id == frames.c.id)
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .where(stimuli.c.task == DETECTION)
    )
    with catalog.read() as connection:
        return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


class Stimuli:
    """Stimuli of one data set in the catalog, read once a task and import.

    Parameters
    ----------
    origin : str
        The data set whose answers are imported; see the column of that name.
    """

    def __init__(self, origin: str, view: str = ORIGINAL) -> None:
        self.origin = origin
        self.view = view
        self._known: dict[str, dict[int, StimulusRow]] = {}

    def put(
        self, connection: Connection, task: str, options: Mapping[int, Sequence[str]]
    ) -> dict[int, StimulusRow]:
        """Stimuli of a task for frames, with their options in order; all of it by frame id.

        A stimulus of the same origin whose options were unknown takes them; any other of the same
        origin keeps its own, which the caller compares. A stimulus that was made here is shared if
        it has no options, or these; else the data set gets one under a view of its own.
        """
        known = self._known.get(task)
        if known is None:
            known = self._known[task] = self._read(connection, task)
        own_view = view_of_origin(self.view, self.origin)
        missing, learned = [], []
        for frame_id, shown in sorted(options.items()):
            text = json.dumps(list(shown))
            stored = known.get(frame_id)
            if stored is None:
                missing.append((frame_id, self.view, task, text, self.origin))
            elif stored.origin != self.origin and stored.options_json not in ("[]", text):
                missing.append((frame_id, own_view, task, text, self.origin))
            elif shown and stored.unknown_options(self.origin):
                learned.append((text, stored.id))
        if missing:
            connection.exec_driver_sql(
                "INSERT INTO stimuli (frame_id, view, task, options, origin) "
                "VALUES (?, ?, ?, ?, ?)",
                missing,
            )
        if learned:
            connection.exec_driver_sql("UPDATE stimuli SET options = ? WHERE id = ?", learned)
        if missing or learned:
            known = self._known[task] = self._read(connection, task)
        return known

    def _read(self, connection: Connection, task: str) -> dict[int, StimulusRow]:
        rows = connection.exec_driver_sql(
            "SELECT frame_id, id, options, origin FROM stimuli WHERE task = ? AND view IN (?, ?) "
            "ORDER BY origin = ?",  # its own come last, and so win
            (task, self.view, view_of_origin(self.view, self.origin), self.origin),
        )
        return {row[0]: StimulusRow(row[1], row[2], row[3]) for row in rows.fetchall()}


def delete_responses(
    connection: Connection, observer_id: int, tasks: Sequence[str], session: str | None = None
) -> int:
    """Forget an observer's responses to some tasks, verdicts included; how many.

    With a `session`, only those that were given in it.
    """
    marks = ", ".join("?" for _ in tasks)
    statement = (
        "DELETE FROM responses WHERE observer_id = ? AND stimulus_id IN "  # noqa: S608 - only marks
        f"(SELECT id FROM stimuli WHERE task IN ({marks}))"
    )
    values: tuple[int | str, ...] = (observer_id, *tasks)
    if session is not None:
        statement += " AND json_extract(timing, '$.session') = ?"
        values += (session,)
    return int(connection.exec_driver_sql(statement, values).rowcount)


def answered_stimuli(connection: Connection, observer_id: int) -> set[int]:
    """Ids of the stimuli that an observer has a response to."""
    query = select(responses.c.stimulus_id).where(responses.c.observer_id == observer_id)
    return set(connection.execute(query).scalars())


def put_responses(connection: Connection, rows: Iterable[ResponseRow]) -> int:
    """Add responses in the order of their stimuli: the indexes then grow at their end."""
    new = sorted(rows)
    names = ", ".join((*ResponseRow._fields, "answered_at"))
    marks = ", ".join("?" for _ in ResponseRow._fields)
    if new:
        connection.exec_driver_sql(
            f"INSERT INTO responses ({names}) VALUES ({marks}, '{_stored(utc_now())}')",  # noqa: S608 - ours
            new,
        )
    return len(new)


def _execute_many(
    connection: Connection, table: Table, names: Sequence[str], rows: list[tuple[Any, ...]]
) -> None:
    if rows:
        connection.exec_driver_sql(
            f"INSERT INTO {table.name} ({', '.join(names)}) "  # noqa: S608 - names of ours
            f"VALUES ({', '.join('?' for _ in names)}) ON CONFLICT DO NOTHING",
            rows,
        )


def _count(connection: Connection, table: Table) -> int:
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar_one())  # noqa: S608


def _stored(moment: datetime) -> str:
    """A moment as SQLAlchemy stores it in SQLite: naive UTC with microseconds."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
