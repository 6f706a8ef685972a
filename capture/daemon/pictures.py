"""Small pictures of stored frames, for a page. Nothing of a file but its pixels goes out."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

#: A page shows the last frame and a few around it.
_KEPT = 64
#: Of the overlay: nothing, black, white.
_BLACK, _WHITE = 127, 255


def thumbnail(path: Path, width_px: int) -> bytes:
    """A JPEG of that width at most; the decoder scales, so that it costs little."""
    return _thumbnail(path, width_px, path.stat().st_mtime_ns)


@lru_cache(maxsize=_KEPT)
def _thumbnail(path: Path, width_px: int, _changed_ns: int) -> bytes:
    with Image.open(path) as picture:
        picture.draft("RGB", (width_px, width_px))
        small = picture.convert("RGB")
    small.thumbnail((width_px, small.height), Image.Resampling.BILINEAR)
    file = io.BytesIO()
    small.save(file, "JPEG", quality=80)
    return file.getvalue()


def clipping(path: Path, width_px: int) -> bytes:
    """An 8-bit gray PNG: 127 where all channels of a pixel are at 0, 255 where one is at 255.

    Clipping is counted in the full picture, and a small pixel shows the worst below it: scaled
    first, single burnt pixels would average away.
    """
    return _clipping(path, width_px, path.stat().st_mtime_ns)


@lru_cache(maxsize=_KEPT)
def _clipping(path: Path, width_px: int, _changed_ns: int) -> bytes:
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    marks = np.zeros(pixels.shape[:2], np.uint8)
    marks[(pixels == 0).all(axis=2)] = _BLACK
    marks[(pixels == 255).any(axis=2)] = _WHITE
    rows, columns = pixels.shape[:2]
    step = max(1, -(-columns // width_px))
    down, across = -(-rows // step), -(-columns // step)
    whole = np.zeros((down * step, across * step), np.uint8)
    whole[:rows, :columns] = marks
    blocks = whole.reshape(down, step, across, step)
    file = io.BytesIO()
    Image.fromarray(blocks.max(axis=(1, 3))).save(file, "PNG")
    return file.getvalue()
