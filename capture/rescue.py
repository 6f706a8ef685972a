"""Carries out the steps of `capture.recovery`'s ladders on a camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from capture.readiness import require_manual
from capture.recovery import CAMERA_LADDER, PICTURE_LADDER, Climb, Rung, Step
from capture.stopping import StopRequest
from rig.errors import AskOperator, Reconnect, Retry, RigError
from rig.power import PowerSwitch
from rig.protocols import Camera, CameraInfo
from schemas.exposure import Exposure

#: After a refusal the body is asked this often, with this pause, until it takes a setting: it
#: has no other sign of being ready (darktable#4755, libgphoto2#968). Ten seconds in all, as long
#: as a 2000D was seen to stall (libgphoto2#655).
_PROBES, _PROBE_S = 40, 0.25

#: Gets kind, setting and detail of an event.
Note = Callable[[str, str, str], None]


@dataclass(frozen=True)
class Recovery:
    """What a run has to help itself with.

    Attributes
    ----------
    power : PowerSwitch
    margin_s : float
        A shot is waited for twice its exposure and so long.
    ask : callable or None
        Waits for a person to do what an error says; False to end the run. None: nobody is there.
    """

    power: PowerSwitch = field(default_factory=PowerSwitch)
    margin_s: float = 15.0
    ask: Callable[[AskOperator], bool] | None = None


class Rescue:
    """Brings a camera back, step by step; every step is bounded, noted and said.

    Parameters
    ----------
    camera : Camera
    body : CameraInfo
        Who must answer after a reconnect.
    power : PowerSwitch
    stop : StopRequest
        Ends every wait.
    note, say : callable
        For the catalog, for a person.
    reconnecting : callable
        Called before the session is given up.
    clock : callable
        Monotonic, in seconds; that of the pictures.
    """

    def __init__(
        self,
        camera: Camera,
        body: CameraInfo,
        power: PowerSwitch,
        stop: StopRequest,
        *,
        note: Note,
        say: Callable[[str], None],
        reconnecting: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._camera = camera
        self._body = body
        self._power = power
        self._stop = stop
        self._note = note
        self._say = say
        self._reconnecting = reconnecting
        self._clock = clock
        self._camera_climb = Climb(CAMERA_LADDER)
        self._picture_climb = Climb(PICTURE_LADDER)
        self._acted_s = clock()

    @property
    def acted_s(self) -> float:
        """When the last step was done: pictures from before say nothing about its success."""
        return self._acted_s

    @property
    def in_doubt(self) -> bool:
        """Whether the last picture that was judged was refused."""
        return self._picture_climb.at > 0

    def picture_taken(self) -> None:
        """The camera works: back to the ground of its ladder."""
        self._camera_climb = self._camera_climb.success()

    def picture_believed(self) -> None:
        """A picture is what was asked for: back to the ground of the other ladder."""
        self._picture_climb = self._picture_climb.success()

    def camera_failed(self, error: RigError, exposure: Exposure, setting: str) -> None:
        """Climb until it makes sense to shoot again.

        `exposure` is what is to be shot, `setting` what the events name.

        Raises
        ------
        AskOperator
            At the top of the ladder, with another body, or with a dial that was moved.
        """
        while not self._stop.asked:
            climb = self._camera_climb.next(error, can_power_cycle=bool(self._power.command))
            self._camera_climb = climb
            step = climb.step or CAMERA_LADDER[-1]
            self._note(step.rung, setting, str(error))
            if step.rung is Rung.ASK:
                raise AskOperator(
                    f"the camera failed {climb.failures} times in a row: {error}",
                    "switch the camera off and on, check its cable and battery, then "
                    "`snaprig capture resume`",
                ) from error
            if step.rung is not Rung.RETRY:
                self._reconnecting()
            self._say(f"{_DOING[step.rung]}: {error}")
            try:
                self._do(step, exposure)
            except (Retry, Reconnect) as again:
                error = again
            else:
                return

    def picture_refused(
        self, kind: str, detail: str, exposure: Exposure, setting: str, shot_s: float
    ) -> None:
        """A picture was not what was asked for: doubt the settings, the session, the camera.

        Pictures that were exposed before the last step say nothing about its success, so a
        fault that spoils several in a row before the first verdict is one failure.

        Parameters
        ----------
        shot_s : float
            When it was commanded.

        Raises
        ------
        AskOperator
            At the top of the ladder.
        """
        self._camera.forget()
        if shot_s < self._acted_s or self._stop.asked:
            return
        self._picture_climb = self._picture_climb.next(can_power_cycle=bool(self._power.command))
        step = self._picture_climb.step or PICTURE_LADDER[-1]
        if step.rung is not Rung.RETRY:  # the refusal has its own event
            self._note(step.rung, setting, f"{kind}: {detail}")
        if step.rung is Rung.ASK:
            raise AskOperator(
                f"{self._picture_climb.failures} times in a row no picture was what was asked "
                f"for, the last one {kind.replace('_', ' ')}: {detail}",
                "look at the camera's display, its dial, lens and shutter, then "
                "`snaprig capture resume`",
            )
        if step.rung is not Rung.RETRY:
            self._reconnecting()
            self._say(f"{_DOING[step.rung]}: {detail}")
            try:
                self._do(step, exposure)
            except (Retry, Reconnect) as error:
                self.camera_failed(error, exposure, setting)
        self._acted_s = self._clock()

    def start_anew(self) -> None:
        """After the operator's hand: a new session, and both ladders from the ground.

        Raises
        ------
        RigError
            As the camera's `open` does; AskOperator with another body, or off M.
        """
        self.picture_taken()
        self.picture_believed()
        self._note("answered", "", "the operator says that it is done")
        self._open_anew(0.0)
        self._acted_s = self._clock()

    def _do(self, step: Step, exposure: Exposure) -> None:
        if step.rung is Rung.RETRY:
            if not self._stop.wait(step.wait_s):
                self._await_readiness(exposure)
            return
        wait_s = step.wait_s
        if step.rung is Rung.POWER_CYCLE:
            self._reconnecting()
            self._camera.close()
            self._note("power", "", self._power.cycle() or "the command said nothing")
            wait_s = self._power.boot_s
        self._open_anew(wait_s)

    def _open_anew(self, wait_s: float) -> None:
        self._reconnecting()
        self._camera.close()
        if self._stop.wait(wait_s):
            return
        self._check_body(self._camera.open())
        if self._camera.leftovers:
            self._note("leftover", "", f"{self._camera.leftovers} pictures discarded")

    def _await_readiness(self, exposure: Exposure) -> None:
        """Set what is to be shot until the body takes it."""
        for probe in range(1, _PROBES + 1):
            self._camera.forget()
            try:
                self._camera.apply(exposure)
            except Retry:
                if probe == _PROBES or self._stop.wait(_PROBE_S):
                    raise
            else:
                return

    def _check_body(self, found: CameraInfo) -> None:
        if found.serial != self._body.serial:
            raise AskOperator(
                f"another camera answered: {found.model} {found.serial} instead of "
                f"{self._body.serial}",
                "connect the camera that the run began with, then `snaprig capture resume`",
            )
        require_manual(self._camera)


_DOING = {
    Rung.RETRY: "waiting for the camera",
    Rung.REBUILD: "opening the camera anew",
    Rung.RECONNECT: "reconnecting to the camera",
    Rung.POWER_CYCLE: "switching the camera off and on",
}
