"""A program that answers in JSON lines: started, spoken to, watched, ended."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import IO, Any

_log = logging.getLogger(__name__)

#: A line may be this long, in bytes: thousands of boxes fit.
_MAX_LINE = 64 * 2**20

#: Lines of its standard error that a message of its end repeats.
_TAIL = 5

#: What a program gets to end by itself once its input is closed.
_GRACE_S = 2.0


class ProgramFailedError(Exception):
    """The program ended, or let its time pass. What it was asked may be asked again."""


class Program:
    """One run of the program.

    Its standard output holds JSON lines; other lines there are logged and passed over, as many
    libraries print. Its standard error goes to the log line by line.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start it, in a session of its own: Ctrl-C reaches snaprig alone.

        Raises
        ------
        OSError
            If it cannot be started.
        """
        self.name = os.path.basename(command[0])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._said: deque[str] = deque(maxlen=_TAIL)
        # none of the threads may hold this object: its end is what ends the program
        process, lines = self._process, self._lines
        self._readers = [
            _thread(_read_answers, process.stdout, lines, self.name),
            _thread(_read_errors, process.stderr, self._said, self.name),
        ]
        self._writer = _thread(_write, process.stdin, self._requests)
        self._finalizer = weakref.finalize(self, _end, process, self._requests)

    def send(self, requests: Iterable[dict[str, Any]]) -> None:
        """Queue requests for it; never waits for a program that does not read."""
        for request in requests:
            self._requests.put(json.dumps(request).encode() + b"\n")

    def receive(self, within_s: float) -> dict[str, Any]:
        """Its next object.

        Raises
        ------
        ProgramFailedError
            If it ended, or nothing came within that time.
        """
        deadline = monotonic() + within_s
        try:
            found = self._lines.get(timeout=max(0.0, deadline - monotonic()))
        except queue.Empty:
            raise ProgramFailedError(
                f"{self.name} gave no answer within {within_s:g} s{self._last_words()}"
            ) from None
        if found is None:
            code = self._process.wait()
            self._readers[1].join(1)
            how = f"exit status {code}" if code >= 0 else f"signal {-code}"
            raise ProgramFailedError(f"{self.name} ended with {how}{self._last_words()}")
        return found

    def close(self, *, patient: bool = True) -> None:
        """End it with all that it started: its input closes, and soon after it is killed."""
        if not patient:
            _kill(self._process)
        self._finalizer()
        for thread in (*self._readers, self._writer):
            thread.join(1)

    def _last_words(self) -> str:
        return f": {' | '.join(self._said)}" if self._said else ""


def _thread(target: Any, *arguments: Any) -> threading.Thread:  # noqa: ANN401 - a function
    thread = threading.Thread(target=target, args=arguments, daemon=True, name="external")
    thread.start()
    return thread


def _read_answers(
    stream: IO[bytes], lines: queue.SimpleQueue[dict[str, Any] | None], name: str
) -> None:
    with stream:
        while line := stream.readline(_MAX_LINE):
            found = _object(line)
            if found is not None:
                lines.put(found)
            elif line.strip():
                text = line[:200].decode(errors="replace").rstrip()
                _log.warning("%s printed what is no JSON object: %s", name, text)
    lines.put(None)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_errors(stream: IO[bytes], said: deque[str], name: str) -> None:
    with stream:
        for line in stream:
            text = line[:1000].decode(errors="replace").rstrip()
            if text:
                said.append(text[:200])
                _log.info("%s: %s", name, text)


def _write(stream: IO[bytes], requests: queue.SimpleQueue[bytes | None]) -> None:
    # a program that ended shows itself to the reader; what was meant for it is asked again
    with contextlib.suppress(BrokenPipeError, ConnectionResetError), stream:
        while (request := requests.get()) is not None:
            stream.write(request)
            stream.flush()


def _end(process: subprocess.Popen[bytes], requests: queue.SimpleQueue[bytes | None]) -> None:
    requests.put(None)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    _kill(process)
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
