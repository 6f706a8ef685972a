"""What `evaluate score` reports of each observer: its verdicts as metrics, with intervals.

People are pooled: one entry for all of a data set, resampled by person. Models are resampled by
scene. Which frames count is the protocol's: the released evaluation leaves out auto frames and
the outermost EV offsets, except for the accuracy of classifiers, where it takes all.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluate.importing import without_collector
from evaluate.metrics.accuracy import accuracy
from evaluate.metrics.answers import shape_bias
from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.bootstrap import Interval
from evaluate.metrics.detection_frames import DetectedFrame, frames_to_arrays
from evaluate.metrics.lrp import optimal_lrp
from evaluate.metrics.matching import match
from evaluate.metrics.sensitivity import sensitivity
from evaluate.question_judges import NO_ANSWER, UNSCORABLE, UNSURE
from evaluate.scoring import RELEASE
from schemas.answer_store import (
    CHOICE,
    CLASSIFICATION,
    DETECTION,
    list_observers,
    list_responses,
)
from schemas.catalog import Catalog
from schemas.import_store import frame_scenes, list_instances
from schemas.records import Observer
from schemas.verdict_store import ScoredRow, load_conditions, load_scored

#: EV offsets of the release that its evaluation uses; those outside hold 20 frames each.
EVALUATED_OFFSETS = range(-5, 9)

QUESTIONS = ("q1", "q2", "q3", "q4")

VQA = "vqa"

Json = dict[str, Any]


@dataclass(frozen=True)
class _Group:
    """One observer, or the people of one data set, with all their verdicts."""

    name: str
    kind: str
    rows: list[ScoredRow]
    observers: list[Observer]

    def clusters(self, rows: Iterable[ScoredRow]) -> list[str | int]:
        """What is resampled: persons, or scenes."""
        if len(self.observers) > 1:
            return [row.observer_id for row in rows]
        return [row.scene for row in rows]


def score_observers(catalog: Catalog, protocol: str) -> list[Json]:
    """An entry for each observer and task that has answers, in the order the observers came."""
    found = []
    with without_collector():
        for group in _groups(catalog, protocol):
            for task, rows in _by(group.rows, _task):
                described = _DESCRIBED[task](group, rows, protocol)
                found.append({"name": group.name, "kind": group.kind, "task": task, **described})
    return found + list(_detectors(catalog))


def _task(row: ScoredRow) -> str:
    return VQA if row.task in QUESTIONS else row.task


def _groups(catalog: Catalog, protocol: str) -> Iterator[_Group]:
    conditions = load_conditions(catalog)
    people: dict[str, list[Observer]] = {}
    for observer in list_observers(catalog):
        if observer.kind == "person":
            people.setdefault(str(observer.spec.get("dataset", "")), []).append(observer)
        elif observer.id is not None:
            scored = load_scored(catalog, observer.id, protocol, conditions)
            yield _Group(observer.name, "model", scored, [observer])
    for dataset, members in people.items():
        rows = [
            row
            for member in members
            if member.id is not None
            for row in load_scored(catalog, member.id, protocol, conditions)
        ]
        name = f"people of {dataset}" if dataset else "people"
        yield _Group(name, "person", rows, members)


def _classification(group: _Group, rows: list[ScoredRow], protocol: str) -> Json:
    evaluated = [row for row in rows if _evaluated(row)]
    counted = rows if protocol == RELEASE else evaluated
    judged = [row for row in counted if row.soft is not None]
    top1 = accuracy([row.place == 1 for row in judged], group.clusters(judged))
    top5 = accuracy([row.place is not None for row in judged], group.clusters(judged))
    scored = [row for row in evaluated if row.soft is not None]
    metrics = {**_numbers("top1", top1), **_numbers("top5", top5), "interval": top1.method}
    return {
        "n": top1.n,
        **_unanswered(counted),
        "metrics": {**metrics, **_sensitivity(scored)},
        "by_ev_offset": [
            {
                "lighting": lighting,
                "ev_offset": None if math.isnan(offset) else offset,
                **_share(group, some, "top1"),
            }
            for (lighting, offset), some in _by(scored, _condition)
        ],
    }


def _questions(group: _Group, rows: list[ScoredRow], protocol: str) -> Json:
    del protocol  # the same frames count under both
    counted = [row for row in rows if _evaluated(row) and row.error_kind != UNSCORABLE]
    questions = {task: _question(group, some) for task, some in _by(counted, lambda row: row.task)}
    return {
        "n": len(counted),
        "observers": len(group.observers),
        **_unanswered([row for row in rows if _evaluated(row)]),
        "metrics": {
            "soft": _mean(one["soft"] for one in questions.values()),
            "hard": _mean(one["hard"] for one in questions.values()),
            "ps": _mean(one["ps"] for one in questions.values()),
        },
        "questions": questions,
        "by_ev_offset": [
            _offset_entry(offset, some) for offset, some in _by(counted, lambda row: row.ev_offset)
        ],
    }


def _question(group: _Group, rows: list[ScoredRow]) -> Json:
    """One question: no answer counts as a wrong one, and its share stands beside it."""
    soft = accuracy([row.soft == 1 for row in rows], group.clusters(rows))
    hard = accuracy([row.hard == 1 for row in rows], group.clusters(rows))
    kinds = {kind or "right": len(some) for kind, some in _by(rows, lambda row: row.error_kind)}
    return {
        "n": len(rows),
        **_numbers("soft", soft),
        **_numbers("hard", hard),
        **_sensitivity(rows),
        "kinds": kinds,
    }


def _offset_entry(offset: object, rows: list[ScoredRow]) -> Json:
    questions = {
        task: {
            "n": len(some),
            "soft": sum(row.soft == 1 for row in some) / len(some),
            "hard": sum(row.hard == 1 for row in some) / len(some),
        }
        for task, some in _by(rows, lambda row: row.task)
    }
    return {
        "ev_offset": offset,
        "n": len(rows),
        "soft": _mean(one["soft"] for one in questions.values()),
        "hard": _mean(one["hard"] for one in questions.values()),
        "questions": questions,
    }


def _choice(group: _Group, rows: list[ScoredRow], protocol: str) -> Json:
    del protocol
    share = accuracy([row.soft == 1 for row in rows], group.clusters(rows))
    metrics = _numbers("soft", share) | {"hard": share.value, "interval": share.method}
    conflicts = [_conflict(row) for row in rows]
    if any(one is not None for one in conflicts):
        answers, shapes, textures = zip(*(one for one in conflicts if one is not None), strict=True)
        metrics["shape_bias"] = _number(shape_bias(answers, shapes, textures))
    return {
        "n": share.n,
        "observers": len(group.observers),
        **_unanswered(rows),
        "metrics": metrics,
    }


_CUES = re.compile(r"([a-z]+)\d+-([a-z]+)\d+\.[a-z]+$")


def _conflict(row: ScoredRow) -> tuple[str, str, str] | None:
    """(answer, shape, texture) of a cue-conflict picture, told from its name."""
    payload = json.loads(row.payload)
    cues = picture_cues(str(payload.get("imagename", "")))
    return None if cues is None else (str(payload["response"]), *cues)


def picture_cues(name: str) -> tuple[str, str] | None:
    """Shape and texture of a cue-conflict picture, told from its name; None for any other."""
    found = _CUES.search(name)
    return None if found is None else (found[1], found[2])


def _detectors(catalog: Catalog) -> Iterator[Json]:
    objects = list_instances(catalog)
    scenes = frame_scenes(catalog) if objects else {}
    for observer in list_observers(catalog):
        if observer.id is None or not objects:
            continue
        frames = [
            DetectedFrame(frame_id, tuple(objects.get(scene, ())), response.payload or None)
            for response in list_responses(catalog, observer.id, DETECTION)
            for frame_id, scene in (scenes[response.stimulus_id],)
        ]
        if frames:
            truth, found, _ = frames_to_arrays(frames)
            matching = match(truth, found)
            summary = average_precision(matching).summary()
            lrp = optimal_lrp(matching).mean()
            yield {
                "name": observer.name,
                "kind": observer.kind,
                "task": DETECTION,
                "n": len(frames),
                "metrics": {
                    "ap": _number(summary.ap),
                    "ap50": _number(summary.ap50),
                    "ap75": _number(summary.ap75),
                    "olrp": _number(lrp.error),
                    "olrp_loc": _number(lrp.loc),
                    "olrp_fp": _number(lrp.fp),
                    "olrp_fn": _number(lrp.fn),
                },
            }


_DESCRIBED: dict[str, Callable[[_Group, list[ScoredRow], str], Json]] = {
    CLASSIFICATION: _classification,
    VQA: _questions,
    CHOICE: _choice,
}


def _condition(row: ScoredRow) -> tuple[str, float]:
    return row.lighting, math.nan if row.ev_offset is None else row.ev_offset


def _evaluated(row: ScoredRow) -> bool:
    """Frames of a sweep; of an imported one those offsets that its evaluation uses."""
    if row.frame_kind == "picture":
        return True
    inside = not row.imported or row.ev_offset in EVALUATED_OFFSETS
    return row.frame_kind == "manual" and inside


def _sensitivity(rows: list[ScoredRow]) -> Json:
    found = sensitivity(
        [float(row.soft == 1) for row in rows],
        [row.scene for row in rows],
        [math.nan if row.ev_offset is None else row.ev_offset for row in rows],
    )
    return {
        "ps": _number(found.parameter_sensitivity),
        "ps_mixed": _number(found.mixed_share),
        "ps_sets": found.sets,
    }


def _unanswered(rows: list[ScoredRow]) -> Json:
    kinds = [row.error_kind for row in rows]
    return {kind: kinds.count(kind) for kind in (NO_ANSWER, UNSURE, UNSCORABLE)}


def _share(group: _Group, rows: list[ScoredRow], name: str) -> Json:
    share = accuracy([row.soft == 1 for row in rows], group.clusters(rows))
    return {
        "n": share.n,
        name: _number(share.value),
        "low": _number(share.low),
        "high": _number(share.high),
    }


def _by(
    rows: list[ScoredRow], key: Callable[[ScoredRow], Any]
) -> list[tuple[Any, list[ScoredRow]]]:
    """Rows by a value of theirs, in its order, None last."""
    found: dict[Any, list[ScoredRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return sorted(found.items(), key=lambda item: (item[0] is None, item[0]))


def _numbers(name: str, share: Interval) -> Json:
    return {
        name: _number(share.value),
        f"{name}_low": _number(share.low),
        f"{name}_high": _number(share.high),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
