"""The light during a run: a thread that reads the meter whatever the camera does."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from rig.errors import Retry, RigError
from rig.protocols import LightMeter, LightReading
from schemas.records import Light

#: A Yocto-Light-V3 measures at 4 Hz: asking more often gives the same sample.
INTERVAL_S = 0.25
#: A sample farther from an exposure than this says nothing about it: a gap stays a gap.
REACH_S = 1.0
_BACK_OFF_S = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Readings kept for window statistics: about 10 minutes.
_KEPT = 2400


class LightLog:
    """Readings of one meter, kept for statistics and handed on for storing.

    Parameters
    ----------
    meter : LightMeter
        Open. It stays open at the end; `stop` ends the thread only.
    interval_s : float
        Between two readings.

    Notes
    -----
    A passing fault is tried again at the next beat. A lost meter is opened anew, with
    back-off, for as long as the run lasts.
    """

    def __init__(self, meter: LightMeter, *, interval_s: float = INTERVAL_S) -> None:
        self._meter = meter
        self._interval_s = interval_s
        self._guard = threading.Lock()
        self._kept: deque[LightReading] = deque(maxlen=_KEPT)
        self._unstored: list[LightReading] = []
        self._events: list[tuple[str, str]] = []
        self._faults = 0
        self._lost = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll_on, name="light-log", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self, timeout_s: float = 40.0) -> None:
        """Stop polling; waits for a call that hangs in the meter, but not for ever."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    @property
    def latest_lux(self) -> float | None:
        """The latest illuminance; None while there is none or the meter is silent."""
        with self._guard:
            return self._kept[-1].lux if self._kept and not self._faults else None

    def window(self, start_s: float, end_s: float) -> Light:
        """Illuminance between two moments of the host's monotonic clock.

        The readings inside count. An exposure shorter than the poll interval may hold none:
        then the one nearest to it does, if it lies within `REACH_S`.
        """
        with self._guard:
            kept = list(self._kept)
        inside = [r.lux for r in kept if start_s <= r.monotonic_s <= end_s]
        if not inside:
            nearest = min(kept, key=lambda r: _distance(r, start_s, end_s), default=None)
            if nearest is None or _distance(nearest, start_s, end_s) > REACH_S:
                return Light()
            inside = [nearest.lux]
        return Light(sum(inside) / len(inside), min(inside), max(inside), len(inside))

    def take(self) -> tuple[list[LightReading], list[tuple[str, str]]]:
        """Readings and events (kind, detail) since the last call, for the storing side."""
        with self._guard:
            taken = self._unstored, self._events
            self._unstored, self._events = [], []
        return taken

    def poll(self) -> float:
        """One reading, or one step to get the meter back; returns the seconds until the next."""
        try:
            if self._lost:
                self._meter.close()
                self._meter.open()
                self._lost = False
            reading = self._meter.read()
        except RigError as error:
            return self._fault(error)
        with self._guard:
            if self._faults:
                self._events.append(("meter_back", f"after {self._faults} failed readings"))
            self._faults = 0
            self._kept.append(reading)
            self._unstored.append(reading)
        return self._interval_s

    def _fault(self, error: RigError) -> float:
        with self._guard:
            self._faults += 1
            if self._faults == 1:
                self._events.append(("meter_lost", str(error)))
            if isinstance(error, Retry):
                return self._interval_s
            self._lost = True  # also after AskOperator or Abort: somebody may put it right
            return _BACK_OFF_S[min(self._faults, len(_BACK_OFF_S)) - 1]

    def _poll_on(self, clock: Callable[[], float] = time.monotonic) -> None:
        due_s = clock()
        while not self._over.wait(max(0.0, due_s - clock())):
            due_s = max(due_s, clock() - self._interval_s) + self.poll()


def _distance(reading: LightReading, start_s: float, end_s: float) -> float:
    return max(start_s - reading.monotonic_s, reading.monotonic_s - end_s, 0.0)
