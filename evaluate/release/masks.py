"""Instance masks: one color an object on black, taken once a scene, valid for all its frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from evaluate.errors import EvaluateError
from schemas.records import Instance


def read_mask(path: Path, category: str) -> list[Instance]:
    """The objects of a mask picture, in order of their color.

    Boxes and areas are exact, in pixels of the mask: a box spans whole pixels, an area counts
    them.

    Raises
    ------
    EvaluateError
        If the file is no picture.
    """
    try:
        with Image.open(path) as picture:
            rgba = np.asarray(picture.convert("RGBA"))
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError) as error:
        raise EvaluateError(f"{path.name} cannot be decoded: {error}") from error
    return mask_instances(rgba, category)


def mask_instances(rgba: npt.NDArray[np.uint8], category: str) -> list[Instance]:
    """The objects of an opaque mask of shape (H, W, 4): each color other than black is one."""
    height, width = rgba.shape[:2]
    color = np.ascontiguousarray(rgba).view(">u4")[..., 0] >> 8  # one number a pixel: 0xRRGGBB
    # COCO counts runs down the columns
    flat = color.T.ravel()
    starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1))
    lengths = np.diff(starts, append=flat.size)
    values = flat[starts]
    return [
        _instance(starts[values == one], lengths[values == one], (height, width), category)
        for one in np.unique(values)
        if one != 0
    ]


def _instance(
    starts: npt.NDArray[Any], lengths: npt.NDArray[Any], shape: tuple[int, int], category: str
) -> Instance:
    """One object from its runs down the columns of a picture of `shape` (H, W)."""
    height, width = shape
    ends = starts + lengths
    last = ends - 1
    left, right = int(starts[0] // height), int(last[-1] // height) + 1
    if np.any(starts // height != last // height):  # a run goes on in the next column
        top, bottom = 0, height
    else:
        top, bottom = int((starts % height).min()), int((last % height).max()) + 1
    gaps = starts - np.concatenate(([0], ends[:-1]))
    counts = np.column_stack((gaps, lengths)).ravel().tolist()
    if ends[-1] < height * width:
        counts.append(int(height * width - ends[-1]))
    return Instance(
        category=category,
        box_xywh_px=(float(left), float(top), float(right - left), float(bottom - top)),
        area_px=float(lengths.sum()),
        image_size_px=(width, height),
        rle={"size": [height, width], "counts": counts},
    )


def decode_rle(rle: dict[str, list[int]]) -> npt.NDArray[np.bool_]:
    """The mask of shape (H, W) behind uncompressed COCO run lengths."""
    height, width = rle["size"]
    ones = np.arange(len(rle["counts"])) % 2 == 1
    return np.repeat(ones, rle["counts"]).reshape(width, height).T
