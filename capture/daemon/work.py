"""A job on the engine: the same code that the commands run, behind another desk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from capture.asking import Ask, helped
from capture.batch import Batch, Leg, itinerary, read_batch, require_consistent
from capture.batch_cli import means
from capture.batch_run import BatchRun, LeftError
from capture.daemon.jobs import BatchSpec, Cause, Fault, PreflightSpec, State, SweepSpec
from capture.daemon.questions import (
    BoardConsole,
    QuestionBoard,
    checklist_asker,
    operator_asker,
)
from capture.guidance import Guidance
from capture.light_log import LightLog
from capture.pace import Pace
from capture.preflight import Manner, Preflight
from capture.preflight_cli import look
from capture.preflight_gate import Gate
from capture.scene_cli import require_scene
from capture.shooting import Shooting
from capture.states import Snapshot, Watch
from capture.stopping import StopRequest
from capture.sweep import Summary, survey
from rig.bench import Bench
from rig.config import RigConfig
from rig.errors import Abort, AskOperator, RigError
from rig.light_guard import Band
from rig.preflight import Finding, Task, failures
from rig.protocols import LightMeter
from schemas.capture_store import add_scene
from schemas.catalog import Catalog
from schemas.plan import Lighting, SweepPlan
from schemas.records import RunStatus
from schemas.workspace import Workspace


@dataclass(frozen=True)
class JobEnd:
    """How a job ended."""

    state: State
    cause: Cause
    fault: Fault | None = None
    summary: dict[str, Any] | None = None


class Stage(Protocol):
    """What a job tells while it goes on; every call returns at once."""

    def sweep(self, scene: str, lighting: Lighting, plan: SweepPlan) -> None:
        """A sweep begins."""
        ...

    def devices(self, bench: Bench) -> None:
        """These answered."""
        ...

    def watch(self, snapshot: Snapshot) -> None:
        """A step of the engine."""
        ...

    def note(self, text: str) -> None:
        """Something for a person."""
        ...

    def waiting(self, text: str) -> None:
        """Waits for the light; empty: not any more."""
        ...

    def seen(self, light: LightLog) -> None:
        """The meter was read."""
        ...

    def findings(self, findings: Sequence[Finding]) -> None:
        """What a preflight found, worst first."""
        ...

    def itinerary(self, name: str, run: BatchRun, after: int) -> None:
        """The sweeps of a batch, of which number `after` has ended; 0 at first."""
        ...


class WatchedLight(LightLog):
    """A light log that tells of each reading."""

    def __init__(self, meter: LightMeter, band: Band, seen: Callable[[LightLog], None]) -> None:
        super().__init__(meter, band)
        self._seen = seen

    def poll(self) -> float:
        """One reading."""
        due_s = super().poll()
        self._seen(self)
        return due_s


@dataclass(frozen=True)
class StageDesk:
    """The engine's desk (`capture.shooting.Desk`) in a daemon."""

    stage: Stage
    board: QuestionBoard
    attended: bool

    @contextmanager
    def shown(self, title: str, more: Callable[[Snapshot], str]) -> Iterator[Watch]:
        """Steps go to the stage."""
        del title, more  # the stage knows the sweep, and reckons the batch itself
        yield self.stage.watch

    def asker(self, stop: StopRequest) -> Ask | None:
        """Asks at the board; a no ends the job."""
        if not self.attended:
            return None
        ask = operator_asker(self.board, stop)

        def asked(error: AskOperator) -> bool:
            if ask(error):
                return True
            stop.ask("stopped at a question")
            return False

        return asked

    def light(self, meter: LightMeter, band: Band) -> LightLog:
        """Readings go to the stage."""
        return WatchedLight(meter, band, self.stage.seen)


