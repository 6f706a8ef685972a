"""Curves of detectors: AP, oLRP and its parts by EV offset, from one matching each."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from evaluate.metrics.arrays import FloatArray
from evaluate.metrics.average_precision import average_precision
from evaluate.metrics.bootstrap import MIN_CLUSTERS
from evaluate.metrics.detection_frames import DetectedFrame, frames_to_arrays
from evaluate.metrics.detection_intervals import FIGURES, detection_intervals
from evaluate.metrics.lrp import TAU, optimal_lrp
from evaluate.metrics.matching import Matching, match
from evaluate.metrics.sensitivity import sensitivity
from evaluate.report.curves import Curve, Point, sensitivity_by_offset
from evaluate.report.observed import Conditions
from evaluate.report.who import who_is
from schemas.answer_store import DETECTION, list_observers, list_responses
from schemas.catalog import Catalog
from schemas.import_store import list_instances
from schemas.records import Instance, Observer
from schemas.report_store import count_responses

AP, AP50, OLRP, OLRP_LOC, OLRP_FP, OLRP_FN = FIGURES

#: The highest score of a frame in each measure.
_SCALES = {OLRP_LOC: 1 - TAU}

#: Work of an interval: resamples times detections. Beyond, resamples are fewer.
_WORK = 10_000_000
_RESAMPLES = (100, 500)


def detector_curves(catalog: Catalog, conditions: Conditions) -> Iterator[list[Curve]]:
    """Curves of one detector after another, in the order they came."""
    objects = list_instances(catalog)
    answered = count_responses(catalog)
    if not objects:
        return
    for observer in list_observers(catalog):
        if observer.id is not None and answered.get(observer.id, {}).get(DETECTION):
            found = _curves(catalog, observer, objects, conditions)
            if found:
                yield found


def _curves(
    catalog: Catalog,
    observer: Observer,
    objects: dict[str, list[Instance]],
    conditions: Conditions,
) -> list[Curve]:
    asked, evaluated = conditions.asked, conditions.evaluated
    frames: dict[int, DetectedFrame] = {}
    rows: dict[int, int] = {}
    for response in list_responses(catalog, observer.id or 0, DETECTION):
        row = int(np.searchsorted(asked.id, response.stimulus_id))
        frame_id = int(asked.frame_id[row])
        if evaluated[row]:
            there = tuple(objects.get(asked.scene[row], ()))
            frames[frame_id] = DetectedFrame(frame_id, there, response.payload or None)
            rows[frame_id] = row
    if not frames:
        return []
    truth, found, _ = frames_to_arrays(frames.values())
    matching = match(truth, found)
    of_image = np.array([rows[image] for image in matching.images.tolist()])
    scenes = asked.scene[of_image].astype(str)
    return _measures(observer, matching, scenes, asked.ev_offset[of_image])


def _measures(
    observer: Observer, matching: Matching, scenes: FloatArray, offsets: FloatArray
) -> list[Curve]:
    who = who_is(observer.name, observer.kind)
    known, place = np.unique(offsets[~np.isnan(offsets)], return_inverse=True)
    groups = np.full(len(offsets), -1)
    groups[~np.isnan(offsets)] = place
    resamples = _resamples(len(matching.scores), len(np.unique(scenes)))
    (overall,) = detection_intervals(matching, scenes, resamples=resamples)
    by_offset = (
        detection_intervals(matching, scenes, groups, resamples=resamples) if len(known) else []
    )
    single = _by_frame(matching)
    curves = []
    for measure in FIGURES:
        points = tuple(
            Point(
                int(offset), one[measure].n, one[measure].value, one[measure].low, one[measure].high
            )
            for offset, one in zip(known.tolist(), by_offset, strict=True)
        )
        scale = _SCALES.get(measure, 1.0)
        values = single.get(measure)
        sets = None if values is None else sensitivity(values, scenes, offsets, scale)
        at = () if values is None else sensitivity_by_offset(values, scenes, offsets, scale)
        curves.append(Curve(who, measure, overall[measure], points, sets, at))
    return curves


def _by_frame(matching: Matching) -> dict[str, FloatArray]:
    """AP, oLRP and its parts of each frame alone; NaN where undefined."""
    each = np.arange(len(matching.images))
    errors = optimal_lrp(matching, each).by_group()
    found = {
        AP: average_precision(matching, each, recall_limits=()).by_group(),
        OLRP: errors["error"],
        OLRP_LOC: errors["loc"],
        OLRP_FP: errors["fp"],
        OLRP_FN: errors["fn"],
    }
    return {name: _padded(values, len(each)) for name, values in found.items()}


def _padded(values: FloatArray, n: int) -> FloatArray:
    """One value an image, also for those at the end that hold no object."""
    return np.concatenate([values, np.full(n - len(values), math.nan)])


def _resamples(detections: int, scenes: int) -> int:
    fewest, most = _RESAMPLES
    if scenes < MIN_CLUSTERS:
        return fewest  # there is no interval
    return int(np.clip(_WORK // max(detections, 1), fewest, most))
