"""The rows of `published.toml`: what the paper and its release state, and why values may differ."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from schemas.plan import FrozenModel

Relation = Literal["=", "about", ">", ">=", "<", "<="]
Unit = Literal["share", "count", "stops", "millions", "seconds"]


class PublishedValue(FrozenModel):
    """One published value; `published.toml` explains each key."""

    id: str
    what: str
    measure: str
    observer: str | None = None
    question: Literal["q1", "q2", "q3", "q4"] | None = None
    category: str | None = None
    ev_offset: int | None = None
    exposure: Literal["under", "well", "over"] | None = None
    published: float
    relation: Relation = "="
    within: float | None = Field(default=None, gt=0)
    digits: int | None = Field(default=None, ge=0)
    unit: Unit = "share"
    source: str = Field(min_length=1)
    reasons: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _about_says_how_near(self) -> Self:
        if (self.relation == "about") != (self.within is not None):
            raise ValueError(f"{self.id}: `within` belongs to the relation `about`, and only there")
        return self

    @property
    def decimals(self) -> int:
        """Digits after the point that were printed."""
        if self.digits is not None:
            return self.digits
        return 2 if self.unit == "share" else 0

    def agrees(self, found: float) -> bool:
        """Whether a recomputed number is what was published, to the digits printed."""
        # half a unit of the last digit, and an ulp: .665 was printed as .66 or .67
        near = 0.5 * 10.0**-self.decimals + 1e-12
        match self.relation:
            case "=":
                return abs(found - self.published) <= near
            case "about":
                return abs(found - self.published) <= (self.within or 0) + 1e-12
            case ">":
                return found > self.published
            case ">=":
                return found >= self.published or math.isclose(found, self.published)
            case "<":
                return found < self.published
            case "<=":
                return found <= self.published or math.isclose(found, self.published)


class Reason(FrozenModel):
    """Why a recomputed value may differ; `effect` names what measures by how much."""

    text: str = Field(min_length=1)
    effect: str | None = None


class PublishedValues(FrozenModel):
    """The whole file."""

    value: tuple[PublishedValue, ...]
    reason: dict[str, Reason]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [one.id for one in self.value]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"id used twice: {', '.join(twice)}")
        named = {key for one in self.value for key in one.reasons}
        if named != set(self.reason):
            raise ValueError(
                f"reasons missing or never named: {', '.join(sorted(named ^ set(self.reason)))}"
            )
        return self


@cache
def load_published() -> PublishedValues:
    """The published values in the order of the report."""
    path = Path(__file__).parent.with_name("published.toml")
    return PublishedValues.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
