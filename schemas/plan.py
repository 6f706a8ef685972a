"""Sweep plans: frozen values that dry run, estimate and execution iterate alike."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from schemas.acceptance import RULES
from schemas.exposure import (
    F_NUMBERS,
    ISO_SPEEDS,
    SHUTTER_SPEEDS,
    Exposure,
    Step,
    parse_f_number,
    parse_shutter_s,
    spell_shutter,
)

Order = Literal["fewest_changes", "random"]


class FrozenModel(BaseModel):
    """A value: immutable, strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Lighting(FrozenModel):
    """One controlled illumination of a dataset.

    Attributes
    ----------
    name : str
        Folder-safe name, e.g. ``bright``.
    lux : float
        Target illuminance.
    tolerance : float
        Allowed deviation as a share of `lux`.
    ev_reference : int
        The EV (at ISO 100) that exposes well under this light: EV offset 0. One rounded value
        per lighting and dataset; 11 at 1000 lux and 5 at 10 lux in the SNAP release.
    hysteresis : float
        Share of the tolerance by which the band is narrowed for light that was wrong: with
        0.2, a lamp of 1000 lux +/- 10 % is back when it is within 8 %.
    settle_s : float
        How long it must then stay there before the next frame is shot.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    lux: float = Field(gt=0)
    tolerance: float = Field(default=0.10, gt=0, lt=1)
    ev_reference: int
    hysteresis: float = Field(default=0.2, ge=0, lt=1)
    settle_s: float = Field(default=2.0, ge=0.5, le=600)

    @property
    def band_lux(self) -> tuple[float, float]:
        """Lowest and highest illuminance inside the tolerance."""
        return self._within(self.tolerance)

    @property
    def narrow_band_lux(self) -> tuple[float, float]:
        """Lowest and highest illuminance that end a time of wrong light."""
        return self._within(self.tolerance * (1 - self.hysteresis))

    def _within(self, share: float) -> tuple[float, float]:
        return self.lux * (1 - share), self.lux * (1 + share)


@dataclass(frozen=True)
class Shot:
    """One planned exposure: its place in the order, and its settings."""

    index: int
    exposure: Exposure


@dataclass(frozen=True)
class Estimate:
    """What a plan costs. `duration_s` adds an overhead per shot to the open shutter."""

    shots: int
    open_shutter_s: float
    overhead_s: float

    @property
    def duration_s(self) -> float:
        """Wall time in seconds."""
        return self.open_shutter_s + self.shots * self.overhead_s


def _canonical_shutter(value: object) -> str:
    return spell_shutter(parse_shutter_s(str(value)))


def _canonical_f_number(value: object) -> float:
    return parse_f_number(str(value))


class SweepPlan(FrozenModel):
    """A grid of settings, the order of its shots, and the rule that accepts a frame.

    Every key is optional; the default is the SNAP grid, 18 shutter speeds x 7 ISO x 5
    F-numbers at 1-stop intervals. `step` fills the shutter speeds and F-numbers that are not
    listed (a T7's ISO moves in full stops only). Iterating a plan yields its `Shot`s.

    Attributes
    ----------
    shutter : tuple of str
        Canon spellings, e.g. ``1/4000``, ``0.5``, ``30``.
    iso : tuple of int
    f_number : tuple of float
    step : {"1", "1/2", "1/3"}
        Interval in stops of the default lists.
    acceptance : str
        Name of a rule in `schemas.acceptance.RULES`.
    order : {"fewest_changes", "random"}
        A walk that changes one setting per shot, or a seeded shuffle (so that a drift of the
        light does not align with a parameter).
    seed : int
        Seed of the random order.
    """

    shutter: tuple[Annotated[str, BeforeValidator(_canonical_shutter)], ...] = ()
    iso: tuple[Annotated[int, Field(gt=0)], ...] = ISO_SPEEDS
    f_number: tuple[Annotated[float, BeforeValidator(_canonical_f_number)], ...] = ()
    step: Step = "1"
    acceptance: str = "pixels95"
    order: Order = "fewest_changes"
    seed: int = 0

    @model_validator(mode="before")
    @classmethod
    def _fill_step(cls, values: object) -> object:
        if isinstance(values, dict):
            step = values.get("step", "1")
            if step in SHUTTER_SPEEDS:
                values = {"shutter": SHUTTER_SPEEDS[step], "f_number": F_NUMBERS[step], **values}
        return values

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("shutter", "iso", "f_number"):
            listed = getattr(self, name)
            if not listed:
                raise ValueError(f"{name} is empty: a plan needs at least one")
            doubled = sorted({str(v) for v in listed if listed.count(v) > 1})
            if doubled:
                raise ValueError(f"{name} lists {', '.join(doubled)} more than once")
        if self.acceptance not in RULES:
            raise ValueError(
                f"unknown acceptance rule {self.acceptance!r}; known: {', '.join(sorted(RULES))}"
            )
        return self

    def __iter__(self) -> Iterator[Shot]:  # type: ignore[override]  # a plan is its shots
        return (Shot(index, exposure) for index, exposure in enumerate(self._ordered()))

    def __len__(self) -> int:
        return len(self.shutter) * len(self.iso) * len(self.f_number)

    def _ordered(self) -> list[Exposure]:
        # Snake through the grid, aperture outermost: neighbours differ in one setting only.
        walk: list[Exposure] = []
        shutters = [parse_shutter_s(name) for name in self.shutter]
        outer = itertools.product(self.f_number, self.iso)
        for row, (f_number, _) in enumerate(outer):
            column, reverse_iso = row % len(self.iso), (row // len(self.iso)) % 2 == 1
            iso = self.iso[-1 - column if reverse_iso else column]
            line = shutters if row % 2 == 0 else shutters[::-1]
            walk += [Exposure(shutter_s, iso, f_number) for shutter_s in line]
        if self.order == "random":
            random.Random(self.seed).shuffle(walk)  # noqa: S311 - an order, not a secret
        return walk

    def estimate(self, overhead_s: float = 1.0) -> Estimate:
        """Cost of the plan; `overhead_s` is what one shot takes beside its exposure.

        The paper's 40 to 60 minutes for 630 shots mean 0.4 to 2.3 s.
        """
        open_shutter_s = sum(shot.exposure.shutter_s for shot in self)
        return Estimate(len(self), open_shutter_s, overhead_s)

    @property
    def digest(self) -> str:
        """sha256 of the plan's canonical JSON: equal plans, equal digest."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def subset(self, **settings: object) -> SweepPlan:
        """The same plan over fewer settings: ``plan.subset(iso=(100, 400))``.

        Raises
        ------
        ValueError
            If a setting is not part of this plan's grid.
        """
        smaller = SweepPlan.model_validate({**self.model_dump(), **settings})
        for name in ("shutter", "iso", "f_number"):
            foreign = [str(v) for v in getattr(smaller, name) if v not in getattr(self, name)]
            if foreign:
                raise ValueError(f"{name} {', '.join(foreign)} is not in the plan")
        return smaller

    def to_toml(self) -> str:
        """The plan as TOML; `from_toml` gives it back, digest and all."""
        lines = [
            f"shutter = {json.dumps(list(self.shutter))}",
            f"iso = {json.dumps(list(self.iso))}",
            f"f_number = {json.dumps(list(self.f_number))}",
            f"step = {json.dumps(self.step)}",
            f"acceptance = {json.dumps(self.acceptance)}",
            f"order = {json.dumps(self.order)}",
            f"seed = {self.seed}",
        ]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> SweepPlan:
        """Read a plan. Raises ValueError with one line per mistake."""
        try:
            return cls.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"not valid TOML: {error}") from error
        except ValidationError as error:
            raise ValueError(describe_errors(error)) from error

    @classmethod
    def from_file(cls, path: Path) -> SweepPlan:
        """Read a plan file; ValueError names the file and each mistake."""
        try:
            return cls.from_toml(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def describe_errors(error: ValidationError) -> str:
    """One readable line per mistake of a validated document."""
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        what = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            what = "unknown key"
        lines.append(f"{where}: {what}" if where else what)
    return "; ".join(lines)
