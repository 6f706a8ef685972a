"""`experiment.toml`: the screen that participants sit at, and what they are shown on it."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from experiment.errors import ExperimentError
from schemas.plan import FrozenModel

FILE = "experiment.toml"

Pixels = Annotated[int, Field(gt=0, le=16384)]


class DisplayConfig(FrozenModel):
    """`[display]`: the screen.

    Attributes
    ----------
    refresh_hz : float
        As the system's settings say; the measured one must be within 2 % of it.
    width_cm : float or None
        Of the visible area, by a ruler; a session of a person needs it.
    distance_cm : float
        From the eye.
    screen : int
        Which one, from 0.
    gamma : float or None
        To be set for a session; None leaves the screen as the lab calibrated it.
    """

    refresh_hz: float = Field(default=60.0, gt=10, lt=1000)
    width_cm: float | None = Field(default=None, gt=5, lt=500)
    distance_cm: float = Field(default=60.0, gt=10, lt=1000)
    screen: int = Field(default=0, ge=0)
    gamma: float | None = Field(default=None, gt=0.1, lt=10)


class TrialsConfig(FrozenModel):
    """`[experiment]`: what a session shows.

    Attributes
    ----------
    timing : {"proven", "unproven"}
        Whether a screen whose refresh is not proven is refused, or taken with marked trials.
    fixation_s, image_s, mask_s : float
    mask : {"noise", "white"}
    shown_px : tuple of int
        Width and height; frames of twice that size are halved.
    consent, instructions : str
        Text files, relative to the workspace; empty: no consent page, built-in instructions.
    practice_pictures : str
        A folder, relative to the workspace; empty: drawn shapes.
    practice_trials : int
    ask_person : bool
        Whether the participant is asked for age and sex (both may be left empty).
    photodiode : bool
        A square in the lower left corner, white while the picture is visible.
    font : str
    """

    timing: Literal["proven", "unproven"] = "proven"
    fixation_s: float = Field(default=1.0, ge=0.05, le=10)
    image_s: float = Field(default=0.2, ge=0.01, le=10)
    mask_s: float = Field(default=0.2, ge=0.01, le=10)
    mask: Literal["noise", "white"] = "noise"
    shown_px: tuple[Pixels, Pixels] = (960, 640)
    consent: str = ""
    instructions: str = ""
    practice_pictures: str = ""
    practice_trials: int = Field(default=20, ge=2, le=200)
    ask_person: bool = True
    photodiode: bool = False
    font: str = Field(default="DejaVu Sans", min_length=1)


class ExperimentConfig(FrozenModel):
    """A whole `experiment.toml`. Every key is optional, no unknown one is accepted."""

    display: DisplayConfig = DisplayConfig()
    experiment: TrialsConfig = TrialsConfig()

    @classmethod
    def load(cls, root: Path) -> Self:
        """The workspace's configuration; the defaults where it has none.

        Raises
        ------
        ExperimentError
            If the file says something it cannot mean; the message names the key.
        """
        path = root / FILE
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ExperimentError(f"{path} cannot be read: {error}") from error
        try:
            return cls.model_validate(tables)
        except ValidationError as error:
            faults = "; ".join(_explain(fault["loc"], fault) for fault in error.errors())
            raise ExperimentError(f"{path}: {faults}") from error


def _explain(loc: tuple[int | str, ...], fault: object) -> str:
    where = ".".join(str(part) for part in loc)
    if not isinstance(fault, dict) or fault["type"] != "extra_forbidden":
        return f"{where}: {fault['msg'] if isinstance(fault, dict) else fault}"
    tables: dict[str, type[FrozenModel]] = {"display": DisplayConfig, "experiment": TrialsConfig}
    table = ExperimentConfig if len(loc) == 1 else tables[str(loc[0])]
    near = difflib.get_close_matches(str(loc[-1]), table.model_fields, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(table.model_fields)}"
    return f"unknown key {where!r} ({hint})"
