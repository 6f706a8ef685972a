"""The storing side: one thread that checks, judges and stores while the next shot is exposed.

All catalog writes of a running sweep are made here. The camera thread only hands over.

A picture goes through in two steps. `_check` looks at what it says of itself, at once. Then it
waits, in memory, until the light log has a sample from after its window (`rig.light_guard`), and
`_keep` stores it with its light, or it is answered `Unproven`. What waits when the process dies
has no row and is shot again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from sqlalchemy.exc import OperationalError

from capture.analysis import Analysis
from capture.black_rows import WITHDRAWN
from capture.examiner import Examiner
from capture.frames import (
    Exposed,
    GivenUp,
    Skipped,
    Sweep,
    failed_frame,
    judged_frame,
    skipped_frame,
)
from capture.light_log import LightLog
from capture.provenance import load_stamper
from capture.truth import Fault
from rig.errors import AskOperator
from rig.light_guard import Judgement
from schemas.acceptance import RULES, Extremes
from schemas.capture_store import StoredReading, add_event, add_readings
from schemas.catalog import Catalog
from schemas.frame_store import add_frame, withdraw_frame
from schemas.plan import Shot
from schemas.records import Frame, Outcome
from schemas.workspace import Workspace, write_atomically

_log = logging.getLogger(__name__)

#: Pictures in hand, queued or waiting for their light, that hold the camera back. Without an
#: exposure time ten or so wait for the sample that closes their windows.
_MOST_PICTURES, _MOST_BYTES = 32, 64 << 20
#: Light readings are stored at least this often while the camera exposes.
_FLUSH_S = 2.0


@dataclass(frozen=True)
class Note:
    """An event for the catalog."""

    kind: str
    setting: str
    detail: str


@dataclass(frozen=True)
class Stored:
    """Answer to `Exposed`: the shot has its row, whose id is `frame`."""

    shot: Shot
    outcome: Outcome
    luma: Extremes
    frame: int


@dataclass(frozen=True)
class Refused:
    """Answer to `Exposed`: not the picture that was asked for. Shoot again.

    `commanded_s` is when it was commanded, by the monotonic clock.
    """

    shot: Shot
    kind: str
    detail: str
    commanded_s: float


@dataclass(frozen=True)
class Unproven:
    """Answer to `Exposed`: a picture of a light that was wrong or not measured. Shoot again."""

    shot: Shot
    detail: str


@dataclass(frozen=True)
class Withdrawn:
    """No answer: the row of a shot that had ended was taken back. Shoot it again.

    `earlier`: an earlier run had ended it.
    """

    shot: Shot
    attempt: int
    detail: str
    earlier: bool


Answer = Stored | Refused | Unproven | Withdrawn


@dataclass(frozen=True)
class Checked:
    """A picture that is what was asked for, as far as it says itself."""

    exposed: Exposed
    seen: Analysis


class Storing:
    """The storing thread of a run.

    Notes
    -----
    A failure of disk or database ends the thread's work: what waits is dropped (a shot
    without a row is shot again), and `check` raises the failure.
    """

    def __init__(
        self,
        workspace: Workspace,
        catalog: Catalog,
        sweep: Sweep,
        light: LightLog,
        examiner: Examiner,
    ) -> None:
        self._workspace = workspace
        self._catalog = catalog
        self._sweep = sweep
        self._light = light
        self._examiner = examiner
        self._stamp = load_stamper(catalog, sweep.run_id)
        # None ends the thread, "look" has it look at the light again.
        self._jobs: queue.SimpleQueue[
            Exposed | GivenUp | Skipped | Note | Literal["look"] | None
        ] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._waiting: deque[Checked] = deque()
        self._counting = threading.Lock()
        self._pictures = self._bytes = 0
        self._failure: BaseException | None = None
        self._flushed_s = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="storing", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._light.on_poll = lambda: self._jobs.put("look")
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether so many pictures are in hand that the next shot should wait."""
        with self._counting:
            return self._pictures >= _MOST_PICTURES or self._bytes >= _MOST_BYTES

    def hand_over(self, job: Exposed | GivenUp | Skipped | Note) -> None:
        """Queue a job; never blocks. Raises as `check` does."""
        self.check()
        if isinstance(job, Exposed):
            self._count(1, job)
        self._jobs.put(job)

    def answer(self, wait_s: float = 0.0) -> Answer | None:
        """The next answer to an `Exposed`; None if there is none in time.

        Answers come in the order of the pictures, but that a refusal may overtake what waits
        for its light. `Withdrawn` comes before the answer to the picture that contradicts. Raises
        as `check` does, once the answers before the failure are read.
        """
        try:
            return self._answers.get(timeout=wait_s) if wait_s else self._answers.get_nowait()
        except queue.Empty:
            self.check()
            return None

    def check(self) -> None:
        """Raise what broke the storing thread, if anything did.

        Raises
        ------
        AskOperator
            If the disk or the database refused to write.
        """
        error = self._failure
        if isinstance(error, OSError | OperationalError):
            cause = error.orig if isinstance(error, OperationalError) else error
            raise AskOperator(
                f"a frame could not be stored: {cause}",
                "make room on the disk and the workspace writable, then `snaprig capture resume`",
            ) from error
        if error is not None:
            raise error

    def close(self) -> None:
        """Finish what is queued and end the thread. Does not raise: ask `check`.

        A picture whose light is not proven yet is dropped: wait for the answers first.
        """
        self._light.on_poll = lambda: None
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_FLUSH_S)
            except queue.Empty:
                job = "look"
            if job is None:
                self._guarded(self._store_light)
                return
            self._guarded(partial(self._do, job))

    def _guarded(self, work: Callable[[], None]) -> None:
        if self._failure is not None:
            return
        try:
            work()
        except BaseException as error:  # handed to whoever asks `check`
            _log.debug("storing stopped", exc_info=True)
            self._failure = error

    def _do(self, job: Exposed | GivenUp | Skipped | Note | Literal["look"]) -> None:
        match job:
            case Exposed():
                checked = self._check(job)
                if isinstance(checked, Checked):
                    self._waiting.append(checked)
                else:
                    self._reply(job, checked)
            case GivenUp():
                add_frame(self._catalog, failed_frame(self._sweep, job))
            case Skipped():
                add_frame(self._catalog, skipped_frame(self._sweep, job))
            case Note():
                add_event(self._catalog, self._sweep.run_id, job.kind, job.setting, job.detail)
        self._settle()
        if time.monotonic() - self._flushed_s >= _FLUSH_S:
            self._store_light()

    def _settle(self) -> None:
        """Store or refuse the pictures that wait, as far as their light is known."""
        while self._waiting:
            exposed = self._waiting[0].exposed
            picture = exposed.picture
            verdict = self._light.judge(picture.commanded_monotonic_s, picture.ended_monotonic_s)
            match verdict.judgement:
                case Judgement.PENDING:
                    return  # those behind it were taken later
                case Judgement.PROVEN:
                    self._reply(exposed, self._keep(self._waiting.popleft()))
                case Judgement.REFUSED:
                    self._waiting.popleft()
                    self._reply(exposed, Unproven(exposed.shot, verdict.reason))

    def _reply(self, exposed: Exposed, answer: Answer) -> None:
        self._count(-1, exposed)
        self._answers.put(answer)

    def _count(self, pictures: int, exposed: Exposed) -> None:
        with self._counting:
            self._pictures += pictures
            self._bytes += pictures * len(exposed.picture.data)

    def _check(self, exposed: Exposed) -> Checked | Refused:
        """Is it the picture that was asked for? All that can be told without the light."""
        found = self._examiner.look(exposed)
        self._note_what_was_noticed()
        return _refused(exposed, found) if isinstance(found, Fault) else Checked(exposed, found)

    def _keep(self, checked: Checked) -> Stored | Refused:
        """Judge and store a picture whose light is proven."""
        exposed, seen, sweep = checked.exposed, checked.seen, self._sweep
        picture = exposed.picture
        light = self._light.window(picture.commanded_monotonic_s, picture.ended_monotonic_s)
        fault = self._examiner.weigh(exposed, seen, light)
        self._note_what_was_noticed()
        self._withdraw_contradicted(exposed.setting)
        if fault is not None:
            return _refused(exposed, fault)
        outcome = Outcome.ACCEPTED
        if exposed.reference is None:
            outcome = Outcome(RULES[sweep.acceptance](seen.histogram))
        frame = judged_frame(sweep, exposed, seen, outcome, light)
        if outcome is Outcome.ACCEPTED:
            frame = self._write(exposed, frame)
        frame_id = add_frame(self._catalog, frame)
        if outcome is Outcome.REJECTED_BLACK:
            self._examiner.note_black(exposed, seen, frame_id, light)
        return Stored(exposed.shot, outcome, seen.luma, frame_id)

    def _withdraw_contradicted(self, by: str) -> None:
        """Take back the rows of black pictures that the latest one makes doubtful."""
        for row in self._examiner.contradicted():
            detail = f"black, which {by} contradicts: a dead shutter? To be shot again"
            withdraw_frame(self._catalog, row.frame, detail)
            setting = row.shot.exposure.stem
            add_event(self._catalog, self._sweep.run_id, WITHDRAWN, setting, detail)
            self._answers.put(Withdrawn(row.shot, row.attempt, detail, row.earlier))

    def _write(self, exposed: Exposed, frame: Frame) -> Frame:
        where = (frame.scene, frame.lighting)
        if exposed.reference is None:
            ev_reference = self._sweep.lighting.ev_reference
            path = self._workspace.frame_path(*where, exposed.shot.exposure, ev_reference)
        else:
            path = self._workspace.reference_path(*where, exposed.reference)
        frame, stamped = self._stamp(frame, exposed.picture.data)
        write_atomically(path, stamped)
        return replace(frame, path=self._workspace.relative(path))

    def _note_what_was_noticed(self) -> None:
        for event in self._examiner.events():
            add_event(self._catalog, self._sweep.run_id, *event)

    def _store_light(self) -> None:
        store_light(self._catalog, self._sweep.run_id, self._light)
        self._flushed_s = time.monotonic()


def _refused(exposed: Exposed, fault: Fault) -> Refused:
    return Refused(exposed.shot, *fault, exposed.picture.commanded_monotonic_s)


def store_light(catalog: Catalog, run_id: int, light: LightLog) -> None:
    """Store the readings and meter events that have gathered."""
    readings, happened = light.take()
    add_readings(catalog, run_id, (StoredReading(r.at, r.lux, r.uptime_ms) for r in readings))
    for kind, detail in happened:
        add_event(catalog, run_id, kind, "", detail)
