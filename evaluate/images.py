"""Read a stored frame for a model: the bytes that the catalog names, decoded once, upright."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import simplejpeg
from PIL import Image, ImageOps, UnidentifiedImageError

from evaluate.errors import EvaluateError
from evaluate.model import Pixels

#: Modes whose conversion to RGB loses and invents nothing (16-bit gray and alpha do not).
_PLAIN_MODES = ("RGB", "L", "CMYK")

_ORIENTATION = 0x0112  # Exif


def read_bytes(path: Path, sha256: str) -> bytes:
    """The bytes of a stored file.

    Parameters
    ----------
    path : Path
    sha256 : str
        Digest of the file as the catalog knows it.

    Raises
    ------
    EvaluateError
        If the file is missing or has other bytes.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvaluateError(f"cannot read {path.name}: {error.strerror or error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise EvaluateError(f"{path.name} has sha256 {found[:12]}…, the catalog {sha256[:12]}…")
    return data


def read_pixels(path: Path, sha256: str) -> Pixels:
    """Decode a picture to upright 8-bit RGB; `sha256` as in `read_bytes`.

    Returns
    -------
    array
        Shape (height, width, 3). libjpeg-turbo's pixels are those of Pillow.

    Raises
    ------
    EvaluateError
        If the file is missing, has other bytes, or cannot be decoded whole.
    """
    data = read_bytes(path, sha256)
    try:
        return _decode(data, path.name)
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError) as error:
        # Pillow's own set of reasons for a broken file, and simplejpeg's
        raise EvaluateError(f"{path.name} cannot be decoded: {error}") from error


def _decode(data: bytes, name: str) -> Pixels:
    with Image.open(io.BytesIO(data)) as picture:
        if picture.mode not in _PLAIN_MODES:
            raise EvaluateError(f"{name} has pixel mode {picture.mode}, not 8-bit color")
        turned = picture.getexif().get(_ORIENTATION, 1) != 1
        if picture.format != "JPEG" or picture.mode == "CMYK" or turned:
            return np.array(ImageOps.exif_transpose(picture).convert("RGB"))
    # half of Pillow's time; the accurate transform, or pixels would differ
    pixels: Pixels = simplejpeg.decode_jpeg(data, "RGB", fastdct=False, fastupsample=False)
    return pixels
