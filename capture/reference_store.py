"""The reference frames that earlier runs of a sweep left."""

from __future__ import annotations

import logging

import numpy as np

from capture.analysis import small_luma
from capture.reference import Reference
from schemas.catalog import Catalog
from schemas.frame_store import list_frames, load_histogram
from schemas.jpeg import JpegError, read_exif
from schemas.records import Frame, Outcome
from schemas.workspace import Workspace

_log = logging.getLogger(__name__)


def load_references(
    workspace: Workspace, catalog: Catalog, scene: str, lighting: str
) -> tuple[Reference | None, int]:
    """The first reference frame of a sweep that can still be read, and the next free number."""
    stored = list(list_frames(catalog, scene=scene, lighting=lighting, kind="reference"))
    free = 1 + max((frame.number or 0 for frame in stored), default=-1)
    for frame in sorted(stored, key=lambda frame: frame.number or 0):
        if frame.outcome is Outcome.ACCEPTED:
            reference = _load(workspace, catalog, frame)
            if reference is not None:
                return reference, free
    return None, free


def _load(workspace: Workspace, catalog: Catalog, frame: Frame) -> Reference | None:
    luma = load_histogram(catalog, frame.id) if frame.id is not None else None
    if luma is None or frame.requested is None or frame.light.lux is None:
        return None
    try:
        data = workspace.resolve(frame.path).read_bytes()
        small, focal_length_mm = small_luma(data), read_exif(data).focal_length_mm
    except (OSError, JpegError) as error:  # `snaprig check` says so, too
        _log.warning("the reference frame %s cannot be read: %s", frame.path, error)
        return None
    histogram = np.frombuffer(luma, dtype="<u4")
    return Reference(
        frame.number or 0, frame.requested, frame.light.lux, histogram, small, focal_length_mm
    )
