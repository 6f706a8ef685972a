"""The 15 common corruptions: the only module that imports imagecorruptions.

Hendrycks & Dietterich, "Benchmarking neural network robustness to common corruptions and
perturbations", ICLR 2019. The package draws most of its noise from NumPy's global generator, so
that it is seeded here, one picture at a time.
"""

from __future__ import annotations

import hashlib
import threading
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Final

import numpy as np
import numpy.typing as npt

from evaluate.errors import EvaluateError

#: In the order of the benchmark: noise, blur, weather, digital.
COMMON: Final = (
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
)
SEVERITIES: Final = (1, 2, 3, 4, 5)

#: Sides below which the package refuses a picture, in pixels.
SMALLEST_PX: Final = 32

#: Draw from NumPy's global generator; `_SEEDED` take a seed, the others draw nothing.
_GLOBAL = frozenset(
    ("gaussian_noise", "shot_noise", "motion_blur", "snow", "frost", "fog", "elastic_transform")
)
_SEEDED = frozenset(("impulse_noise", "glass_blur"))

_DISTRIBUTION = "imagecorruptions-imaug"

#: Held from seeding the global generator until the picture is done.
_generator = threading.Lock()


def corruption_version() -> str:
    """The package that does it, with its version.

    Raises
    ------
    EvaluateError
        If it is not installed.
    """
    try:
        return f"{_DISTRIBUTION} {version(_DISTRIBUTION)}"
    except PackageNotFoundError as error:
        raise EvaluateError(_absent()) from error


def corrupt(pixels: npt.NDArray[np.uint8], name: str, severity: int) -> npt.NDArray[np.uint8]:
    """A corrupted picture. The same picture always gets the same noise, at each severity.

    Parameters
    ----------
    pixels : array
        RGB, shape (H, W, 3).
    name : str
        One of `COMMON`.
    severity : int
        1 to 5.

    Raises
    ------
    EvaluateError
        If the picture is too small, or the package is not installed.
    """
    height, width = pixels.shape[:2]
    if min(height, width) < SMALLEST_PX:
        raise EvaluateError(
            f"a picture of {width} x {height} px is too small for {name}: it takes "
            f"{SMALLEST_PX} px and more on each side"
        )
    package = _package()
    seed = picture_seed(pixels, name)
    if name not in _GLOBAL:
        return _run(package, pixels, name, severity, {"seed": seed} if name in _SEEDED else {})
    with _generator:
        before = np.random.get_state()
        np.random.seed(seed)
        try:
            return _run(package, pixels, name, severity, {})
        finally:
            np.random.set_state(before)


def picture_seed(pixels: npt.NDArray[np.uint8], name: str) -> int:
    """A seed of 32 bits that follows from a picture's pixels and the corruption's name."""
    digest = hashlib.sha256(f"{name} {pixels.shape}".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return int.from_bytes(digest.digest()[:4], "big")


def _run(
    package: ModuleType,
    pixels: npt.NDArray[np.uint8],
    name: str,
    severity: int,
    seed: dict[str, int],
) -> npt.NDArray[np.uint8]:
    made = package.corrupt(pixels, severity=severity, corruption_name=name, **seed)
    return np.asarray(made, np.uint8)


@cache
def _package() -> ModuleType:
    try:
        import imagecorruptions
    except ImportError as error:
        raise EvaluateError(_absent()) from error
    return imagecorruptions  # type: ignore[no-any-return]  # untyped


def _absent() -> str:
    return f"{_DISTRIBUTION} is not installed: pip install 'snaprig[evaluate]'"
