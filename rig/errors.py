"""Device errors, named by what the caller does next.

Each carries a sentence for a person in `str(error)` and, where there is one, the next thing
to do in `error.action`.
"""

from __future__ import annotations


class RigError(Exception):
    """Anything a device or its configuration did that the rig could not use.

    Attributes
    ----------
    action : str
        What a person can do about it; empty where nothing is known.
    """

    def __init__(self, message: str, action: str = "") -> None:
        super().__init__(message)
        self.action = action


class Retry(RigError):  # noqa: N818 - named by what the caller does next
    """The device refused this once and may accept it again: busy, a lost picture."""


class Reconnect(RigError):  # noqa: N818
    """The session is dead; close the device, open it anew and try again."""


class AskOperator(RigError):  # noqa: N818
    """Only a person can go on: dial, cable, card, lamp. The run can be resumed."""


class Abort(RigError):  # noqa: N818
    """Nothing that anyone does during this run can help: a wrong plan, a wrong configuration."""
