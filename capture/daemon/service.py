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
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from capture.batch import Standing
from capture.batch_run import BatchRun
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
from capture.daemon.problems import NotFoundError, RefusedError
from capture.daemon.past import came_back, load_findings, unfinished_sweep
from capture.daemon.questions import Question, QuestionBoard
from capture.daemon.status import WAITING, Situation, confirmation, left_text, sentence, state_of
from capture.daemon.work import JobEnd, Work, plan_of, workspace_file
from capture.light_log import LightLog
from capture.progress import duration
from capture.recovery import deadline_s
from capture.scene_cli import require_scene
from capture.states import RunState, Snapshot
from capture.stopping import StopRequest
from capture.sweep import simulated
from capture.unfinished import Unfinished, find_unfinished
from rig.bench import Bench
from rig.config import RigConfig
from rig.errors import Abort
from rig.light_guard import Band
from rig.preflight import Finding
from schemas.capture_store import Run, list_runs
from schemas.exposure import Exposure, spell_shutter
from schemas.frame_store import FINAL
from schemas.history_store import latest_run
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, utc_now
from schemas.workspace import Workspace, WorkspaceError

_log = logging.getLogger(__name__)

#: Something that ends by itself is no alarm before so long.
_GRACE_S = 30.0
#: Beyond the longest time that a frame may take: to store it.
_PAUSE_MARGIN_S = 5.0


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
    changed : callable
        Called when the snapshot is another one; must return at once.
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
        self.catalog = workspace.catalog()
        self.hub = hub
        self.changed: Callable[[], None] = lambda: None
        self.alarm: Alarm | None = None
        self._version = version
        self._overrides = (camera, hub_address)
        self._clock = clock
        self._lock = threading.RLock()
        self._orders: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._board = QuestionBoard(self._asked, self.beat)
        self._book = JobBook.open(workspace)
        self._beat_s = clock()
        self._closing = False
        # Of the job at hand
        self._job: Job | None = None
        self._state = State.IDLE
        self._rev = 1
        self._since_s = clock()
        self._phase = RunState.PREPARING
        self._stop = StopRequest()
        self._resuming = False
        self._pause_due_s: float | None = None
        self._message = ""
        self._waiting = ""
        self._shot: dict[str, Any] | None = None
        self._left_s: float | None = None
        self._last_frame: dict[str, Any] | None = None
        self._light: dict[str, Any] | None = None
        self._batch: tuple[str, list[Standing], BatchRun] | None = None
        self._rig: dict[str, str] | None = None
        self._findings: dict[str, Any] | None = load_findings(self.catalog)
        self._unfinished: Unfinished | None = None
        self._recover()

    # ---- life

    def start(self) -> None:
        """Begin to take orders."""
        self._thread.start()

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

    def wind_down(self, reason: str) -> None:
        """Have the job at hand end after its frame. For signals: only sets flags."""
        self._closing = True
        self._stop.ask(reason)

    def beat(self) -> None:
        """The engine's thread lives."""
        self._beat_s = self._clock()

    @property
    def silent_s(self) -> float:
        """How long the engine's thread has given no sign."""
        return self._clock() - self._beat_s

    @property
    def longest_silence_s(self) -> float:
        """How long it may: two long exposures, and all that a rescue waits for at once."""
        camera = self.config().camera
        return deadline_s(30.0, camera.margin_s) + camera.power_cycle_timeout_s + camera.boot_s + 60

    def config(self) -> RigConfig:
        """The configuration as rig.toml says it now."""
        return RigConfig.load(self.workspace.rig_toml).overridden(*self._overrides)

    def _recover(self) -> None:
        """Say what was interrupted; resume nothing."""
        self._unfinished = unfinished_sweep(self.catalog)
        last = came_back(self.catalog, self._book.last, self._unfinished)
        if last is not None:
            self._book.put(last, keep=True)
            self._job, self._state = last, last.state

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
        with self._lock:
            if (known := self._book.keyed(key)) is not None:
                return known, False
        self._require_known(spec)
        with self._lock:
            if (known := self._book.keyed(key)) is not None:  # two at the same moment
                return known, False
            self._require_free()
            if rev is not None and rev != self._rev:
                raise RefusedError("moved", "something changed since this was shown: look again")
            self._stop = StopRequest()
            self._phase, self._message, self._waiting = RunState.PREPARING, "", ""
            self._resuming, self._pause_due_s, self._shot = False, None, None
            self._left_s, self._batch, self._light = None, None, None
            self._job = Job(spec, key=key)
            if spec.kind != "batch":
                self._job = replace(self._job, scene=spec.scene or "", lighting=spec.lighting or "")
            self._since_s = self._clock()
            self._state = State.PREPARING
            self._turn(keep=True)
            self._orders.put(self._job)
            return self._job, True

    def resume(self, scene: str | None = None, lighting: str | None = None, **options: Any) -> Job:
        """Go on with what is paused, else with the last job or sweep that lacks frames.

        `options` are fields of the spec, for a sweep that is begun anew.
        """
        with self._lock:
            job = self._job
            if job is not None and not job.over:
                if (scene or job.scene, lighting or job.lighting) != (job.scene, job.lighting):
                    self._require_free()
                if self._stop.held and not self._stop.asked:
                    self._resuming, self._pause_due_s = True, None
                    self._stop.release()
                    self._turn()
                return job
        key, rev = options.pop("key", ""), options.pop("rev", None)
        if job is not None and job.state is not State.DONE and isinstance(job.spec, BatchSpec):
            if scene is None and lighting is None:
                return self.begin(job.spec, key=key, rev=rev)[0]
        found = find_unfinished(self.catalog, scene, lighting)
        if not found:
            raise RefusedError("nothing_to_resume", "every sweep has all its frames")
        run, guidance = found[0].run, found[0].guidance
        given: dict[str, Any] = {"references": True}
        if job is not None and isinstance(job.spec, SweepSpec):
            kept = {"attempts", "checklist_done", "force", "references"}
            given = job.spec.model_dump(include=kept) if job.run == run.id else given
        if guidance is not None:
            given |= {"sweep": "guided", "audit": guidance.audit}
        given |= {name: value for name, value in options.items() if value is not None}
        spec = SweepSpec(scene=run.scene, lighting=run.lighting, plan=found[0].plan, **given)
        return self.begin(spec, key=key, rev=rev)[0]

    def pause(self) -> None:
        """Pause after the frame at hand. Nothing to do where it pauses already.

        Raises
        ------
        RefusedError
            Where nothing runs.
        """
        with self._lock:
            job = self._require_running("pause")
            if job.spec.kind == "preflight":
                raise RefusedError("busy", "a preflight does not pause; stop it")
            if not self._stop.held:
                shutter_s = (self._shot or {}).get("shutter_s", 0.0)
                margin_s = self.config().camera.margin_s
                wait_s = deadline_s(shutter_s, margin_s) + _PAUSE_MARGIN_S
                self._pause_due_s = self._clock() + wait_s
                self._resuming = False
                self._stop.hold()
                self._turn()

    def stop(self, confirm: str | None) -> None:
        """End the job after the frame at hand; `confirm` is the job that somebody saw.

        Raises
        ------
        RefusedError
            Where nothing runs, or something else than what was confirmed.
        """
        with self._lock:
            job = self._require_running("stop")
            if confirm != job.id:
                raise RefusedError("confirm", confirmation(job))
            if not self._stop.asked:
                self._stop.ask("stopped on request")
                self._turn()

    def answer(self, question: str, answer: str) -> None:
        """Answer the open question. Raises RefusedError if that is another one by now."""
        if not self._board.answer(question, answer):
            raise RefusedError("no_question", "this question is not open any more")

    def acknowledge(self, alert: str) -> None:
        """Stop repeating an alert. Raises RefusedError if that one is over."""
        if self.alarm is None or not self.alarm.acknowledge(alert):
            raise RefusedError("no_alert", "this alert is over")

    def alerted(self, alert: dict[str, Any] | None) -> None:
        """An alert was raised, acknowledged or resolved."""
        self.hub.publish("alert", alert)
        self.changed()

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
        if self._job is not None and not self._job.over:
            raise RefusedError("busy", f"{self._job.title} is not over")

    def _require_running(self, verb: str) -> Job:
        if self._job is None or self._job.over:
            raise RefusedError("nothing_runs", f"there is nothing to {verb}")
        return self._job

    # ---- the thread

    def _work(self) -> None:
        # The main thread takes the signals: none may break a system call of a C library here.
        signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
        )
        while True:
            self.beat()
            try:
                job = self._orders.get(timeout=1.0)
            except queue.Empty:
                continue
            if job is None:
                return
            self._do(job)

    def _do(self, job: Job) -> None:
        try:
            work = Work(self.workspace, self.catalog, self.config(), self, self._board, self._stop)
            end = work.do(job.spec)
        except Abort as error:
            end = JobEnd(State.FAILED, Cause.ERROR, Fault("refused", str(error), error.action))
        except Exception as error:
            _log.exception("the job %s failed", job.id)
            text = f"{type(error).__name__}: {error}"
            action = "this is a defect: report what the daemon's log says"
            end = JobEnd(State.FAILED, Cause.ERROR, Fault("defect", text, action))
        unfinished = unfinished_sweep(self.catalog)
        with self._lock:
            self._settle_time()
            cause = end.cause
            if cause is Cause.STOPPED and self._closing:
                cause = Cause.DAEMON_ENDED
            self._unfinished = unfinished
            self._waiting = self._message = ""
            self._shot = None
            self._light = None
            self._job = replace(
                self._now(),
                state=end.state,
                cause=cause,
                fault=end.fault,
                summary=end.summary,
                ended_at=utc_now(),
            )
            self._turn(keep=True)
        self.hub.publish("history", {"job": job.id, "run": self._now().run})

    def _now(self) -> Job:
        if self._job is None:
            raise RuntimeError("there is no job")
        return self._job

    # ---- the stage (`capture.daemon.work.Stage`)

    def sweep(self, scene: str, lighting: Lighting, plan: SweepPlan) -> None:
        """A sweep begins."""
        band = Band.of(lighting)
        with self._lock:
            self._light = {"low": band.low, "high": band.high, "target": lighting.lux}
            self._phase, self._left_s, self._shot = RunState.PREPARING, None, None
            self._job = replace(
                self._now(),
                scene=scene,
                lighting=lighting.name,
                plan=plan,
                run=None,
                planned=len(plan),
                done=0,
                counts={},
            )
            self._turn(keep=True)

    def devices(self, bench: Bench) -> None:
        """These answered."""
        with self._lock:
            self._rig = {"camera": bench.camera_info.model, "meter": bench.meter_info.model}
            self._job = replace(self._now(), simulated=simulated(bench))
            self._turn()

    def watch(self, snapshot: Snapshot) -> None:
        """A step of the engine."""
        self.beat()
        with self._lock:
            job = self._now()
            run, begun = job.run, snapshot.state is not RunState.PREPARING
        if run is None and begun:
            run = latest_run(self.catalog, job.scene, job.lighting)
        with self._lock:
            self._phase = snapshot.state
            if snapshot.state in (RunState.RUNNING, RunState.STOPPING):
                self._resuming = self._resuming and self._stop.held
            if snapshot.state is RunState.PAUSED:
                self._pause_due_s = None
            if snapshot.message or snapshot.state is RunState.RUNNING:
                self._message = snapshot.message
            if snapshot.shot is not None:
                self._shot = _shot(snapshot.shot)
            if snapshot.left_s is not None:
                self._left_s = snapshot.left_s
            counts = {str(outcome): n for outcome, n in snapshot.counts.items()}
            done = snapshot.finished
            if not begun:  # rows of shots that will be shot again are no progress yet
                done = sum(n for outcome, n in snapshot.counts.items() if outcome in FINAL)
            self._job = replace(
                self._now(), run=run, planned=snapshot.planned, done=done, counts=counts
            )
            frame = None
            if snapshot.ended is not None:
                ended = snapshot.ended
                frame = {
                    "id": ended.frame,
                    "stem": ended.exposure.stem,
                    "outcome": str(ended.outcome),
                }
                self._last_frame = frame
            self._turn()
        if frame is not None:
            where = {"job": job.id, "scene": job.scene, "lighting": job.lighting}
            self.hub.publish("frame", frame | where)
        if snapshot.message:
            self.note(snapshot.message)

    def note(self, text: str) -> None:
        """Something for a person."""
        self.hub.publish("note", {"at": utc_now().isoformat(timespec="seconds"), "text": text})

    def waiting(self, text: str) -> None:
        """Waits for the light; empty: not any more."""
        self.beat()
        with self._lock:
            if text != self._waiting:
                self._waiting = text
                self._turn()

    def seen(self, light: LightLog) -> None:
        """The meter was read."""
        lux, trouble = light.latest_lux, light.trouble
        with self._lock:
            if self._light is not None:
                self._light = self._light | {"lux": lux, "trouble": trouble}
        self.hub.publish("light", [round(utc_now().timestamp(), 2), lux])

    def findings(self, findings: Sequence[Finding]) -> None:
        """What a preflight found."""
        document = {
            "at": utc_now().isoformat(timespec="seconds"),
            "findings": [finding.to_json() for finding in findings],
        }
        with self._lock:
            self._findings = document
        self.hub.publish("preflight", document)

    def itinerary(self, name: str, run: BatchRun) -> None:
        """The sweeps of a batch."""
        standings = run.standings()
        with self._lock:
            self._batch = (name, standings, run)
            self._turn()

    def _asked(self, question: Question | None) -> None:
        with self._lock:
            if not self._stop.asked and question is not None:
                self._message = ""
            self._turn()
        self.hub.publish("question", question and question.to_json())

    # ---- the snapshot

    @property
    def jobs(self) -> list[Job]:
        """Newest first."""
        with self._lock:
            return self._book.newest_first()

    def job(self, job_id: str) -> Job | None:
        """The job of that id."""
        with self._lock:
            return self._book.get(job_id)

    @property
    def current(self) -> Job | None:
        """The job at hand, or the last one."""
        with self._lock:
            return self._job

    @property
    def live_run(self) -> int | None:
        """The run at hand."""
        job = self.current
        return None if job is None or job.over else job.run

    def find_run(self, run: int) -> Run | None:
        """The run of that number."""
        return next((one for one in list_runs(self.catalog) if one.id == run), None)

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
        except (WorkspaceError, ValueError, OSError) as error:
            raise NotFoundError("the file of this frame is missing") from error
        if not self.workspace.holds(path) or not path.is_file():
            raise NotFoundError("the file of this frame is missing")
        return path

    @property
    def rev(self) -> int:
        """Of the state: what a start quotes."""
        with self._lock:
            return self._rev

    @property
    def last_findings(self) -> dict[str, Any] | None:
        """Of the last preflight, alone or before a sweep."""
        with self._lock:
            return self._findings

    @property
    def trouble(self) -> tuple[str, Fault] | None:
        """What somebody should be told of though nobody looks at the page, with a key of it."""
        with self._lock:
            fault = self._fault()
            if fault is None or self._job is None:
                return None
            question = self._board.open
            asked = question.id if question else ""
            return f"{self._job.id} {fault.code} {asked}", fault

    def _fault(self) -> Fault | None:
        now_s, job = self._clock(), self._job
        if job is None:
            return None
        text, action = sentence(self._situation(job))
        if job.over:
            told = job.state is State.FAILED or job.cause in (Cause.OPERATOR, Cause.KILLED)
            return Fault(str(job.cause), text, action) if told else None
        question = self._board.open
        if question is not None and question.kind == "operator":
            return Fault("question", text, action)
        if self._late(now_s):
            return Fault("pause_late", text, action)
        if self._state is State.NEEDS_OPERATOR and now_s - self._since_s > _GRACE_S:
            return Fault("question" if question else "light", text, action)
        return None

    def snapshot(self) -> dict[str, Any]:
        """Everything a page needs at first."""
        with self._lock:
            self._settle_time()
            job = self._job
            situation = self._situation(job)
            text, following = sentence(situation)
            running = job is not None and not job.over
            question = self._board.open
            left_s = None if self._left_s is None else round(self._left_s, 1)
            document: dict[str, Any] = {
                "boot": self.hub.boot,
                "seq": self.hub.seq,
                "rev": self._rev,
                "version": self._version,
                "now": utc_now().isoformat(timespec="milliseconds"),
                "simulated": bool(job and job.simulated),
                "state": self._state,
                "phase": self._phase if running else None,
                "sentence": text,
                "next": following,
                "job": None,
                "light": self._light and {"lux": None, "trouble": "", **self._light},
                "question": question and question.to_json(),
                "last_frame": self._last_frame,
                "batch": self._legs(),
                "unfinished": self._unfinished and str(self._unfinished),
                "alert": self.alarm and self.alarm.alert and self.alarm.alert.to_json(),
                "confirm": None,
                "can": self._can(),
                "rig": self._rig,
            }
            if job is not None:
                document["job"] = job.to_json() | {
                    "shot": self._shot,
                    "left_s": left_s if running else None,
                    "left_text": left_text(self._state, self._left_s) if running else "",
                }
            if job is not None and running:
                document["confirm"] = {"job": job.id, "text": confirmation(job)}
            return document

    def _situation(self, job: Job | None) -> Situation:
        return Situation(
            state=self._state,
            job=job,
            phase=self._phase,
            message=self._waiting or self._message,
            question=self._board.open,
            left_s=self._left_s,
            late=self._late(self._clock()),
            unfinished=str(self._unfinished) if self._unfinished else "",
        )

    def _late(self, now_s: float) -> bool:
        return self._pause_due_s is not None and now_s > self._pause_due_s

    def _can(self) -> dict[str, Any]:
        job, stopping = self._job, self._stop.asked
        running = job is not None and not job.over
        title = job.title if job else ""
        preflight = job is not None and job.spec.kind == "preflight"
        can: dict[str, Any] = {
            "start": f"{title} is not over" if running else True,
            "pause": True,
            "resume": True,
            "stop": "it stops already" if stopping else True,
            "answer": True if self._board.open else "nothing was asked",
        }
        if not running:
            can["pause"] = can["stop"] = "nothing runs"
            batch = job is not None and job.spec.kind == "batch" and job.state is not State.DONE
            if not self._unfinished and not batch:
                can["resume"] = "every sweep has all its frames"
        else:
            if stopping or preflight:
                can["pause"] = "it stops" if stopping else "a preflight does not pause"
            elif self._stop.held:
                can["pause"] = "it pauses already"
            if stopping or not self._stop.held:
                can["resume"] = "it stops" if stopping else "nothing is paused"
        return can

    def _legs(self) -> dict[str, Any] | None:
        if self._batch is None:
            return None
        name, standings, run = self._batch
        job = self._now()
        legs, left_s, at = [], 0.0, None
        for one in standings:
            leg = one.leg
            here = (leg.scene.name, leg.lighting.name) == (job.scene, job.lighting)
            done = job.done if here else one.planned - len(one.remaining)
            seconds = one.left_s(run.pace)
            state = "complete" if one.complete else "waiting"
            if here and not job.over and not one.complete:
                state, at = "current", leg.number
                seconds = seconds if self._left_s is None else self._left_s
            left_s += 0.0 if one.complete else seconds
            legs.append(
                {
                    "number": leg.number,
                    "scene": leg.scene.name,
                    "lighting": leg.lighting.name,
                    "state": state,
                    "done": done,
                    "planned": one.planned,
                    "left_s": 0.0 if one.complete else round(seconds, 1),
                }
            )
        return {
            "name": name,
            "at": at,
            "legs": legs,
            "left_s": round(left_s, 1),
            "left_text": f"{duration(left_s)} of shooting left",
        }

    # ---- changes

    def _turn(self, *, keep: bool = False) -> None:
        """Take over what changed: state, times, revision, book. Holds the lock."""
        self._settle_time()
        job = self._job
        if job is None:
            return
        state = job.state
        if not job.over:
            state = state_of(
                self._phase,
                stopping=self._stop.asked,
                held=self._stop.held,
                asking=self._board.open is not None,
                resuming=self._resuming,
                light=bool(self._waiting),
            )
        if state is not self._state or keep:
            self._rev += 1
            job = replace(job, state=state, rev=self._rev)
            if state is not self._state:
                self._since_s = self._clock()
            self._state = state
        self._job = job
        self._book.put(job, keep=keep)
        self.changed()

    def _settle_time(self) -> None:
        """Book the time since the last look as work or as pause."""
        now_s, job = self._clock(), self._job
        spent_s = now_s - getattr(self, "_timed_s", now_s)
        self._timed_s = now_s
        if job is None or job.over:
            return
        if self._state in WAITING:
            self._job = replace(job, paused_s=job.paused_s + spent_s)
        else:
            self._job = replace(job, work_s=job.work_s + spent_s)


def _shot(exposure: Exposure) -> dict[str, Any]:
    return {
        "shutter": spell_shutter(exposure.shutter_s),
        "shutter_s": exposure.shutter_s,
        "iso": exposure.iso,
        "f_number": exposure.f_number,
        "stem": exposure.stem,
    }