@dataclass(frozen=True)
class Work:
    """Everything a job needs.

    Attributes
    ----------
    workspace, catalog, config
        Owned by the caller.
    stage : Stage
    board : QuestionBoard
    stop : StopRequest
        Of this job.
    """

    workspace: Workspace
    catalog: Catalog
    config: RigConfig
    stage: Stage
    board: QuestionBoard
    stop: StopRequest

    def do(self, spec: SweepSpec | BatchSpec | PreflightSpec) -> JobEnd:
        """Do it; never raises for what went wrong with devices, plans or people."""
        try:
            match spec:
                case SweepSpec():
                    return self._sweep(spec)
                case BatchSpec():
                    return self._batch(spec)
                case PreflightSpec():
                    return self._preflight(spec)
        except LeftError as left:  # it was somebody's wish
            return JobEnd(
                State.INTERRUPTED, Cause.STOPPED, Fault(Cause.STOPPED, str(left) or "stopped")
            )
        except AskOperator as error:
            return self._interrupted(str(error), error.action)
        except RigError as error:
            fault = Fault("refused", str(error), error.action)
            return JobEnd(State.FAILED, Cause.ERROR, fault)

    def _interrupted(self, text: str, action: str = "") -> JobEnd:
        cause = Cause.STOPPED if self.stop.asked else Cause.OPERATOR
        return JobEnd(State.INTERRUPTED, cause, Fault(cause, text, action))

    # ---- a sweep

    def _shooting(self, spec: SweepSpec | BatchSpec, *, references: bool = True) -> Shooting:
        ask = checklist_asker(self.board, self.stop)
        gate = Gate(
            spec.checklist_done,
            spec.force,
            ask if spec.attended and not spec.checklist_done else None,
            say=self.stage.note,
            show=self.stage.findings,
        )
        desk = StageDesk(self.stage, self.board, spec.attended)
        return Shooting(
            self.workspace, self.catalog, self.config, gate, spec.attempts, references, desk
        )

    def _sweep(self, spec: SweepSpec) -> JobEnd:
        from rig.bench import open_bench  # libgphoto2 and yoctopuce

        require_scene(self.catalog, spec.scene)
        lighting = self.config.lighting_named(spec.lighting)
        plan = plan_of(self.workspace, spec.plan)
        guidance = Guidance(spec.audit) if spec.sweep == "guided" else None
        self.stage.sweep(spec.scene, lighting, plan)
        shooting = self._shooting(spec, references=spec.references)
        ask = shooting.desk.asker(self.stop)

        def shoot() -> Summary:
            with open_bench(self.config) as bench:
                self.stage.devices(bench)
                return shooting.sweep(
                    bench,
                    spec.scene,
                    lighting,
                    plan,
                    stop=self.stop,
                    guidance=guidance,
                    limit=spec.limit,
                )

        while True:
            summary = helped(shoot, ask, self.stop)
            if not summary.needs_operator or ask is None or self.stop.asked:
                return self._end(summary)
            # What no running program can go on after: a full disk. A new run takes the rest.
            if not ask(AskOperator(summary.reason, summary.next)):
                return self._end(summary)

    def _end(self, summary: Summary) -> JobEnd:
        document = summary.to_json()
        match summary.status:
            case RunStatus.DONE:
                return JobEnd(State.DONE, Cause.COMPLETED, None, document)
            case RunStatus.FAILED:
                fault = Fault("run_failed", summary.reason, summary.next)
                return JobEnd(State.FAILED, Cause.ERROR, fault, document)
        if self.stop.asked:
            fault = Fault(Cause.STOPPED, summary.reason)
            return JobEnd(State.INTERRUPTED, Cause.STOPPED, fault, document)
        if summary.needs_operator:
            fault = Fault(Cause.OPERATOR, summary.reason, summary.next)
            return JobEnd(State.INTERRUPTED, Cause.OPERATOR, fault, document)
        return JobEnd(State.INTERRUPTED, Cause.LIMIT, None, document)

    # ---- a batch

    def _batch(self, spec: BatchSpec) -> JobEnd:
        path = workspace_file(self.workspace, spec.batch)
        batch, plan = read_batch(path)
        legs = itinerary(batch, self.config.lighting)
        require_consistent(self.catalog, legs, plan)
        for leg in legs:
            add_scene(self.catalog, leg.scene)
        shooting = self._shooting(spec)
        run = self._walker(spec, batch, plan, legs, shooting)
        numbers = {(leg.scene.name, leg.lighting.name): leg.number for leg in legs}
        self.stage.itinerary(spec.batch, run, 0)
        last: Summary | None = None
        for summary in run.walk():
            last = summary
            self.stage.note(f"{summary.scene} under {summary.lighting}: {summary.status}")
            number = numbers[summary.scene, summary.lighting]
            self.stage.itinerary(spec.batch, run, number)
            if summary.status is RunStatus.STOPPED:
                return self._end(summary)
        failed = [str(one.leg) for one in run.standings() if not one.complete]
        if failed:
            text = f"shots failed of {', '.join(failed)}"
            fault = Fault("run_failed", text, "start the same batch again")
            return JobEnd(State.FAILED, Cause.ERROR, fault, last.to_json() if last else None)
        return JobEnd(State.DONE, Cause.COMPLETED, None, last.to_json() if last else None)

    def _walker(
        self,
        spec: BatchSpec,
        batch: Batch,
        plan: SweepPlan,
        legs: tuple[Leg, ...],
        shooting: Shooting,
    ) -> BatchRun:
        real = means(shooting, batch, plan, self.stop)

        def sweep(bench: Bench, leg: Leg, pace: Pace, more: Callable[[Snapshot], str]) -> Summary:
            self.stage.waiting("")
            self.stage.sweep(leg.scene.name, leg.lighting, plan)
            self.stage.devices(bench)
            return real.sweep(bench, leg, pace, more)

        console = BoardConsole(
            self.board,
            self.stop,
            note=self.stage.note,
            light=self.stage.waiting,
            waits=spec.attended,
        )
        config = self.config
        return BatchRun(
            self.catalog,
            batch,
            plan,
            legs,
            console,
            replace(real, sweep=sweep),
            self.stop,
            attended=spec.attended,
            patience_s=None if spec.attended else config.guard.patience_min * 60,
            shutter_life=config.preflight.shutter_life,
        )

    # ---- a preflight

    def _preflight(self, spec: PreflightSpec) -> JobEnd:
        lighting = None if spec.lighting is None else self.config.lighting_named(spec.lighting)
        plan = plan_of(self.workspace, spec.plan)
        shots = tuple(plan)
        if spec.scene is not None:
            require_scene(self.catalog, spec.scene)
            if lighting is not None:
                shots = survey(self.catalog, spec.scene, lighting.name, plan).remaining
        ask = checklist_asker(self.board, self.stop)
        manner = Manner.full(
            checklist_done=spec.checklist_done,
            burst=spec.burst,
            ask=ask if spec.attended and not spec.checklist_done else None,
            ask_again=spec.ask_again,
            stopped=lambda: self.stop.asked,
        )
        task = Task(tuple(shot.exposure for shot in shots), lighting)
        flight = Preflight(self.workspace, self.catalog, self.config, task, manner)
        try:
            look(flight, self.config)
        finally:
            flight.close()
        self.stage.findings(flight.findings)
        if self.stop.asked:
            return self._interrupted(self.stop.reason)
        failed = failures(flight.findings)
        if failed:
            actions = "; ".join(dict.fromkeys(one.action for one in failed if one.action))
            fault = Fault("preflight", "; ".join(map(str, failed)), actions)
            return JobEnd(State.FAILED, Cause.ERROR, fault)
        return JobEnd(State.DONE, Cause.COMPLETED)


def workspace_file(workspace: Workspace, name: str) -> Path:
    """A TOML file beside rig.toml, by its bare name.

    Raises
    ------
    Abort
        If there is none; nothing outside the folder is ever looked at.
    """
    known = {path.name: path for path in toml_files(workspace)}
    if name not in known:
        listed = ", ".join(known) or "none"
        raise Abort(f"the workspace has no file {name!r} (known: {listed})", "choose one of them")
    return known[name]


def toml_files(workspace: Workspace) -> list[Path]:
    """Plans and batches that lie in the workspace."""
    root = workspace.root
    return sorted(
        path
        for path in root.glob("*.toml")
        if path != workspace.rig_toml and path.is_file() and not path.is_symlink()
    )


def plan_of(workspace: Workspace, plan: SweepPlan | str | None) -> SweepPlan:
    """The plan that a spec names. Raises Abort for one that is missing or wrong."""
    if plan is None:
        return SweepPlan()
    if isinstance(plan, SweepPlan):
        return plan
    try:
        return SweepPlan.from_file(workspace_file(workspace, plan))
    except ValueError as error:
        raise Abort(str(error), "correct the plan") from error
