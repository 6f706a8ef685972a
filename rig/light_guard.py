"""Is the light right, and was it right while a frame was exposed? Pure: time is an argument.

Two questions over the same samples. `LightGuard` answers "may the next frame be shot?" and is a
state machine with memory. `judge` answers "was this exposure lit as its lighting says?" and is a
function of the samples around it. A run shoots on the first answer and stores on the second.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from operator import attrgetter

from schemas.plan import Lighting

#: An exposure is judged from this long before its command to this long after its end. A sample
#: is up to 250 ms older than the answer that brought it (a Yocto-Light-V3 measures at 4 Hz), so
#: the light is known on both sides of the exposure, with as much to spare.
MARGIN_S = 0.5
#: Two samples farther apart than this have a gap between them, and nothing fills a gap.
GAP_S = 1.0
#: A run may begin after light this long inside its band: a first frame has its lead then, with
#: something over for the rounding of moments.
LEAD_S = MARGIN_S + 0.01

_received = attrgetter("received_s")
_asked = attrgetter("asked_s")


@dataclass(frozen=True)
class Band:
    """Where the light of a lighting must lie, in lux, and where it must come back to."""

    low: float
    high: float
    narrow_low: float
    narrow_high: float
    settle_s: float

    @classmethod
    def of(cls, lighting: Lighting) -> Band:
        """The band of a lighting; the narrower one is where its light counts as back."""
        low, high = lighting.band_lux
        narrow_low, narrow_high = lighting.narrow_band_lux
        return cls(low, high, narrow_low, narrow_high, lighting.settle_s)

    def holds(self, lux: float) -> bool:
        """Whether this is the light that was asked for; no number is not."""
        return self.low <= lux <= self.high

    def holds_narrowly(self, lux: float) -> bool:
        """Whether it is so with something to spare."""
        return self.narrow_low <= lux <= self.narrow_high

    def excludes(self, lux: float) -> str:
        """Why a reading is wrong, in words."""
        return f"{lux:.4g} lux, outside {self.low:.4g} to {self.high:.4g} lux"


@dataclass(frozen=True)
class Sample:
    """A fresh reading: the light at one moment of [`asked_s` - 0.25, `received_s`].

    Both are of the host's monotonic clock, in seconds.
    """

    lux: float
    asked_s: float
    received_s: float


class GuardState(StrEnum):
    """What is known of the light.

    ::

                   in the band for 0.5 s
        starting ────────────────────────────────────────┐
            │                                            v
            │   out of the band, or no sample for 1 s  steady
            │ ┌────────────────────────────────────────  ^
            v v                                          │
           wrong ──> settling ───────────────────────────┘
             ^          │   in the narrowed band for settle_s
             └──────────┘
              out of the narrowed band, or no sample for 1 s

    ``wrong`` goes to ``settling`` with a sample inside the band narrowed by the hysteresis.
    """

    STARTING = "starting"
    WRONG = "wrong"
    SETTLING = "settling"
    STEADY = "steady"


class LightGuard:
    """Says whether a frame may be shot. Not thread-safe.

    Parameters
    ----------
    band : Band
    now_s : float
        The beginning, by the clock of all later moments.
    """

    def __init__(self, band: Band, now_s: float) -> None:
        self._band = band
        self._state = GuardState.STARTING
        self._since_s: float | None = None  # the first sample of the good light now going on
        self._latest_s = now_s
        self._why = "the light has not been read yet"

    @property
    def state(self) -> GuardState:
        """The state after the last call."""
        return self._state

    @property
    def reason(self) -> str:
        """Why no frame may be shot, in words; empty while one may."""
        match self._state:
            case GuardState.STEADY:
                return ""
            case GuardState.SETTLING:
                return f"{self._why}; now inside again, not yet for {self._band.settle_s:g} s"
            case _:
                return self._why

    def see(self, sample: Sample) -> None:
        """A fresh sample came."""
        self.wait(sample.received_s)
        self._latest_s = sample.received_s
        if not self._band.holds(sample.lux):
            self._fail(self._band.excludes(sample.lux))
            return
        if self._state is GuardState.WRONG or self._state is GuardState.SETTLING:
            if not self._band.holds_narrowly(sample.lux):
                self._fail(
                    f"{sample.lux:.4g} lux, not yet inside {self._band.narrow_low:.4g} to "
                    f"{self._band.narrow_high:.4g} lux"
                )
                return
            self._state = GuardState.SETTLING
        if self._state is GuardState.STEADY:
            return
        if self._since_s is None:
            self._since_s = sample.received_s
        needed_s = 0.0 if self._state is GuardState.STARTING else self._band.settle_s
        if sample.received_s - self._since_s >= max(needed_s, LEAD_S):
            self._state, self._since_s = GuardState.STEADY, None

    def wait(self, now_s: float, why: str = "the meter is silent") -> None:
        """Time passed without a fresh sample; `why`, in words, if it is known."""
        if now_s - self._latest_s > GAP_S:
            self._fail(why)

    def _fail(self, why: str) -> None:
        self._state, self._since_s, self._why = GuardState.WRONG, None, why


class Judgement(StrEnum):
    """What the samples say of an exposure."""

    PROVEN = "proven"
    PENDING = "pending"  # no sample after its end yet
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """A judgement, and why an exposure was refused."""

    judgement: Judgement
    reason: str = ""


def judge(
    samples: Sequence[Sample], band: Band, start_s: float, end_s: float, now_s: float
) -> Verdict:
    """Whether the light of an exposure is proven.

    Its window reaches `MARGIN_S` beyond it on both sides, and further to the first sample
    before and after: all samples from the one to the other lie in the band, none farther than
    `GAP_S` from the next.

    Parameters
    ----------
    samples : sequence of Sample
        Fresh ones, in order of time.
    start_s, end_s : float
        When the release was commanded, and when the exposure had surely ended.
    now_s : float
        Now: a sample that is overdue is a gap, whether or not it comes later.
    """
    before = bisect_right(samples, start_s - MARGIN_S, key=_received) - 1
    after = bisect_left(samples, end_s + MARGIN_S, key=_asked)
    if before < 0:
        return Verdict(Judgement.REFUSED, "there is no light reading before it")
    closed = after < len(samples)
    around = samples[before : after + 1]
    for sample in around:
        if not band.holds(sample.lux):
            return Verdict(Judgement.REFUSED, band.excludes(sample.lux))
    moments_s = [*map(_received, around), *(() if closed else (now_s,))]
    longest_s = max((later - earlier for earlier, later in pairwise(moments_s)), default=0.0)
    if longest_s > GAP_S:
        return Verdict(Judgement.REFUSED, f"no light reading for {longest_s:.1f} s")
    return Verdict(Judgement.PROVEN if closed else Judgement.PENDING)
