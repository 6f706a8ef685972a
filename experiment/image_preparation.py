"""Pictures and masks as the screen shows them: pixel for pixel, in 8 bits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from experiment.errors import ExperimentError

#: Uniform noise, or plain white: the paper's text names both.
MASKS = ("noise", "white")

#: The background of the screen.
GRAY = (128, 128, 128)


@dataclass(frozen=True)
class Prepared:
    """A picture ready for the screen, and the digest of the file it came from."""

    image: Image.Image
    sha256: str


def open_picture(path: Path, shown_px: tuple[int, int], *, fit: bool = False) -> Prepared:
    """Read a picture, turn it as its Exif says, and halve it where it is twice the shown size.

    Parameters
    ----------
    fit : bool
        Shrink or enlarge a picture of any other size into the shown one, on gray: for pictures
        that no camera of ours took, and for practice.

    Raises
    ------
    ExperimentError
        If it is missing, damaged, not 8 bits a channel, or neither the shown size nor twice it.
    """
    try:
        data = path.read_bytes()
        with Image.open(BytesIO(data)) as file:
            file.load()
            if file.mode not in ("RGB", "L"):
                raise ExperimentError(
                    f"{path} is not 8-bit RGB or gray, but {file.mode}: convert it"
                )
            upright = ImageOps.exif_transpose(file).convert("RGB")
    except FileNotFoundError as error:
        raise ExperimentError(f"{path} is missing: `snaprig check` says what else is") from error
    except (OSError, UnidentifiedImageError, SyntaxError) as error:
        raise ExperimentError(f"{path} cannot be read as a picture: {error}") from error
    width_px, height_px = shown_px
    if upright.size == (2 * width_px, 2 * height_px):
        upright = Image.fromarray(halve(np.asarray(upright)))
    if fit and upright.size != shown_px:
        upright = ImageOps.pad(upright, shown_px, Image.Resampling.LANCZOS, color=GRAY)
    if upright.size != shown_px:
        raise ExperimentError(
            f"{path} has {upright.width} x {upright.height} px; what is shown at {width_px} x "
            f"{height_px} must have that size or twice it ([experiment] shown_px)"
        )
    return Prepared(upright, hashlib.sha256(data).hexdigest())


def halve(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Mean of each 2 x 2 pixels, rounded half up.

    Parameters
    ----------
    pixels : array of uint8, shape (height, width, channels)
        Height and width even.
    """
    height, width, channels = pixels.shape
    blocks = pixels.reshape(height // 2, 2, width // 2, 2, channels).astype(np.uint16)
    mean: npt.NDArray[np.uint8] = ((blocks.sum(axis=(1, 3)) + 2) // 4).astype(np.uint8)
    return mean


def make_mask(kind: str, shown_px: tuple[int, int], seed: int) -> Image.Image:
    """A mask of the shown size: uniform noise in each channel, or plain white.

    Raises
    ------
    ValueError
        For another kind.
    """
    width_px, height_px = shown_px
    if kind == "white":
        return Image.new("RGB", shown_px, (255, 255, 255))
    if kind != "noise":
        raise ValueError(f"{kind!r} is no mask; there are {', '.join(MASKS)}")
    noise = np.random.default_rng(seed).integers(0, 256, (height_px, width_px, 3), dtype=np.uint8)
    return Image.fromarray(noise)
