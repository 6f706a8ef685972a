"""Ask a run to stop: from a signal, a daemon, or a test."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = {signal.SIGINT, signal.SIGTERM}
_SLICE_S = 0.2


class StopRequest:
    """A request that a run obeys after the frame at hand. Safe from any thread."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._reason = ""

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
    """Within: the first SIGINT or SIGTERM asks `stop`, a second interrupts the main thread.

    The signals are blocked in every thread and taken by one that waits for them: a signal that
    lands in a C library would break its system call (libgphoto2 takes that for a lost camera).
    Enter from the main thread, before other threads start. The second signal raises
    KeyboardInterrupt in the main thread.
    """
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            caught = signal.sigtimedwait(_SIGNALS, _SLICE_S)
            if caught is None:
                continue
            name = "Ctrl-C" if caught.si_signo == signal.SIGINT else "SIGTERM"
            if stop.asked:
                say("stopping at once")
                _thread.interrupt_main()
            else:
                stop.ask(name)
                say(f"{name}: stopping after the frame at hand (again: stop at once)")

    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    # A shell that starts us in the background sets SIGINT to ignored: a blocked and ignored
    # signal would never be seen.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        over.set()
        listener.join()
        signal.signal(signal.SIGINT, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
