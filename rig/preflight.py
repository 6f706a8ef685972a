"""What a careful technician checks before a night's sweep: the findings, and what was looked at.

Three steps that never mix: `rig.preflight_read` reads the devices, the checks of
`rig.preflight_camera`, `rig.preflight_light` and `rig.preflight_place` judge what was read (pure
functions of it), `rig.checklist` asks what no device can answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from rig.protocols import CameraInfo, LightReading, MeterInfo, OfferedSettings
from schemas.exposure import Exposure
from schemas.plan import Lighting


class Status(StrEnum):
    """How a check came out: `fail` refuses a run, `warn` is for a person to weigh."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


_WORST_FIRST = (Status.FAIL, Status.WARN, Status.OK)


@dataclass(frozen=True)
class Finding:
    """One check: what was found, what was wanted, and what to do (empty where it is ok)."""

    check: str
    status: Status
    found: str
    wanted: str
    action: str = ""

    def to_json(self) -> dict[str, Any]:
        """For `--json` and the run's record."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.check.replace('_', ' ')}: {self.found} (wanted: {self.wanted})"


def ok(check: str, found: str, wanted: str = "") -> Finding:
    """A check that came out well."""
    return Finding(check, Status.OK, found, wanted or found)


def judged(
    check: str,
    good: bool,
    found: str,
    wanted: str,
    action: str,
    otherwise: Status = Status.FAIL,
) -> Finding:
    """`ok` where `good`, else `otherwise` with its action."""
    if good:
        return Finding(check, Status.OK, found, wanted)
    return Finding(check, otherwise, found, wanted, action)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Failures, then warnings, then the rest, each in the order they were checked."""
    return sorted(findings, key=lambda finding: _WORST_FIRST.index(finding.status))


def failures(findings: Iterable[Finding]) -> list[Finding]:
    """The checks that refuse a run."""
    return [finding for finding in findings if finding.status is Status.FAIL]


@dataclass(frozen=True)
class Task:
    """What is to be shot.

    Attributes
    ----------
    exposures : tuple of Exposure
        What is left of the plan.
    overhead_s : float
        What a shot takes beside its exposure.
    lighting : Lighting or None
        None where no lighting was named.
    """

    exposures: tuple[Exposure, ...]
    lighting: Lighting | None = None
    overhead_s: float = 1.0

    @property
    def duration_s(self) -> float:
        """How long it takes."""
        return sum(e.shutter_s for e in self.exposures) + self.overhead_s * len(self.exposures)


@dataclass(frozen=True)
class CameraSeen:
    """What an open body said.

    Attributes
    ----------
    settings : mapping
        Every readable setting by libgphoto2's name.
    leftovers : int
        Pictures that waited in the body's buffer and were discarded.
    read_at : datetime
        The host's clock when the settings were read, UTC.
    """

    info: CameraInfo
    settings: Mapping[str, str]
    offered: OfferedSettings
    leftovers: int
    read_at: datetime


@dataclass(frozen=True)
class MeterSeen:
    """What an open meter said. `fault` is why its readings ended early, empty otherwise."""

    info: MeterInfo
    readings: tuple[LightReading, ...]
    fault: str = ""


@dataclass(frozen=True)
class Burst:
    """A burst of pictures at a fast shutter, measured.

    Attributes
    ----------
    exposure : Exposure
    pictures : int
    mean : float
        Linear signal, share of full scale, over all pictures.
    spread : float
        (brightest - darkest) / mean of the pictures' mean signals.
    banding : float
        The same of 32 bands of rows, each against its own mean over the burst: the scene cancels.
    focal_length_mm : float or None
        As the pictures' Exif says.
    at : datetime
    """

    exposure: Exposure
    pictures: int
    mean: float
    spread: float
    banding: float
    focal_length_mm: float | None
    at: datetime


@dataclass(frozen=True)
class Place:
    """Where the frames go: bytes free on the disk, and bytes a frame takes there."""

    free_bytes: int
    frame_bytes: float
    measured: bool = field(default=False)
