"""What the values of `published.toml` are computed from: shares of the release's answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluate.errors import EvaluateError
from evaluate.metrics.groups import exposure_range
from evaluate.metrics.sensitivity import sensitivity
from evaluate.paper_models import find_paper_model
from evaluate.report.observed import Conditions, Observed, share_of
from evaluate.report.published_rows import PublishedValue
from evaluate.scores import QUESTIONS
from schemas.answer_store import CLASSIFICATION
from schemas.catalog import Catalog
from schemas.said_store import FrameSetting

PEOPLE = "people"


class MissingError(Exception):
    """The catalog cannot give a value; the text says what it lacks."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The release's answers under one protocol, and its frames.

    Attributes
    ----------
    observers : tuple of Observed
        Those imported from the release.
    frames : tuple of FrameSetting
        Frames of the release.
    detectors : dict
        Metrics of its detectors by name, as `evaluate score` gives them.
    """

    catalog: Catalog
    protocol: str
    conditions: Conditions
    observers: tuple[Observed, ...]
    frames: tuple[FrameSetting, ...]
    detectors: dict[str, dict[str, float]]

    @cached_property
    def classifiers(self) -> list[Observed]:
        """Image classifiers that the paper lists, the best first."""
        found = [one for one in self.observers if CLASSIFICATION in one.tasks and is_listed(one)]
        return sorted(found, key=lambda one: (-top1(one), one.name))

    @cached_property
    def vlms(self) -> list[Observed]:
        """Models that answered questions in words."""
        return [
            one for one in self.observers if one.kind == "model" and set(one.tasks) & {*QUESTIONS}
        ]

    def find(self, name: str, task: str = "") -> Observed:
        """The answers of an observer. Raises MissingError."""
        for one in self.observers:
            is_people = name == PEOPLE and one.kind == "person"
            if is_people or (one.name == name and one.kind == "model"):
                return one
        if name == PEOPLE:
            raise MissingError("eval_results/human/all_subjects.xlsx is not in the catalog")
        folder = task or {"vqa": "vqa", "detection": "object_detection"}.get(
            find_paper_model(name).task, "image_classification"
        )
        raise MissingError(f"raw_results/{folder}/{name} of the release is not in the catalog")


def top1(observed: Observed) -> float:
    """Share of answers to classification whose first label is accepted."""
    labels = observed.counted().task_of(CLASSIFICATION)
    return share_of(labels.soft)


def chosen(observed: Observed, value: PublishedValue) -> Observed:
    """The counted answers that a value is about."""
    found = observed.counted()
    if value.question is not None:
        found = found.task_of(value.question)
    if value.category is not None:
        found = found.where(found.of("category") == value.category)
    if value.ev_offset is not None:
        found = found.where(found.of("ev_offset") == value.ev_offset)
    if value.exposure is not None:
        found = found.where(exposure_range(found.of("ev_offset")) == value.exposure)
    return found


def macro(observed: Observed, column: str) -> float:
    """Mean over the questions of the share of right answers."""
    parts = [share_of(getattr(observed.task_of(task), column)) for task in observed.tasks]
    return float(np.mean(parts)) if parts else math.nan


def by_offset(observed: Observed, column: str) -> dict[float, float]:
    """`macro` at each EV offset that the evaluation uses."""
    found = observed.evaluated()
    offsets = found.of("ev_offset")
    return {
        float(offset): macro(found.where(offsets == offset), column)
        for offset in np.unique(offsets[~np.isnan(offsets)])
    }


def parameter_sensitivity(observed: Observed, column: str = "soft") -> float:
    """Mean over the tasks of the paper's measure, on the frames that the evaluation uses."""
    found = observed.evaluated()
    parts = []
    for task in found.tasks:
        some = found.task_of(task)
        right = np.nan_to_num(getattr(some, column))
        parts.append(
            sensitivity(right, some.of("scene_number"), some.of("ev_offset"))
            .parameter_sensitivity
        )  # fmt: skip
    return float(np.mean(parts)) if parts else math.nan


def imagenet_top1(observed: Observed) -> float:
    """Published top-1 on ImageNet, from `paper_models.toml`; NaN if unknown."""
    accuracy = find_paper_model(observed.name).accuracy
    return math.nan if accuracy is None else accuracy.percent / 100


def is_listed(observed: Observed) -> bool:
    """Whether the paper has a model of that name."""
    try:
        find_paper_model(observed.name)
    except EvaluateError:
        return False
    return True
