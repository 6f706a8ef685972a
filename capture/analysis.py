"""Picture bytes to numbers: decoded once, histogram, clipping, size, Exif. Pure.

simplejpeg decodes, and refuses whatever libjpeg warns of. Pillow hides the warnings: a file whose
image data ends early, with an end marker in its place, is to it a picture with a gray lower half.
The pixels are the same, and it takes half the time (19 to 24 ms of 1920 x 1280 pixels instead of 26
to 50 with two busy cores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import simplejpeg
from PIL import Image

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
        If the file is cut off, or any of its image data is missing or broken.
    """
    check_complete(data)
    exif = read_exif(data)
    picture = Image.fromarray(_decode(data, "RGB"))
    luma = picture.convert("L")
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


def small_luma(data: bytes) -> npt.NDArray[np.uint8]:
    """The luma (Y of YCbCr) of a JPEG at about 240 x 160 pixels; shape (H, W).

    Scaled while it is decoded, by 1/8 for a picture of 1920 x 1280.

    Raises
    ------
    JpegError
        As `analyze` does.
    """
    return _decode(data, "GRAY", min_width=240, min_height=160, min_factor=1)[:, :, 0]


def _decode(data: bytes, colors: str, **scaled: int) -> npt.NDArray[np.uint8]:
    try:
        pixels: npt.NDArray[np.uint8] = simplejpeg.decode_jpeg(data, colors, strict=True, **scaled)
    except ValueError as error:
        raise JpegError(f"cannot be decoded: {error}") from error
    return pixels
