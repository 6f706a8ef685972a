r"""States of the body, and what leads from one to the next.

::

                press half                press full
        IDLE ---------------> HALF_PRESSED ---------> EXPOSING
         ^  \                     |                      ^ |
         |   \____ press full ____|______________________| |
         |                        |                        | shutter closes
         |<---- release half -----'                        v
         '<------------- picture announced ------------ WRITING

In EXPOSING and WRITING the body is busy: it refuses settings and releases with 0x2019.
"""

from __future__ import annotations

from enum import Enum


class BodyState(Enum):
    """What the body is doing."""

    IDLE = "idle"
    HALF_PRESSED = "half pressed"
    EXPOSING = "exposing"
    WRITING = "writing"


class Hung(Enum):
    """What ends it when the body is busy for no reason."""

    UNTIL_SESSION = "session"
    UNTIL_POWER = "power"


#: Settings and releases are refused.
BUSY = frozenset({BodyState.EXPOSING, BodyState.WRITING})
