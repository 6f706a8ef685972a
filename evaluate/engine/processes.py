"""Workers as processes of this machine, each with its models. A share of a dead one is asked again.

Spawned, not forked: a fork would inherit open databases and threads' locks.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from evaluate.engine.chunks import ATTEMPTS, Chunk, answer_chunk, chunks, same_reports, settings_on
from evaluate.engine.work import Done, Report, Settings
from evaluate.engine.worker import Worker
from evaluate.errors import EvaluateError
from evaluate.zoo import ModelRow
from schemas.ask_store import FrameAsks

_context = get_context("spawn")


@dataclass
class _Hand:
    """One process, the settings it runs with, and the share it is at."""

    process: BaseProcess
    pipe: Connection
    settings: Settings
    share: Chunk | None = None


class Processes:
    """A crew of local processes.

    Parameters
    ----------
    devices : sequence of str
        One process for each.
    """

    def __init__(
        self, rows: Sequence[ModelRow], settings: Settings, devices: Sequence[str]
    ) -> None:
        self._rows = list(rows)
        self._hands = [self._hire(settings_on(settings, device)) for device in devices]
        try:
            self.reports = same_reports(rows, [_first(hand) for hand in self._hands])
        except BaseException:
            self.close()
            raise

    def work(
        self, frames: Iterable[FrameAsks], stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Done]:
        """Answers share by share, as they are finished."""
        fresh = chunks(frames)
        again: deque[Chunk] = deque()
        deaths: Counter[str] = Counter()
        while True:
            for hand in self._hands:
                if hand.share is None and not stop():
                    share = again.popleft() if again else next(fresh, None)
                    if share is not None:
                        hand.share = share
                        _send(hand, share)
            busy = [hand for hand in self._hands if hand.share is not None]
            if not busy:
                return
            ready = wait([hand.pipe for hand in busy], timeout=1)
            for hand in busy:
                if hand.pipe not in ready:
                    continue
                try:
                    done = hand.pipe.recv()
                except (EOFError, ConnectionResetError):
                    again.append(self._replace(hand, deaths))
                    continue
                hand.share = None
                yield done

    def close(self) -> None:
        """End the processes, whatever they are at: what they did not hand over is asked again."""
        for hand in self._hands:
            hand.pipe.close()
            hand.process.terminate()
        for hand in self._hands:
            hand.process.join(timeout=5)
            if hand.process.is_alive():
                hand.process.kill()
                hand.process.join()

    def _hire(self, settings: Settings) -> _Hand:
        ours, theirs = _context.Pipe()
        process = _context.Process(target=_serve, args=(theirs, self._rows, settings), daemon=True)
        process.start()
        # the only other end is the child's, so that its death shows here
        theirs.close()
        return _Hand(process, ours, settings)

    def _replace(self, hand: _Hand, deaths: Counter[str]) -> Chunk:
        """A new process in the place of a dead one; the share that it was at."""
        share = hand.share or []
        first = share[0].sha256
        deaths[first] += 1
        hand.process.join()
        if deaths[first] >= ATTEMPTS:
            raise EvaluateError(
                f"{ATTEMPTS} workers died (exit status {hand.process.exitcode}) over the frames "
                f"{share[0].path} to {share[-1].path}; with `--workers 1` its messages are seen"
            )
        new = self._hire(hand.settings)
        hand.process, hand.pipe, hand.share = new.process, new.pipe, None
        same_reports(self._rows, [self.reports, _first(hand)])
        return share


def _first(hand: _Hand) -> list[Report]:
    try:
        reports: list[Report] = hand.pipe.recv()
    except (EOFError, ConnectionResetError) as error:
        hand.process.join()
        raise EvaluateError(
            f"a worker died while it loaded its models (exit status {hand.process.exitcode}): out "
            "of memory? Try fewer `--workers`"
        ) from error
    return reports


def _send(hand: _Hand, share: Chunk) -> None:
    try:
        hand.pipe.send(share)
    except (BrokenPipeError, ConnectionResetError):
        return  # it died idle: reading from it says so


def _serve(pipe: Connection, rows: list[ModelRow], settings: Settings) -> None:
    """Body of a worker: load, then answer shares until the pipe closes."""
    # Ctrl-C reaches the whole group; the parent decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = Worker(rows, settings)
    try:
        pipe.send(worker.reports)
        while True:
            pipe.send(answer_chunk(worker, pipe.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone or done
