"""The storing side: one thread that checks, judges and stores while the next shot is exposed.

All catalog writes of a running sweep are made here. The camera thread only hands over.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy.exc import OperationalError

from capture.analysis import analyze
from capture.frames import Exposed, GivenUp, Sweep, failed_frame, judged_frame
from capture.light_log import LightLog
from capture.provenance import load_stamper
from capture.verification import mismatches
from rig.errors import AskOperator
from schemas.acceptance import RULES
from schemas.capture_store import StoredReading, add_event, add_readings
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import add_frame
from schemas.jpeg import JpegError
from schemas.plan import Shot
from schemas.records import Frame, Outcome
from schemas.workspace import Workspace, write_atomically

_log = logging.getLogger(__name__)

#: Pictures waiting: a slow disk holds the camera back instead of filling the memory.
_WAITING = 2
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
    """Answer to `Exposed`: the shot has its row."""

    shot: Shot
    outcome: Outcome


@dataclass(frozen=True)
class Refused:
    """Answer to `Exposed`: not the picture that was asked for. Shoot again."""

    shot: Shot
    kind: str
    detail: str


class Storing:
    """The storing thread of a run.

    Notes
    -----
    A failure of disk or database ends the thread's work: what waits is dropped (a shot
    without a row is shot again), and `check` raises the failure.
    """

    def __init__(
        self, workspace: Workspace, catalog: Catalog, sweep: Sweep, light: LightLog
    ) -> None:
        self._workspace = workspace
        self._catalog = catalog
        self._sweep = sweep
        self._light = light
        self._stamp = load_stamper(catalog, sweep.run_id)
        self._jobs: queue.Queue[Exposed | GivenUp | Note | None] = queue.Queue(_WAITING)
        self._answers: queue.SimpleQueue[Stored | Refused] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._flushed_s = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="storing", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def hand_over(self, job: Exposed | GivenUp | Note) -> None:
        """Queue a job; waits while `_WAITING` are queued already. Raises as `check` does."""
        while True:
            self.check()
            try:
                return self._jobs.put(job, timeout=0.2)
            except queue.Full:
                continue

    def answer(self, wait_s: float = 0.0) -> Stored | Refused | None:
        """The next answer to an `Exposed`, in order; None if there is none in time.

        Raises as `check` does, once the answers given before the failure are read.
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
        """Finish what is queued and end the thread. Does not raise: ask `check`."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_FLUSH_S)
            except queue.Empty:
                self._guarded(self._store_light)
                continue
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

    def _do(self, job: Exposed | GivenUp | Note) -> None:
        match job:
            case Exposed():
                self._answers.put(self._keep(job))
            case GivenUp():
                add_frame(self._catalog, failed_frame(self._sweep, job))
            case Note():
                add_event(self._catalog, self._sweep.run_id, job.kind, job.setting, job.detail)
        if time.monotonic() - self._flushed_s >= _FLUSH_S:
            self._store_light()

    def _keep(self, exposed: Exposed) -> Stored | Refused:
        picture, sweep = exposed.picture, self._sweep
        try:
            seen = analyze(picture.data)
        except JpegError as error:
            return Refused(exposed.shot, "undecodable", str(error))
        wrong = mismatches(exposed.shot.exposure, seen.exif, sweep.offered)
        if wrong:
            return Refused(exposed.shot, "wrong_exif", "; ".join(wrong))
        outcome = Outcome(RULES[sweep.acceptance](seen.histogram))
        light = self._light.window(picture.commanded_monotonic_s, picture.ended_monotonic_s)
        frame = judged_frame(sweep, exposed, seen, outcome, light)
        if outcome is Outcome.ACCEPTED:
            frame = self._write(exposed.shot.exposure, frame, picture.data)
        add_frame(self._catalog, frame)
        return Stored(exposed.shot, outcome)

    def _write(self, exposure: Exposure, frame: Frame, data: bytes) -> Frame:
        reference = self._sweep.lighting.ev_reference
        path = self._workspace.frame_path(frame.scene, frame.lighting, exposure, reference)
        frame, stamped = self._stamp(frame, data)
        write_atomically(path, stamped)
        return replace(frame, path=self._workspace.relative(path))

    def _store_light(self) -> None:
        store_light(self._catalog, self._sweep.run_id, self._light)
        self._flushed_s = time.monotonic()


def store_light(catalog: Catalog, run_id: int, light: LightLog) -> None:
    """Store the readings and meter events that have gathered."""
    readings, happened = light.take()
    add_readings(catalog, run_id, (StoredReading(r.at, r.lux, r.uptime_ms) for r in readings))
    for kind, detail in happened:
        add_event(catalog, run_id, kind, "", detail)
