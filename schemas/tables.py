"""The catalog's tables. Each index says which query it serves.

Only `schemas.catalog` opens the database; changes of these tables need a migration in
`schemas/migrations` (a test compares both).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeDecorator

from schemas.records import Outcome, RunStatus


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC. SQLite keeps no zone: naive values are refused on the way in."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Store as naive UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a zone cannot be stored")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Give the zone back."""
        return None if value is None else value.replace(tzinfo=UTC)


def _one_of(column: str, values: Any) -> CheckConstraint:  # noqa: ANN401 - any StrEnum class
    allowed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({allowed})", name=f"{column}_known")


# Named constraints: Alembic cannot change an unnamed one on SQLite.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

scenes = Table(
    "scenes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("category", String, nullable=False),
    Column("count", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

lightings = Table(
    "lightings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("lux", Float, nullable=False),
    Column("tolerance", Float, nullable=False),
    Column("ev_reference", Integer, nullable=False),
)

# Objects of a scene, marked once: valid for every frame of it, whatever the exposure.
instances = Table(
    "instances",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("scene_id", ForeignKey("scenes.id"), nullable=False),
    Column("number", Integer, nullable=False),  # 1-based within the scene
    Column("category", String, nullable=False),
    Column("x_px", Float, nullable=False),
    Column("y_px", Float, nullable=False),
    Column("width_px", Float, nullable=False),
    Column("height_px", Float, nullable=False),
    Column("area_px", Float, nullable=False),
    Column("crowd", Integer, nullable=False),  # 1: a region of many objects, as COCO's iscrowd
    Column("rle", JSON(none_as_null=True)),  # {"size": [h, w], "counts": [...]}; NULL: box only
    Column("image_width_px", Integer, nullable=False),  # the picture that the pixels refer to
    Column("image_height_px", Integer, nullable=False),
    # the objects of a scene in order
    UniqueConstraint("scene_id", "number"),
)

# One row a source file: what is in the catalog already is not imported again.
imports = Table(
    "imports",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String, nullable=False),  # snap, images, coco, trials
    Column("source", String, nullable=False),  # path within the imported folder
    Column("sha256", String, nullable=False),
    Column("report", JSON, nullable=False),  # counts, rejected rows, row order
    Column("imported_at", UtcDateTime, nullable=False),
    UniqueConstraint("kind", "source"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("scene_id", ForeignKey("scenes.id"), nullable=False),
    Column("lighting_id", ForeignKey("lightings.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("plan", JSON),  # None for an auto frame
    Column("plan_digest", String, nullable=False),
    Column("simulated", Integer, nullable=False),  # 1: the devices say they are virtual
    Column("devices", JSON, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("status", String),  # NULL until the end: still running, or crashed
    Column("reason", String, nullable=False),
    _one_of("status", RunStatus),
    # which plans were started for a scene under a lighting (resume, planned shots)
    Index(None, "scene_id", "lighting_id"),
)

frames = Table(
    "frames",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("scene_id", ForeignKey("scenes.id"), nullable=False),
    Column("lighting_id", ForeignKey("lightings.id"), nullable=False),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("setting", String, nullable=False),
    Column("shutter_s", Float),
    Column("iso", Integer),
    Column("f_number", Float),
    Column("exif_shutter_s", Float),
    Column("exif_iso", Integer),
    Column("exif_f_number", Float),
    Column("ev", Float),
    Column("ev_index", Integer),
    Column("ev_offset", Integer),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("black_fraction", Float),
    Column("white_fraction", Float),
    Column("mean_luma", Float),
    Column("red_low", Float),
    Column("red_high", Float),
    Column("green_low", Float),
    Column("green_high", Float),
    Column("blue_low", Float),
    Column("blue_high", Float),
    Column("lux", Float),
    Column("lux_min", Float),
    Column("lux_max", Float),
    Column("light_readings", Integer, nullable=False),
    Column("path", String, nullable=False),
    Column("size_bytes", Integer),
    Column("width_px", Integer),
    Column("height_px", Integer),
    Column("camera_sha256", String, nullable=False),
    Column("sha256", String, nullable=False),
    Column("commanded_at", UtcDateTime),
    Column("captured_at", UtcDateTime),
    Column("stored_at", UtcDateTime, nullable=False),
    Column("camera_time", String, nullable=False),
    _one_of("outcome", Outcome),
    # plan - frames: what is still to be shot; and one row a shot, whatever happens
    UniqueConstraint("scene_id", "lighting_id", "kind", "setting"),
    # accuracy and outcome by EV offset and lighting
    Index(None, "outcome", "lighting_id", "ev_offset"),
)

# 1 KiB a row: kept apart, so that scans of the frames stay in few pages.
histograms = Table(
    "histograms",
    metadata,
    Column("frame_id", ForeignKey("frames.id", ondelete="CASCADE"), primary_key=True),
    Column("luma", LargeBinary, nullable=False),
)

light_readings = Table(
    "light_readings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("lux", Float, nullable=False),
    Column("uptime_ms", Integer, nullable=False),
    # the lux trace of a run in order of time
    Index(None, "run_id", "at"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("kind", String, nullable=False),  # failed_attempt, retry, reconnect, orphan, …
    Column("setting", String, nullable=False),
    Column("detail", String, nullable=False),
    Index(None, "run_id", "kind"),  # retries and faults of a run, by name
)

stimuli = Table(
    "stimuli",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("frame_id", ForeignKey("frames.id"), nullable=False),
    Column("view", String, nullable=False),
    Column("task", String, nullable=False),
    Column("options", JSON, nullable=False),
    # "": asked here; else the data set whose answers were imported, options empty if unknown
    Column("origin", String, nullable=False, server_default=text("''")),
    # one stimulus per key; also finds the stimuli of a frame
    UniqueConstraint("frame_id", "view", "task"),
    # all stimuli of a task (what is a model still to be asked?)
    Index(None, "task", "view"),
)

observers = Table(
    "observers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("kind", String, nullable=False),
    Column("spec", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

responses = Table(
    "responses",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("stimulus_id", ForeignKey("stimuli.id"), nullable=False),
    Column("observer_id", ForeignKey("observers.id"), nullable=False),
    Column("text", String),
    Column("payload", JSON, nullable=False),
    Column("error", String, nullable=False),
    Column("latency_s", Float),
    Column("timing", JSON, nullable=False),
    Column("frame_sha256", String, nullable=False),
    Column("answered_at", UtcDateTime, nullable=False),
    # stimuli x observers - responses; and all responses of an observer in stimulus order
    UniqueConstraint("observer_id", "stimulus_id"),
    # who else answered this stimulus (disagreement between observers)
    Index(None, "stimulus_id"),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("response_id", ForeignKey("responses.id", ondelete="CASCADE"), primary_key=True),
    Column("protocol", String, primary_key=True),
    Column("parsed", JSON, nullable=False),
    Column("soft", Integer),  # NULL: no answer
    Column("hard", Integer),
    Column("error_kind", String, nullable=False),
)

# Dominant colors of an object and its background: many labels a frame, the best one counts.
color_labels = Table(
    "color_labels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("frame_id", ForeignKey("frames.id", ondelete="CASCADE"), nullable=False),
    # scene: the object's own color, valid for all frames of its scene; frame: as it appears here
    Column("scope", String, nullable=False),
    Column("kind", String, nullable=False),  # adjudicated, human, imported, measured
    Column("foreground", String, nullable=False),
    Column("background", String, nullable=False),
    Column("labeler", String, nullable=False),  # a pseudonym, a file, or the measure's settings
    Column("round", Integer, nullable=False),
    Column("labeled_at", UtcDateTime, nullable=False),
    Column("foreground_luma", Float),  # mean over the region, 0 to 255; NULL: not measured
    Column("background_luma", Float),
    # one label a labeler and round; also finds the labels of a frame
    UniqueConstraint("frame_id", "scope", "kind", "labeler", "round"),
)
