"""What a COCO ground truth must keep to. The reference tools accept almost anything silently.

pycocotools loads dangling image ids, ids that come twice, boxes outside of their picture, objects
without area or iscrowd, and category 0, and then counts something else.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

#: How far a box may reach over its picture, in pixels: coordinates are rounded.
_SLACK_PX = 0.01

#: How many faults are named.
_NAMED = 20


class CocoRules:
    """Checks the parts of a ground truth one by one, as they are written or read.

    Categories and images must come before the annotations that refer to them.

    Attributes
    ----------
    faults : list of str
        What is wrong, in words; the first ones.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._categories: set[int] = set()
        self._names: set[str] = set()
        self._images: dict[int, tuple[int, int]] = {}
        self._files: set[str] = set()
        self._annotations: set[int] = set()

    def category(self, item: dict[str, Any]) -> None:
        """Check a category."""
        key = item.get("id")
        if not _whole(key) or key < 1:
            self._fault(f"category id {key!r} is not a whole number from 1")
        elif key in self._categories or item.get("name") in self._names:
            self._fault(f"category {key} or its name comes twice")
        else:
            self._categories.add(key)
            self._names.add(str(item.get("name")))

    def image(self, item: dict[str, Any]) -> None:
        """Check a picture."""
        key, name = item.get("id"), item.get("file_name")
        width, height = item.get("width"), item.get("height")
        if not _whole(key):
            self._fault(f"image id {key!r} is not a whole number")
        elif key in self._images:
            self._fault(f"image id {key} comes twice")
        elif not isinstance(name, str) or name in self._files or _leaves(name):
            self._fault(f"image {key}: file name {name!r} is missing, doubled or leaves its folder")
        elif not (_whole(width) and _whole(height) and width > 0 and height > 0):
            self._fault(f"image {key} has no size")
        else:
            self._images[key] = (width, height)
            self._files.add(name)

    def annotation(self, item: dict[str, Any]) -> None:
        """Check an object."""
        key = item.get("id")
        if not _whole(key):
            self._fault(f"annotation id {key!r} is not a whole number")
            return
        if key in self._annotations:
            self._fault(f"annotation id {key} comes twice")
        self._annotations.add(key)
        if item.get("category_id") not in self._categories:
            self._fault(f"annotation {key}: category {item.get('category_id')!r} is not listed")
        if item.get("iscrowd") not in (0, 1):
            self._fault(f"annotation {key}: iscrowd is {item.get('iscrowd')!r}, not 0 or 1")
        size = self._images.get(item.get("image_id", ""))
        if size is None:
            self._fault(f"annotation {key}: image {item.get('image_id')!r} is not listed")
            return
        self._box(key, item, size)

    def _box(self, key: int, item: dict[str, Any], size: tuple[int, int]) -> None:
        box: Any = item.get("bbox")
        area: Any = item.get("area")
        if not isinstance(box, list) or len(box) != 4 or not all(map(_finite, [*box, area])):
            self._fault(f"annotation {key}: bbox and area are not numbers")
            return
        left, top, width, height = box
        if min(width, height) <= 0 or area <= 0:
            self._fault(f"annotation {key} has no area")
        elif area > width * height + 1:
            self._fault(f"annotation {key}: area {area:g} is larger than its box")
        right, bottom = left + width, top + height
        left_of = min(left, top) < -_SLACK_PX
        if left_of or right > size[0] + _SLACK_PX or bottom > size[1] + _SLACK_PX:
            self._fault(f"annotation {key}: its box leaves a picture of {size[0]} x {size[1]}")
        rle = item.get("segmentation")
        if isinstance(rle, dict) and rle.get("size") != [size[1], size[0]]:
            self._fault(f"annotation {key}: its mask has another size than its picture")

    def _fault(self, text: str) -> None:
        if len(self.faults) < _NAMED:
            self.faults.append(text)


def check_coco(document: dict[str, Any]) -> list[str]:
    """What is wrong with a whole ground truth, in words; empty for a sound one."""
    rules = CocoRules()
    for name, check in (
        ("categories", rules.category),
        ("images", rules.image),
        ("annotations", rules.annotation),
    ):
        items = document.get(name)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            return [f"{name} is not a list of objects"]
        for item in items:
            check(item)
    return rules.faults


def _whole(value: Any) -> TypeGuard[int]:  # noqa: ANN401 - JSON
    return isinstance(value, int) and not isinstance(value, bool)


def _finite(value: Any) -> bool:  # noqa: ANN401 - JSON
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _leaves(name: str) -> bool:
    return not name or name.startswith("/") or "\\" in name or ".." in name.split("/")
