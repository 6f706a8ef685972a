"""What a detector is judged by: boxes that are there, and boxes that it gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import BoolArray, FloatArray, IntArray
from evaluate.metrics.boxes import areas, checked_boxes, xywh_to_xyxy


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The boxes of a set of images.

    Attributes
    ----------
    images : array of int, shape (n_images,)
        Every image that is judged, those without a box too.
    categories : array of int, shape (n_categories,)
        Every category that is judged.
    image_ids, category_ids : arrays of int, shape (n,)
    boxes_xyxy_px : array of float, shape (n, 4)
    crowd : array of bool, shape (n,), optional
        Regions that hold many objects. They are no objects to be found, and take in any number of
        detections, which are then neither right nor wrong. COCO's `ignore` has no such effect.
    areas_px2 : array of float, shape (n,), optional
        What sorts a box into small, medium or large: the area of its mask where that is known,
        else (default) of the box.

    Raises
    ------
    ValueError
        For unequal lengths, ids that are no integers or that occur twice in `images` or
        `categories`, boxes of unlisted images or categories, or boxes that are none.
    """

    images: IntArray
    categories: IntArray
    image_ids: IntArray
    category_ids: IntArray
    boxes_xyxy_px: FloatArray
    crowd: BoolArray = field(default_factory=lambda: np.zeros(0, bool))
    areas_px2: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        boxes = checked_boxes(self.boxes_xyxy_px)
        n = len(boxes)
        crowd = np.asarray(self.crowd, bool) if np.size(self.crowd) else np.zeros(n, bool)
        sizes = np.asarray(self.areas_px2, np.float64) if np.size(self.areas_px2) else areas(boxes)
        values = {
            "images": _ids(self.images, "images"),
            "categories": _ids(self.categories, "categories"),
            "image_ids": _ids(self.image_ids, "image_ids"),
            "category_ids": _ids(self.category_ids, "category_ids"),
            "boxes_xyxy_px": boxes,
            "crowd": crowd,
            "areas_px2": sizes,
        }
        _same_length({name: values[name] for name in list(values)[2:]})
        for name in ("images", "categories"):
            values[name] = np.sort(values[name])
            if (np.diff(values[name]) == 0).any():
                raise ValueError(f"{name}: an id is listed twice")
        positions(values["image_ids"], values["images"], "image")
        positions(values["category_ids"], values["categories"], "category")
        _set(self, values)


@dataclass(frozen=True, eq=False)
class Detections:
    """The boxes that a detector gave, all of them: cutting by score comes later, or never.

    Attributes
    ----------
    image_ids, category_ids : arrays of int, shape (n,)
    boxes_xyxy_px : array of float, shape (n, 4)
    scores : array of float, shape (n,)
    ids : array of int, shape (n,), optional
        Decides between equal scores, lower first, so that the order of the rows has no effect.
        Default: the order of the rows, as the COCO tools have it.

    Raises
    ------
    ValueError
        For unequal lengths, ids that are no integers, boxes that are none, or scores that are not
        finite.
    """

    image_ids: IntArray
    category_ids: IntArray
    boxes_xyxy_px: FloatArray
    scores: FloatArray
    ids: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        boxes = checked_boxes(self.boxes_xyxy_px)
        values = {
            "image_ids": _ids(self.image_ids, "image_ids"),
            "category_ids": _ids(self.category_ids, "category_ids"),
            "boxes_xyxy_px": boxes,
            "scores": np.asarray(self.scores, np.float64),
            "ids": _ids(self.ids, "ids") if np.size(self.ids) else np.arange(len(boxes)),
        }
        _same_length(values)
        wrong = ~np.isfinite(values["scores"])
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"the score of detection {row} is {values['scores'][row]}")
        _set(self, values)


def truth_from_coco(document: Mapping[str, Any], area: Literal["file", "box"]) -> GroundTruth:
    """The ground truth of a COCO document (`images`, `categories`, `annotations`).

    Parameters
    ----------
    area : {"file", "box"}
        Whether small, medium and large follow the `area` of each annotation, as the COCO tools do
        (there: of its mask), or the box. Files whose areas are not those of their boxes or masks
        are about, so say which.
    """
    rows = document["annotations"]
    return GroundTruth(
        images=np.array([image["id"] for image in document["images"]]),
        categories=np.array([category["id"] for category in document["categories"]]),
        image_ids=np.array([row["image_id"] for row in rows]),
        category_ids=np.array([row["category_id"] for row in rows]),
        boxes_xyxy_px=xywh_to_xyxy([row["bbox"] for row in rows]),
        crowd=np.array([bool(row.get("iscrowd", 0)) for row in rows], bool),
        areas_px2=np.array([row["area"] for row in rows] if area == "file" else [], np.float64),
    )


def detections_from_coco(rows: Iterable[Mapping[str, Any]]) -> Detections:
    """The detections of a COCO results file, a list of `image_id, category_id, bbox, score`."""
    found = list(rows)
    return Detections(
        image_ids=np.array([row["image_id"] for row in found]),
        category_ids=np.array([row["category_id"] for row in found]),
        boxes_xyxy_px=xywh_to_xyxy([row["bbox"] for row in found]),
        scores=np.array([row["score"] for row in found], np.float64),
    )


def positions(ids: IntArray, known: IntArray, what: str) -> IntArray:
    """Place of each id among the sorted known ones.

    Raises
    ------
    ValueError
        For an unknown id, with the ids in question: to drop them would only lower the score.
    """
    place = np.searchsorted(known, ids)
    inside = np.minimum(place, max(len(known) - 1, 0))
    wrong = known[inside] != ids if len(known) else np.ones(len(ids), bool)
    if wrong.any():
        some = np.unique(ids[wrong])[:5].tolist()
        raise ValueError(f"{int(wrong.sum())} rows of an unknown {what}, such as {some}")
    return np.asarray(place, np.int64)


def _ids(values: npt.ArrayLike, name: str) -> IntArray:
    found = np.asarray(values)
    if found.size == 0:
        return np.zeros(0, np.int64)
    if found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, not {found.dtype}: ids of one type only")
    return found.astype(np.int64)


def _same_length(values: Mapping[str, npt.NDArray[Any]]) -> None:
    lengths = {name: len(value) for name, value in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"lengths differ: {lengths}")


def _set(target: object, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        object.__setattr__(target, name, value)
