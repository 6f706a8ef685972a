"""The job at hand, as the engine tells of it: what every snapshot is made of.

The engine's thread writes here (`capture.daemon.work.Stage`), anybody reads. Nothing under the
lock waits for anything but, when a job begins, turns or ends, its line in the book.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from capture.batch import Standing
from capture.batch_run import BatchRun
from capture.daemon.events import Hub
from capture.daemon.jobs import Cause, Job, JobBook, State
from capture.daemon.questions import Question, QuestionBoard
from capture.daemon.status import WAITING, Situation, state_of
from capture.daemon.work import JobEnd
from capture.light_log import LightLog
from capture.states import RunState, ShotEnded, Snapshot
from capture.stopping import StopRequest
from capture.sweep import simulated
from capture.unfinished import Unfinished
from rig.bench import Bench
from rig.light_guard import Band
from rig.preflight import Finding
from schemas.catalog import Catalog
from schemas.exposure import Exposure, spell_shutter
from schemas.frame_store import FINAL
from schemas.history_store import latest_run
from schemas.plan import Lighting, SweepPlan
from schemas.records import utc_now


class Live:
    """One job's live state.

    Parameters
    ----------
    catalog : Catalog
    hub : Hub
        Gets the events.
    book : JobBook
    clock : callable
        Monotonic, in seconds.

    Attributes
    ----------
    lock : RLock
        Held by whoever reads or writes more than one thing.
    board : QuestionBoard
    changed : callable
        Called when the snapshot is another one; must return at once.
    job : Job or None
        The one at hand, or the last one.
    state, phase
        Of the daemon; of the engine.
    rev : int
        Counts what a person must see before the next start.
    turns : int
        Counts every change: of two snapshots the one with more is the newer one.
    stop : StopRequest
        Of the job at hand.
    since_s : float
        When the state became this one.
    pause_due_s : float or None
        A pause that has not come by then is late.
    """

    def __init__(
        self,
        catalog: Catalog,
        hub: Hub,
        book: JobBook,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lock = threading.RLock()
        self.changed: Callable[[], None] = lambda: None
        self.clock = clock
        self.board = QuestionBoard(self._asked, self.beat)
        self.job: Job | None = None
        self.state = State.IDLE
        self.phase = RunState.PREPARING
        self.rev = 1
        self.turns = 0
        self.stop = StopRequest()
        self.resuming = False
        self.pause_due_s: float | None = None
        self.message = ""
        self.waits_for = ""
        self.shot: dict[str, Any] | None = None
        self.left_s: float | None = None
        self.shots_per_min: float | None = None
        self.light: dict[str, Any] | None = None
        self.batch: tuple[str, list[Standing], BatchRun] | None = None
        self.last_frame: dict[str, Any] | None = None
        self.rig: dict[str, str] | None = None
        self.found: dict[str, Any] | None = None
        self.unfinished: Unfinished | None = None
        self.since_s = self.beat_s = self._timed_s = clock()
        self._catalog = catalog
        self._hub = hub
        self._book = book

    # ---- a job's life

    def take(self, job: Job) -> None:
        """A job begins; the caller holds the lock."""
        self.settle_time()
        self.stop = StopRequest()
        self.phase, self.message, self.waits_for = RunState.PREPARING, "", ""
        self.resuming, self.pause_due_s = False, None
        self.shot = self.left_s = self.shots_per_min = self.light = self.batch = None
        self.job = job
        self.turn(keep=True)

    def come_back(self, job: Job) -> None:
        """A job of an earlier process, which is over."""
        self.job, self.state = job, job.state
        self._book.put(job, keep=True)

    def end(self, end: JobEnd, unfinished: Unfinished | None, *, closing: bool) -> None:
        """The job is over."""
        with self.lock:
            self.settle_time()
            cause = end.cause
            if cause is Cause.STOPPED and closing:
                cause = Cause.DAEMON_ENDED
            self.unfinished = unfinished
            self.waits_for = self.message = ""
            self.shot = self.light = None
            self.job = job = replace(
                self.at_hand(),
                state=end.state,
                cause=cause,
                fault=end.fault,
                summary=end.summary,
                ended_at=utc_now(),
            )
            self.turn(keep=True)
        self._hub.publish("history", {"job": job.id, "run": job.run})

    def at_hand(self) -> Job:
        """The job; RuntimeError if there is none, which is a defect."""
        if self.job is None:
            raise RuntimeError("there is no job")
        return self.job

    def beat(self) -> None:
        """The engine's thread lives."""
        self.beat_s = self.clock()

    # ---- the stage

    def sweep(self, scene: str, lighting: Lighting, plan: SweepPlan) -> None:
        """A sweep begins."""
        band = Band.of(lighting)
        with self.lock:
            self.light = {"low": band.low, "high": band.high, "target": lighting.lux}
            self.phase, self.shot = RunState.PREPARING, None
            self.left_s = self.shots_per_min = None
            self.job = replace(
                self.at_hand(),
                scene=scene,
                lighting=lighting.name,
                plan=plan,
                run=None,
                planned=len(plan),
                done=0,
                counts={},
            )
            self.turn(keep=True)

    def devices(self, bench: Bench) -> None:
        """These answered."""
        with self.lock:
            self.rig = {"camera": bench.camera_info.model, "meter": bench.meter_info.model}
            self.job = replace(self.at_hand(), simulated=simulated(bench))
            self.turn()

    def watch(self, snapshot: Snapshot) -> None:
        """A step of the engine."""
        self.beat()
        job = self.at_hand()
        begun = snapshot.state is not RunState.PREPARING
        run = job.run
        if run is None and begun:
            run = latest_run(self._catalog, job.scene, job.lighting)
        with self.lock:
            self._follow(snapshot)
            counts = {str(outcome): n for outcome, n in snapshot.counts.items()}
            done = snapshot.finished
            if not begun:  # rows of shots that will be shot again are no progress yet
                done = sum(n for outcome, n in snapshot.counts.items() if outcome in FINAL)
            self.job = replace(
                self.at_hand(), run=run, planned=snapshot.planned, done=done, counts=counts
            )
            if snapshot.ended is not None:
                self.last_frame = _ended(snapshot.ended)
            self.turn()
        if snapshot.ended is not None:
            where = {"job": job.id, "scene": job.scene, "lighting": job.lighting}
            self._hub.publish("frame", _ended(snapshot.ended) | where)
        if snapshot.message:
            self.note(snapshot.message)

    def _follow(self, snapshot: Snapshot) -> None:
        self.phase = snapshot.state
        if snapshot.state is RunState.RUNNING:
            self.resuming = False
        if snapshot.state is RunState.PAUSED:
            self.pause_due_s = None
        if snapshot.message or snapshot.state is RunState.RUNNING:
            self.message = snapshot.message.removeprefix("suspended: ")
        if snapshot.shot is not None:
            self.shot = _shot(snapshot.shot)
        if snapshot.left_s is not None:
            self.left_s, self.shots_per_min = snapshot.left_s, snapshot.shots_per_min

    def note(self, text: str) -> None:
        """Something for a person."""
        self._hub.publish("note", {"at": utc_now().isoformat(timespec="seconds"), "text": text})

    def waiting(self, text: str) -> None:
        """Waits for the light; empty: not any more."""
        self.beat()
        with self.lock:
            if text != self.waits_for:
                self.waits_for = text.removeprefix("waiting for the light: ")
                self.turn()

    def seen(self, light: LightLog) -> None:
        """The meter was read."""
        lux, trouble = light.latest_lux, light.trouble
        with self.lock:
            if self.light is not None:
                self.turns += 1
                self.light = self.light | {"lux": lux, "trouble": trouble}
        self._hub.publish("light", [round(utc_now().timestamp(), 2), lux])

    def findings(self, findings: Sequence[Finding]) -> None:
        """What a preflight found."""
        document = {
            "at": utc_now().isoformat(timespec="seconds"),
            "findings": [finding.to_json() for finding in findings],
        }
        with self.lock:
            self.found = document
        self._hub.publish("preflight", document)

    def itinerary(self, name: str, run: BatchRun, after: int) -> None:
        """The sweeps of a batch; the one behind number `after` that lacks something is next."""
        standings = run.standings()
        left = (one for one in standings if one.leg.number > after and not one.complete)
        following = next(left, None)
        with self.lock:
            self.batch = (name, standings, run)
            if following is not None:
                leg = following.leg
                self.phase, self.shot = RunState.PREPARING, None
                self.left_s = self.shots_per_min = self.light = None
                self.job = replace(
                    self.at_hand(),
                    scene=leg.scene.name,
                    lighting=leg.lighting.name,
                    plan=run.plan,
                    run=None,
                    planned=following.planned,
                    done=following.planned - len(following.remaining),
                    counts={},
                )
            self.turn()

    def _asked(self, question: Question | None) -> None:
        self.beat()
        with self.lock:
            self.turn()
        self._hub.publish("question", question.to_json() if question else None)

    # ---- what follows from it

    @property
    def running(self) -> bool:
        """Whether a job is at hand."""
        return self.job is not None and not self.job.over

    @property
    def late(self) -> bool:
        """Whether a pause takes longer than it can."""
        due_s = self.pause_due_s
        return self.state is State.PAUSING and due_s is not None and self.clock() > due_s

    @property
    def situation(self) -> Situation:
        """What the sentence is made of."""
        return Situation(
            state=self.state,
            job=self.job,
            phase=self.phase,
            message=self.waits_for or self.message,
            question=self.board.open,
            left_s=self.left_s,
            late=self.late,
            unfinished=str(self.unfinished) if self.unfinished else "",
        )

    def turn(self, *, keep: bool = False) -> None:
        """Take over what changed: state, times, revision, book. The caller holds the lock."""
        self.settle_time()
        self.turns += 1
        job = self.job
        if job is None:
            return
        state = job.state
        if not job.over:
            state = state_of(
                self.phase,
                stopping=self.stop.asked,
                held=self.stop.held,
                asking=self.board.open is not None,
                resuming=self.resuming,
                light=bool(self.waits_for),
                batch=self.batch is not None,
            )
        if state is not self.state or keep:
            self.rev += 1
            job = replace(job, state=state, rev=self.rev)
        if state is not self.state:
            self.state, self.since_s = state, self.clock()
        self.job = job
        self._book.put(job, keep=keep)
        self.changed()

    def settle_time(self) -> None:
        """Book the time since the last look as work or as pause. The caller holds the lock."""
        now_s, job = self.clock(), self.job
        spent_s, self._timed_s = now_s - self._timed_s, now_s
        if job is None or job.over:
            return
        if self.state in WAITING:
            self.job = replace(job, paused_s=job.paused_s + spent_s)
        else:
            self.job = replace(job, work_s=job.work_s + spent_s)


def _ended(ended: ShotEnded) -> dict[str, Any]:
    return {"id": ended.frame, "stem": ended.exposure.stem, "outcome": str(ended.outcome)}


def _shot(exposure: Exposure) -> dict[str, Any]:
    return {
        "shutter": spell_shutter(exposure.shutter_s),
        "shutter_s": exposure.shutter_s,
        "iso": exposure.iso,
        "f_number": exposure.f_number,
        "stem": exposure.stem,
    }
