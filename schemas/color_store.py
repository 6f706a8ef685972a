"""Color labels in the catalog, and the frames they belong to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.dialects.sqlite import insert as upsert

from schemas.catalog import Catalog
from schemas.records import utc_now
from schemas.tables import color_labels, frames

SCENE, FRAME = "scene", "frame"

#: From the label that counts most to the one that counts least.
KINDS = ("adjudicated", "human", "imported", "measured")


class ColorLabel(NamedTuple):
    """Colors that somebody, or a measurement, gave a frame.

    `scope` is `SCENE` for the object's own color, valid for every frame of the scene, or `FRAME`
    for how it appears in this one. A color is empty where nothing is said of that side. `labeler`
    is a pseudonym, a file, or a measurement's name. A measurement gives the mean luma (Rec. 601, 0
    to 255) of both regions beside.
    """

    frame_id: int
    scope: str
    kind: str
    foreground: str
    background: str
    labeler: str
    round: int = 1
    labeled_at: datetime | None = None
    foreground_luma: float | None = None
    background_luma: float | None = None


class ColorFrame(NamedTuple):
    """A frame that can be labeled.

    Attributes
    ----------
    kind : {"manual", "picture"}
    ev_offset : int or None
        In stops; None where its light is unknown.
    path, sha256 : str
        The stored file, empty where it is not here.
    mean_luma : float or None
        Rec. 601, 0 to 255; None where nobody measured it.
    """

    frame_id: int
    scene_id: int
    scene: str
    category: str
    lighting: str
    kind: str
    ev_offset: int | None
    path: str
    sha256: str = ""
    mean_luma: float | None = None


_FRAMES = """
    SELECT f.id, f.scene_id, c.name, c.category, l.name, f.kind, f.ev_offset, f.path,
           f.sha256, f.mean_luma
    FROM frames f
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE f.kind IN ('manual', 'picture') AND f.outcome = 'accepted'
    ORDER BY f.id
"""

_LABELS = """
    SELECT frame_id, scope, kind, foreground, background, labeler, round, NULL,
           foreground_luma, background_luma
    FROM color_labels ORDER BY id
"""

#: Where imported pictures lay: the source names their folder and the path within it.
_SOURCES = "SELECT source FROM imports WHERE kind = 'images' ORDER BY id"

_ANSWERS = """
    SELECT s.task, s.view, s.frame_id, v.soft, v.error_kind, r.latency_s
    FROM responses r
    JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.observer_id = ?
    ORDER BY r.stimulus_id
"""

_DETECTIONS = """
    SELECT s.view, s.frame_id, r.payload
    FROM responses r JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.observer_id = ? AND s.task = ? AND r.error = ''
    ORDER BY r.stimulus_id
"""


class ColorAnswer(NamedTuple):
    """A scored response to a frame. `soft` is None without an answer, `latency_s` unmeasured."""

    task: str
    view: str
    frame_id: int
    soft: bool | None
    error_kind: str
    latency_s: float | None


def put_color_labels(catalog: Catalog, labels: Iterable[ColorLabel]) -> None:
    """Store labels in one transaction; the same labeler's label of the same round is replaced."""
    rows = [{**label._asdict(), "labeled_at": label.labeled_at or utc_now()} for label in labels]
    if not rows:
        return
    statement = upsert(color_labels)
    statement = statement.on_conflict_do_update(
        index_elements=["frame_id", "scope", "kind", "labeler", "round"],
        set_={
            name: statement.excluded[name] for name in ("foreground", "background", "labeled_at")
        },
    )
    with catalog.write() as connection:
        connection.execute(statement, rows)


def put_measured(catalog: Catalog, labels: Iterable[ColorLabel]) -> None:
    """Store measured labels in one transaction, in place of earlier ones of that frame or scene."""
    new = [{**label._asdict(), "labeled_at": label.labeled_at or utc_now()} for label in labels]
    columns = color_labels.c
    with catalog.write() as connection:
        for row in new:
            replaced = [row["frame_id"]]
            if row["scope"] == SCENE:
                replaced = list(connection.execute(_scene_mates(row["frame_id"])).scalars())
            connection.execute(
                color_labels.delete().where(
                    columns.frame_id.in_(replaced),
                    columns.kind == KINDS[-1],
                    columns.scope == row["scope"],
                )
            )
        if new:
            connection.execute(color_labels.insert(), new)


def _scene_mates(frame_id: int) -> Select[tuple[int]]:
    """Labeled frames of the scene of a frame."""
    scene = select(frames.c.scene_id).where(frames.c.id == frame_id).scalar_subquery()
    return (
        select(color_labels.c.frame_id)
        .join(frames, frames.c.id == color_labels.c.frame_id)
        .where(frames.c.scene_id == scene)
        .distinct()
    )


def delete_color_label(catalog: Catalog, label: ColorLabel) -> None:
    """Take a label back."""
    columns = color_labels.c
    with catalog.write() as connection:
        connection.execute(
            color_labels.delete().where(
                columns.frame_id == label.frame_id,
                columns.scope == label.scope,
                columns.kind == label.kind,
                columns.labeler == label.labeler,
                columns.round == label.round,
            )
        )


def list_color_frames(catalog: Catalog) -> list[ColorFrame]:
    """Accepted manual frames and imported pictures, by id."""
    with catalog.read() as connection:
        return [ColorFrame(*row) for row in connection.exec_driver_sql(_FRAMES)]


def list_color_labels(catalog: Catalog) -> list[ColorLabel]:
    """Every label, in the order they came."""
    with catalog.read() as connection:
        return [ColorLabel(*row) for row in connection.exec_driver_sql(_LABELS)]


def list_picture_sources(catalog: Catalog) -> list[str]:
    """``FOLDER/PATH`` of every imported picture, as it lay where it came from."""
    with catalog.read() as connection:
        return [str(row[0]) for row in connection.exec_driver_sql(_SOURCES)]


def put_mean_luma(catalog: Catalog, found: Mapping[int, float]) -> None:
    """Note the mean luma (0 to 255) of frames whose import did not measure it."""
    rows = [(luma, frame_id) for frame_id, luma in found.items()]
    if rows:
        with catalog.write() as connection:
            connection.exec_driver_sql(
                "UPDATE frames SET mean_luma = ? WHERE id = ? AND mean_luma IS NULL", rows
            )


def list_color_answers(catalog: Catalog, observer_id: int, protocol: str) -> list[ColorAnswer]:
    """Scored responses of an observer, in stimulus order."""
    with catalog.read() as connection:
        found = connection.exec_driver_sql(_ANSWERS, (protocol, observer_id))
        return [
            ColorAnswer(task, view, frame, None if soft is None else bool(soft), kind, latency_s)
            for task, view, frame, soft, kind, latency_s in found
        ]


def list_color_detections(
    catalog: Catalog, observer_id: int, task: str
) -> list[tuple[str, int, dict[str, Any]]]:
    """View, frame id and payload of an observer's detections, in stimulus order."""
    with catalog.read() as connection:
        found = connection.exec_driver_sql(_DETECTIONS, (observer_id, task))
        return [(view, frame, json.loads(payload)) for view, frame, payload in found]
