"""The columns that tables of frames share, with what they mean and their units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from capture.exports.job import Picture
from schemas.export_store import ExportRow

Kind = Literal["text", "integer", "real", "boolean", "moment"]


@dataclass(frozen=True)
class FrameColumn:
    """One column: its name, what it means, its kind, and how a frame fills it."""

    name: str
    meaning: str
    kind: Kind
    of: Callable[[ExportRow, Picture], Any]


FRAME_COLUMNS = (
    FrameColumn("scene", "arrangement of objects", "text", lambda row, _: row.scene),
    FrameColumn("category", "class of all its objects", "text", lambda row, _: row.category),
    FrameColumn("count", "number of objects", "integer", lambda row, _: row.objects),
    FrameColumn("lighting", "controlled light", "text", lambda row, _: row.lighting),
    FrameColumn("nominal_lux", "its illuminance in lux", "real", lambda row, _: row.nominal_lux),
    FrameColumn("lux", "mean illuminance over the exposure", "real", lambda row, _: row.lux),
    FrameColumn("lux_min", "lowest illuminance", "real", lambda row, _: row.lux_min),
    FrameColumn("lux_max", "highest illuminance", "real", lambda row, _: row.lux_max),
    FrameColumn(
        "shutter_s", "marked exposure time in seconds", "real", lambda row, _: row.shutter_s
    ),
    FrameColumn("iso", "ISO sensitivity", "integer", lambda row, _: row.iso),
    FrameColumn("f_number", "marked F-number", "real", lambda row, _: row.f_number),
    FrameColumn(
        "ev", "log2(N^2/t) - log2(ISO/100) of the marked settings", "real", lambda row, _: row.ev
    ),
    FrameColumn("ev_index", "nearest integer of ev", "integer", lambda row, _: row.ev_index),
    FrameColumn(
        "ev_offset",
        "EV reference of the lighting minus ev_index; positive is over-exposed",
        "integer",
        lambda row, _: row.ev_offset,
    ),
    FrameColumn(
        "ev_reference", "EV that exposes well under it", "integer", lambda row, _: row.ev_reference
    ),
    FrameColumn(
        "setting", "shutter, ISO and F-number as a name", "text", lambda row, _: row.setting
    ),
    FrameColumn(
        "width_px", "width as shown, in pixels", "integer", lambda _, picture: picture.size_px[0]
    ),
    FrameColumn(
        "height_px", "height as shown, in pixels", "integer", lambda _, picture: picture.size_px[1]
    ),
    FrameColumn("captured_at", "moment of capture, UTC", "moment", lambda row, _: row.captured_at),
    FrameColumn("simulated", "taken by virtual devices", "boolean", lambda row, _: row.simulated),
    FrameColumn("sha256", "of the picture file", "text", lambda row, _: row.sha256),
)
