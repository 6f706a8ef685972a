"""The times in which a run shoots nothing because its light is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from capture.light_log import LightLog
from capture.stopping import StopRequest
from rig.errors import AskOperator

#: A run waits so long for its light, unless told.
PATIENCE_S = 1800.0
#: A new reason is said at most this often: every sample brings another number.
_SAY_EVERY_S = 10.0


@dataclass
class Suspension:
    """Waits for the light, and knows how long a run has done so.

    Attributes
    ----------
    light : LightLog
        Started.
    stop : StopRequest
        Ends a suspension.
    patience_s : float
        So does this, with a question for the operator.
    wait : callable
        Lets the light be read once more, and handles what that decides.
    note : callable
        Takes events for the catalog: kind and detail.
    say : callable
        Tells a watcher how things are; without a text, only that time has passed.
    """

    light: LightLog
    stop: StopRequest
    patience_s: float
    wait: Callable[[], None]
    note: Callable[[str, str], None]
    say: Callable[[str], None]
    _over_s: float = 0.0
    _since_s: float | None = None

    @property
    def total_s(self) -> float:
        """Seconds of all suspensions of the run, the present one included."""
        return self._over_s + self._lasting_s()

    def hold(self) -> bool:
        """Return when the light has settled (True), or a stop or pause was asked for (False).

        Raises
        ------
        AskOperator
            When patience is at its end.
        """
        reason = self.light.trouble
        self._since_s = self.light.clock()
        self.note("suspended", reason)
        self.say(f"suspended: {reason}")
        settled = False
        try:
            settled = self._settled(reason)
        finally:
            lasted_s = self._lasting_s()
            self._over_s, self._since_s = self._over_s + lasted_s, None
            kind = "resumed" if settled else "suspension_ended"
            self.note(kind, f"after {lasted_s:.1f} s: {reason}")
        return settled

    def _settled(self, said: str) -> bool:
        said_s = self.light.clock()
        while not self.stop.asked and not self.stop.held:
            now_s, trouble = self.light.clock(), self.light.trouble
            if not trouble:
                return True
            if self._lasting_s() > self.patience_s:
                raise AskOperator(
                    f"the light was wrong for {self.patience_s / 60:.3g} min: {trouble}",
                    "set the panels, check the lamp and the meter, then `snaprig capture resume`",
                )
            if trouble != said and now_s - said_s > _SAY_EVERY_S:
                said, said_s = trouble, now_s
                self.say(f"suspended: {trouble}")
            else:
                self.say("")
            self.wait()
        return False

    def _lasting_s(self) -> float:
        return 0.0 if self._since_s is None else self.light.clock() - self._since_s
