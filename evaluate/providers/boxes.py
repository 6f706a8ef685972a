"""What detectors of all libraries give, as the catalog keeps it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evaluate.errors import EvaluateError
from evaluate.model import DIGITS
from evaluate.providers.coco_labels import LabelMap

#: Digits after the point of a box side in pixels.
_PIXEL_DIGITS = 2


def detection_payload(
    labels: Sequence[int],
    scores: Sequence[float],
    boxes_xyxy_px: Sequence[Sequence[float]],
    size_px: tuple[int, int],
    names: LabelMap,
) -> dict[str, Any]:
    """The payload of a picture, likeliest first, no score cut.

    Ids that the detector's own list declares to be no class are left out: they are gaps of the
    numbering. Boxes are cut at the border of the picture, where some libraries let them reach
    beyond it.

    Raises
    ------
    EvaluateError
        For a score or a box that is not finite, and for an id outside the list.
    """
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    kept = [(names.name(labels[place]), place) for place in order]
    found = [(name, place) for name, place in kept if name is not None]
    boxes = [_inside(boxes_xyxy_px[place], size_px) for _, place in found]
    chosen = [scores[place] for _, place in found]
    if not all(map(math.isfinite, scores)):
        raise EvaluateError("the detector gave a score that is not a finite number")
    return {
        "labels": [name for name, _ in found],
        "scores": [round(score, DIGITS) for score in chosen],
        "boxes_xywh_px": boxes,
        "size_px": list(size_px),
    }


def _inside(box_xyxy_px: Sequence[float], size_px: tuple[int, int]) -> list[float]:
    """Left, top, width and height of a box within the picture."""
    if not all(map(math.isfinite, box_xyxy_px)):
        raise EvaluateError(f"the detector gave a box that is none: {list(box_xyxy_px)}")
    x0, y0, x1, y1 = (
        min(max(side, 0.0), float(size_px[axis % 2])) for axis, side in enumerate(box_xyxy_px)
    )
    left, top = min(x0, x1), min(y0, y1)
    sides = (left, top, max(x0, x1) - left, max(y0, y1) - top)
    return [round(side, _PIXEL_DIGITS) for side in sides]
