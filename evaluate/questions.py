"""The paper's questions Q1 to Q4 for the frames of a catalog, and the order of their options.

Options are shuffled once for each frame, and stored: people and models are shown the same. The
order follows from the seed and the frame's own key (scene, lighting, setting), so that it does
not depend on which frames came first, or on what else is in the catalog.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluate.question_judges import OTHER
from evaluate.release.rules import CLASSES
from schemas.catalog import Catalog
from schemas.question_store import (
    QuestionFrame,
    add_questions,
    list_question_frames,
    set_aside_unknown,
    stored_options,
)
from schemas.questions import TASKS

_WITH_OPTIONS = ("q3", "q4")

#: Numbers of objects that Q4 offers.
COUNTS = (2, 3, 4, 5)


def offered_categories(categories: Iterable[str]) -> tuple[str, ...]:
    """Categories that Q3 offers, as words: SNAP's ten if all are of these, else those given.

    The ten also stand for a part of them: a question with fewer options is an easier one, and a
    catalog that grows scene by scene would ask each frame a question of its own.
    """
    found = set(categories) - {OTHER}
    known = CLASSES.keys() if found <= CLASSES.keys() else found
    return tuple(sorted(name.replace("_", " ") for name in known))


def category_options(seed: int, key: Sequence[str], categories: Sequence[str]) -> tuple[str, ...]:
    """Options of Q3 for a frame: shuffled, ``other`` last."""
    return (*_shuffled(seed, key, "q3", categories), OTHER)


def count_options(seed: int, key: Sequence[str]) -> tuple[str, ...]:
    """Options of Q4 for a frame, as ``A) 4``."""
    shuffled = _shuffled(seed, key, "q4", COUNTS)
    return tuple(f"{letter}) {count}" for letter, count in zip("ABCD", shuffled, strict=True))


@dataclass
class Made:
    """What one pass did, by task.

    Attributes
    ----------
    added, kept : Counter
        Stimuli that are new; those that were there, with their options.
    kept_with_others : Counter
        Of those kept: options are not those offered now.
    set_aside : Counter
        Imported ones whose options are not known: they stand aside, with their answers, for a
        question whose options are.
    left_out : dict
        Frames that a question cannot be asked about, by reason.
    """

    frames: int
    categories: tuple[str, ...]
    added: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    kept_with_others: Counter[str] = field(default_factory=Counter)
    set_aside: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """As a JSON document."""
        return {
            "frames": self.frames,
            "categories": [*self.categories, OTHER],
            **{
                name: {task: getattr(self, name)[task] for task in TASKS}
                for name in ("added", "kept", "kept_with_others", "set_aside")
            },
            "left_out": dict(self.left_out),
        }


def make_questions(catalog: Catalog, seed: int) -> Made:
    """Give every accepted manual frame its stimuli for Q1 to Q4; options in the catalog win."""
    frames = list_question_frames(catalog)
    categories = offered_categories({frame.category for frame in frames})
    made = Made(len(frames), categories)
    for task in TASKS:
        if task in _WITH_OPTIONS:
            made.set_aside[task] = set_aside_unknown(catalog, task)
        known = stored_options(catalog, task)
        new = []
        for frame in frames:
            stored = known.get(frame.id)
            if stored is not None:
                _note_kept(made, task, stored)
            elif (why := _why_not(task, frame)) is not None:
                made.left_out[why] += 1
            else:
                new.append((frame.id, task, json.dumps(_options(task, seed, frame, categories))))
        made.added[task] = add_questions(catalog, new)
    return made


def _options(
    task: str, seed: int, frame: QuestionFrame, categories: Sequence[str]
) -> tuple[str, ...]:
    key = (frame.scene, frame.lighting, frame.setting)
    if task == "q3":
        return category_options(seed, key, categories)
    return count_options(seed, key) if task == "q4" else ()


def _why_not(task: str, frame: QuestionFrame) -> str | None:
    if task == "q2" and frame.objects < 1:
        return "q2: nobody counted the objects of the scene"
    if task == "q4" and frame.objects not in COUNTS:
        return f"q4: the scene's number of objects is none of {COUNTS[0]} to {COUNTS[-1]}"
    return None


def _note_kept(made: Made, task: str, stored: str) -> None:
    made.kept[task] += 1
    if task == "q3" and set(json.loads(stored)) != {*made.categories, OTHER}:
        made.kept_with_others[task] += 1


def _shuffled(seed: int, key: Sequence[str], task: str, items: Sequence[Any]) -> list[Any]:
    # a text as the seed is hashed with SHA-512: the same on every machine and in every process
    generator = random.Random(json.dumps([seed, task, *key]))  # noqa: S311 - no secret
    return generator.sample(items, len(items))
