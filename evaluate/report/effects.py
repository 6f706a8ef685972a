"""What each known defect or choice of the release does to a value, measured on the answers here.

An effect takes the evidence under `release` and under `paper` and a row of `published.toml`, and
gives a sentence; empty where the catalog cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evaluate.importing import unpack_places
from evaluate.metrics.answers import top_confusions
from evaluate.metrics.arrays import IntArray
from evaluate.metrics.sensitivity import sensitivity
from evaluate.release.importer import KIND
from evaluate.release.rules import judge
from evaluate.report.evidence import (
    PEOPLE,
    Evidence,
    MissingError,
    by_offset,
    chosen,
    macro,
    parameter_sensitivity,
)
from evaluate.report.observed import Observed, load_words, share_of
from evaluate.report.published_rows import PublishedValue
from schemas.answer_store import CLASSIFICATION
from schemas.import_store import known_imports
from schemas.said_store import load_texts

Effect = Callable[[Evidence, Evidence, PublishedValue], str]


def describe_effect(name: str, release: Evidence, paper: Evidence, value: PublishedValue) -> str:
    """The measured effect as a sentence, or "" where the catalog cannot tell."""
    try:
        return EFFECTS[name](release, paper, value)
    except MissingError:
        return ""


def top_mistake(evidence: Evidence, observed: Observed, category: str) -> str:
    """The most frequent wrong label of a classifier for a category; "" if it makes none."""
    labels = observed.task_of(CLASSIFICATION)
    labels = labels.where((labels.of("category") == category) & ~np.isnan(labels.soft))
    if not len(labels):
        return ""
    said = load_words(evidence.catalog, observed)
    named = [said[place].named for place in labels.index]
    found = top_confusions(labels.of("category"), named, labels.soft == 1, 1)
    return str(found[0].answer) if found else ""


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _frames_used(release: Evidence, _paper: Evidence, _value: PublishedValue) -> str:
    auto = sum(frame.kind == "auto" for frame in release.frames)
    return f"{len(release.frames)} frames here, {auto} of them auto frames."


def _frames_per_scene(release: Evidence, _paper: Evidence, _value: PublishedValue) -> str:
    asked = release.conditions.asked
    ours = asked.imported & (asked.frame_kind == "manual")
    keys = {
        (scene, lighting, frame)
        for scene, lighting, frame in zip(
            asked.scene[ours], asked.lighting[ours], asked.frame_id[ours], strict=True
        )
    }
    sweeps = [f"{scene}/{lighting}" for scene, lighting, _ in keys]
    counts = np.unique(sweeps, return_counts=True)[1]
    if not len(counts):
        return ""
    return (
        f"A scene under one lighting has {counts.min()} to {counts.max()} frames, "
        f"{counts.mean():.0f} on average."
    )


def _other_rule(release: Evidence, observed: Observed) -> tuple[float, float]:
    """Q1 accuracy under the released rule for its kind, and under that for the other kind."""
    conditions = observed.conditions
    person = observed.kind == "person"
    seen: dict[tuple[str, str], tuple[bool, bool]] = {}
    outcomes = []
    for member in observed.members:
        answers = load_texts(release.catalog, member.id or 0, "q1")
        rows = np.searchsorted(conditions.asked.id, [one.stimulus_id for one in answers])
        categories = conditions.column("category")[rows].tolist()
        evaluated = conditions.evaluated[rows].tolist()
        for answer, category, counts in zip(answers, categories, evaluated, strict=True):
            key = (answer.cleaned, category)
            if key not in seen:
                seen[key] = _soft(*key, person), _soft(*key, not person)
            if counts:
                outcomes.append(seen[key])
    if not outcomes:
        raise MissingError("no answers to Q1")
    own, other = np.mean(outcomes, axis=0)
    return float(own), float(other)


def _soft(answer: str, category: str, person: bool) -> bool:
    ruling = judge("q1", answer, len(answer), category, 0, (), person=person)
    return ruling is not None and ruling.soft


def _rule_of_the_others(release: Evidence, _paper: Evidence, value: PublishedValue) -> str:
    name = value.observer or PEOPLE
    own, other = _other_rule(release, release.find(name))
    whose = "models" if name == PEOPLE else "people"
    return f"Q1: {_percent(own)} are right, {_percent(other)} under the rule for {whose}."


def _answers_at_peak(release: Evidence, _paper: Evidence, value: PublishedValue) -> str:
    found = chosen(release.find(value.observer or PEOPLE), value).evaluated()
    means = by_offset(found, "soft")
    best = max(means, key=lambda offset: means[offset])
    there = found.where(found.of("ev_offset") == best)
    return (
        f"{int(np.nansum(there.soft))} of {len(there)} answers are right at EV offset {best:+.0f}."
    )


def _with_mug(release: Evidence, paper: Evidence, value: PublishedValue) -> str:
    """On the same frames, under both lists of accepted classes."""
    if value.observer is None:
        return ""
    without, having = (
        share_of(chosen(one.find(value.observer), value).evaluated().task_of(CLASSIFICATION).soft)
        for one in (release, paper)
    )
    return f"Top-1 on the evaluated frames {_percent(without)}, {_percent(having)} with the mug."


def _evaluated_frames(release: Evidence, _paper: Evidence, value: PublishedValue) -> str:
    if value.observer is None:
        return ""
    every = chosen(release.find(value.observer), value).task_of(CLASSIFICATION)
    evaluated = every.evaluated()
    return (
        f"Top-1 {_percent(share_of(every.soft))} on {len(every)} frames, "
        f"{_percent(share_of(evaluated.soft))} on the {len(evaluated)} evaluated ones."
    )


def _pasted_by_position(release: Evidence, _paper: Evidence, value: PublishedValue) -> str:
    """Parameter sensitivity if outcomes stand under the paths of a file of another order."""
    if value.question is not None:
        found = [_pasted(release, release.find(str(value.observer)), value.question, "hard")]
    elif value.observer is not None:
        found = [_pasted(release, release.find(value.observer), CLASSIFICATION, "soft")]
    else:
        found = [_pasted(release, one, CLASSIFICATION, "soft") for one in release.classifiers]
    return max(found, default=(0.0, ""))[1]


def _pasted(release: Evidence, observed: Observed, task: str, column: str) -> tuple[float, str]:
    """The highest value over the orders of the other files, and what it means."""
    some = observed.task_of(task)
    file = str(observed.members[0].spec.get("file", ""))
    orders = _row_orders(release, file.rpartition("/")[0])
    # every frame once, in the order of the list: else places in it mean nothing here
    if file not in orders or len(some) != len(release.frames):
        return 0.0, ""
    in_list = np.argsort(some.of("frame_id"), kind="stable")
    digest, places = orders[file]
    right = np.nan_to_num(getattr(some, column))[in_list[places]]
    found: dict[str, tuple[float, str]] = {}
    for name, (other, elsewhere) in orders.items():
        if other not in (digest, *found):
            under = some.where(in_list[elsewhere])
            counts = some.conditions.evaluated[under.row]
            sets = under.of("scene_number")[counts], under.of("ev_offset")[counts]
            found[other] = (sensitivity(right[counts], *sets).parameter_sensitivity, name)
    if not found:
        return 0.0, ""
    pasted, name = max(found.values())
    joined = parameter_sensitivity(some, column)
    return pasted, (
        f"{observed.name}: {_percent(joined)} joined by path, {_percent(pasted)} if pasted by "
        f"position under the paths of {name}."
    )


def _row_orders(release: Evidence, folder: str) -> dict[str, tuple[str, IntArray]]:
    """By raw file of a folder: digest of its order, and the place of each row in the list."""
    listed = np.arange(len(release.frames))
    return {
        name: (
            str(source.report["order"]),
            np.array(unpack_places(source.report["places"]))
            if source.report.get("places")
            else listed,
        )
        for name, source in known_imports(release.catalog, KIND).items()
        if name.startswith(f"{folder}/") and source.report.get("order")
    }


def _models_here(release: Evidence, _paper: Evidence, value: PublishedValue) -> str:
    of_words = "VLM" in value.what or value.question is not None
    if "detector" in value.what:
        return f"{len(release.detectors)} detectors here."
    if of_words:
        return f"{len(release.vlms)} VLMs here."
    return f"{len(release.classifiers)} of the paper's classifiers here."


def _frames_with_options(release: Evidence, _paper: Evidence, value: PublishedValue) -> str:
    if value.observer is None:
        return ""
    found = release.find(value.observer)
    counted = found.counted()
    parts = {task: counted.task_of(task) for task in counted.tasks}
    if "q4" not in parts:
        return ""
    q4 = parts["q4"]
    others = np.mean([share_of(some.hard) for task, some in parts.items() if task != "q4"])
    return (
        f"{len(q4)} of {len(found.evaluated().task_of('q1'))} frames; hard accuracy of Q4 there "
        f"{_percent(share_of(q4.hard))}, of the other questions {_percent(float(others))}, "
        f"of all four {_percent(macro(counted, 'hard'))}."
    )


EFFECTS: dict[str, Effect] = {
    "frames_used": _frames_used,
    "frames_per_scene": _frames_per_scene,
    "rule_of_the_others": _rule_of_the_others,
    "answers_at_peak": _answers_at_peak,
    "with_mug": _with_mug,
    "evaluated_frames": _evaluated_frames,
    "pasted_by_position": _pasted_by_position,
    "models_here": _models_here,
    "frames_with_options": _frames_with_options,
}
