"""What a participant is shown, trial by trial: the values between design and session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

#: ``questions``: the paper's Q1 to Q4, two a participant. ``rt3``: three classes by key, timed.
Study = Literal["questions", "rt3"]


@dataclass(frozen=True)
class PlannedTrial:
    """One picture and one question of a design, by the frame's key.

    Attributes
    ----------
    category, objects : str, int
        Class and number of the objects in the scene.
    ev_offset : int or None
        None for imported pictures.
    options : tuple of str
        As stored in the stimulus, in the order shown; empty for an open question.
    """

    scene: str
    lighting: str
    setting: str
    category: str
    objects: int
    ev_offset: int | None
    task: str
    options: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Scene, lighting, setting."""
        return self.scene, self.lighting, self.setting


@dataclass(frozen=True)
class PlannedBlock:
    """Trials of one question in the order shown."""

    task: str
    trials: tuple[PlannedTrial, ...]


@dataclass(frozen=True)
class Slot:
    """What one participant will see. `group` is 1 or 2, and 0 where all see the same task."""

    group: int
    blocks: tuple[PlannedBlock, ...]

    @property
    def trials(self) -> Iterator[PlannedTrial]:
        """All trials in the order shown."""
        return (trial for block in self.blocks for trial in block.trials)


@dataclass(frozen=True)
class Design:
    """An experiment: a slot for each participant, with what it was made from.

    Attributes
    ----------
    parameters : dict
        What was asked for, e.g. ``{"participants": 43, "min_stops": 4}``.
    """

    study: Study
    seed: int
    parameters: dict[str, Any]
    slots: tuple[Slot, ...]

    def as_json(self) -> dict[str, Any]:
        """As a JSON document; the same design always gives the same."""
        return asdict(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in it."""
        text = json.dumps(self.as_json(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Design:
        """The design that `as_json` wrote. Raises KeyError or TypeError for anything else."""
        slots = []
        for slot in document["slots"]:
            blocks = []
            for block in slot["blocks"]:
                trials = tuple(
                    PlannedTrial(**{**trial, "options": tuple(trial["options"])})
                    for trial in block["trials"]
                )
                blocks.append(PlannedBlock(block["task"], trials))
            slots.append(Slot(slot["group"], tuple(blocks)))
        return cls(document["study"], document["seed"], document["parameters"], tuple(slots))


@dataclass(frozen=True)
class Trial:
    """One picture and one question, as the catalog has them now.

    Attributes
    ----------
    index : int
        From 0 over the whole session, in the order shown.
    block : int
        From 0.
    stimulus_id, frame_id : int
        Of the catalog.
    scene, lighting, setting : str
        Key of the frame: what the log and the digest know it by.
    category, objects : str, int
        The truth: class and number of the objects. For a robot, never for the screen.
    ev_offset : int or None
        None for imported pictures.
    task : str
        ``q1`` to ``q4``, or ``choice``.
    options : tuple of str
        In the order shown; empty for an open question.
    path : str
        Of the picture, relative to the workspace.
    sha256 : str
        Of that file.
    """

    index: int
    block: int
    stimulus_id: int
    frame_id: int
    scene: str
    lighting: str
    setting: str
    category: str
    objects: int
    ev_offset: int | None
    task: str
    options: tuple[str, ...]
    path: str
    sha256: str


@dataclass(frozen=True)
class Block:
    """Trials with one question, which is shown at the block's start.

    Attributes
    ----------
    prompt : str
        The question without its options.
    """

    index: int
    task: str
    prompt: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class ParticipantPlan:
    """Everything that one participant is shown, in order.

    Attributes
    ----------
    group : int
        1: counting by multiple choice, class open-ended; 2: the other way round. 0 for ``rt3``.
    design_digest : str
        SHA-256 of the design that this is a part of; goes into every log header.
    slot : int
        The participant's place in the design, from 0.
    """

    participant: str
    study: Study
    group: int
    slot: int
    design_digest: str
    blocks: tuple[Block, ...]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order shown."""
        return tuple(trial for block in self.blocks for trial in block.trials)
