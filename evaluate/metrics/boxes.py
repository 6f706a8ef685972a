"""Boxes as corners in pixels, and their overlap.

One form everywhere: `boxes_xyxy_px`, float64, shape (n, 4), left, top, right, bottom. COCO files
hold left, top, width, height; read as corners those give an AP of 0 without any error, hence the
check in `checked_boxes` and the form in the name.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import BoolArray, FloatArray


def xywh_to_xyxy(boxes_xywh_px: npt.ArrayLike) -> FloatArray:
    """Corners of boxes given as left, top, width, height; shapes (n, 4)."""
    boxes = np.array(boxes_xywh_px, dtype=np.float64).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def xyxy_to_xywh(boxes_xyxy_px: npt.ArrayLike) -> FloatArray:
    """Left, top, width, height of boxes given as corners; shapes (n, 4)."""
    boxes = np.array(boxes_xyxy_px, dtype=np.float64).reshape(-1, 4)
    boxes[:, 2:] -= boxes[:, :2]
    return boxes


def checked_boxes(boxes_xyxy_px: npt.ArrayLike) -> FloatArray:
    """The boxes as float64, shape (n, 4).

    Raises
    ------
    ValueError
        For a corner that is not finite, or right of (below) its opposite.
    """
    boxes = np.asarray(boxes_xyxy_px, dtype=np.float64).reshape(-1, 4)
    bad = ~np.isfinite(boxes).all(axis=1) | (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"box {row} is no left, top, right, bottom: {boxes[row].tolist()}; "
            "give corners (xywh_to_xyxy turns COCO's boxes into them)"
        )
    return boxes


def areas(boxes_xyxy_px: FloatArray) -> FloatArray:
    """Areas in square pixels, shape (n,)."""
    sides = boxes_xyxy_px[:, 2:] - boxes_xyxy_px[:, :2]
    return np.asarray(sides[:, 0] * sides[:, 1])


def paired_iou(
    first_xyxy_px: FloatArray, second_xyxy_px: FloatArray, crowd: BoolArray | None = None
) -> FloatArray:
    r"""Intersection over union of box i with box i, shape (n,).

    .. math:: |A \cap B| / |A \cup B|

    Where the second box is a crowd region, the denominator is the area of the first alone (COCO's
    rule: a detection inside a crowd belongs to it wholly). Boxes that do not overlap have 0, those
    without area too.

    Examples
    --------
    >>> a, b = np.array([[0.0, 0, 10, 10]]), np.array([[5.0, 0, 15, 10]])
    >>> paired_iou(a, b).round(4).tolist()
    [0.3333]
    """
    low = np.maximum(first_xyxy_px[:, :2], second_xyxy_px[:, :2])
    high = np.minimum(first_xyxy_px[:, 2:], second_xyxy_px[:, 2:])
    sides = np.maximum(high - low, 0.0)
    shared = sides[:, 0] * sides[:, 1]
    whole = areas(first_xyxy_px)
    union = whole + areas(second_xyxy_px) - shared
    if crowd is not None:
        union = np.where(crowd, whole, union)
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0))
