"""The one clock of a session: seconds that only go forward, shared by all processes.

On Linux `time.perf_counter` reads CLOCK_MONOTONIC, so that a key stamped here can be held
against the moment at which another process of this machine sent it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


def now_s() -> float:
    """Seconds of the session's clock."""
    return time.perf_counter()


@contextmanager
def undisturbed() -> Iterator[None]:
    """No garbage collection inside; all of it before."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def settled() -> Iterator[None]:
    """What exists now is not searched by the collections inside: they take a tenth of the time."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
