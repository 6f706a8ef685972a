"""How long the rest of a sweep takes, measured from the shots so far. Pure arithmetic."""

from __future__ import annotations

#: Two imagined shots: 1 s beside the exposure, which lasts as marked. They carry the first
#: shots, and a plan with a single shutter speed.
_PRIOR = ((0.0, 1.0), (30.0, 31.0))
#: What an imagined shot weighs against a real one.
_PRIOR_WEIGHT = 0.1


class Pace:
    """Least-squares line of wall time over marked exposure time: wall = slope * t + overhead.

    The slope is not taken for 1: long-exposure noise reduction doubles it, a virtual camera may
    shorten it. Time spent paused or reconnecting is never fed in.
    """

    def __init__(self) -> None:
        self._n = self._t = self._tt = self._w = self._tw = 0.0
        for shutter_s, wall_s in _PRIOR:
            self._feed(shutter_s, wall_s, _PRIOR_WEIGHT)
        self._shots = 0

    def add(self, shutter_s: float, wall_s: float) -> None:
        """One shot took `wall_s` seconds from its first command to the next one's."""
        self._feed(shutter_s, wall_s)
        self._shots += 1

    def left_s(self, shutters_s: float, shots: int) -> float | None:
        """Seconds for `shots` more with `shutters_s` of open shutter; None without evidence."""
        if self._shots == 0:
            return None
        spread = self._n * self._tt - self._t * self._t
        slope = (self._n * self._tw - self._t * self._w) / spread
        slope = max(slope, 0.0)
        overhead_s = max((self._w - slope * self._t) / self._n, 0.0)
        return slope * shutters_s + overhead_s * shots

    def _feed(self, shutter_s: float, wall_s: float, weight: float = 1.0) -> None:
        self._n += weight
        self._t += weight * shutter_s
        self._tt += weight * shutter_s * shutter_s
        self._w += weight * wall_s
        self._tw += weight * shutter_s * wall_s
