"""Is a picture the one that was asked for, and not an older one? Pure.

What `capture.verification` is for the three settings, this is for everything else that a picture
says of itself: its flash, its size, its bytes, its time and its number. Brightness is
`capture.prediction`'s.

A camera's clock and count are witnesses of different worth. A clock may be hours wrong (only its
steps are looked at), may stand still or be set in between; a count may be missing, or start anew
with another card. So a witness that speaks against several pictures in a row is not asked again in
this run: a clock that was set back costs two attempts, not a night.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from schemas.jpeg import Exif

#: A camera clock is trusted as a witness of *when* once it kept pace with ours over so many
#: pictures, within so many seconds.
_STEPS, _PACE_S = 4, 1.5
#: A picture may say that much earlier than the trusted clock would: release lag, whole seconds.
_LAG_S = 3.0
#: Events whose repetition, so many times in a row, shows a bad witness instead of bad pictures.
_WITNESSES, _STRIKES = frozenset({"stale_time", "stale_count"}), 3

#: The zoom was turned: only a hand can turn it back.
ZOOMED = "zoomed"
#: A body reports whole millimeters of a ring that stands between two of them.
_ZOOM_SLACK_MM = 1.0

#: Names that count a camera's own pictures: IMG_0042.JPG. libgphoto2's capt0000.jpg counts the
#: transfers of one session.
_COUNTED = re.compile(r"(?!capt)[A-Z_]{4}(\d{4})\.JPE?G", re.IGNORECASE)


class Fault(NamedTuple):
    """Why a picture is refused: the event's kind, and a sentence."""

    kind: str
    detail: str


@dataclass(frozen=True)
class Claim:
    """What a picture says of itself beside its settings, and when it was asked for.

    Attributes
    ----------
    digest : str
        sha256 of the camera's bytes.
    taken_at : datetime or None
        By the camera's clock, which knows no zone; None where the picture does not say.
    number : int or None
        The body's own count; None where neither Exif nor name has one.
    flash_fired : bool
    size_px : (int, int)
        Width and height.
    commanded_s : float
        Host monotonic clock at the release.
    shutter_s : float
        Requested.
    focal_length_mm : float or None
        Where the zoom stood; None where the picture does not say.
    """

    digest: str
    taken_at: datetime | None
    number: int | None
    flash_fired: bool
    size_px: tuple[int, int]
    commanded_s: float
    shutter_s: float
    focal_length_mm: float | None = None


@dataclass(frozen=True)
class History:
    """The pictures of a run so far.

    Attributes
    ----------
    digests : set of str
        Of all of them, refused ones included. Shared by the histories of a run: it only grows.
    last : Claim or None
        The last one that was believed.
    focal_length_mm : float or None
        Of the sweep: that of its first reference frame, or of the first picture that says.
    lags_s : tuple of float
        Camera time less command time (arbitrary zero) of the last `_STEPS` believed ones.
    doubted : frozenset of str
        Witnesses that are not asked any more.
    accused : (str, int)
        The witness that had the last picture refused, and how many in a row.
    """

    digests: set[str] = field(default_factory=set)
    last: Claim | None = None
    focal_length_mm: float | None = None
    lags_s: tuple[float, ...] = ()
    doubted: frozenset[str] = frozenset()
    accused: tuple[str, int] = ("", 0)


def claim(
    digest: str,
    exif: Exif,
    name: str,
    size_px: tuple[int, int],
    commanded_s: float,
    shutter_s: float,
) -> Claim:
    """What the Exif block and the name of a picture claim."""
    return Claim(
        digest=digest,
        taken_at=exif_time(exif.taken_at),
        number=exif.file_number if exif.file_number is not None else name_number(name),
        flash_fired=exif.flash_fired,
        size_px=size_px,
        commanded_s=commanded_s,
        shutter_s=shutter_s,
        focal_length_mm=exif.focal_length_mm,
    )


