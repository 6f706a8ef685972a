"""The camera side of a run: set, fire, download, hand over; again where needed.

All camera calls are made by the thread that calls `Runner.run`, which does no other work: a
picture is checked and stored by `capture.storing` while the next ones are exposed, and its verdict
comes back once its light is proven, a second later. The download is finished before the next
release, because a picture left in the camera's memory blocks or shifts the next one
(libgphoto2#1124, gphoto2#308).

Longer than the rest because it is the one place where the parts of a run meet: what is decided is
decided in `capture.suspension`, `pausing`, `rescue`, `reference`, `guiding` and `storing`.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping

from capture.frames import Exposed, GivenUp
from capture.light_log import LightLog
from capture.pace import Pace
from capture.pausing import Pause
from capture.prediction import DOUBTFUL
from capture.recovery import deadline_s
from capture.reference import Schedule
from capture.rescue import Recovery, Rescue
from capture.states import Machine, RunState, ShotEnded, Snapshot, Watch
from capture.stopping import StopRequest
from capture.storing import Note, Refused, Stored, Storing, Unproven, Withdrawn
from capture.suspension import PATIENCE_S, Suspension
from capture.todo import Ending, Guiding, Todo
from capture.truth import ZOOMED
from rig.errors import AskOperator, Reconnect, Retry, RigError
from rig.protocols import Camera, CameraInfo
from schemas.acceptance import Extremes
from schemas.plan import Shot
from schemas.records import Outcome, RunStatus

_log = logging.getLogger(__name__)

#: Exposures of one shot that may be lost to the light: then the light is too unsteady for it.
_MAX_UNPROVEN = 10
_WITHOUT_REFERENCE = (
    "put lens, shutter, lamps and scene right, as they were, then `snaprig capture resume`; "
    "`--no-reference` goes on without comparing"
)

_ZOOM_BACK = (
    "turn the zoom ring back to where it stood (and tape it), then `snaprig capture resume`"
)


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
        Started. No shot is taken while it has trouble.
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
    guiding : Guiding or None
        Where a guided sweep has its shots from; `todo` is empty then.
    patience_s : float
        After so long a suspension the run ends, resumable.
    references : Schedule or None
        Of the reference frames; None takes none.
    recovery : Recovery
        What helps when the camera fails.
    pace : Pace or None
        What earlier sweeps have measured; grows with this one.
    limited : bool
        Whether the run is to take so many shots only.
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
        guiding: Guiding | None = None,
        patience_s: float = PATIENCE_S,
        references: Schedule | None = None,
        recovery: Recovery = Recovery(),  # noqa: B008 - frozen
        pace: Pace | None = None,
        limited: bool = False,
    ) -> None:
        self._camera = camera
        self._storing = storing
        self._light = light
        self._todo = deque(todo)
        self._guiding = guiding
        self._left_shutter_s = sum(item.shot.exposure.shutter_s for item in self._todo)
        self._in_hand: dict[int, Todo] = {}
        self._planned = planned
        self._limited = limited
        self._counts = Counter(counts)
        self._exposures = 0
        self._gave_up: list[Todo] = []
        self._attempts = attempts
        self._stop = stop
        self._watch = watch
        self._machine = machine
        self._suspension = Suspension(
            light,
            stop,
            patience_s,
            wait=self._wait,
            note=lambda kind, detail: storing.hand_over(Note(kind, "", detail)),
            say=self._say,
        )
        self._clock: Callable[[], float] = light.clock
        self._pause = Pause(
            stop,
            self._clock,
            wait=self._wait,
            note=lambda kind, detail: storing.hand_over(Note(kind, "", detail)),
            say=self._say,
        )
        self._pace = pace or Pace()
        self._references = references
        self._anchored = references is None
        self._recovery = recovery
        self._rescue = Rescue(
            camera,
            body,
            recovery.power,
            stop,
            note=lambda *event: storing.hand_over(Note(*event)),
            say=self._say,
            reconnecting=self._let_go,
            clock=self._clock,
        )
        self._doubtful: tuple[Todo, Refused] | None = None  # a refusal that nobody acted on yet
        self._begun_s = 0.0

    def run(self) -> Ending:
        """Shoot until every shot has its row, or something ends the run. Closes the storing."""
        while self._light.starting and not self._stop.asked:
            self._light.wait(0.2)
        self._machine.to(RunState.RUNNING)
        self._begun_s = self._clock()
        status, reason, cause = self._guarded(self._shoot_all)
        if status is not RunStatus.DONE:
            self._wind_down(reason)
        self._await_quietly()
        self._storing.close()
        if status is RunStatus.DONE:  # the last rows are written by now, or were refused
            status, reason, cause = self._guarded(self._storing.check)
        if status is RunStatus.DONE and self._guiding and (why := self._guiding.refutation()):
            status, reason = RunStatus.FAILED, why
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
        if self._stop.asked and sum(self._counts.values()) < self._planned:
            return RunStatus.STOPPED, self._stop.reason, None
        return RunStatus.DONE, "", None

    def _shoot_all(self) -> None:
        while True:
            try:
                while (item := self._next()) is not None:
                    self._take(item)
                self._await_answers()
                return self._skip_the_rest()
            except AskOperator as error:
                self._put_to_operator(error)

    def _next(self) -> Todo | None:
        """The next shot, with the light right and room for its picture; None when none is left.

        With nothing left to shoot, the verdicts on what is in hand are waited for: a refused
        picture brings its shot back. None also when a stop was asked for.
        """
        self._collect()
        while not self._stop.asked and (self._more() or self._in_hand):
            if self._doubtful is not None:
                self._treat(*self._doubtful)
            elif self._stop.held:
                self._hold()
            elif not self._todo or self._storing.full or (self._in_hand and self._wary):
                self._wait()
            elif self._light.trouble:
                self._suspend()
            else:
                return self._reference_due() or self._todo.popleft()
        return None

    @property
    def _wary(self) -> bool:
        """Whether each picture's verdict is waited for: before the first reference, in doubt."""
        return not self._anchored or self._rescue.in_doubt

    def _reference_due(self) -> Todo | None:
        if self._references is None:
            return None
        if self._todo[0].doubtful:
            # one reference frame shows it for all
            for item in self._todo:
                item.doubtful = False
            number: int | None = self._references.extra()
        else:
            number = self._references.next()
        if number is None:
            return None
        # Its index is none of the plan's.
        return Todo(Shot(-1 - number, self._references.exposure), reference=number)

    def _more(self) -> bool:
        """Whether there is a shot to take now; a guided sweep decides late which one."""
        idle = not self._todo or self._todo[0].doubtful
        if idle and self._guiding and (item := self._guiding.draw()) is not None:
            self._todo.appendleft(item)
        return bool(self._todo)

    def _skip_the_rest(self) -> None:
        """Give what a guided sweep need not shoot its row."""
        for skipped in self._guiding.skipped() if self._guiding and not self._stop.asked else ():
            self._storing.hand_over(skipped)
            self._counts[Outcome.SKIPPED] += 1

    def _wait(self) -> None:
        """Let the light be read, and see what that decides."""
        self._light.wait(0.2)
        self._collect(wait_s=0.02 if self._in_hand else 0.0)

    def _await_answers(self) -> None:
        # Not for ever: a second after its window a picture is proven or refused.
        while self._in_hand:
            self._wait()

    def _await_quietly(self) -> None:
        """Have what is in hand stored while winding down; what is refused is left for a resume."""
        try:
            while self._in_hand:
                self._light.wait(0.2)
                self._collect(wait_s=0.02, winding_down=True)
        except Exception:  # the run has its reason already
            _log.debug("while winding down", exc_info=True)

    def _suspend(self) -> None:
        """Shoot nothing until the light has settled; AskOperator if it takes too long."""
        self._machine.to(RunState.SUSPENDED)
        if self._suspension.hold():
            self._machine.to(RunState.RUNNING)
            self._say("the light has settled: going on")

    def _hold(self) -> None:
        """Have what is in hand stored, then shoot nothing until told to go on."""
        self._machine.to(RunState.PAUSING)
        self._say("pausing after the frame at hand")
        while self._in_hand and self._stop.held and not self._stop.asked:
            self._wait()
        if self._stop.held and not self._stop.asked:
            self._machine.to(RunState.PAUSED)
            self._pause.hold()
            self._camera.forget()  # somebody may have been at its knobs
        if not self._stop.asked:
            self._machine.to(RunState.RUNNING)
            self._say("going on")

    def _take(self, item: Todo) -> None:
        exposure = item.shot.exposure
        self._say(shot=item)
        begun_s = self._clock()
        item.attempt += 1
        self._exposures += item.reference is None
        try:
            self._camera.apply(exposure)
            picture = self._camera.shoot(deadline_s(exposure.shutter_s, self._recovery.margin_s))
        except (Retry, Reconnect) as error:
            self._todo.appendleft(item)
            self._rescue.camera_failed(error, exposure, item.setting)
            self._go_on()
        except BaseException:
            self._todo.appendleft(item)
            raise
        else:
            self._rescue.picture_taken()
            self._in_hand[item.shot.index] = item
            self._storing.hand_over(Exposed(item.shot, item.attempt, picture, item.reference))
            self._pace.add(exposure.shutter_s, self._clock() - begun_s)
            if self._references is not None and item.reference is None:
                self._references.count()

    def _collect(self, wait_s: float = 0.0, *, winding_down: bool = False) -> None:
        """Read the verdicts that have come; wait for the first one, if told to.

        While winding down, what was refused is left for a resume.
        """
        while (answer := self._storing.answer(wait_s)) is not None:
            wait_s = 0.0
            if isinstance(answer, Withdrawn):
                self._take_back(answer)
                continue
            item = self._in_hand.pop(answer.shot.index)
            if isinstance(answer, Stored):
                self._finished(item, answer.outcome, answer.luma, answer.frame)
            elif winding_down:
                continue
            elif isinstance(answer, Unproven):
                self._shoot_again(item, answer.detail)
            elif answer.kind == DOUBTFUL:
                self._postpone(item, answer.detail)
            elif answer.kind == ZOOMED:
                self._have_zoom_turned_back(item, answer)
            else:
                self._doubtful = item, answer
                self._refuse(item, answer)

    def _take_back(self, row: Withdrawn) -> None:
        """A black row is doubted after all: shot again as if it had been at once.

        A run that takes so many shots only leaves that to the next, if it was not its own.
        """
        self._counts[Outcome.REJECTED_BLACK] -= 1
        self._left_shutter_s += row.shot.exposure.shutter_s
        if self._guiding:
            self._guiding.withdraw(row.shot)
        if not (row.earlier and self._limited):
            self._todo.append(Todo(row.shot, row.attempt, doubtful=True))
        ended = ShotEnded(row.shot.exposure, Outcome.FAILED)
        self._say(f"{row.shot.exposure}: {row.detail}", ended=ended)

    def _shoot_again(self, item: Todo, detail: str) -> None:
        """The light was wrong or not measured: no fault of the shot."""
        item.unproven += 1
        self._todo.appendleft(item)
        self._storing.hand_over(Note("light_refused", item.setting, detail))
        self._say(f"{item.shot.exposure}: {detail}; it will be shot again")
        if item.unproven >= _MAX_UNPROVEN:
            item.unproven = 0
            raise AskOperator(
                f"{item.shot.exposure} was shot {_MAX_UNPROVEN} times and the light never held "
                f"still: {detail}",
                "find out what disturbs the lamps or the meter, then `snaprig capture resume`",
            )

    def _postpone(self, item: Todo, detail: str) -> None:
        """It cannot be judged yet: shot again last, when more is known. No failure of the shot."""
        item.doubtful = True
        self._todo.append(item)
        self._storing.hand_over(Note(DOUBTFUL, item.setting, detail))
        self._say(f"{item.shot.exposure}: {detail}")

    def _have_zoom_turned_back(self, item: Todo, refused: Refused) -> None:
        """No number of attempts helps; those in hand from before the answer cost no question."""
        self._todo.appendleft(item)
        self._storing.hand_over(Note(ZOOMED, item.setting, refused.detail))
        if refused.commanded_s >= self._rescue.acted_s:
            raise AskOperator(refused.detail, _ZOOM_BACK)

    def _refuse(self, item: Todo, refused: Refused) -> None:
        """A failed attempt: noted, and shot again next, or given up.

        A picture from before the last step of the ladder says nothing about what that helped: it
        is no attempt of its own.
        """
        kind, detail = refused.kind, refused.detail
        item.failures += refused.commanded_s >= self._rescue.acted_s
        self._storing.hand_over(Note(kind, item.setting, detail))
        self._say(f"{item.shot.exposure}: {detail} (attempt {item.failures} of {self._attempts})")
        if item.failures < self._attempts:
            self._todo.appendleft(item)
            return
        if item.reference is not None:
            item.failures = 0
            self._todo.appendleft(item)
            raise AskOperator(detail, _WITHOUT_REFERENCE)
        reason = f"{kind.replace('_', ' ')}, {item.failures} attempts: {detail}"
        self._storing.hand_over(GivenUp(item.shot, item.attempt, reason))
        self._gave_up.append(item)
        self._finished(item, Outcome.FAILED)

    def _treat(self, item: Todo, refused: Refused) -> None:
        """A picture was refused: doubt the settings, and more if it happens again and again."""
        self._doubtful = None
        self._rescue.picture_refused(
            refused.kind, refused.detail, item.shot.exposure, item.setting, refused.commanded_s
        )
        self._go_on()

    def _let_go(self) -> None:
        if self._machine.state is not RunState.RECONNECTING:
            self._machine.to(RunState.RECONNECTING)

    def _go_on(self) -> None:
        if self._machine.state is RunState.RECONNECTING:
            self._machine.to(RunState.RUNNING)

    def _put_to_operator(self, error: AskOperator) -> None:
        """Wait for a person at the terminal; raise `error` where nobody is there, or says no."""
        while True:
            self._storing.check()  # nobody can repair that under a running program
            if self._recovery.ask is None or self._stop.asked:
                raise error
            self._machine.to(RunState.ASKING)
            self._storing.hand_over(Note("asked", "", str(error)))
            self._say(f"waiting for you: {error}")
            if not self._recovery.ask(error):
                raise error
            try:
                self._rescue.start_anew()
            except (AskOperator, Retry, Reconnect) as again:
                error = AskOperator(str(again), again.action)
            else:
                return self._go_on()

    def _finished(
        self,
        item: Todo,
        outcome: Outcome,
        luma: Extremes | None = None,
        frame: int | None = None,
    ) -> None:
        if outcome is not Outcome.FAILED:
            self._rescue.picture_believed()
        if item.reference is not None:
            self._anchored = True
            return
        self._counts[outcome] += 1
        self._left_shutter_s -= item.shot.exposure.shutter_s
        if self._guiding:
            self._guiding.learn(item.shot, outcome, luma)
        self._say(ended=ShotEnded(item.shot.exposure, outcome, frame))

    def _failures(self) -> str:
        named = ", ".join(item.shot.exposure.stem for item in self._gave_up[:5])
        more = ", …" if len(self._gave_up) > 5 else ""
        return f"{len(self._gave_up)} shots failed {self._attempts} times each: {named}{more}"

    def _wind_down(self, reason: str) -> None:
        self._machine.to(RunState.STOPPING)
        self._say(reason)

    def _say(
        self, message: str = "", shot: Todo | None = None, ended: ShotEnded | None = None
    ) -> None:
        idle_s = self._suspension.total_s + self._pause.total_s
        minutes = (self._clock() - self._begun_s - idle_s) / 60
        left, shutter_s = self._planned - sum(self._counts.values()), self._left_shutter_s
        if self._guiding:
            left, shutter_s = self._guiding.left()
        self._watch(
            Snapshot(
                state=self._machine.state,
                planned=self._planned,
                counts=dict(self._counts),
                shot=shot.shot.exposure if shot else None,
                lux=self._light.latest_lux,
                shots_per_min=self._exposures / minutes if minutes > 0 else None,
                left_s=self._pace.left_s(shutter_s, left),
                message=message,
                ended=ended,
            )
        )
