"""COCO ground truth as the catalog needs it: pictures, their objects, the names of classes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluate.errors import EvaluateError
from schemas.records import Instance


@dataclass
class CocoImage:
    """A picture of a ground truth and its objects, in the order of the file."""

    id: int
    file_name: str
    size_px: tuple[int, int]
    instances: list[Instance] = field(default_factory=list)


@dataclass(frozen=True)
class CocoTruth:
    """A ground truth: pictures by ascending id, names of the classes by id."""

    images: dict[int, CocoImage]
    names: dict[int, str]


def read_truth(path: Path, reject: Callable[[str, object], None]) -> CocoTruth:
    """Read a COCO ground truth. Objects that cannot be used are rejected one by one.

    Raises
    ------
    EvaluateError
        If the file is no ground truth, or its ids or class names are not unique.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        names = [(int(one["id"]), str(one["name"])) for one in document["categories"]]
        images = [
            CocoImage(
                int(one["id"]), str(one["file_name"]), (int(one["width"]), int(one["height"]))
            )
            for one in document["images"]
        ]
        annotations = list(document["annotations"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluateError(f"{path} is not a COCO ground truth: {error!r}") from error
    if len(dict(names)) != len(names) or len({name for _, name in names}) != len(names):
        raise EvaluateError(f"{path}: ids or names of categories are not unique")
    by_id = {image.id: image for image in sorted(images, key=lambda image: image.id)}
    if len(by_id) != len(images):
        raise EvaluateError(f"{path}: ids of images are not unique")
    truth = CocoTruth(by_id, dict(names))
    for item in annotations:
        _add_object(truth, item, reject)
    return truth


def _add_object(truth: CocoTruth, item: Any, reject: Callable[[str, object], None]) -> None:  # noqa: ANN401 - parsed JSON
    try:
        image = truth.images.get(item["image_id"])
        name = truth.names.get(item["category_id"])
        left, top, width, height = (float(side) for side in item["bbox"])
        stated = float(item.get("area", 0.0))
    except (KeyError, TypeError, ValueError, AttributeError):
        reject("not an annotation (image_id, category_id, bbox)", json.dumps(item)[:200])
        return
    if image is None:
        reject("annotation of an unknown image", item["image_id"])
    elif name is None:
        reject("annotation of an unknown category", item["category_id"])
    elif not all(map(math.isfinite, (left, top, width, height))) or min(width, height) <= 0:
        reject("box without an area", json.dumps(item["bbox"]))
    else:
        # a mask's area is smaller than its box; one that is not stated is the box's
        area = stated if math.isfinite(stated) and stated > 0 else width * height
        image.instances.append(
            Instance(
                name,
                (left, top, width, height),
                area,
                image.size_px,
                bool(item.get("iscrowd", 0)),
                _rle(item.get("segmentation")),
            )
        )


def _rle(segmentation: object) -> dict[str, list[int]] | None:
    """Uncompressed run lengths are kept; polygons and compressed runs are not decoded here."""
    if isinstance(segmentation, dict) and isinstance(segmentation.get("counts"), list):
        return {"size": list(segmentation["size"]), "counts": list(segmentation["counts"])}
    return None
