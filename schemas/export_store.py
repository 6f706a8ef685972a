"""Accepted frames as exports need them: one row each with its scene, light and origin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, case, func, select

from schemas.answer_store import ORIGINAL
from schemas.catalog import Catalog
from schemas.questions import TASKS
from schemas.records import FrameKind, Outcome
from schemas.tables import frames, lightings, runs, scenes, stimuli

_ASKED = and_(stimuli.c.view == ORIGINAL, stimuli.c.task.in_(TASKS))


# asked once a frame: built by the mapper it would cost more than SQLite's work
_QUESTIONS = (
    "SELECT task, options FROM stimuli "
    "WHERE frame_id = ? AND view = ? AND task IN (?, ?, ?, ?) ORDER BY task"
)


class ExportRow(NamedTuple):
    """An accepted frame; `objects` is how many there are in its scene.

    Settings are the marked ones; of an auto frame those in its Exif.
    """

    id: int
    run_id: int
    scene: str
    category: str
    objects: int
    lighting: str
    nominal_lux: float
    ev_reference: int
    kind: FrameKind
    setting: str
    shutter_s: float
    iso: int
    f_number: float
    ev: float
    ev_index: int
    ev_offset: int
    lux: float | None
    lux_min: float | None
    lux_max: float | None
    path: str
    size_bytes: int
    sha256: str
    captured_at: datetime | None
    simulated: bool


@dataclass(frozen=True)
class Selection:
    """Which accepted frames are meant.

    Attributes
    ----------
    scenes, lightings : tuple of str
        Names; empty for all.
    kinds : tuple of str
    simulated : bool or None
        Only frames of virtual devices, only others, or both.
    """

    scenes: tuple[str, ...] = ()
    lightings: tuple[str, ...] = ()
    kinds: tuple[FrameKind, ...] = ("manual",)
    simulated: bool | None = None


class Extent(NamedTuple):
    """How many frames a selection has, in numbers and bytes.

    `without_file` are not here: imported without their pictures. The others are.
    """

    real: int
    simulated: int
    without_file: int
    size_bytes: int


def measure(catalog: Catalog, selection: Selection) -> Extent:
    """Count a selection's frames."""
    there = frames.c.path != ""
    query = select(
        func.sum(case((there & (runs.c.simulated == 0), 1), else_=0)),
        func.sum(case((there & (runs.c.simulated == 1), 1), else_=0)),
        func.sum(case((there, 0), else_=1)),
        func.sum(case((there, frames.c.size_bytes), else_=0)),
    )
    with catalog.read() as connection:
        row = connection.execute(_where(query, selection)).one()
    return Extent(*(int(value or 0) for value in row))


@contextmanager
def reading(catalog: Catalog) -> Iterator[Connection]:
    """One snapshot of the catalog for a whole export."""
    with catalog.read() as connection:
        yield connection


def stream_rows(connection: Connection, selection: Selection) -> Iterator[ExportRow]:
    """A selection's frames that have a file: by scene, light, EV offset and settings."""
    setting = [
        func.coalesce(getattr(frames.c, name), getattr(frames.c, f"exif_{name}"))
        for name in ("shutter_s", "iso", "f_number")
    ]
    query = select(
        frames.c.id,
        frames.c.run_id,
        scenes.c.name,
        scenes.c.category,
        scenes.c.count,
        lightings.c.name,
        lightings.c.lux,
        lightings.c.ev_reference,
        frames.c.kind,
        frames.c.setting,
        *setting,
        frames.c.ev,
        frames.c.ev_index,
        frames.c.ev_offset,
        frames.c.lux,
        frames.c.lux_min,
        frames.c.lux_max,
        frames.c.path,
        frames.c.size_bytes,
        frames.c.sha256,
        frames.c.captured_at,
        runs.c.simulated,
    ).where(frames.c.path != "")
    order = (
        frames.c.scene_id,
        lightings.c.lux,
        lightings.c.id,
        frames.c.kind.desc(),  # manual frames before auto ones
        frames.c.ev_offset,
        *setting,
    )
    for row in connection.execute(_where(query, selection).order_by(*order)).yield_per(1000):
        yield ExportRow._make((*row[:-1], bool(row[-1])))


def has_questions(connection: Connection) -> bool:
    """Whether the catalog has any of the questions Q1 to Q4."""
    return connection.execute(select(stimuli.c.id).where(_ASKED).limit(1)).first() is not None


def questions_of(connection: Connection, frame_id: int) -> dict[str, tuple[str, ...]]:
    """Options of a frame's questions in stored order, by task (``q1`` to ``q4``)."""
    found = connection.exec_driver_sql(_QUESTIONS, (frame_id, ORIGINAL, *TASKS))
    return {task: tuple(json.loads(options)) for task, options in found}


def _where(query: Select[Any], selection: Selection) -> Select[Any]:
    query = (
        query.select_from(frames)
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .join(runs, frames.c.run_id == runs.c.id)
        .where(frames.c.outcome == Outcome.ACCEPTED, frames.c.kind.in_(selection.kinds))
    )
    if selection.scenes:
        query = query.where(scenes.c.name.in_(selection.scenes))
    if selection.lightings:
        query = query.where(lightings.c.name.in_(selection.lightings))
    if selection.simulated is not None:
        query = query.where(runs.c.simulated == int(selection.simulated))
    return query
