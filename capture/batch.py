"""A batch: scenes x lightings in an order, as a file says it, and where each of them stands."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from capture.auto_frame import find_auto_frame
from capture.guidance import Guidance
from capture.pace import Pace
from capture.sweep import require_same_rule, survey
from rig.errors import Abort
from schemas.capture_store import find_scene
from schemas.catalog import Catalog
from schemas.plan import FrozenModel, Lighting, Shot, SweepPlan, describe_errors
from schemas.records import Scene

#: What a shot takes beside its exposure until it has been measured, as `capture plan` assumes.
_OVERHEAD_S = 1.0


class BatchScene(FrozenModel):
    """`[[scene]]`: what is to be placed. A scene of that name in the workspace must be the same."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    category: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    count: int = Field(ge=1)


class Batch(FrozenModel):
    """A whole `batch.toml`.

    Attributes
    ----------
    scene : tuple of BatchScene
        In the order they are placed.
    lightings : tuple of str
        Tables of rig.toml, in the order the panels are set; empty for all of them.
    plan : str
        Plan file, relative to the batch file; empty for the full grid.
    order : {"scene", "lighting"}
        All lightings of a scene before the next scene, or the other way round.
    auto_frame : bool
        Take the auto frame before each sweep.
    sweep : {"exhaustive", "guided"}
    audit : float
        Share of the skipped shots of a guided sweep to shoot all the same.
    """

    scene: tuple[BatchScene, ...] = Field(min_length=1)
    lightings: tuple[str, ...] = ()
    plan: str = ""
    order: Literal["scene", "lighting"] = "scene"
    auto_frame: bool = False
    sweep: Literal["exhaustive", "guided"] = "exhaustive"
    audit: float = Field(default=0.0, ge=0, le=1)

    @property
    def guidance(self) -> Guidance | None:
        """How its sweeps are guided; None where everything is shot."""
        return Guidance(self.audit) if self.sweep == "guided" else None


@dataclass(frozen=True)
class Leg:
    """One sweep of a batch: a scene under a lighting. `number` counts from 1."""

    number: int
    scene: Scene
    lighting: Lighting

    def __str__(self) -> str:
        return f"{self.scene.name} under {self.lighting.name}"


@dataclass(frozen=True)
class Standing:
    """What a leg still lacks.

    Attributes
    ----------
    leg : Leg
    planned : int
    remaining : tuple of Shot
        At most, in a guided sweep.
    auto_frame : bool
        Whether its auto frame is wanted and missing.
    """

    leg: Leg
    planned: int
    remaining: tuple[Shot, ...]
    auto_frame: bool

    @property
    def complete(self) -> bool:
        """Nothing is left to do."""
        return not self.remaining and not self.auto_frame

    @property
    def exposures(self) -> int:
        """What it adds to the shutter's count, if nothing goes wrong."""
        return len(self.remaining) + self.auto_frame

    def left_s(self, pace: Pace) -> float:
        """Seconds of its shots: as measured so far, else as marked and 1 s for each."""
        shots, shutter_s = len(self.remaining), self._shutter_s
        measured = pace.left_s(shutter_s, shots)
        return shutter_s + _OVERHEAD_S * shots if measured is None else measured

    @cached_property
    def _shutter_s(self) -> float:  # asked for at each snapshot of a run
        return sum(shot.exposure.shutter_s for shot in self.remaining)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "number": self.leg.number,
            "scene": self.leg.scene.name,
            "category": self.leg.scene.category,
            "count": self.leg.scene.count,
            "lighting": self.leg.lighting.name,
            "lux": self.leg.lighting.lux,
            "planned": self.planned,
            "remaining": len(self.remaining),
            "auto_frame": self.auto_frame,
            "seconds": round(self.left_s(Pace()), 2),
        }


def read_batch(path: Path) -> tuple[Batch, SweepPlan]:
    """A batch file and its plan.

    Raises
    ------
    Abort
        Naming every mistake of either file.
    """
    try:
        batch = Batch.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        plan = SweepPlan.from_file(path.parent / batch.plan) if batch.plan else SweepPlan()
    except ValidationError as error:
        raise Abort(f"{path}: {describe_errors(error)}", f"correct {path}") from error
    except OSError as error:
        raise Abort(
            f"{error.filename} cannot be read: {error.strerror}",
            f'correct the key plan of {path}, which is relative to it (plan = "plan.toml")',
        ) from error
    except ValueError as error:  # not TOML, not UTF-8, or a bad plan, which names itself
        named = str(error) if isinstance(error.__cause__, ValueError) else f"{path}: {error}"
        raise Abort(named, "correct the file") from error
    return batch, plan


def itinerary(batch: Batch, known: Mapping[str, Lighting]) -> tuple[Leg, ...]:
    """The legs of a batch in their order; `known` are the lightings of rig.toml.

    Raises
    ------
    Abort
        For a scene or lighting that comes twice, and for an unknown lighting.
    """
    names = batch.lightings or tuple(known)
    _require_once("scene", [scene.name for scene in batch.scene])
    _require_once("lighting", list(names))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise Abort(
            f"rig.toml has no lighting {', '.join(unknown) or 'at all'} "
            f"(known: {', '.join(known) or 'none'})",
            f"add [lighting.{unknown[0] if unknown else 'NAME'}] to rig.toml, or correct lightings",
        )
    scenes = [Scene(s.name, s.category, s.count) for s in batch.scene]
    if batch.order == "scene":
        pairs = [(scene, known[name]) for scene in scenes for name in names]
    else:
        pairs = [(scene, known[name]) for name in names for scene in scenes]
    return tuple(Leg(number, *pair) for number, pair in enumerate(pairs, start=1))


def require_consistent(catalog: Catalog, legs: tuple[Leg, ...], plan: SweepPlan) -> None:
    """Hold a batch against the catalog before the first instruction.

    Raises
    ------
    Abort
        If a scene is in the catalog as another one, or a sweep was judged by another rule.
    """
    for leg in legs:
        stored = find_scene(catalog, leg.scene.name)
        if stored not in (None, leg.scene):
            raise Abort(
                f"scene {stored.name} is {stored.count} x {stored.category} in this workspace, "
                f"the batch says {leg.scene.count} x {leg.scene.category}",
                "correct the batch, or give the scene another name",
            )
        require_same_rule(catalog, leg.scene.name, leg.lighting.name, plan)


def standing(catalog: Catalog, leg: Leg, batch: Batch, plan: SweepPlan) -> Standing:
    """What a leg still lacks: its plan minus what the catalog has."""
    scene, lighting = leg.scene.name, leg.lighting.name
    left = survey(catalog, scene, lighting, plan, batch.guidance).remaining
    auto = batch.auto_frame and find_auto_frame(catalog, scene, lighting) is None
    return Standing(leg, len(plan), left, auto)


def instruction(leg: Leg, before: Leg | None) -> str:
    """What the operator does before a leg; `before` is the leg whose scene and light are there."""
    scene, lux = leg.scene, f"{leg.lighting.lux:g} lux"
    objects = "object" if scene.count == 1 else "objects"
    placed = f"place scene {scene.name} ({scene.category}, {scene.count} {objects})"
    if before is not None and before.scene == scene:
        placed = f"leave scene {scene.name} as it is"
    panels = f"set the panels to {lux}"
    if before is not None and before.lighting == leg.lighting:
        panels = f"leave the panels at {lux}"
    return f"{placed}, {panels}"


def _require_once(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Abort(f"{what} {', '.join(twice)} comes more than once", "correct the batch file")
