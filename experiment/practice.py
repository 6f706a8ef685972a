"""Questions for practice, on pictures that are no part of the experiment.

A lab's own pictures come from a folder: named like ``2_umbrella.jpg``, or in a folder a class.
Without one, shapes are drawn: neutral, of known number and kind.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from experiment.errors import ExperimentError
from experiment.image_preparation import open_picture
from experiment.records import ParticipantPlan
from experiment.trial import DEADLINE_S, AnswerKind, Question
from schemas.questions import prompt_text

SHAPES = ("circle", "triangle", "square", "star", "cross", "ring")

SUFFIXES = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp"}

COUNTS = (2, 3, 4, 5)

#: Classes of the reaction-time task.
KEYS = 3


@dataclass(frozen=True)
class PracticePicture:
    """A picture with what is in it; `count` is 1 where the name does not say."""

    image: Image.Image
    category: str
    count: int


def practice_questions(
    pictures: Sequence[PracticePicture], tasks: Sequence[str], trials: int, seed: int = 0
) -> tuple[tuple[Question, Image.Image], ...]:
    """As many trials of each task in turn, with the pictures in random order."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    categories = sorted({picture.category for picture in pictures})
    if "choice" in tasks:  # as many classes as there are keys
        categories = categories[:KEYS]
        pictures = [picture for picture in pictures if picture.category in categories]
    order = [pictures[n % len(pictures)] for n in range(trials)]
    rng.shuffle(order)
    found = []
    for number, picture in enumerate(order):
        task = tasks[number * len(tasks) // trials]
        found.append((_question(task, categories, rng), picture.image))
    return tuple(found)


def tasks_of(plan: ParticipantPlan) -> tuple[str, ...]:
    """The tasks of a plan, in the order they come first."""
    return tuple(dict.fromkeys(block.task for block in plan.blocks))


def load_pictures(
    folder: Path | None, shown_px: tuple[int, int], trials: int, seed: int = 0
) -> list[PracticePicture]:
    """Pictures of a folder, at most `trials` of them; drawn shapes where there is no folder.

    Raises
    ------
    ExperimentError
        If the folder holds none, or one is damaged.
    """
    if folder is None:
        return [_draw_shapes(shown_px, number, seed) for number in range(trials)]
    files = sorted(one for one in folder.rglob("*") if one.suffix.lower() in SUFFIXES)
    if not files:
        raise ExperimentError(
            f"{folder} holds no pictures for practice ([experiment] practice_pictures)"
        )
    found = []
    for path in files[:trials]:
        category, count = _named(path, folder)
        image = open_picture(path, shown_px, fit=True).image
        found.append(PracticePicture(image, category, count))
    return found


def _named(path: Path, folder: Path) -> tuple[str, int]:
    words = [word for word in re.split(r"[^A-Za-z]+", path.stem.lower()) if word]
    number = re.match(r"\d+", path.stem)
    parts = path.relative_to(folder).parts
    category = parts[0].replace("_", " ") if len(parts) > 1 else " ".join(words) or "thing"
    return category, int(number[0]) if number else 1


def _question(task: str, categories: Sequence[str], rng: random.Random) -> Question:
    if task == "choice":
        return Question(prompt_text(task), AnswerKind.KEYS, tuple(categories), DEADLINE_S)
    if task == "q3":
        options = (*rng.sample(list(categories), len(categories)), "other")
        return Question(prompt_text(task), AnswerKind.OPTIONS, options)
    if task == "q4":
        counts = rng.sample(COUNTS, len(COUNTS))
        lettered = tuple(f"{letter}) {n}" for letter, n in zip("ABCD", counts, strict=True))
        return Question(prompt_text(task), AnswerKind.OPTIONS, lettered)
    return Question(prompt_text(task), AnswerKind.TEXT)


def _draw_shapes(shown_px: tuple[int, int], number: int, seed: int) -> PracticePicture:
    rng = random.Random(f"{seed} {number}")  # noqa: S311 - no secret
    category, count = SHAPES[number % len(SHAPES)], rng.choice(COUNTS)
    width_px, height_px = shown_px
    image = Image.new("RGB", shown_px, (200, 200, 196))
    pen = ImageDraw.Draw(image)
    for place in range(count):
        x = (place + 0.5) / count * width_px + rng.uniform(-0.02, 0.02) * width_px
        y = rng.uniform(0.3, 0.7) * height_px
        _draw(pen, category, (x, y), min(width_px / 12, height_px / 7))
    return PracticePicture(image, category, count)


def _draw(pen: ImageDraw.ImageDraw, kind: str, at: tuple[float, float], radius: float) -> None:
    ink, paper = (70, 70, 78), (200, 200, 196)
    (x, y), r = at, radius
    whole = (x - r, y - r, x + r, y + r)
    if kind in ("circle", "ring"):
        pen.ellipse(whole, fill=ink)
        if kind == "ring":
            pen.ellipse((x - r / 2, y - r / 2, x + r / 2, y + r / 2), fill=paper)
    elif kind == "square":
        pen.rectangle(whole, fill=ink)
    elif kind == "cross":
        pen.rectangle((x - r, y - r / 3, x + r, y + r / 3), fill=ink)
        pen.rectangle((x - r / 3, y - r, x + r / 3, y + r), fill=ink)
    else:
        points, inner = (3, 1.0) if kind == "triangle" else (5, 0.4)
        step = math.pi / points
        corners = [
            (x + r * (inner if n % 2 else 1) * math.sin(n * step),
             y - r * (inner if n % 2 else 1) * math.cos(n * step))
            for n in range(0, 2 * points, 2 if points == 3 else 1)
        ]  # fmt: skip
        pen.polygon(corners, fill=ink)
