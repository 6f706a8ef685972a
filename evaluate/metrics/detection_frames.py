"""From the catalog's objects and detections, by name, to the arrays that are matched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluate.metrics.arrays import FloatArray
from evaluate.metrics.boxes import xywh_to_xyxy
from evaluate.metrics.detection_data import Detections, GroundTruth
from evaluate.release.detectors import SCENE_NAMES
from schemas.records import Instance


@dataclass(frozen=True)
class DetectedFrame:
    """A frame, the objects of its scene, and what a detector answered.

    Attributes
    ----------
    frame_id : int
    instances : tuple of Instance
    payload : mapping or None
        ``{"labels": [...], "scores": [...], "boxes_xywh_px": [...], "size_px": [w, h]}``; None
        where the detector failed: nothing was found then.
    """

    frame_id: int
    instances: tuple[Instance, ...]
    payload: Mapping[str, Any] | None


def frames_to_arrays(
    frames: Iterable[DetectedFrame],
) -> tuple[GroundTruth, Detections, tuple[str, ...]]:
    """Ground truth and detections with classes numbered, and the class names by number.

    A class that COCO and the rig's scenes call by different names is one class: where no object
    is a "cell phone", a detected one is a "phone", and the other way round.

    Boxes and areas are in pixels of the picture that the objects were marked in; detections of
    another size are scaled to it. Classes that no object has may be among the detections'; they
    have no score.

    Raises
    ------
    ValueError
        For a frame given twice, labels, scores and boxes of different numbers, or what
        `GroundTruth` and `Detections` refuse.
    """
    frames = list(frames)
    same = _same_class({one.category for frame in frames for one in frame.instances})
    numbers: dict[str, int] = {}
    images: list[int] = []
    truth: list[tuple[int, int, bool, float]] = []
    found: list[tuple[int, int, float]] = []
    truth_boxes: list[FloatArray] = [np.zeros((0, 4))]
    found_boxes: list[FloatArray] = [np.zeros((0, 4))]
    for frame in frames:
        images.append(frame.frame_id)
        sizes = {one.image_size_px for one in frame.instances}
        if len(sizes) > 1:
            raise ValueError(f"frame {frame.frame_id}: objects marked in pictures of {sizes}")
        for one in frame.instances:
            number = numbers.setdefault(one.category, len(numbers))
            # where the source states no area, the box decides about small, medium and large
            area = one.area_px or one.box_xywh_px[2] * one.box_xywh_px[3]
            truth.append((frame.frame_id, number, one.crowd, area))
        truth_boxes.append(xywh_to_xyxy([one.box_xywh_px for one in frame.instances]))
        if frame.payload is not None:
            labels, scores = frame.payload["labels"], frame.payload["scores"]
            boxes = xywh_to_xyxy(frame.payload["boxes_xywh_px"])
            if not len(labels) == len(scores) == len(boxes):
                raise ValueError(
                    f"frame {frame.frame_id}: labels, scores and boxes differ in number"
                )
            size = frame.payload["size_px"]
            scale = np.divide(next(iter(sizes), size), size)
            found_boxes.append(boxes * np.tile(scale, 2))
            for label, score in zip(labels, scores, strict=True):
                number = numbers.setdefault(same.get(label, label), len(numbers))
                found.append((frame.frame_id, number, score))
    truth_columns = list(zip(*truth, strict=True)) or [()] * 4
    found_columns = list(zip(*found, strict=True)) or [()] * 3
    return (
        GroundTruth(
            images=np.array(images),
            categories=np.arange(len(numbers)),
            image_ids=np.array(truth_columns[0]),
            category_ids=np.array(truth_columns[1]),
            boxes_xyxy_px=np.concatenate(truth_boxes),
            crowd=np.array(truth_columns[2], bool),
            areas_px2=np.array(truth_columns[3], np.float64),
        ),
        Detections(
            image_ids=np.array(found_columns[0]),
            category_ids=np.array(found_columns[1]),
            boxes_xyxy_px=np.concatenate(found_boxes),
            scores=np.array(found_columns[2], np.float64),
        ),
        tuple(numbers),
    )


def _same_class(categories: Collection[str]) -> dict[str, str]:
    """The objects' own name of a class, by the name that a detector may give it."""
    pairs = [*SCENE_NAMES.items(), *((scene, coco) for coco, scene in SCENE_NAMES.items())]
    return {
        found: known for found, known in pairs if known in categories and found not in categories
    }
