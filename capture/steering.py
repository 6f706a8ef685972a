"""Steer the process that holds a workspace: one that shoots without a daemon takes signals."""

from __future__ import annotations

import os
import signal

from rig.errors import Abort
from rig.ownership import Holder, holder
from schemas.workspace import Workspace

PAUSE, GO_ON, STOP = signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT


def require_steerable(workspace: Workspace, verb: str) -> Holder:
    """Who is to be told.

    Raises
    ------
    Abort
        If nothing runs, or what holds the workspace takes no signals.
    """
    owner = holder(workspace)
    if owner is None:
        raise Abort(
            f"nothing runs that could {verb}", "`snaprig capture status` says what there is"
        )
    if not owner.steerable or owner.pid is None:
        raise Abort(f"{owner.text} holds the workspace and does not {verb}", "wait until it ends")
    return owner


def tell(workspace: Workspace, number: signal.Signals, verb: str) -> Holder:
    """Send a signal to the holder; to that very process and to no other one.

    Its descriptor is had first and the lock looked at again: a number that the system gave to
    another process meanwhile is not signalled. Raises as `require_steerable` does.
    """
    owner = require_steerable(workspace, verb)
    if owner.pid is None:
        raise Abort(f"nothing runs that could {verb}")
    try:
        descriptor = os.pidfd_open(owner.pid)
    except ProcessLookupError:
        raise Abort(f"nothing runs that could {verb}") from None
    try:
        if holder(workspace) != owner:
            raise Abort("it ended at this very moment", "`snaprig capture status`")
        signal.pidfd_send_signal(descriptor, number)
    except PermissionError as error:
        raise Abort(f"{owner.text} belongs to another user", "tell it as that user") from error
    finally:
        os.close(descriptor)
    return owner
