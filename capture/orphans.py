"""What a crash leaves behind: files without a row."""

from __future__ import annotations

from schemas.catalog import Catalog
from schemas.frame_store import list_frames
from schemas.repair import clear_orphan
from schemas.workspace import Workspace


def sweep_orphans(workspace: Workspace, catalog: Catalog, scene: str, lighting: str) -> list[str]:
    """Clear the folder of a sweep of files that no row knows; returns a sentence per file.

    Their shots are taken again: their light and times are lost.
    """
    known = {
        frame.path for frame in list_frames(catalog, scene=scene, lighting=lighting, kind=None)
    }
    said = []
    for path in list(workspace.stored_files(workspace.sweep_folder(scene, lighting))):
        relative = workspace.relative(path)
        if relative not in known and (action := clear_orphan(workspace, path)):
            said.append(f"{relative}: no row, {action}")
    return said
