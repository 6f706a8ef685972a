"""Ask the person at the terminal to do something, and go on when it is done."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import TextIO, TypeVar

from capture.stopping import StopRequest
from rig.errors import Abort, AskOperator, RigError

#: Between two looks whether somebody asked to stop.
_SLICE_S = 0.2

Ask = Callable[[AskOperator], bool]

_T = TypeVar("_T")


def asker(
    stop: StopRequest, say: Callable[[str], None], answers: TextIO | None = None
) -> Ask | None:
    """A function that waits for Enter; None where nobody sits at a terminal.

    Its answer is False for ``q``, for the end of the input, and after a request to stop.

    Parameters
    ----------
    stop : StopRequest
        A signal does not end a read of the terminal: it is looked at in between.
    say : callable
        Shows a line.
    answers : file or None
        Where the answers come from; None for standard input, if that is a terminal.
    """
    source = answers
    if source is None:
        # Python has no standard input at all where a service manager gives none.
        if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
            return None
        source = sys.stdin

    def ask(error: AskOperator) -> bool:
        say(f"WAITING FOR YOU: {error}")
        if error.action:
            say(f"  {error.action}")
        say("  press Enter when done, q and Enter to stop")
        while not stop.asked:
            if has_input(source, _SLICE_S):
                answer = source.readline()
                return answer != "" and answer.strip().lower() != "q"
        return False

    return ask


def has_input(source: TextIO, wait_s: float) -> bool:
    """Whether a line, or the end, can be read from a terminal or pipe within a time."""
    # not select: it refuses the 1,025th open file of a process
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(1000 * wait_s))


def helped(work: Callable[[], _T], ask: Ask | None, stop: StopRequest) -> _T:
    """Do it; what a person can put right is asked for, and it is tried again.

    Raises
    ------
    RigError
        What stood in the way, where nobody can be asked or the answer is no; an `Abort` at once.
    """
    while True:
        try:
            return work()
        except Abort:
            raise
        except RigError as error:
            if ask is None or stop.asked:
                raise
            asked = AskOperator(str(error), error.action or "put it right")
            if not ask(asked):
                raise
