"""Which software took a frame, and how its file comes to say so."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from schemas.capture_store import find_scene, list_runs
from schemas.catalog import Catalog, CatalogError
from schemas.records import Frame
from schemas.stamp import stamp_frame

#: (frame, the camera's bytes) -> (the frame with size and digest of its file, the file's bytes)
Stamper = Callable[[Frame, bytes], tuple[Frame, bytes]]

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


def load_stamper(catalog: Catalog, run_id: int) -> Stamper:
    """What writes the provenance of a run into its pictures.

    Raises CatalogError if the catalog has no such run.
    """
    run = next((run for run in list_runs(catalog) if run.id == run_id), None)
    scene = find_scene(catalog, run.scene) if run is not None else None
    if run is None or scene is None:
        raise CatalogError(f"no run {run_id} in the catalog")

    def stamped(frame: Frame, data: bytes) -> tuple[Frame, bytes]:
        return stamp_frame(frame, data, scene, run)

    return stamped
