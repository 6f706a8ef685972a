"""The daemon's heart: one thread that owns the bench and does one job after the other.

Commands only leave requests and read what the thread has left for them; none of them waits for a
camera, and the camera waits for none of them.
"""

from __future__ import annotations

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from capture.daemon.alerts import Alarm
from capture.daemon.events import Hub
from capture.daemon.jobs import (
    BatchSpec,
    Cause,
    Fault,
    Job,
    JobBook,
    PreflightSpec,
    State,
    SweepSpec,
)
from capture.daemon.live import Live
from capture.daemon.past import came_back, load_findings, unfinished_sweep
from capture.daemon.problems import NotFoundError, RefusedError
from capture.daemon.snapshot import snapshot, trouble
from capture.daemon.status import confirmation
from capture.daemon.work import JobEnd, Work, plan_of, workspace_file
from capture.recovery import deadline_s
from capture.scene_cli import require_scene
from capture.unfinished import find_unfinished
from rig.config import RigConfig
from rig.errors import Abort
from schemas.catalog import SMALL_CACHE_MIB
from schemas.records import Frame
from schemas.workspace import Workspace, WorkspaceError

_log = logging.getLogger(__name__)

#: Beyond the longest time that a frame may take: to store it.
_PAUSE_MARGIN_S = 5.0
#: What the next sweep takes over from the one that it goes on with.
_KEPT = {"attempts", "checklist_done", "force", "references"}


