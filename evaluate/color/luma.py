"""Mean luma of frames that were imported: the rig measures its own when it takes them."""

from __future__ import annotations

from collections.abc import Callable

from evaluate.color.pixels import decode_small, mean_luma
from evaluate.errors import EvaluateError
from schemas.catalog import Catalog
from schemas.color_store import list_color_frames, list_color_labels, put_mean_luma
from schemas.workspace import Workspace, WorkspaceError

_BATCH = 200


def measure_luma(
    catalog: Catalog, workspace: Workspace, watch: Callable[[int, int], None]
) -> list[str]:
    """Measure labeled frames without a mean luma and note it; paths that could not be read.

    Parameters
    ----------
    watch : callable
        Called with frames done and frames to do.
    """
    labeled = {label.frame_id for label in list_color_labels(catalog)}
    todo = [
        frame
        for frame in list_color_frames(catalog)
        if frame.mean_luma is None and frame.path and frame.frame_id in labeled
    ]
    unreadable = []
    for start in range(0, len(todo), _BATCH):
        found = {}
        for frame in todo[start : start + _BATCH]:
            try:
                pixels = decode_small(workspace.resolve(frame.path), frame.sha256)
            except (EvaluateError, WorkspaceError):
                unreadable.append(frame.path)
                continue
            found[frame.frame_id] = mean_luma(pixels)
        put_mean_luma(catalog, found)
        watch(min(start + _BATCH, len(todo)), len(todo))
    return unreadable
