"""One run at a time per workspace."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rig.errors import Abort
from schemas.records import utc_now
from schemas.workspace import Workspace


@contextmanager
def owned(workspace: Workspace) -> Iterator[None]:
    """Hold the workspace's devices and sweeps for this process.

    An flock, not a pid file: the kernel releases it when the process dies, however it dies.

    Raises
    ------
    Abort
        If another process holds it; says which, and since when.
    """
    with (workspace.root / "capture.lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise Abort(
                f"{holder} is capturing into this workspace.",
                "Wait until it ends, or stop it with Ctrl-C there.",
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} (since {utc_now():%Y-%m-%d %H:%M:%S} UTC)")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
