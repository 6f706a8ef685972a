"""The body's own clock: real UTC plus what was set, or one that only exposures move."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta


class BodyClock:
    """Date and time as the body has them.

    Parameters
    ----------
    start : datetime or None
        None follows the host's UTC. A time makes the clock stand still except for `exposed`,
        so that two runs of the same commands give the same bytes.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._lock = threading.Lock()
        self._frozen = start is not None
        self._base = start or datetime.now(UTC)
        self._since_s = time.monotonic()
        self._shift = timedelta()

    def now(self) -> datetime:
        """The body's time, in UTC."""
        with self._lock:
            return self._now() + self._shift

    def set_timestamp(self, seconds: int) -> None:
        """Set the clock to seconds since 1970, as the host's `datetimeutc` setting does."""
        with self._lock:
            self._base, self._shift = datetime.fromtimestamp(seconds, UTC), timedelta()
            self._since_s = time.monotonic()

    def shift(self, by: timedelta) -> None:
        """Put the clock forward, or back by a negative time."""
        with self._lock:
            self._shift += by

    def correct(self) -> None:
        """Undo what was shifted or set; a repeatable clock goes on from where it would be."""
        with self._lock:
            self._shift = timedelta()
            if not self._frozen:
                self._base, self._since_s = datetime.now(UTC), time.monotonic()

    def exposed(self, shutter_s: float) -> None:
        """Advance a repeatable clock by one shot: the exposure and 1 s around it."""
        with self._lock:
            if self._frozen:
                self._base += timedelta(seconds=1 + shutter_s)

    def _now(self) -> datetime:
        if self._frozen:
            return self._base
        return self._base + timedelta(seconds=time.monotonic() - self._since_s)
