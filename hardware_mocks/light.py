"""The one light of the dark room: illuminance over time, seen by meter and sensor alike."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

#: Longest history kept: a 30 s exposure sees far fewer changes than this.
_HISTORY = 4096


@dataclass(frozen=True)
class _Segment:
    """From `start_s` on, lux is `lux + slope * (t - start_s)`."""

    start_s: float
    lux: float
    slope_lux_per_s: float = 0.0

    def at(self, when_s: float) -> float:
        return self.lux + self.slope_lux_per_s * (when_s - self.start_s)


@dataclass(frozen=True)
class LightSpan:
    """What fell on the scene between two moments, in lux."""

    mean_lux: float
    min_lux: float
    max_lux: float


class Light:
    """Illuminance as a piecewise linear function of the monotonic clock. Thread-safe.

    Parameters
    ----------
    lux : float
        Illuminance at the start; 0 or more.
    clock : callable
        Monotonic seconds; the same that callers of `at` and `span` use.
    """

    def __init__(self, lux: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._segments = deque([_Segment(clock(), _checked(lux))], maxlen=_HISTORY)

    def set(self, lux: float, over_s: float = 0.0, *, after_s: float = 0.0) -> None:
        """Change the light, `after_s` from now: at once, or evenly over `over_s` seconds.

        What was to happen after that moment does not.

        Raises
        ------
        ValueError
            For negative or non-finite numbers.
        """
        _checked(lux)
        if min(over_s, after_s) < 0:
            raise ValueError(f"a change cannot take {min(over_s, after_s):g} s")
        with self._lock:
            start_s = self._clock() + after_s
            start_lux = self._at(start_s)
            while self._segments and self._segments[-1].start_s >= start_s:
                self._segments.pop()  # the rest of a ramp that this change overrides
            if over_s > 0:
                self._segments.append(_Segment(start_s, start_lux, (lux - start_lux) / over_s))
            self._segments.append(_Segment(start_s + over_s, lux))

    @property
    def lux(self) -> float:
        """Illuminance now."""
        return self.at(self._clock())

    def at(self, when_s: float) -> float:
        """Illuminance at a moment of the clock."""
        with self._lock:
            return self._at(when_s)

    def span(self, start_s: float, end_s: float) -> LightSpan:
        """Mean, least and greatest illuminance between two moments (equal ones allowed)."""
        with self._lock:
            knots = [s.start_s for s in self._segments if start_s < s.start_s < end_s]
            edges = [start_s, *knots, end_s]
            integral = 0.0
            seen = [self._at(start_s), self._at(end_s)]
            for left, right in pairwise(edges):
                segment = self._segment(left)
                seen += [segment.at(left), segment.at(right)]
                integral += (right - left) * (segment.at(left) + segment.at(right)) / 2
        length_s = end_s - start_s
        mean = integral / length_s if length_s > 0 else seen[0]
        return LightSpan(mean, min(seen), max(seen))

    def _at(self, when_s: float) -> float:
        return self._segment(when_s).at(when_s)

    def _segment(self, when_s: float) -> _Segment:
        for segment in reversed(self._segments):
            if segment.start_s <= when_s:
                return segment
        first = self._segments[0]
        return _Segment(first.start_s, first.lux)  # before the beginning: as at the beginning


def _checked(lux: float) -> float:
    if not 0 <= lux < 1e6:
        raise ValueError(f"illuminance must be from 0 to 1,000,000 lux, not {lux:g}")
    return lux
