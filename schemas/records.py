"""Frozen records that pass between the packages and the catalog; one per table row."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from schemas.exposure import Exposure


class Outcome(StrEnum):
    """What a planned shot became. Every shot ends as exactly one frame row."""

    ACCEPTED = "accepted"
    REJECTED_BLACK = "rejected_black"
    REJECTED_WHITE = "rejected_white"
    FAILED = "failed"
    SKIPPED = "skipped"


class RunStatus(StrEnum):
    """How a run ended. A run without a status crashed."""

    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


#: A shot of a plan; the camera's own choice before a sweep; one of the equal exposures that the
#: others are compared with; a picture from elsewhere.
FrameKind = Literal["manual", "auto", "reference", "picture"]
ObserverKind = Literal["person", "model"]


def reference_setting(number: int) -> str:
    """Key of a sweep's reference frame: ``ref-000`` opens it."""
    return f"ref-{number:03d}"


def utc_now() -> datetime:
    """Now, in UTC, with its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Scene:
    """One arrangement of objects in front of the camera.

    Attributes
    ----------
    name : str
        Folder-safe.
    category : str
        Class of all its objects, e.g. ``cup``.
    count : int
        Number of objects; 0 where nobody counted them (imported pictures).
    """

    name: str
    category: str
    count: int


@dataclass(frozen=True)
class Instance:
    """One object of a scene, in pixels of a picture of `image_size_px`.

    Attributes
    ----------
    box_xywh_px : tuple of float
        Left, top, width, height.
    area_px : float
        Of the mask, or as the source states it.
    crowd : bool
        A region of many objects (COCO's iscrowd).
    rle : dict or None
        Uncompressed COCO run lengths, column by column, zeros first:
        ``{"size": [height, width], "counts": [...]}``.
    image_size_px : tuple of int
        Width and height.
    """

    category: str
    box_xywh_px: tuple[float, float, float, float]
    area_px: float
    image_size_px: tuple[int, int]
    crowd: bool = False
    rle: dict[str, list[int]] | None = None


@dataclass(frozen=True)
class Clipping:
    """Share of pixels at 0 and at 255 in one channel. Recorded, never deciding."""

    low: float
    high: float


@dataclass(frozen=True)
class Light:
    """Illuminance over one exposure: None where the meter was silent."""

    lux: float | None = None
    lux_min: float | None = None
    lux_max: float | None = None
    readings: int = 0


@dataclass(frozen=True)
class ExifSettings:
    """What the camera says it did, as read from the picture's Exif block."""

    shutter_s: float | None
    iso: int | None
    f_number: float | None


@dataclass(frozen=True)
class Frame:
    """What one shot became.

    Attributes
    ----------
    scene, lighting : str
        Names.
    run_id : int
        The run that took it.
    kind : {"manual", "auto", "reference", "picture"}
        A shot of a plan; the camera's own choice, taken before the sweep; one of the equal
        exposures at EV offset 0 that the others are compared with; or an imported picture that
        nobody commanded.
    requested : Exposure or None
        Commanded marked settings; None for all but manual frames.
    exif : ExifSettings or None
        None where no picture could be read.
    ev, ev_index, ev_offset
        Of the requested settings (auto frames: of the Exif ones); None if neither is known.
    outcome, reason
        `reason` says in words why a frame was not accepted; empty for accepted ones.
    attempt : int
        How many exposures this shot has taken, 1 for most.
    histogram : bytes or None
        256 little-endian uint32 counts of 8-bit Rec. 601 luma.
    black_fraction, white_fraction, mean_luma
        Of that histogram, for queries.
    red, green, blue : Clipping or None
    light : Light
        Over the exposure.
    path : str
        Relative to the workspace; empty where no file is kept.
    camera_sha256, sha256 : str
        Of the bytes as the camera gave them, and of the stored file.
    commanded_at, captured_at, stored_at : datetime or None
        UTC: release sent, picture announced, row written.
    camera_time : str
        The Exif date as the camera wrote it, for the record: a camera clock has no zone.
    number : int or None
        Of a reference frame, from 0 in a sweep; None for the others.
    """

    scene: str
    lighting: str
    run_id: int
    kind: FrameKind
    requested: Exposure | None
    outcome: Outcome
    attempt: int
    reason: str = ""
    exif: ExifSettings | None = None
    ev: float | None = None
    ev_index: int | None = None
    ev_offset: int | None = None
    histogram: bytes | None = None
    black_fraction: float | None = None
    white_fraction: float | None = None
    mean_luma: float | None = None
    red: Clipping | None = None
    green: Clipping | None = None
    blue: Clipping | None = None
    light: Light = Light()
    path: str = ""
    size_bytes: int | None = None
    width_px: int | None = None
    height_px: int | None = None
    camera_sha256: str = ""
    sha256: str = ""
    commanded_at: datetime | None = None
    captured_at: datetime | None = None
    stored_at: datetime | None = None
    camera_time: str = ""
    number: int | None = None
    id: int | None = None

    @property
    def setting(self) -> str:
        """Key within its scene and lighting: settings' stem, ``auto``, ``ref-000``, ``picture``."""
        if self.number is not None:
            return reference_setting(self.number)
        return self.kind if self.requested is None else self.requested.stem


@dataclass(frozen=True)
class Stimulus:
    """(frame, view, question or task), with the options in the order they are shown."""

    frame_id: int
    view: str
    task: str
    options: tuple[str, ...] = ()
    id: int | None = None


@dataclass(frozen=True)
class Observer:
    """A person or a model. `spec` holds what makes it reproducible: id, digests, versions."""

    name: str
    kind: ObserverKind
    spec: dict[str, Any] = field(default_factory=dict)
    id: int | None = None


@dataclass(frozen=True)
class Response:
    """What an observer gave for a stimulus.

    Attributes
    ----------
    text : str or None
        Raw text, whole; None where the task has none.
    payload : dict
        Top-k labels or boxes, as the task defines.
    error : str
        Why there is no answer; empty for an answer. An error is a record, not a hole.
    latency_s : float or None
    timing : dict
        Evidence of presentation times, for people.
    frame_sha256 : str
        The stored file that was seen.
    """

    stimulus_id: int
    observer_id: int
    text: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    latency_s: float | None = None
    timing: dict[str, Any] = field(default_factory=dict)
    frame_sha256: str = ""
    answered_at: datetime | None = None
    id: int | None = None
