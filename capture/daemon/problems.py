"""Why a request cannot be met."""

from __future__ import annotations


class RefusedError(Exception):
    """The state does not allow it. `reason` is for programs, the text for people."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class NotFoundError(Exception):
    """Nothing of that name or number."""
