"""Ask a run to stop: from a signal, a daemon, or a test."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SLICE_S = 0.2
_STEERING = {signal.SIGUSR1, signal.SIGUSR2}


class StopRequest:
    """Requests that a run obeys after the frame at hand. Safe from any thread.

    To end (`ask`, for good), or to pause (`hold`, until `release`).
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._held = threading.Event()
        self._reason = ""

    def hold(self) -> None:
        """Have the run pause."""
        self._held.set()

    def release(self) -> None:
        """Have it go on."""
        self._held.clear()

    @property
    def held(self) -> bool:
        """Whether it shall pause, or has."""
        return self._held.is_set()

    def ask(self, reason: str) -> None:
        """Ask; the first reason stays."""
        if not self._asked.is_set():
            self._reason = reason
            self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether somebody asked."""
        return self._asked.is_set()

    @property
    def reason(self) -> str:
        """Why; empty while nobody asked."""
        return self._reason

    def wait(self, seconds: float) -> bool:
        """Sleep until asked, `seconds` at most; True if asked."""
        while seconds > 0 and not self._asked.wait(min(seconds, _SLICE_S)):
            seconds -= _SLICE_S
        return self.asked


@contextmanager
def stop_on_signals(stop: StopRequest, say: Callable[[str], None]) -> Iterator[None]:
    """Within: the first SIGINT, SIGTERM or SIGHUP asks `stop`, a second raises KeyboardInterrupt.

    SIGUSR1 has the run pause and SIGUSR2 has it go on; afterwards both are ignored, so that one
    that comes late kills nobody.

    Enter from the main thread, before other threads start. The signals are blocked in it, so
    that none lands in a C library and breaks its system call (libgphoto2 takes that for a lost
    camera); a thread that does nothing else takes them. Python runs the handler in the main
    thread all the same, between two of its instructions. A SIGHUP that `nohup` ignores stays
    ignored. `say` is called from the other thread.
    """
    texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def steer(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGUSR2:
            stop.release()
        else:
            stop.hold()
            texts.put("pausing after the frame at hand; `snaprig capture resume` goes on")

    def handle(number: int, _frame: FrameType | None) -> None:
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        if stop.asked:
            texts.put(f"{name}: stopping at once")
            raise KeyboardInterrupt
        stop.ask(name)
        texts.put(f"{name}: stopping after the frame at hand (again: at once)")

    def listen() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, taken | _STEERING)
        while (text := texts.get()) is not None:
            say(text)

    taken = {
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, taken | _STEERING)
    handlers = {number: signal.signal(number, handle) for number in taken}
    for number in _STEERING:
        signal.signal(number, steer)
    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        texts.put(None)
        listener.join()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in _STEERING:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
