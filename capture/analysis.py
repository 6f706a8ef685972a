"""Picture bytes to numbers: decoded once, histogram, clipping, size, Exif. Pure."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, UnidentifiedImageError

from schemas.acceptance import Extremes, Histogram, extremes
from schemas.jpeg import Exif, JpegError, check_complete, read_exif
from schemas.records import Clipping


@dataclass(frozen=True)
class Analysis:
    """What a picture holds.

    Attributes
    ----------
    histogram : array of uint32, shape (256,)
        Counts of 8-bit Rec. 601 luma, L = (299 R + 587 G + 114 B) / 1000 (ITU-R BT.601-7,
        2.5.1), as Pillow rounds it.
    luma : Extremes
        Its ends and mean.
    red, green, blue : Clipping
        Share of pixels at 0 and 255 per channel.
    width_px, height_px : int
    exif : Exif
    """

    histogram: Histogram
    luma: Extremes
    red: Clipping
    green: Clipping
    blue: Clipping
    width_px: int
    height_px: int
    exif: Exif


def analyze(data: bytes) -> Analysis:
    """Decode a JPEG and measure it.

    Raises
    ------
    JpegError
        If the file is cut off or cannot be decoded.
    """
    check_complete(data)
    exif = read_exif(data)
    try:
        with Image.open(io.BytesIO(data)) as image:
            picture = image.convert("RGB")  # decodes; a copy only where it is not RGB already
            luma = picture.convert("L")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise JpegError(f"cannot be decoded: {error}") from error
    histogram = np.array(luma.histogram(), dtype=np.uint32)
    channels = np.array(picture.histogram(), dtype=np.float64).reshape(3, 256)
    shares = channels / (picture.width * picture.height)
    red, green, blue = (Clipping(float(c[0]), float(c[255])) for c in shares)
    return Analysis(
        histogram,
        extremes(histogram),
        red,
        green,
        blue,
        picture.width,
        picture.height,
        exif,
    )
