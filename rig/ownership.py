"""One run at a time per workspace."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rig.errors import Abort
from schemas.records import utc_now
from schemas.workspace import Workspace

#: Who only looks whether the lock is held has it for an instant: tried again so often.
_TRIES, _PAUSE_S = 5, 0.05
_STEERABLE = "\ntakes signals"


@dataclass(frozen=True)
class Holder:
    """Who holds a workspace.

    Attributes
    ----------
    text : str
        As it says itself.
    pid : int or None
    steerable : bool
        Whether it pauses on SIGUSR1, goes on on SIGUSR2 and stops on SIGINT.
    """

    text: str
    pid: int | None
    steerable: bool


def _lock_path(workspace: Workspace) -> Path:
    return workspace.root / "capture.lock"


def holder(workspace: Workspace) -> Holder | None:
    """Who holds the workspace now; None if nobody does."""
    try:
        file = _lock_path(workspace).open(encoding="utf-8")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            said = file.read()
        else:
            return None
    text, _, steerable = said.partition(_STEERABLE[:1])
    found = re.search(r"process (\d+)", text)
    return Holder(text or "another process", int(found[1]) if found else None, bool(steerable))


@contextmanager
def owned(workspace: Workspace, *, who: str = "", steerable: bool = False) -> Iterator[None]:
    """Hold the workspace's devices and sweeps for this process.

    An flock, not a pid file: the kernel releases it when the process dies, however it dies.

    Parameters
    ----------
    who : str
        What this process is, before its number.
    steerable : bool
        Whether it takes signals, see `Holder`.

    Raises
    ------
    Abort
        If another process holds it; says which, and since when.
    """
    with _lock_path(workspace).open("a+", encoding="utf-8") as file:
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if left == 0:
                    file.seek(0)
                    said = file.read().partition(_STEERABLE[:1])[0] or "another process"
                    raise Abort(
                        f"{said} is capturing into this workspace.",
                        "Wait until it ends, or end it with Ctrl-C there (a sweep: `snaprig "
                        "capture stop`).",
                    ) from error
                time.sleep(_PAUSE_S)
        file.truncate(0)
        since = f"(since {utc_now():%Y-%m-%d %H:%M:%S} UTC)"
        file.write(f"{who}{', ' if who else ''}process {os.getpid()} {since}")
        file.write(_STEERABLE if steerable else "")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
