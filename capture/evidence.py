"""Which frames prove that others would be rejected. Pure.

More light never makes a white picture less white, less light never a black one less black. So a
frame of the same scene, lighting and ISO (noise makes another ISO another matter) that was
rejected with a margin is a *witness*: every triplet with as much light or more (white), or with
less (black), is certain to be rejected too, and need not be shot.

Light is the true t / N^2: a marked 1/60 is 1/64 s, a marked f/5.6 is f/5.66. It is counted in
whole sixths of a stop, which all full, half and third stops are, so comparisons are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from schemas.exposure import Exposure, true_f_number, true_shutter_s
from schemas.frame_store import FINAL
from schemas.plan import SweepPlan
from schemas.records import Frame, Outcome

#: Share of black or white pixels above which a rejected frame proves others. The rule itself
#: rejects above 95 %: what lies between is the room for jitter, noise and vignetting.
WITNESS_FRACTION = 0.97

#: Sixths of a stop by which a black witness needs more light than what it proves. Marked settings
#: are off by a few percent, corners are darker at wide apertures, and a dark picture turns black
#: within a fraction of a stop: two frames of the same marked light can lie on both sides of the
#: rule. Frames this dark are short, so shooting them costs no time. White comes slowly; there the
#: margin in the fraction is enough.
_BLACK_MARGIN = 2

#: The acceptance rule that the proof is about: it decides by the same shares of pixels.
RULE = "pixels95"


@dataclass(frozen=True)
class Judged:
    """A frame that was judged: its settings and the shares of its pixels at both ends."""

    exposure: Exposure
    outcome: Outcome
    black_fraction: float
    white_fraction: float

    @cached_property
    def light(self) -> int:
        """True t / N^2 in sixths of a stop."""
        return light_sixths(self.exposure)


@cache
def light_sixths(exposure: Exposure) -> int:
    """True t / N^2 in sixths of a stop, as a whole number: exact to compare."""
    stops = math.log2(true_shutter_s(exposure.shutter_s))
    return round(6 * (stops - 2 * math.log2(true_f_number(exposure.f_number))))


def judged(frame: Frame) -> Judged | None:
    """A row as evidence; None for one that ended without a verdict (failed, skipped, auto)."""
    if frame.requested is None or frame.outcome not in FINAL:
        return None
    if frame.black_fraction is None or frame.white_fraction is None:
        return None
    return Judged(frame.requested, frame.outcome, frame.black_fraction, frame.white_fraction)


class Evidence:
    """The judged frames of one scene under one lighting, and what they prove.

    A witness stands only while no frame of its ISO contradicts it: a frame that was not rejected
    as white, though it had as much light or more than a white witness, takes that witness away.
    """

    def __init__(self, frames: Iterable[Judged] = (), fraction: float = WITNESS_FRACTION) -> None:
        self._fraction = fraction
        self._by_iso: dict[int, dict[Exposure, Judged]] = {}
        self._lights: set[tuple[int, int]] = set()
        self._witnesses: dict[int, tuple[Judged | None, Judged | None]] = {}
        for frame in frames:
            self.add(frame)

    def add(self, frame: Judged) -> None:
        """Take in a frame; one of the same settings replaces the older."""
        iso = frame.exposure.iso
        self._by_iso.setdefault(iso, {})[frame.exposure] = frame
        self._lights.add((iso, frame.light))
        self._witnesses.pop(iso, None)

    def remove(self, exposure: Exposure) -> None:
        """Forget the frame of these settings."""
        self._by_iso.get(exposure.iso, {}).pop(exposure, None)
        self._witnesses.pop(exposure.iso, None)

    def __contains__(self, exposure: Exposure) -> bool:
        return exposure in self._by_iso.get(exposure.iso, ())

    def reaches(self, iso: int, light: int) -> bool:
        """Whether any frame of this ISO had exactly this light, or is to have it once more."""
        return (iso, light) in self._lights

    def witness(self, iso: int, light: int) -> Judged | None:
        """The frame that proves this much light rejected, if there is one."""
        if iso not in self._witnesses:
            frames = list(self._by_iso.get(iso, {}).values())
            self._witnesses[iso] = (
                _white_witness(frames, self._fraction),
                _black_witness(frames, self._fraction),
            )
        white, black = self._witnesses[iso]
        if white is not None and white.light <= light:
            return white
        if black is not None and black.light - _BLACK_MARGIN >= light:
            return black
        return None


def _white_witness(frames: list[Judged], fraction: float) -> Judged | None:
    """The one with the least light, of the shortest exposure."""
    others = (f.light for f in frames if f.outcome is not Outcome.REJECTED_WHITE)
    floor = max(others, default=-math.inf)
    proven = (f for f in frames if f.white_fraction > fraction and f.light > floor)
    return min(proven, key=lambda f: (f.light, f.exposure.shutter_s), default=None)


def _black_witness(frames: list[Judged], fraction: float) -> Judged | None:
    """The one with the most light, of the shortest exposure."""
    others = (f.light for f in frames if f.outcome is not Outcome.REJECTED_BLACK)
    ceiling = min(others, default=math.inf)
    proven = (f for f in frames if f.black_fraction > fraction and f.light < ceiling)
    return max(proven, key=lambda f: (f.light, -f.exposure.shutter_s), default=None)


def require_rule(plan: SweepPlan) -> None:
    """Raise ValueError if a plan judges by a rule that a guided sweep has no proof for."""
    if plan.acceptance != RULE:
        raise ValueError(
            f"a guided sweep proves rejections by the rule {RULE!r}, this plan judges by "
            f"{plan.acceptance!r}"
        )
