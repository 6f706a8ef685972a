"""What a participant is shown, trial by trial: the values between design and session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: ``questions``: the paper's Q1 to Q4, two a participant. ``rt3``: three classes by key, timed.
Study = Literal["questions", "rt3"]


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
