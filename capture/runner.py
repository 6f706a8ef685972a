"""The camera side of a run: set, fire, download, hand over; again where needed.

All camera calls are made by the thread that calls `Runner.run`, which does no other work: a
picture is checked and stored by `capture.storing` while the next one is exposed, and its verdict
comes back a shot later. The download is finished before the next release, because a picture left
in the camera's memory blocks or shifts the next one (libgphoto2#1124, gphoto2#308).
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from capture.frames import Exposed, GivenUp
from capture.light_log import LightLog
from capture.pace import Pace
from capture.readiness import require_manual
from capture.states import Machine, RunState, Snapshot, Watch
from capture.stopping import StopRequest
from capture.storing import Note, Stored, Storing
from rig.errors import AskOperator, Reconnect, Retry, RigError
from rig.protocols import Camera, CameraInfo
from schemas.plan import Shot
from schemas.records import Outcome, RunStatus

_log = logging.getLogger(__name__)

#: A shot is waited for twice its exposure (noise reduction takes a dark frame as long) and this.
_MARGIN_S = 15.0
_MAX_RECONNECTS = 3
_BACK_OFF_S = (0.5, 2.0, 5.0)


@dataclass
class Todo:
    """A shot that has no final row yet.

    Attributes
    ----------
    shot : Shot
    attempt : int
        Exposures so far, earlier runs included.
    failures : int
        Failed ones of this run.
    """

    shot: Shot
    attempt: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Ending:
    """How a run ended. `error` is what ended it early, if an error did."""

    status: RunStatus
    reason: str
    exposures: int
    error: BaseException | None = None


class Runner:
    """Takes the shots of one run; the diagram of its states is in `capture.states.RunState`.

    Parameters
    ----------
    camera : Camera
        Open, on Manual.
    body : CameraInfo
        Who that is: after a reconnect the same body must answer.
    storing : Storing
        Started.
    light : LightLog
        For the snapshots.
    todo : iterable of Todo
        In the order to shoot.
    planned : int
        Shots of the plan.
    counts : mapping
        Rows of the plan by outcome so far, those of `todo` left out.
    attempts : int
        Failed exposures of a shot after which it is given up.
    stop : StopRequest
    watch : callable
        Gets a snapshot at each step; must return at once.
    machine : Machine
        In the state ``preparing``.
    """

    def __init__(
        self,
        camera: Camera,
        body: CameraInfo,
        storing: Storing,
        light: LightLog,
        todo: Iterable[Todo],
        *,
        planned: int,
        counts: Mapping[Outcome, int],
        attempts: int,
        stop: StopRequest,
        watch: Watch,
        machine: Machine,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._camera = camera
        self._body = body
        self._storing = storing
        self._light = light
        self._todo = deque(todo)
        self._left_shutter_s = sum(item.shot.exposure.shutter_s for item in self._todo)
        self._in_hand: dict[int, Todo] = {}
        self._planned = planned
        self._counts = Counter(counts)
        self._exposures = 0
        self._gave_up: list[Todo] = []
        self._attempts = attempts
        self._stop = stop
        self._watch = watch
        self._machine = machine
        self._clock = clock
        self._pace = Pace()
        self._reconnects = 0
        self._begun_s = 0.0
        self._message = ""

    def run(self) -> Ending:
        """Shoot until every shot has its row, or something ends the run. Closes the storing."""
        self._machine.to(RunState.RUNNING)
        self._begun_s = self._clock()
        status, reason, cause = self._guarded(self._shoot_all)
        if status is not RunStatus.DONE:
            self._wind_down(reason)
        self._storing.close()
        if status is RunStatus.DONE:  # the last rows are written by now, or were refused
            status, reason, cause = self._guarded(self._storing.check)
        self._collect_quietly()
        if status is RunStatus.DONE and self._gave_up:
            status, reason = RunStatus.FAILED, self._failures()
        if status is RunStatus.DONE and sum(self._counts.values()) < self._planned:
            status, reason = RunStatus.STOPPED, "took as many shots as it was asked for"
        if status is not RunStatus.DONE and self._machine.state is not RunState.STOPPING:
            self._wind_down(reason)
        self._machine.to(RunState(status.value))
        self._say()
        return Ending(status, reason, self._exposures, cause)

    def _guarded(self, work: Callable[[], None]) -> tuple[RunStatus, str, BaseException | None]:
        """Do it, and say how a run ends that stopped there."""
        try:
            work()
        except KeyboardInterrupt as error:
            return RunStatus.STOPPED, "stopped at once", error
        except AskOperator as error:
            return RunStatus.STOPPED, str(error), error
        except RigError as error:
            return RunStatus.FAILED, str(error), error
        except Exception as error:
            return RunStatus.FAILED, f"{type(error).__name__}: {error}", error
        if self._stop.asked and (self._todo or self._in_hand):
            return RunStatus.STOPPED, self._stop.reason, None
        return RunStatus.DONE, "", None

    def _shoot_all(self) -> None:
        while (item := self._next()) is not None:
            self._take(item)

    def _next(self) -> Todo | None:
        """The next shot; None when none is left or a stop was asked for.

        With nothing left to shoot, the verdicts on what is in hand are waited for: a refused
        picture brings its shot back.
        """
        self._collect()
        while not self._todo and self._in_hand and not self._stop.asked:
            self._collect(wait_s=0.2)
        if self._stop.asked or not self._todo:
            return None
        return self._todo.popleft()

    def _take(self, item: Todo) -> None:
        exposure = item.shot.exposure
        self._say(shot=item)
        begun_s = self._clock()
        item.attempt += 1
        self._exposures += 1
        try:
            self._camera.apply(exposure)
            picture = self._camera.shoot(2 * exposure.shutter_s + _MARGIN_S)
        except Retry as error:
            self._refuse(item, "retry", str(error))
            self._stop.wait(_BACK_OFF_S[min(item.failures, len(_BACK_OFF_S)) - 1])
        except Reconnect as error:
            self._todo.appendleft(item)
            self._reconnect(item, error)
        except BaseException:
            self._todo.appendleft(item)
            raise
        else:
            self._reconnects = 0
            self._in_hand[item.shot.index] = item
            self._storing.hand_over(Exposed(item.shot, item.attempt, picture))
            self._pace.add(exposure.shutter_s, self._clock() - begun_s)

    def _collect(self, wait_s: float = 0.0) -> None:
        """Read the verdicts that have come; wait for the first one, if told to."""
        while (answer := self._storing.answer(wait_s)) is not None:
            wait_s = 0.0
            item = self._in_hand.pop(answer.shot.index)
            if isinstance(answer, Stored):
                self._finished(item, answer.outcome)
            else:
                self._camera.forget()
                self._refuse(item, answer.kind, answer.detail)

    def _collect_quietly(self) -> None:
        """Count what was stored while winding down; what was refused is left for a resume."""
        try:
            while (answer := self._storing.answer()) is not None:
                item = self._in_hand.pop(answer.shot.index)
                if isinstance(answer, Stored):
                    self._finished(item, answer.outcome)
        except Exception:  # the run has its reason already
            _log.debug("while winding down", exc_info=True)

    def _refuse(self, item: Todo, kind: str, detail: str) -> None:
        """A failed attempt: noted, and shot again next, or given up."""
        item.failures += 1
        self._storing.hand_over(Note(kind, item.shot.exposure.stem, detail))
        self._say(f"{item.shot.exposure}: {detail} (attempt {item.failures} of {self._attempts})")
        if item.failures < self._attempts:
            self._todo.appendleft(item)
            return
        reason = f"{kind.replace('_', ' ')}, {item.failures} attempts: {detail}"
        self._storing.hand_over(GivenUp(item.shot, item.attempt, reason))
        self._gave_up.append(item)
        self._finished(item, Outcome.FAILED)

    def _reconnect(self, item: Todo, error: RigError) -> None:
        """Close and open the camera, with back-off; the count of tries restarts at a picture."""
        self._machine.to(RunState.RECONNECTING)
        while True:
            self._reconnects += 1
            self._storing.hand_over(Note("reconnect", item.shot.exposure.stem, str(error)))
            self._say(f"reconnecting to the camera ({self._reconnects}): {error}")
            if self._reconnects > _MAX_RECONNECTS:
                raise AskOperator(
                    f"the camera was lost {self._reconnects} times in a row: {error}",
                    "switch the camera off and on, check its cable, then `snaprig capture resume`",
                ) from error
            if self._stop.wait(_BACK_OFF_S[self._reconnects - 1]):
                break
            self._camera.close()
            try:
                self._check_body(self._camera.open())
            except (Retry, Reconnect) as again:
                error = again
                continue
            break
        self._machine.to(RunState.RUNNING)

    def _check_body(self, found: CameraInfo) -> None:
        if found.serial != self._body.serial:
            raise AskOperator(
                f"another camera answered: {found.model} {found.serial} instead of "
                f"{self._body.serial}",
                "connect the camera that the run began with, then `snaprig capture resume`",
            )
        require_manual(self._camera)

    def _finished(self, item: Todo, outcome: Outcome) -> None:
        self._counts[outcome] += 1
        self._left_shutter_s -= item.shot.exposure.shutter_s
        self._say()

    def _failures(self) -> str:
        named = ", ".join(item.shot.exposure.stem for item in self._gave_up[:5])
        more = ", …" if len(self._gave_up) > 5 else ""
        return f"{len(self._gave_up)} shots failed {self._attempts} times each: {named}{more}"

    def _wind_down(self, reason: str) -> None:
        self._machine.to(RunState.STOPPING)
        self._say(reason)

    def _say(self, message: str = "", shot: Todo | None = None) -> None:
        minutes = (self._clock() - self._begun_s) / 60
        left = self._planned - sum(self._counts.values())
        self._watch(
            Snapshot(
                state=self._machine.state,
                planned=self._planned,
                counts=dict(self._counts),
                shot=shot.shot.exposure if shot else None,
                lux=self._light.latest_lux,
                shots_per_min=self._exposures / minutes if minutes > 0 else None,
                left_s=self._pace.left_s(self._left_shutter_s, left),
                message=message,
            )
        )
