"""Presentation times: durations as whole refreshes, and what flip times prove.

A screen shows whole refreshes only: 0.2 s are 12 at 60 Hz, 24 at 120 Hz and 28.8, so 29, at
144 Hz. Times of flips are the evidence. Where flips do not wait for the screen (a virtual one, a
compositor in between) nothing is proven: durations are then kept by a clock and marked so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

#: How far the measured refresh may be from the declared one, as a share of it.
TOLERANCE = 0.02

#: How much flip intervals may scatter, in seconds (standard deviation).
MAX_SD_S = 0.001


class Mode(StrEnum):
    """How durations are kept: by counting refreshes, or by a clock."""

    FRAMES = "frames"
    CLOCK = "clock"


class Verdict(StrEnum):
    """What flip times say of one trial."""

    PROVEN = "proven"
    FAILED = "failed"
    UNPROVEN = "unproven"


def frames_for(duration_s: float, refresh_hz: float) -> int:
    """Whole refreshes nearest to a duration, halves up; at least one."""
    return max(1, math.floor(duration_s * refresh_hz + 0.5))


@dataclass(frozen=True)
class Refresh:
    """What a run of flips says of the screen.

    Attributes
    ----------
    declared_hz, measured_hz : float
        The configuration's, and one over the median interval.
    sd_s : float
        Standard deviation of the intervals.
    intervals : int
        How many were measured.
    fault : str
        Why flips do not prove when a picture is visible; empty where they do.
    """

    declared_hz: float
    measured_hz: float
    sd_s: float
    intervals: int
    fault: str

    @property
    def proven(self) -> bool:
        """Whether flips follow the declared refresh."""
        return not self.fault


def judge_refresh(flips_s: Sequence[float], declared_hz: float) -> Refresh:
    """Hold flip times against the declared refresh.

    Raises
    ------
    ValueError
        For fewer than three flips.
    """
    intervals = [after - before for before, after in pairwise(flips_s)]
    if len(intervals) < 2:
        raise ValueError("at least three flips are needed")
    measured_hz = 1 / max(statistics.median(intervals), 1e-9)
    sd_s = statistics.stdev(intervals)
    return Refresh(
        declared_hz, measured_hz, sd_s, len(intervals), _fault(measured_hz, declared_hz, sd_s)
    )


def _fault(measured_hz: float, declared_hz: float, sd_s: float) -> str:
    ratio = measured_hz / declared_hz
    if ratio > 1.5:
        return (
            f"flips do not wait for the screen: {measured_hz:.0f} a second, "
            f"{declared_hz:g} Hz declared (vertical sync is off, or the screen is a virtual one)"
        )
    if abs(ratio - 0.5) <= 0.5 * TOLERANCE:
        return (
            f"flips come at half the declared refresh ({measured_hz:.1f} of {declared_hz:g} Hz): "
            "a compositor, or drawing that takes too long"
        )
    if abs(ratio - 1) > TOLERANCE:
        return (
            f"the screen refreshes at {measured_hz:.2f} Hz, {declared_hz:g} Hz is declared "
            "([display] refresh_hz)"
        )
    if sd_s > MAX_SD_S:
        return (
            f"flip intervals scatter by {sd_s * 1e3:.2f} ms (at most {MAX_SD_S * 1e3:g} ms): "
            "another program draws or computes"
        )
    return ""


@dataclass(frozen=True)
class Schedule:
    """What a trial is to show, and how its durations are kept.

    Attributes
    ----------
    fixation_s, image_s, mask_s : float
        Wanted durations.
    refresh_hz : float
        The measured refresh; the declared one where none is proven.
    """

    mode: Mode
    refresh_hz: float
    fixation_s: float = 1.0
    image_s: float = 0.2
    mask_s: float = 0.2

    def frames(self, duration_s: float) -> int:
        """Refreshes that stand for a duration on this screen."""
        return frames_for(duration_s, self.refresh_hz)

    def achievable_s(self, duration_s: float) -> float:
        """The duration that whole refreshes make of the wanted one."""
        return self.frames(duration_s) / self.refresh_hz

    @classmethod
    def on(cls, refresh: Refresh, fixation_s: float, image_s: float, mask_s: float) -> Schedule:
        """Frame counts of the measured refresh where it is proven, else a clock."""
        if refresh.proven:
            return cls(Mode.FRAMES, refresh.measured_hz, fixation_s, image_s, mask_s)
        return cls(Mode.CLOCK, refresh.declared_hz, fixation_s, image_s, mask_s)


@dataclass(frozen=True)
class Evidence:
    """Measured times of image and mask.

    Attributes
    ----------
    image_s, mask_s : float or None
        From flip to flip; None where there was none (no mask, or no end known).
    dropped : int
        Refreshes without a flip, from image onset to prompt onset.
    intervals_s : tuple of float
        Between successive flips from image onset to prompt onset.
    """

    image_s: float | None
    mask_s: float | None
    dropped: int
    intervals_s: tuple[float, ...]
    verdict: Verdict


def judge_trial(
    schedule: Schedule,
    flips_s: Sequence[float],
    image_onset_s: float,
    mask_onset_s: float | None,
    end_s: float | None,
) -> Evidence:
    """What the flips from image onset to prompt onset prove.

    Parameters
    ----------
    flips_s : sequence of float
        Every flip of image and mask, and the one that ended them.
    mask_onset_s, end_s : float or None
        None where the trial has no mask, and where the image stayed until the answer.
    """
    intervals = tuple(after - before for before, after in pairwise(flips_s))
    image_end_s = mask_onset_s if mask_onset_s is not None else end_s
    image_s = None if image_end_s is None else image_end_s - image_onset_s
    mask_s = None if mask_onset_s is None or end_s is None else end_s - mask_onset_s
    if schedule.mode is Mode.CLOCK:
        return Evidence(image_s, mask_s, 0, intervals, Verdict.UNPROVEN)
    period_s = 1 / schedule.refresh_hz
    dropped = sum(max(0, round(interval / period_s) - 1) for interval in intervals)
    wanted = ((image_s, schedule.image_s), (mask_s, schedule.mask_s))
    kept = all(
        abs(shown - schedule.achievable_s(wish)) <= period_s / 2
        for shown, wish in wanted
        if shown is not None
    )
    verdict = Verdict.PROVEN if kept and not dropped else Verdict.FAILED
    return Evidence(image_s, mask_s, dropped, intervals, verdict)


def degrees(size_px: float, screen_px: int, screen_cm: float, distance_cm: float) -> float:
    """Visual angle of a length centered before the eye: 2 atan(size / (2 distance)).

    Parameters
    ----------
    size_px, screen_px : float, int
        The length, and the whole screen along the same direction.
    """
    size_cm = size_px / screen_px * screen_cm
    return math.degrees(2 * math.atan(size_cm / (2 * distance_cm)))
