"""What a crash leaves behind: files without a row."""

from __future__ import annotations

from schemas.catalog import Catalog
from schemas.frame_store import list_frames
from schemas.workspace import PARTIAL, Workspace


def sweep_orphans(workspace: Workspace, catalog: Catalog, scene: str, lighting: str) -> list[str]:
    """Clear the folder of a sweep of files that no row knows; returns a sentence per file.

    Unfinished files are deleted. A whole picture without a row is moved to ``orphans/`` and
    shot again: its light and times are lost, but after a catalog was restored from an old
    backup it may be the only copy. Other files are not ours to touch.
    """
    known = {
        frame.path for frame in list_frames(catalog, scene=scene, lighting=lighting, kind=None)
    }
    said = []
    for path in list(workspace.stored_files(workspace.sweep_folder(scene, lighting))):
        relative = workspace.relative(path)
        if path.name.endswith(PARTIAL):
            path.unlink()
            said.append(f"{relative}: unfinished, deleted")
        elif path.suffix == ".jpg" and relative not in known:
            aside = workspace.root / "orphans" / path.relative_to(workspace.frames)
            aside.parent.mkdir(parents=True, exist_ok=True)
            path.replace(aside)
            said.append(f"{relative}: no row, moved to {workspace.relative(aside)}")
    return said
