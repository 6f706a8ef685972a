"""Top-1 localization by group: the best-scored box has the right class and lies right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from evaluate.color.data import ColorData, ColorFrames, Seen
from evaluate.color.scores import ALL, VEHICLES, GroupScore, score
from evaluate.metrics.boxes import paired_iou, xywh_to_xyxy
from schemas.answer_store import DETECTION, ORIGINAL
from schemas.catalog import Catalog
from schemas.color_store import list_color_detections
from schemas.import_store import list_instances
from schemas.records import Instance

#: Least intersection over union of a hit.
THRESHOLDS: Final = (0.3, 0.5, 0.7)

#: Scores of one detector: (subset, threshold) → by group.
Localized = dict[tuple[str, float], GroupScore]


def localization(catalog: Catalog, data: ColorData) -> dict[str, Localized]:
    """Scores of each detector that answered to frames with boxes, by its name."""
    objects = list_instances(catalog)
    if not objects:
        return {}
    positions = {row.frame_id: number for number, row in enumerate(data.frames.rows)}
    found = {}
    for observer in data.observers:
        overlaps = [
            (positions[frame_id], best_overlap(payload, boxes))
            for view, frame_id, payload in list_color_detections(
                catalog, observer.id or 0, DETECTION
            )
            if view == ORIGINAL and frame_id in positions
            for boxes in (objects.get(data.frames.rows[positions[frame_id]].scene, ()),)
            if boxes
        ]
        if overlaps:
            scored = _scored(data.frames, overlaps)
            if any(sum(one.n) for one in scored.values()):
                found[observer.name] = scored
    return found


def best_overlap(payload: Mapping[str, Any], objects: Sequence[Instance]) -> float:
    """Overlap of the best-scored detection with an object of its class; 0 if there is none.

    Parameters
    ----------
    payload : mapping
        ``{"labels": …, "scores": …, "boxes_xywh_px": …, "size_px": [w, h]}``.
    objects : sequence of Instance
        Of the scene; boxes of another picture size are scaled.
    """
    if not payload.get("scores"):
        return 0.0
    top = int(np.argmax(payload["scores"]))
    same = [one for one in objects if one.category == payload["labels"][top] and not one.crowd]
    if not same:
        return 0.0
    width, height = payload.get("size_px", same[0].image_size_px)
    scale = np.array([[one.image_size_px[0] / width, one.image_size_px[1] / height] * 2
                      for one in same])  # fmt: skip
    box = np.array([payload["boxes_xywh_px"][top]], np.float64) * scale
    truth = xywh_to_xyxy([one.box_xywh_px for one in same])
    return float(paired_iou(xywh_to_xyxy(box), truth).max())


def _scored(frames: ColorFrames, overlaps: Sequence[tuple[int, float]]) -> Localized:
    at = np.array([position for position, _ in overlaps], np.int64)
    overlap = np.array([value for _, value in overlaps], np.float64)
    unknown = np.full(len(at), np.nan)
    found = {}
    for subset in (ALL, VEHICLES):
        keep = np.ones(len(at), np.bool_)
        if subset.frames is not None:
            keep = subset.frames(frames)[at]
        for threshold in THRESHOLDS:
            # a class without a box of its own has no overlap: it is wrong at every threshold
            seen = Seen(at[keep], (overlap >= threshold)[keep], unknown[keep])
            found[subset.key, threshold] = score(seen, frames.group)
    return found
