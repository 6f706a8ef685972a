"""Errors of the experiment: each message says what to do next."""

from __future__ import annotations


class ExperimentError(Exception):
    """Something a person has to change; the text is one line that says what."""


class InfeasibleError(ExperimentError):
    """A design that cannot be made from this catalog.

    Attributes
    ----------
    constraint : str
        Which demand cannot hold: ``scenes``, ``stops apart``, ``options``, ``EV offsets``, …
    """

    def __init__(self, constraint: str, message: str) -> None:
        super().__init__(f"{constraint}: {message}")
        self.constraint = constraint