class Service:
    """Commands, snapshots, and the thread behind them. Every method is safe from any thread.

    Parameters
    ----------
    workspace : Workspace
        Owned by this process.
    hub : Hub
        Gets the events.
    version : str
        For the snapshot.
    camera, hub_address : str or None
        In place of rig.toml's.
    clock : callable
        Monotonic, in seconds: durations never come from the wall clock.

    Attributes
    ----------
    live : Live
        The job at hand.
    alarm : Alarm or None
        Who tells of trouble.
    """

    def __init__(
        self,
        workspace: Workspace,
        hub: Hub,
        version: str,
        *,
        camera: str | None = None,
        hub_address: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workspace = workspace
        self.catalog = workspace.catalog(SMALL_CACHE_MIB)
        self.hub = hub
        self.alarm: Alarm | None = None
        self.version = version
        self._overrides = (camera, hub_address)
        self._book = JobBook.open(workspace)
        self.live = Live(self.catalog, hub, self._book, clock)
        self._orders: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._closing = False
        self._recover()

    # ---- life

    def _recover(self) -> None:
        """Say what was interrupted; resume nothing."""
        live = self.live
        live.unfinished = unfinished_sweep(self.catalog)
        live.found = load_findings(self.catalog)
        last = came_back(self.catalog, self._book.last, live.unfinished)
        if last is not None:
            live.come_back(last)

    def start(self) -> None:
        """Begin to take orders."""
        self._thread.start()

    def wind_down(self, reason: str) -> None:
        """Have the job at hand end after its frame. For signals: only sets flags."""
        self._closing = True
        self.live.stop.ask(reason)

    def close(self, timeout_s: float | None = None) -> bool:
        """End after the frame at hand; True when the thread has ended within `timeout_s`."""
        self.wind_down("the daemon was told to end")
        self._orders.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        ended = not self._thread.is_alive()
        if ended:
            self.catalog.close()
        return ended

    def config(self) -> RigConfig:
        """The configuration as rig.toml says it now."""
        return RigConfig.load(self.workspace.rig_toml).overridden(*self._overrides)

    @property
    def silent_s(self) -> float:
        """How long the engine's thread has given no sign."""
        return self.live.clock() - self.live.beat_s

    # ---- orders

    def begin(
        self,
        spec: SweepSpec | BatchSpec | PreflightSpec,
        *,
        key: str = "",
        rev: int | None = None,
    ) -> tuple[Job, bool]:
        """Start a job; the second value is False where `key` has started it already.

        Raises
        ------
        RefusedError
            If one is at hand, or `rev` is not the state that somebody saw.
        Abort
            If it names what there is not.
        """
        with self.live.lock:
            if (known := self._book.keyed(key)) is not None:
                return known, False
        self._require_known(spec)
        with self.live.lock:
            if (known := self._book.keyed(key)) is not None:  # two at the same moment
                return known, False
            self._require_free()
            if rev is not None and rev != self.live.rev:
                raise RefusedError("moved", "something changed since this was shown: look again")
            job = Job(spec, key=key)
            if not isinstance(spec, BatchSpec):
                job = replace(job, scene=spec.scene or "", lighting=spec.lighting or "")
            self.live.take(job)
            self._orders.put(job)
            return self.live.at_hand(), True

    def resume(
        self,
        scene: str | None = None,
        lighting: str | None = None,
        *,
        key: str = "",
        rev: int | None = None,
        **changes: object,
    ) -> Job:
        """Go on with what is paused, else with the last job or sweep that lacks frames.

        `changes` are fields of the spec, for a sweep that is begun anew.

        Raises
        ------
        RefusedError
            If something else is at hand, or nothing lacks frames.
        """
        with self.live.lock:
            job = self.live.job
            if job is not None and not job.over:
                if (scene or job.scene, lighting or job.lighting) != (job.scene, job.lighting):
                    self._require_free()
                self._go_on()
                return job
        batch = job.spec if job is not None and job.state is not State.DONE else None
        if isinstance(batch, BatchSpec) and scene is None and lighting is None:
            return self.begin(batch, key=key, rev=rev)[0]
        found = find_unfinished(self.catalog, scene, lighting)
        if not found:
            raise RefusedError("nothing_to_resume", "every sweep has all its frames")
        run, guidance = found[0].run, found[0].guidance
        given: dict[str, Any] = {"scene": run.scene, "lighting": run.lighting}
        if job is not None and isinstance(job.spec, SweepSpec) and job.run == run.id:
            given |= job.spec.model_dump(include=_KEPT)
        if guidance is not None:
            given |= {"sweep": "guided", "audit": guidance.audit}
        spec = SweepSpec.model_validate(given | {"plan": found[0].plan} | changes)
        return self.begin(spec, key=key, rev=rev)[0]

    def _go_on(self) -> None:
        live = self.live
        if live.stop.held and not live.stop.asked:
            live.resuming, live.pause_due_s = True, None
            live.stop.release()
            live.turn()

    def pause(self) -> None:
        """Pause after the frame at hand. Nothing to do where it pauses already.

        Raises
        ------
        RefusedError
            Where nothing runs.
        """
        margin_s = self.config().camera.margin_s
        live = self.live
        with live.lock:
            job = self._require_running("pause")
            if isinstance(job.spec, PreflightSpec):
                raise RefusedError("busy", "a preflight does not pause; stop it")
            if not live.stop.held and not live.stop.asked:
                shutter_s = live.shot["shutter_s"] if live.shot else 0.0
                wait_s = deadline_s(shutter_s, margin_s) + _PAUSE_MARGIN_S
                live.pause_due_s, live.resuming = live.clock() + wait_s, False
                live.stop.hold()
                live.turn()

    def stop(self, confirm: str | None) -> None:
        """End the job after the frame at hand; `confirm` is the job that somebody saw.

        Raises
        ------
        RefusedError
            Where nothing runs, or something else than what was confirmed.
        """
        with self.live.lock:
            job = self._require_running("stop")
            if confirm != job.id:
                raise RefusedError("confirm", confirmation(job))
            if not self.live.stop.asked:
                self.live.stop.ask("stopped on request")
                self.live.turn()

    def answer(self, question: str, answer: str) -> None:
        """Answer the open question. Raises RefusedError if that is another one by now."""
        if not self.live.board.answer(question, answer):
            raise RefusedError("no_question", "this question is not open any more")

    def acknowledge(self, alert: str) -> None:
        """Stop repeating an alert. Raises RefusedError if that one is over."""
        if self.alarm is None or not self.alarm.acknowledge(alert):
            raise RefusedError("no_alert", "this alert is over")

    def alerted(self, alert: dict[str, Any] | None) -> None:
        """An alert was raised, acknowledged or resolved."""
        self.hub.publish("alert", alert)
        self.live.changed()

    def _require_known(self, spec: SweepSpec | BatchSpec | PreflightSpec) -> None:
        """Abort, with the known names, before anything begins."""
        if isinstance(spec, BatchSpec):
            workspace_file(self.workspace, spec.batch)
            return
        if spec.scene is not None:
            require_scene(self.catalog, spec.scene)
        if spec.lighting is not None:
            self.config().lighting_named(spec.lighting)
        plan_of(self.workspace, spec.plan)

    def _require_free(self) -> None:
        if self._closing:
            raise RefusedError("busy", "the daemon is ending")
        if self.live.job is not None and not self.live.job.over:
            raise RefusedError("busy", f"{self.live.job.title} is not over")

    def _require_running(self, verb: str) -> Job:
        if self.live.job is None or self.live.job.over:
            raise RefusedError("nothing_runs", f"there is nothing to {verb}")
        return self.live.job

    # ---- the thread

    def _work(self) -> None:
        # The main thread takes the signals: none may break a system call of a C library here.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        while True:
            self.live.beat()
            try:
                job = self._orders.get(timeout=1.0)
            except queue.Empty:
                continue
            if job is None:
                return
            end = self._do(job)
            self.live.end(end, unfinished_sweep(self.catalog), closing=self._closing)

    def _do(self, job: Job) -> JobEnd:
        live = self.live
        try:
            config = self.config()
            work = Work(self.workspace, self.catalog, config, live, live.board, live.stop)
            return work.do(job.spec)
        except Abort as error:
            fault = Fault("refused", str(error), error.action)
        except Exception as error:  # the thread outlives whatever a job does
            _log.exception("the job %s failed", job.id)
            text = f"{type(error).__name__}: {error}"
            fault = Fault("defect", text, "this is a defect: report what the daemon's log says")
        return JobEnd(State.FAILED, Cause.ERROR, fault)

    # ---- what there is to see

    def snapshot(self) -> dict[str, Any]:
        """Everything that a page needs at first."""
        alert = self.alarm.alert if self.alarm else None
        return snapshot(self.live, self.hub, self.version, alert)

    @property
    def trouble(self) -> tuple[str, Fault] | None:
        """For the alarm."""
        return trouble(self.live)

    @property
    def jobs(self) -> list[Job]:
        """Newest first."""
        with self.live.lock:
            return self._book.newest_first()

    def job(self, job_id: str) -> Job | None:
        """The job of that id."""
        with self.live.lock:
            return self._book.get(job_id)

    def file_of(self, frame: Frame) -> Path:
        """The stored file of a catalog's frame.

        Raises
        ------
        NotFoundError
            If it has none, or the file is not where frames lie.
        """
        if not frame.path:
            raise NotFoundError("no file was kept of this frame")
        try:
            path = self.workspace.resolve(frame.path)
            missing = not self.workspace.holds(path) or not path.is_file()
        except (WorkspaceError, ValueError, OSError):
            missing = True
        if missing:
            raise NotFoundError("the file of this frame is missing")
        return path
