"""Run `snaprig` and kill the process, as by SIGKILL from outside, at one step of a shot.

    python tests/capture/kill_at.py BOUNDARY N snaprig-arguments...

`N` counts how often the step was reached. The steps of a shot, in order: see `BOUNDARIES`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import capture.storing
import rig.gphoto_camera
from rig.cli import main
from rig.gphoto_session import Session
from schemas.records import Frame, Outcome

#: After the body was told; after the button; with the bytes in memory; before they are written;
#: with the file and without its row; with both.
BOUNDARIES = ("applied", "fired", "downloaded", "unwritten", "rowless", "stored")


class Killer:
    """Ends the process when a step is reached for the `left`-th time."""

    def __init__(self, left: int) -> None:
        self._left = left

    def reached(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def after(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """The step, and then its boundary."""

        def stepped(*arguments: Any, **keys: Any) -> Any:
            result = step(*arguments, **keys)
            self.reached()
            return result

        return stepped

    def before(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Its boundary, and then the step."""

        def stepped(*arguments: Any, **keys: Any) -> Any:
            self.reached()
            return step(*arguments, **keys)

        return stepped

    def accepted(self, step: Callable[..., Any], *, first: bool) -> Callable[..., Any]:
        """`add_frame` with the boundary before or after it, for frames that have a file."""

        def stepped(catalog: Any, frame: Frame) -> Any:
            has_file = frame.outcome is Outcome.ACCEPTED
            if has_file and first:
                self.reached()
            result = step(catalog, frame)
            if has_file and not first:
                self.reached()
            return result

        return stepped


def arm(boundary: str, killer: Killer) -> None:
    """Put the killer at one boundary of the engine and its drivers."""
    camera, storing = rig.gphoto_camera.GphotoCamera, capture.storing
    match boundary:
        case "applied":
            camera.apply = killer.after(camera.apply)  # type: ignore[method-assign]
        case "fired":
            camera._fire = killer.after(camera._fire)  # type: ignore[method-assign]
        case "downloaded":
            Session.download = killer.after(Session.download)  # type: ignore[method-assign]
        case "unwritten":
            storing.write_atomically = killer.before(storing.write_atomically)
        case "rowless":
            storing.add_frame = killer.accepted(storing.add_frame, first=True)
        case "stored":
            storing.add_frame = killer.accepted(storing.add_frame, first=False)
        case _:
            sys.exit(f"no boundary {boundary}: one of {', '.join(BOUNDARIES)}")


if __name__ == "__main__":
    arm(sys.argv[1], Killer(int(sys.argv[2])))
    main(sys.argv[3:])
