"""Instance masks: pictures of one color an object on black, and COCO's run lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from schemas.records import Instance


class MaskError(ValueError):
    """Not a picture, or no objects of a scene. The text says what is wrong."""


def read_mask(path: Path, category: str) -> list[Instance]:
    """The objects of a mask picture, in order of their color.

    Boxes and areas are exact, in pixels of the mask: a box spans whole pixels, an area counts
    them.

    Raises
    ------
    MaskError
        If the file is no picture.
    """
    try:
        with Image.open(path) as picture:
            rgba = np.array(picture.convert("RGBA"))
    except (
        OSError,
        SyntaxError,
        ValueError,
        UnidentifiedImageError,
        Image.DecompressionBombError,
    ) as error:
        raise MaskError(f"{path.name} cannot be decoded: {error}") from error
    rgba[rgba[..., 3] == 0] = 0  # what is transparent is background, whatever its color
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


def encode_rle(mask: npt.NDArray[np.bool_]) -> dict[str, list[int]]:
    """Uncompressed COCO run lengths of a mask of shape (H, W)."""
    height, width = mask.shape
    flat = mask.T.ravel()
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    counts = np.diff(np.concatenate(([0], changes, [flat.size]))).tolist()
    if flat.size and flat[0]:  # zeros come first
        counts.insert(0, 0)
    return {"size": [height, width], "counts": counts}


def mask_instance(mask: npt.NDArray[np.bool_], category: str) -> Instance:
    """The object behind a mask of shape (H, W): its box spans whole pixels.

    Raises MaskError if no pixel is set.
    """
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        raise MaskError("a mask without a pixel")
    left, top = int(columns[0]), int(rows[0])
    return Instance(
        category=category,
        box_xywh_px=(
            float(left),
            float(top),
            float(columns[-1] - left + 1),
            float(rows[-1] - top + 1),
        ),
        area_px=float(mask.sum()),
        image_size_px=(mask.shape[1], mask.shape[0]),
        rle=encode_rle(mask),
    )


def polygon_mask(
    polygons: Sequence[Sequence[float]], size_px: tuple[int, int]
) -> npt.NDArray[np.bool_]:
    """The mask of shape (H, W) that polygons ``[x0, y0, x1, y1, …]`` in pixels fill together.

    Pixel edges lie at whole numbers, as COCO and CVAT count; a pixel belongs to a polygon that
    holds its center.

    Raises
    ------
    MaskError
        If a polygon has fewer than three corners.
    """
    filled = np.zeros((size_px[1], size_px[0]), bool)
    for polygon in polygons:
        if len(polygon) < 6 or len(polygon) % 2:
            raise MaskError(f"a polygon of {len(polygon)} numbers, which needs three corners")
        filled |= _inside(np.asarray(polygon, float).reshape(-1, 2), size_px)
    return filled


def _inside(corners: npt.NDArray[np.float64], size_px: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Pixels whose center a polygon of corners (x, y) encloses an odd number of times."""
    width, height = size_px
    centers_y = np.arange(height) + 0.5
    # At each center's height an edge turns everything right of it from outside to inside, or back.
    turns = np.zeros((height, width + 1), np.int64)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        rows = np.flatnonzero((centers_y >= min(y0, y1)) & (centers_y < max(y0, y1)))
        if rows.size:
            crossing = x0 + (centers_y[rows] - y0) * (x1 - x0) / (y1 - y0)
            first = np.clip(np.ceil(crossing - 0.5), 0, width).astype(np.int64)
            turns[rows, first] += 1
    inside: npt.NDArray[np.bool_] = np.cumsum(turns, axis=1)[:, :width] % 2 == 1
    return inside


def compress_rle(counts: Sequence[int]) -> str:
    """Run lengths as COCO's text: differences in base 32, 6 bits a character.

    Source: pycocotools, ``maskApi.c``, ``rleToString``.
    """
    text = []
    for place, count in enumerate(counts):
        value = count - counts[place - 2] if place > 2 else count
        more = True
        while more:
            digit = value & 0x1F
            value >>= 5
            more = value != -1 if digit & 0x10 else value != 0
            text.append(chr(48 + (digit | 0x20 if more else digit)))
    return "".join(text)


def decompress_rle(text: str) -> list[int]:
    """The run lengths that `compress_rle` wrote. Raises MaskError for another text."""
    counts: list[int] = []
    value = shift = 0
    for character in text:
        digit = ord(character) - 48
        if not 0 <= digit < 64:
            raise MaskError("compressed run lengths hold a character that none have")
        value |= (digit & 0x1F) << shift
        shift += 5
        if digit & 0x20:
            continue
        if digit & 0x10:
            value -= 1 << shift
        counts.append(value + counts[-2] if len(counts) > 2 else value)
        value = shift = 0
    if shift or any(count < 0 for count in counts):
        raise MaskError("compressed run lengths are cut off or negative")
    return counts


def fit(instance: Instance, size_px: tuple[int, int]) -> Instance:
    """The object in pixels of the same picture at another size; its mask by nearest pixel.

    Raises
    ------
    MaskError
        If the two sizes have different proportions: they are not the same picture.
    """
    if instance.image_size_px == size_px:
        return instance
    if not same_proportions(instance.image_size_px, size_px):
        raise MaskError(
            "objects were marked on a picture of {} x {} pixels, the frame has {} x {}".format(
                *instance.image_size_px, *size_px
            )
        )
    scale_x = size_px[0] / instance.image_size_px[0]
    scale_y = size_px[1] / instance.image_size_px[1]
    left, top, width, height = instance.box_xywh_px
    scaled = replace(
        instance,
        box_xywh_px=(left * scale_x, top * scale_y, width * scale_x, height * scale_y),
        area_px=instance.area_px * scale_x * scale_y,
        image_size_px=size_px,
    )
    if instance.rle is None:
        return scaled
    picture = Image.fromarray(decode_rle(instance.rle)).resize(size_px, Image.Resampling.NEAREST)
    mask = np.asarray(picture)
    if not mask.any():  # smaller than a pixel
        return replace(scaled, rle=None)
    exact = mask_instance(mask, instance.category)
    return replace(exact, crowd=instance.crowd)


def same_proportions(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two sizes are of one picture, scaled and rounded to whole pixels."""
    scale = max(one[0] / other[0], one[1] / other[1])
    return all(abs(a - b * scale) <= max(1.0, scale) for a, b in zip(one, other, strict=True))
