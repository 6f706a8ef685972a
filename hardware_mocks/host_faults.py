"""Faults of the computer that runs the sweep. The dark room brings them about beside it."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

from hardware_mocks.faults import FaultRegistry, Parameters, Room
from hardware_mocks.occasions import ShutterOpens

HOST = FaultRegistry("host")
#: Filling more than this would not be a test any more but harm.
_MOST_FREE_BYTES = 256 << 20
BALLAST = "ballast"


@HOST.fault(ShutterOpens, report="indi-allsky#527", keys={"folder": str, "for_s": 0.0})
def disk_full(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The (small) disk with `folder` is filled by a file `ballast`, for `for_s` or for good."""
    ballast = Path(parameters["folder"]) / BALLAST
    fill(ballast)
    if parameters["for_s"] > 0:
        room.later(parameters["for_s"], lambda: ballast.unlink(missing_ok=True))
    return True


@HOST.fault(ShutterOpens, report="minet#867", keys={"database": str, "for_s": 3.0})
def database_locked(_room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """Another program holds the write lock of the SQLite file `database` for `for_s` seconds."""
    locked = threading.Event()
    threading.Thread(
        target=_hold, args=(parameters["database"], parameters["for_s"], locked), daemon=True
    ).start()
    locked.wait(10)
    return True


def fill(ballast: Path) -> None:
    """Write a file that leaves no room on its disk.

    Raises
    ------
    ValueError
        If more than 256 MB are free there: that is nobody's test disk.
    """
    space = os.statvfs(ballast.parent)
    if (free := space.f_bavail * space.f_frsize) > _MOST_FREE_BYTES:
        raise ValueError(f"{ballast.parent} has {free >> 20} MB free: too much to fill for a test")
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue  # no room for a piece of this size


def _hold(database: str, for_s: float, locked: threading.Event) -> None:
    connection = sqlite3.connect(database, timeout=10, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        locked.set()
        threading.Event().wait(for_s)
        connection.execute("ROLLBACK")
    finally:
        locked.set()
        connection.close()
