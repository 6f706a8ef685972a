"""From a picture and its measurements to the frame that is stored. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta

from capture.analysis import Analysis
from rig.protocols import OfferedSettings, Picture
from schemas.exposure import Exposure
from schemas.plan import Lighting, Shot
from schemas.records import ExifSettings, Frame, FrameKind, Light, Outcome, reference_setting


@dataclass(frozen=True)
class Sweep:
    """What all frames of a run have in common."""

    run_id: int
    scene: str
    lighting: Lighting
    acceptance: str
    offered: OfferedSettings


@dataclass(frozen=True)
class Exposed:
    """A picture in hand.

    Attributes
    ----------
    shot : Shot
        As planned, or made up for a reference frame.
    attempt : int
        Exposures of this shot, this one included.
    picture : Picture
    reference : int or None
        Number of a reference frame.
    """

    shot: Shot
    attempt: int
    picture: Picture
    reference: int | None = None

    @property
    def setting(self) -> str:
        """Key of its row within scene and lighting."""
        if self.reference is not None:
            return reference_setting(self.reference)
        return self.shot.exposure.stem


@dataclass(frozen=True)
class GivenUp:
    """A shot that failed too often."""

    shot: Shot
    attempt: int
    reason: str


@dataclass(frozen=True)
class Skipped:
    """A shot that was not taken. `reason` names the frame that proves it needless."""

    shot: Shot
    attempt: int
    reason: str


def judged_frame(
    sweep: Sweep, exposed: Exposed, seen: Analysis, outcome: Outcome, light: Light
) -> Frame:
    """The frame of a shot or a reference; `path` and `sha256` are still empty."""
    kind: FrameKind = "manual" if exposed.reference is None else "reference"
    frame = _frame(sweep, kind, exposed.shot.exposure, outcome, exposed.attempt)
    frame = replace(frame, number=exposed.reference)
    frame = _with_picture(frame, exposed.picture, seen, light)
    return replace(frame, reason=_reason(sweep.acceptance, outcome, seen))


def failed_frame(sweep: Sweep, given_up: GivenUp) -> Frame:
    """The frame of a shot that gave no usable picture."""
    shot = given_up.shot.exposure
    frame = _frame(sweep, "manual", shot, Outcome.FAILED, given_up.attempt)
    return replace(frame, reason=given_up.reason)


def skipped_frame(sweep: Sweep, skipped: Skipped) -> Frame:
    """The frame of a shot that a guided sweep did not take."""
    shot = skipped.shot.exposure
    frame = _frame(sweep, "manual", shot, Outcome.SKIPPED, skipped.attempt)
    return replace(frame, reason=skipped.reason)


def auto_frame(sweep: Sweep, picture: Picture, seen: Analysis, light: Light) -> Frame:
    """The frame of the camera's own choice: exposure value from the Exif settings."""
    chosen = exif_exposure(seen)
    frame = _frame(sweep, "auto", chosen, Outcome.ACCEPTED, 1)
    return _with_picture(replace(frame, requested=None), picture, seen, light)


def exif_exposure(seen: Analysis) -> Exposure | None:
    """The triplet that a picture says it was taken with; None unless it says all three."""
    exif = seen.exif
    if exif.shutter_s is None or exif.iso is None or exif.f_number is None:
        return None
    return Exposure(exif.shutter_s, exif.iso, exif.f_number)


def _frame(
    sweep: Sweep, kind: FrameKind, exposure: Exposure | None, outcome: Outcome, attempt: int
) -> Frame:
    frame = Frame(
        scene=sweep.scene,
        lighting=sweep.lighting.name,
        run_id=sweep.run_id,
        kind=kind,
        requested=exposure,
        outcome=outcome,
        attempt=attempt,
    )
    if exposure is None:
        return frame
    return replace(
        frame,
        ev=exposure.ev,
        ev_index=exposure.ev_index,
        ev_offset=exposure.ev_offset(sweep.lighting.ev_reference),
    )


def _with_picture(frame: Frame, picture: Picture, seen: Analysis, light: Light) -> Frame:
    exif = seen.exif
    lasted_s = picture.ended_monotonic_s - picture.commanded_monotonic_s
    return replace(
        frame,
        exif=ExifSettings(exif.shutter_s, exif.iso, exif.f_number),
        histogram=seen.histogram.astype("<u4").tobytes(),
        black_fraction=seen.luma.black_fraction,
        white_fraction=seen.luma.white_fraction,
        mean_luma=seen.luma.mean,
        red=seen.red,
        green=seen.green,
        blue=seen.blue,
        light=light,
        size_bytes=len(picture.data),
        width_px=seen.width_px,
        height_px=seen.height_px,
        camera_sha256=hashlib.sha256(picture.data).hexdigest(),
        commanded_at=picture.commanded_at,
        captured_at=picture.commanded_at + timedelta(seconds=lasted_s),
        camera_time=exif.taken_at,
    )


def _reason(rule: str, outcome: Outcome, seen: Analysis) -> str:
    if outcome is Outcome.ACCEPTED:
        return ""
    luma = seen.luma
    return (
        f"{rule}: {luma.black_fraction:.2%} of pixels black, {luma.white_fraction:.2%} white, "
        f"mean {luma.mean:.2f}"
    )
