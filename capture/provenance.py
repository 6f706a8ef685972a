"""Which software took a frame."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("snaprig", "gphoto2", "yoctopuce", "numpy", "pillow")


def versions() -> dict[str, str]:
    """Versions of everything between the camera and the row, for the run's record."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
