"""The light during a run: a thread that reads the meter whatever the camera does."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Self

from rig.errors import Retry, RigError
from rig.light_guard import GAP_S, Band, GuardState, LightGuard, Sample, Verdict, judge
from rig.protocols import LightMeter, LightReading
from schemas.records import Light

#: A Yocto-Light-V3 measures at 4 Hz: asking more often gives the same sample.
INTERVAL_S = 0.25
_BACK_OFF_S = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Samples kept for windows: about 10 minutes.
_KEPT = 2400
#: A call that hangs in the meter is not waited for longer than this at the end.
_STOP_S = 3.0
_SILENT = "the meter is silent"


class LightLog:
    """Fresh samples of one meter: guarded, judged, and handed on for storing.

    A sample is fresh if the meter's own clock has advanced since the one before. All else, a
    failed reading or one of a frozen meter, is a sample that is missing. After `GAP_S` without
    one there is a gap, and no later sample fills it.

    Parameters
    ----------
    meter : LightMeter
        Open. It stays open at the end; `stop` ends the thread only.
    band : Band
        Where the light must lie.
    interval_s : float
        Between two readings.
    clock : callable
        The monotonic clock of the meter's readings and the camera's pictures, in seconds. The
        wall clock decides nothing: it may step.

    Attributes
    ----------
    on_poll : callable
        Called from the polling thread after each reading or failure; must return at once.

    Notes
    -----
    A passing fault is tried again at the next beat. A lost meter is opened anew, with
    back-off, for as long as the run lasts.
    """

    def __init__(
        self,
        meter: LightMeter,
        band: Band,
        *,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._meter = meter
        self._band = band
        self._interval_s = interval_s
        self.clock = clock
        self.on_poll: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._polled = threading.Condition(self._lock)
        self._guard = LightGuard(band, clock())
        self._samples: deque[Sample] = deque(maxlen=_KEPT)
        self._unstored: list[LightReading] = []
        self._events: list[tuple[str, str]] = []
        self._faults = 0
        self._lost = False
        self._uptime_ms: int | None = None
        self._frozen_since_s: float | None = None
        self._silence = _SILENT
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll_on, name="light-log", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._guard = LightGuard(self._band, self.clock())
        self._thread.start()

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """Stop polling; waits for a call that hangs in the meter, but not for ever."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def latest_lux(self) -> float | None:
        """The latest illuminance; None while there is none or the meter is silent or frozen."""
        now_s = self.clock()
        with self._lock:
            if not self._samples or self._faults:
                return None
            latest = self._samples[-1]
            return latest.lux if now_s - latest.received_s <= GAP_S else None

    @property
    def trouble(self) -> str:
        """Why no frame may be shot now, in words; empty while one may."""
        with self._lock:
            return self._guard_now().reason

    @property
    def starting(self) -> bool:
        """Whether nothing can be said of the light yet: for half a second, at most for one."""
        with self._lock:
            return self._guard_now().state is GuardState.STARTING

    def _guard_now(self) -> LightGuard:
        self._guard.wait(self.clock(), self._silence)
        return self._guard

    def judge(self, start_s: float, end_s: float) -> Verdict:
        """Whether the light of an exposure between these moments is proven by now."""
        now_s = self.clock()
        with self._lock:
            samples = list(self._samples)
        return judge(samples, self._band, start_s, end_s, now_s)

    def wait(self, seconds: float) -> None:
        """Sleep until the meter was asked again, `seconds` at most."""
        with self._polled:
            self._polled.wait(seconds)

    def window(self, start_s: float, end_s: float) -> Light:
        """Illuminance between two moments of the host's monotonic clock.

        The samples inside count. An exposure shorter than the poll interval may hold none:
        then the one nearest to it does, if it lies within `GAP_S`.
        """
        with self._lock:
            kept = list(self._samples)
        inside = [s.lux for s in kept if start_s <= s.received_s <= end_s]
        if not inside:
            nearest = min(kept, key=lambda s: _distance(s, start_s, end_s), default=None)
            if nearest is None or _distance(nearest, start_s, end_s) > GAP_S:
                return Light()
            inside = [nearest.lux]
        return Light(sum(inside) / len(inside), min(inside), max(inside), len(inside))

    def take(self) -> tuple[list[LightReading], list[tuple[str, str]]]:
        """Readings and events (kind, detail) since the last call, for the storing side."""
        with self._lock:
            taken = self._unstored, self._events
            self._unstored, self._events = [], []
        return taken

    def poll(self) -> float:
        """One reading, or one step to get the meter back; returns the seconds until the next."""
        try:
            if self._lost:
                self._open_anew()
            asked_s = self.clock()
            reading = self._meter.read()
        except RigError as error:
            due_s = self._fault(error)
        else:
            self._note(reading, asked_s)
            due_s = self._interval_s
        with self._polled:
            self._polled.notify_all()
        self.on_poll()
        return due_s

    def _open_anew(self) -> None:
        self._meter.close()
        self._meter.open()
        self._lost = False
        if self._over.is_set():  # the run ended meanwhile, and closed the meter in vain
            self._meter.close()

    def _note(self, reading: LightReading, asked_s: float) -> None:
        with self._lock:
            if self._faults:
                self._events.append(("meter_back", f"after {self._faults} failed readings"))
            self._faults = 0
            if reading.uptime_ms == self._uptime_ms:
                self._freeze(reading)
                return
            if self._frozen_since_s is not None:
                lasted_s = reading.monotonic_s - self._frozen_since_s
                self._events.append(("meter_back", f"it was frozen for {lasted_s:.1f} s"))
            self._uptime_ms, self._frozen_since_s, self._silence = reading.uptime_ms, None, _SILENT
            sample = Sample(reading.lux, asked_s, reading.monotonic_s)
            self._samples.append(sample)
            self._unstored.append(reading)
            self._guard.see(sample)

    def _freeze(self, reading: LightReading) -> None:
        """The meter's clock stands still: once may be chance, longer than a gap is a fault."""
        self._silence = f"the meter is frozen at {reading.lux:.4g} lux: unplug it and plug it in"
        fresh_s = self._samples[-1].received_s if self._samples else reading.monotonic_s
        if self._frozen_since_s is None and reading.monotonic_s - fresh_s > GAP_S:
            self._frozen_since_s = fresh_s
            self._events.append(("meter_frozen", f"its clock stands at {reading.uptime_ms} ms"))
        self._guard.wait(reading.monotonic_s, self._silence)

    def _fault(self, error: RigError) -> float:
        now_s = self.clock()
        with self._lock:
            self._faults += 1
            if self._faults == 1:
                self._events.append(("meter_lost", str(error)))
            self._silence = f"{_SILENT}: {error}"
            self._guard.wait(now_s, self._silence)
            if isinstance(error, Retry):
                return self._interval_s
            self._lost = True  # also after AskOperator or Abort: somebody may put it right
            return _BACK_OFF_S[min(self._faults, len(_BACK_OFF_S)) - 1]

    def _poll_on(self) -> None:
        due_s = self.clock()
        while not self._over.wait(max(0.0, due_s - self.clock())):
            due_s = max(due_s, self.clock() - self._interval_s) + self.poll()


def _distance(sample: Sample, start_s: float, end_s: float) -> float:
    return max(start_s - sample.received_s, sample.received_s - end_s, 0.0)
