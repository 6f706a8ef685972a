"""How a sweep is guided."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guidance:
    """How a sweep is guided. An exhaustive one has none.

    Attributes
    ----------
    audit : float
        Share of the certain shots that is shot all the same, 0 to 1.
    """

    audit: float = 0.0
