"""A detector's page as values: AP, oLRP and its parts, by every condition of the frames."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluate.metrics.arrays import FloatArray, IntArray
from evaluate.metrics.bootstrap import Interval
from evaluate.metrics.detection_frames import DetectedFrame, frames_to_arrays
from evaluate.metrics.detection_intervals import FIGURES, detection_figures, detection_intervals
from evaluate.metrics.groups import Groups
from evaluate.metrics.lrp import TAU, optimal_lrp
from evaluate.metrics.matching import Matching, match
from evaluate.metrics.sensitivity import Sensitivity, sensitivity
from evaluate.report.breakdown import condition_columns, tables
from evaluate.report.observed import Conditions, Observed
from evaluate.report.observer_facts import ObserverFacts, Section, about, label_of
from schemas.answer_store import DETECTION, list_responses
from schemas.catalog import Catalog
from schemas.records import Instance, Observer

#: Resamples of the scores over all frames: each accumulates all detections anew.
_RESAMPLES = 200

_NAMES = {
    "ap": "AP", "ap50": "AP50", "olrp": "oLRP", "olrp_loc": "oLRP Loc",
    "olrp_fp": "oLRP FP", "olrp_fn": "oLRP FN",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Detected:
    """A detector's matched detections, and the place of each image's stimulus in the conditions."""

    observer: Observer
    matching: Matching
    rows: IntArray


def load_detected(
    catalog: Catalog, observer: Observer, objects: dict[str, list[Instance]], conditions: Conditions
) -> Detected | None:
    """Match a detector's boxes on evaluated frames; None without any.

    Parameters
    ----------
    objects : dict
        Objects of each scene, as `list_instances` gives them.
    """
    frames: dict[int, DetectedFrame] = {}
    rows: dict[int, int] = {}
    for response in list_responses(catalog, observer.id or 0, DETECTION):
        row = int(np.searchsorted(conditions.asked.id, response.stimulus_id))
        if conditions.evaluated[row]:
            frame_id = int(conditions.asked.frame_id[row])
            there = tuple(objects.get(str(conditions.asked.scene[row]), ()))
            frames[frame_id] = DetectedFrame(frame_id, there, response.payload or None)
            rows[frame_id] = row
    if not frames:
        return None
    truth, found, _ = frames_to_arrays(frames.values())
    matching = match(truth, found)
    return Detected(
        observer, matching, np.array([rows[image] for image in matching.images.tolist()])
    )


def gather_detector(detected: Detected, conditions: Conditions) -> ObserverFacts:
    """Everything that a detector's page shows.

    A detector gives boxes, not one right or wrong answer a frame: it has no error consistency.
    """
    observer = detected.observer
    return ObserverFacts(
        name=observer.name,
        label=label_of(observer.name, observer.kind),
        kind=observer.kind,
        about=about(observer.name, (observer,)),
        persons=(),
        sections=(_section(detected, conditions),),
        relations=None,
    )


def _section(detected: Detected, conditions: Conditions) -> Section:
    matching = detected.matching
    frames = _as_observed(detected, conditions)
    scenes, offsets = frames.of("scene_number"), frames.of("ev_offset")
    (overall,) = detection_intervals(matching, scenes, resamples=_RESAMPLES)

    def scores(groups: Groups) -> list[tuple[Interval, ...]]:
        figures = detection_figures(matching, groups.index)
        return [
            tuple(Interval(float(value), math.nan, math.nan, len(rows), "none") for value in some)
            for some, rows in zip(figures.T, groups.rows(), strict=True)
        ]

    columns = condition_columns(frames)
    if len(np.unique(scenes)) == len(scenes):
        columns = {name: column for name, column in columns.items() if name != "category"}
    names = tuple(_NAMES[name] for name in FIGURES)
    return Section(
        family=DETECTION,
        title="Object detection",
        n=len(matching.images),
        unanswered=0,
        measures=names,
        scores=tuple(overall[name] for name in FIGURES),
        tables=tuple(tables(columns, names, scores)),
        sensitivity=tuple(_sensitivity(matching, scenes, offsets)),
    )


def _sensitivity(
    matching: Matching, scenes: FloatArray, offsets: FloatArray
) -> Iterator[tuple[str, Sensitivity]]:
    if np.isnan(offsets).all():
        return
    each = np.arange(len(matching.images))
    for part, values in optimal_lrp(matching, each).by_group().items():
        # images at the end that hold no object have no value
        padded = np.concatenate([values, np.full(len(each) - len(values), math.nan)])
        scale = 1 - TAU if part == "loc" else 1.0
        name = _NAMES["olrp" if part == "error" else f"olrp_{part}"]
        yield name, sensitivity(padded, scenes, offsets, scale)


def _as_observed(detected: Detected, conditions: Conditions) -> Observed:
    """The frames as answers without a verdict: what conditions are read from."""
    n = len(detected.rows)
    nothing = np.full(n, np.nan)
    return Observed(
        name=detected.observer.name,
        kind=detected.observer.kind,
        members=(detected.observer,),
        protocol="",
        conditions=conditions,
        row=detected.rows,
        soft=nothing,
        hard=nothing,
        error_kind=np.full(n, "", object),
        place=nothing,
        length=np.zeros(n, np.int64),
        person=np.zeros(n, np.int64),
        index=np.arange(n),
    )
