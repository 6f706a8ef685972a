"""A photograph becomes a scene: linear light, free of the camera that took it."""

from __future__ import annotations

import hashlib
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, ImageOps

from hardware_mocks import optics
from schemas.exposure import spell_f_number, true_f_number, true_shutter_s

#: Share of the frame's mean light that lens and body scatter over the whole frame.
VEILING_GLARE = 0.004

#: A photograph without Exif is taken to be well exposed at EV offset 0 of the bright lighting:
#: EV 11 under 1000 lux (see DESIGN.md, Definitions).
_ASSUMED = (1 / 60, 100.0, 5.6)
_ASSUMED_LUX = 1000.0

#: Transparent parts become gray, as the cloth on the rig's table.
_CLOTH = (128, 128, 128)


@dataclass(frozen=True, eq=False)
class Scene:
    """What stands in front of the camera.

    Attributes
    ----------
    name : str
        File stem of the photograph.
    luminance : numpy.ndarray
        float32 (H, W, 3). 1.0 brings the sensor to full scale, on the lens axis, when
        ``lux * t * ISO / (65 * N^2)`` is 1, which is the exposure that the rig's meter chooses
        (`optics.relative_exposure`). It scales with reflectance: the light is not in it.
    assumption : str
        One sentence: where the photograph's exposure and light come from.
    digest : str
        SHA-256 of the photograph's bytes, hexadecimal.
    """

    name: str
    luminance: npt.NDArray[np.float32]
    assumption: str
    digest: str


def load_scene(
    photo: Path, *, scene_lux: float | None = None, size: tuple[int, int] = (1920, 1280)
) -> Scene:
    """Linear scene of a photograph, anchored by its own exposure and light.

    The tone curve is run backwards, each 8-bit value spread over the signals that it stands for
    (else dark parts posterise when exposed longer), the lens's vignetting undone, and a little
    veiling glare added. The photograph's own noise stays in the scene.

    Parameters
    ----------
    photo
        Any file that Pillow opens; its Exif orientation is respected.
    scene_lux
        Light under which it was taken. By default what the rig's meter would have read.
    size
        Width and height in pixels of the sensor's picture: filled, cut off where it overlaps.

    Raises
    ------
    ValueError
        If the file is not a readable picture, or `scene_lux` is not positive.
    OSError
        If there is no such file.
    """
    if scene_lux is not None and not (math.isfinite(scene_lux) and scene_lux > 0):
        raise ValueError(f"the light of a scene must be positive, not {scene_lux} lux")
    data = photo.read_bytes()
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            settings = _settings(image.getexif())
            pixels = np.asarray(_fit(image, size))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(
            f"{photo} is not a readable picture ({error}); give a JPEG, PNG or TIFF file"
        ) from error

    shutter_s, iso, f_number = settings or _ASSUMED
    shutter_s, f_number = true_shutter_s(shutter_s), true_f_number(f_number)
    metered = optics.metered_lux(shutter_s=shutter_s, iso=iso, f_number=f_number)
    lux = scene_lux or (metered if settings else _ASSUMED_LUX)
    exposure = optics.relative_exposure(
        lux=lux if settings else _ASSUMED_LUX, shutter_s=shutter_s, iso=iso, f_number=f_number
    )

    digest = hashlib.sha256(data).hexdigest()
    luminance = _linear(pixels, seed=int(digest[:16], 16))
    lens = optics.falloff(size[0], size[1], f_number)
    luminance /= lens.rows[:, None, None]
    luminance /= lens.columns[None, :, None]
    luminance *= (1 - VEILING_GLARE) / exposure
    mean = luminance.mean(axis=(0, 1), dtype=np.float64)
    luminance += (mean * VEILING_GLARE / (1 - VEILING_GLARE)).astype(np.float32)
    return Scene(photo.stem, luminance, _assumption(settings, scene_lux, lux), digest)


def _linear(pixels: npt.NDArray[np.uint8], *, seed: int) -> npt.NDArray[np.float32]:
    """Signal of each 8-bit value, drawn evenly from those that are rendered as this value."""
    bins = optics.tone_bins()
    lower, width = bins[:-1].astype(np.float32), np.diff(bins).astype(np.float32)
    linear = np.random.default_rng(seed).random(pixels.shape, dtype=np.float32)
    linear *= width[pixels]
    linear += lower[pixels]
    return linear


def _fit(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Upright RGB picture that fills `size`."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I;16"):  # Pillow would clip 16 bits to 8 instead of scaling them
        upright = Image.fromarray((np.asarray(upright) // 257).astype(np.uint8))
    if upright.has_transparency_data:
        opaque = Image.new("RGBA", upright.size, _CLOTH)
        upright = Image.alpha_composite(opaque, upright.convert("RGBA"))
    rgb = upright.convert("RGB")
    return rgb if rgb.size == size else ImageOps.fit(rgb, size, Image.Resampling.LANCZOS)


def _settings(exif: Image.Exif) -> tuple[float, float, float] | None:
    """Exposure time in s, ISO and F-number from Exif, None unless all three are usable."""
    photo = exif.get_ifd(ExifTags.IFD.Exif)
    shutter_s, iso, f_number = (
        _positive(photo.get(tag))
        for tag in (
            ExifTags.Base.ExposureTime,
            ExifTags.Base.ISOSpeedRatings,
            ExifTags.Base.FNumber,
        )
    )
    if shutter_s is None or iso is None or f_number is None:
        return None
    return shutter_s, iso, f_number


def _positive(value: object) -> float | None:
    """A finite positive number, or None: cameras write 0/0, 0 and two ISO values."""
    first = value[0] if isinstance(value, tuple) and value else value
    try:
        number = float(first)  # type: ignore[arg-type]  # Pillow's rational, or anything at all
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return number if math.isfinite(number) and number > 0 else None


def _assumption(
    settings: tuple[float, float, float] | None, scene_lux: float | None, lux: float
) -> str:
    if settings is None:
        light = f", the same under {scene_lux:g} lux (given)" if scene_lux else ""
        return f"no Exif exposure: assumed 1/60 s, ISO 100, f/5.6 at {_ASSUMED_LUX:g} lux{light}"
    shutter_s, iso, f_number = settings
    shutter = f"1/{1 / shutter_s:.0f}" if shutter_s < 0.3 else f"{shutter_s:g}"
    origin = "given" if scene_lux else "estimated: the light that a meter would find for it"
    return (
        f"Exif: {shutter} s, ISO {iso:g}, f/{spell_f_number(f_number)} at {lux:.4g} lux ({origin})"
    )
