"""The times in which a run shoots nothing because somebody asked it to pause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from capture.stopping import StopRequest


@dataclass
class Pause:
    """Waits until told to go on, and knows how long a run has done so.

    Attributes
    ----------
    stop : StopRequest
        Says whether the run is held; a stop ends a pause.
    clock : callable
        Monotonic, in seconds.
    wait : callable
        Lets the light be read once more.
    note : callable
        Takes events for the catalog: kind and detail.
    say : callable
        Tells a watcher that time has passed.
    """

    stop: StopRequest
    clock: Callable[[], float]
    wait: Callable[[], None]
    note: Callable[[str, str], None]
    say: Callable[[str], None]
    _over_s: float = 0.0
    _since_s: float | None = None

    @property
    def total_s(self) -> float:
        """Seconds of all pauses of the run, the present one included."""
        return self._over_s + self._lasting_s()

    def hold(self) -> None:
        """Return when somebody says to go on, or to stop."""
        self._since_s = self.clock()
        self.note("paused", "on request")
        self.say("paused")
        while self.stop.held and not self.stop.asked:
            self.wait()
            self.say("")
        lasted_s = self._lasting_s()
        self._over_s, self._since_s = self._over_s + lasted_s, None
        self.note("pause_ended", f"after {lasted_s:.1f} s")

    def _lasting_s(self) -> float:
        return 0.0 if self._since_s is None else self.clock() - self._since_s
