"""The release's pictures: taken into the workspace where they are at hand, never needed."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from sqlalchemy import Connection

from evaluate.errors import EvaluateError
from evaluate.importing import Source, SourceReport
from evaluate.release.paths import LIGHTINGS, Shot, parse_path
from schemas.import_store import FrameRow, put_file
from schemas.jpeg import JpegError, check_complete, read_exif
from schemas.workspace import PARTIAL, Workspace

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
    frame_id: int,
    report: SourceReport,
) -> None:
    """Put a picture into the workspace and its size, digest and Exif into its frame's row."""
    shot = parse_path(path)
    if shot is None:
        report.reject("path is not spelled as in the release", source.name)
        return
    data = source.path.read_bytes()
    try:
        check_complete(data)
        exif = read_exif(data)
        width_px, height_px = picture_size(data, source.name)
    except (JpegError, EvaluateError) as error:
        report.reject("not a whole JPEG", f"{source.name}: {error}")
        return
    target = _target(workspace, shot)
    place_file(source.path, target)
    row = FrameRow(
        0,
        0,
        0,
        "picture",
        "",
        exif_shutter_s=exif.shutter_s,
        exif_iso=exif.iso,
        exif_f_number=exif.f_number,
        path=workspace.relative(target),
        size_bytes=len(data),
        width_px=width_px,
        height_px=height_px,
        camera_sha256=source.sha256,
        sha256=source.sha256,
        camera_time=exif.taken_at,
    )
    put_file(connection, frame_id, row)
    report.counts["pictures"] += 1


def picture_size(data: bytes, name: str) -> tuple[int, int]:
    """Width and height of an encoded picture, from its header."""
    try:
        with Image.open(io.BytesIO(data)) as picture:
            return picture.size
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError) as error:
        raise EvaluateError(f"{name} cannot be decoded: {error}") from error


def place_file(source: Path, target: Path) -> None:
    """Link a file to its place in the workspace, or copy it where links cannot reach.

    Nothing in a workspace is edited in place, so a link is as good as a copy and costs no disk.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + PARTIAL)
    partial.unlink(missing_ok=True)
    try:
        os.link(source.resolve(), partial)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, partial)
    partial.replace(target)


def _target(workspace: Workspace, shot: Shot) -> Path:
    light = LIGHTINGS[shot.lux]
    if shot.exposure is None:
        return workspace.auto_frame_path(shot.scene, light.name)
    return workspace.frame_path(shot.scene, light.name, shot.exposure, light.ev_reference)
