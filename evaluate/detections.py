"""Detections in COCO's results format, read in one pass and kept by picture."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evaluate.errors import EvaluateError

#: Numbers kept of each detection: category id, score, left, top, width, height.
_WIDTH = 6


class Detections:
    """Detections of one detector by COCO image id, in the order of the file.

    Six doubles each: a detector's results on 37,557 frames stay in a few hundred megabytes,
    where the parsed documents would take gigabytes.
    """

    def __init__(self) -> None:
        self._by_image: dict[int, array[float]] = {}

    def add(self, image_id: int, category_id: int, score: float, box: list[float]) -> None:
        """Append one; `box` is left, top, width, height in pixels."""
        kept = self._by_image.setdefault(image_id, array("d"))
        kept.extend((category_id, score, *box))

    def image_ids(self) -> list[int]:
        """Pictures with at least one detection."""
        return list(self._by_image)

    def payload(self, image_id: int, names: Mapping[int, str], size_px: tuple[int, int]) -> str:
        """The response payload of a picture as JSON text; a picture may have no detections.

        ``{"labels": [...], "scores": [...], "boxes_xywh_px": [...], "size_px": [w, h]}``:
        boxes refer to a picture of `size_px`.
        """
        kept = self._by_image.get(image_id, array("d"))
        rows = [kept[at : at + _WIDTH] for at in range(0, len(kept), _WIDTH)]
        return json.dumps(
            {
                "labels": [names[int(row[0])] for row in rows],
                "scores": [row[1] for row in rows],
                "boxes_xywh_px": [list(row[2:]) for row in rows],
                "size_px": list(size_px),
            }
        )


def read_detections(
    path: Path,
    name: str,
    image_ids: set[int],
    category_ids: set[int],
    reject: Callable[[str, object], None],
) -> Detections:
    """Read a results file: a list, or a document with ``annotations``.

    Detections of unknown pictures or categories, with scores that are no finite numbers, or
    with boxes that are none, are rejected one by one: an id outside the ground truth would
    vanish in the metrics without a word.

    Raises
    ------
    EvaluateError
        If the file is not JSON of that form.
    """
    found = Detections()
    for item in _items(path, name):
        try:
            image_id, category_id = item["image_id"], item["category_id"]
            score, box = float(item["score"]), [float(side) for side in item["bbox"]]
        except (KeyError, TypeError, ValueError):
            reject("not a detection (image_id, category_id, bbox, score)", json.dumps(item)[:200])
            continue
        if image_id not in image_ids:
            reject("image id not in the ground truth", image_id)
        elif category_id not in category_ids:
            reject("category id not in the ground truth", category_id)
        elif not math.isfinite(score):
            reject("score is not a finite number", f"image {image_id}: {score}")
        elif len(box) != 4 or not all(map(math.isfinite, box)) or min(box[2:]) < 0:
            reject("box is not left, top, width, height", f"image {image_id}: {box}")
        else:
            found.add(image_id, category_id, score, box)
    return found


def _items(path: Path, name: str) -> Iterator[Any]:
    """One detection after another, without holding all of them parsed."""
    try:
        text = path.read_text(encoding="utf-8").strip()
        if text.startswith("{"):
            yield from json.loads(text)["annotations"]
            return
        if not (text.startswith("[") and text.endswith("]")):
            raise ValueError("neither a list nor an object")
        yield from _list_items(text)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluateError(f"{name} is not a COCO results file: {error!r}") from error


def _list_items(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at, end = 1, len(text) - 1
    while True:
        while at < end and text[at] in " \t\r\n,":
            at += 1
        if at >= end:
            return
        item, at = decoder.raw_decode(text, at)
        yield item
