"""The times in which a run shoots nothing because its light is wrong. Pure arithmetic."""

from __future__ import annotations


class Suspensions:
    """How long a run has been suspended; moments are of one monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._over_s = 0.0
        self._since_s: float | None = None

    def begin(self, now_s: float) -> None:
        """A suspension begins."""
        self._since_s = now_s

    def end(self, now_s: float) -> float:
        """It is over; returns the seconds it lasted."""
        lasted_s = self.lasting_s(now_s)
        self._over_s, self._since_s = self._over_s + lasted_s, None
        return lasted_s

    def lasting_s(self, now_s: float) -> float:
        """Seconds since the present one began; 0 if there is none."""
        return 0.0 if self._since_s is None else now_s - self._since_s

    def total_s(self, now_s: float) -> float:
        """Seconds of all of them, the present one included."""
        return self._over_s + self.lasting_s(now_s)
