"""What goes wrong in evaluation; each message says what to do next."""

from __future__ import annotations


class EvaluateError(Exception):
    """A model, vocabulary or picture that cannot be used as it is."""
