"""The release's pictures: taken into the workspace where they are at hand, never needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from sqlalchemy import Connection

from evaluate.importing import Source, SourceReport
from evaluate.picture_files import FileError, file_row, place_file
from schemas.import_store import put_file
from schemas.plan import Lighting
from schemas.release_paths import Shot, parse_path
from schemas.workspace import Workspace

_FLAT_AUTO = re.compile(r"(.+)_(\d+)_auto\.jpg")


def release_path(name: str, frames: Iterable[str]) -> str | None:
    """The release's path of a picture file, from its place in a folder; None if it is none.

    ``…/1_cup/10/-5/9_0_2.jpg``, ``…/1_cup/10_auto.jpg`` and ``…/1_cup_10_auto.jpg`` are known.
    """
    parts = name.split("/")
    known = frames if isinstance(frames, dict | set) else set(frames)
    for length in (4, 2):
        tail = "/".join(parts[-length:])
        if tail in known:
            return tail
    flat = _FLAT_AUTO.fullmatch(parts[-1])
    spelled = f"{flat[1]}/{flat[2]}_auto.jpg" if flat else ""
    return spelled if spelled in known else None


def import_picture(
    connection: Connection,
    workspace: Workspace,
    source: Source,
    path: str,
    lights: Mapping[int, Lighting],
    frame_id: int,
    report: SourceReport,
) -> None:
    """Put a picture into the workspace and its size, digest and Exif into its frame's row."""
    shot = parse_path(path)
    if shot is None:
        report.reject("path is not spelled as in the release", source.name)
        return
    try:
        row = file_row(source.path, source.sha256)
    except FileError as error:
        report.reject("not a whole JPEG", f"{source.name}: {error}")
        return
    target = _target(workspace, shot, lights[shot.lux])
    place_file(source.path, target)
    put_file(connection, frame_id, row._replace(path=workspace.relative(target)))
    report.counts["pictures"] += 1


def _target(workspace: Workspace, shot: Shot, light: Lighting) -> Path:
    if shot.exposure is None:
        return workspace.auto_frame_path(shot.scene, light.name)
    return workspace.frame_path(shot.scene, light.name, shot.exposure, light.ev_reference)
