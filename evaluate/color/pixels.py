"""Pixels and masks at a size that is enough to name colors.

The one module of `evaluate` that decodes with simplejpeg: libjpeg scales while it decodes, which
costs a fraction of the full picture.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from evaluate.color.measure import LUMA
from evaluate.errors import EvaluateError
from schemas.masks import decode_rle, same_proportions
from schemas.records import Instance

#: Sides, in pixels, below which a picture is not scaled down: a color's share of a region is then
#: known to better than a percent.
SMALLEST_PX: Final = (320, 200)

_ORIENTATION: Final = 0x0112

Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def decode_small(path: Path, sha256: str, *, whole: bool = False) -> Pixels:
    """A picture as upright sRGB, shape (H, W, 3), scaled down while it is decoded.

    Parameters
    ----------
    sha256 : str
        Of the file, as the catalog knows it.
    whole : bool
        At full size: for objects that scaling would lose.

    Raises
    ------
    EvaluateError
        If the file is missing, has other bytes, or cannot be decoded.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvaluateError(f"cannot read {path.name}: {error.strerror or error}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EvaluateError(f"{path.name} is not the file that the catalog names")
    try:
        with Image.open(io.BytesIO(data)) as picture:
            plain = picture.format == "JPEG" and picture.mode == "RGB"
            if plain and picture.getexif().get(_ORIENTATION, 1) == 1:
                return _decode_jpeg(data, whole=whole)
            return np.asarray(ImageOps.exif_transpose(picture).convert("RGB"))
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError) as error:
        # Pillow's own set of reasons for a broken file, and simplejpeg's
        raise EvaluateError(f"{path.name} cannot be decoded: {error}") from error


def _decode_jpeg(data: bytes, *, whole: bool) -> Pixels:
    import simplejpeg

    width, height = (0, 0) if whole else SMALLEST_PX
    scaled = {} if whole else {"min_width": width, "min_height": height, "min_factor": 1}
    pixels: Pixels = simplejpeg.decode_jpeg(data, "RGB", strict=True, **scaled)
    return pixels


def mean_luma(pixels: Pixels) -> float:
    """Mean Rec. 601 luma, 0 to 255."""
    return float(pixels.reshape(-1, 3).mean(0) @ LUMA)


def object_mask(instances: Sequence[Instance], category: str) -> Mask | None:
    """Where the objects of a scene are, shape (H, W); None without a mask.

    Objects of the scene's category, if any has it: others lie in its background.
    """
    masks = [one for one in instances if one.rle is not None]
    named = [one for one in masks if one.category == category]
    chosen = named or masks
    found: Mask | None = None
    for one in chosen:
        if one.rle is not None:
            mask = decode_rle(one.rle)
            found = mask if found is None or found.shape != mask.shape else found | mask
    return found


def mask_digest(instances: Sequence[Instance]) -> str:
    """Eight hex digits that identify the masks of a scene."""
    content = json.dumps([[one.category, one.rle] for one in instances], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def fit_mask(mask: Mask, height_px: int, width_px: int) -> Mask:
    """The mask at another size, each pixel from the nearest one.

    Raises
    ------
    EvaluateError
        If the two have other proportions: it is the mask of another picture.
    """
    rows, columns = mask.shape
    if not same_proportions((columns, rows), (width_px, height_px)):
        raise EvaluateError(
            f"the mask is of a picture of {columns} x {rows}, this one has another shape "
            f"({width_px} x {height_px})"
        )
    if mask.shape == (height_px, width_px):
        return mask
    down = ((np.arange(height_px) + 0.5) * rows / height_px).astype(np.intp)
    across = ((np.arange(width_px) + 0.5) * columns / width_px).astype(np.intp)
    return np.asarray(mask[np.ix_(down, across)])