def judge(history: History, new: Claim) -> tuple[History, Fault | None]:
    """Compare a picture with those before it.

    Returns
    -------
    history : History
        To be used for the next picture, whatever became of this one.
    fault : Fault or None
        The first thing wrong with the picture.
    """
    fault = next(_faults(history, new), None)
    history.digests.add(new.digest)
    if fault is not None and fault.kind in _WITNESSES:
        strikes = 1 + (history.accused[1] if history.accused[0] == fault.kind else 0)
        if strikes < _STRIKES:
            return replace(history, accused=(fault.kind, strikes)), fault
        history = replace(history, doubted=history.doubted | {fault.kind})
        fault = next(_faults(replace(history, digests=set()), new), None)
    if fault is not None:
        return replace(history, accused=("", 0)), fault
    lag = _lag_s(new)
    lags = history.lags_s if lag is None else (*history.lags_s, lag)[-_STEPS:]
    focal_length_mm = history.focal_length_mm or new.focal_length_mm
    believed = replace(history, last=new, focal_length_mm=focal_length_mm)
    return replace(believed, lags_s=lags, accused=("", 0)), None


def old_bytes(history: History, digest: str) -> Fault | None:
    """The fault of a picture whose bytes came before, as sha256; None for a new one."""
    if digest not in history.digests:
        return None
    return Fault("stale_picture", "the bytes of an earlier picture of this run came again")


def _faults(history: History, new: Claim) -> Iterator[Fault]:
    if (old := old_bytes(history, new.digest)) is not None:
        yield old
    if new.flash_fired:
        yield Fault("flash_fired", "the flash fired: the light was not the lighting's")
    found_mm, wanted_mm = new.focal_length_mm, history.focal_length_mm
    if found_mm and wanted_mm and abs(found_mm - wanted_mm) > _ZOOM_SLACK_MM:
        yield Fault(ZOOMED, f"taken at {found_mm:g} mm, and not at {wanted_mm:g} mm as the others")
    last = history.last
    if last is None:
        return
    if new.size_px != last.size_px:
        found, wanted = (f"{width} x {height}" for width, height in (new.size_px, last.size_px))
        yield Fault("wrong_size", f"{found} pixels instead of {wanted}")
    if "stale_time" not in history.doubted:
        yield from _time_faults(history, last, new)
    if (
        "stale_count" not in history.doubted
        and last.number is not None
        and new.number is not None
        and new.number <= last.number
    ):
        detail = f"the camera's count did not advance: {new.number} after {last.number}"
        yield Fault("stale_count", detail)


def _time_faults(history: History, last: Claim, new: Claim) -> Iterator[Fault]:
    if last.taken_at is None or new.taken_at is None:
        return
    if new.taken_at < last.taken_at:
        yield Fault(
            "stale_time",
            f"taken at {new.taken_at} by the camera's clock, before the last one ({last.taken_at})",
        )
        return
    lag, lags = _lag_s(new), history.lags_s
    if lag is None or len(lags) < _STEPS or max(lags) - min(lags) > _PACE_S:
        return
    # A clock that stamps the end of an exposure lags by its length.
    early_s = min(lags) - lag - max(new.shutter_s, last.shutter_s)
    if early_s > _LAG_S:
        yield Fault(
            "stale_time",
            f"taken {early_s:.1f} s before it was asked for, by the camera's clock",
        )


def _lag_s(of: Claim) -> float | None:
    if of.taken_at is None:
        return None
    return (of.taken_at - datetime(2000, 1, 1)).total_seconds() - of.commanded_s  # noqa: DTZ001


def exif_time(text: str) -> datetime | None:
    """The moment of an Exif date such as ``2026:03:01 20:00:00.42``; None if it is none."""
    whole, _, fraction = text.partition(".")
    try:
        moment = datetime.strptime(whole, "%Y:%m:%d %H:%M:%S")  # noqa: DTZ007 - it has no zone
    except ValueError:
        return None
    digits = fraction.strip()[:6]
    return moment.replace(microsecond=int(digits.ljust(6, "0"))) if digits.isdigit() else moment


def name_number(name: str) -> int | None:
    """The picture number in a camera's file name, or None where the name counts nothing."""
    found = _COUNTED.fullmatch(name)
    return int(found[1]) if found else None
