"""Color labels in the catalog, and the frames they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.dialects.sqlite import insert as upsert

from schemas.catalog import Catalog
from schemas.records import utc_now
from schemas.tables import color_labels

SCENE, FRAME = "scene", "frame"

#: From the label that counts most to the one that counts least.
KINDS = ("adjudicated", "human", "imported", "measured")


class ColorLabel(NamedTuple):
    """Colors that somebody, or a measurement, gave a frame.

    `scope` is `SCENE` for the object's own color, valid for every frame of the scene, or `FRAME`
    for how it appears in this one. `labeler` is a pseudonym, a file, or a measurement's name.
    """

    frame_id: int
    scope: str
    kind: str
    foreground: str
    background: str
    labeler: str
    round: int = 1
    labeled_at: datetime | None = None


class ColorFrame(NamedTuple):
    """A frame that can be labeled; `ev_offset` is None where its light is unknown."""

    frame_id: int
    scene_id: int
    scene: str
    category: str
    lighting: str
    kind: str
    ev_offset: int | None
    path: str


_FRAMES = """
    SELECT f.id, f.scene_id, c.name, c.category, l.name, f.kind, f.ev_offset, f.path
    FROM frames f
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE f.kind IN ('manual', 'picture') AND f.outcome = 'accepted'
    ORDER BY f.id
"""

_LABELS = """
    SELECT frame_id, scope, kind, foreground, background, labeler, round
    FROM color_labels ORDER BY id
"""


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
