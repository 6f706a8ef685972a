"""Picture files from elsewhere: what their headers say, and their place in the workspace."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from schemas.exposure import ev, ev_index
from schemas.import_store import FrameRow
from schemas.jpeg import JpegError, check_complete, read_exif
from schemas.workspace import PARTIAL

_JPEG = (".jpg", ".jpeg")


class FileError(Exception):
    """A file that is no whole picture; the text says why."""


def file_row(path: Path, sha256: str) -> FrameRow:
    """What a picture file says of itself; its keys and its path are the caller's to fill.

    Exposure is taken from the Exif block where that has all three settings; an EV offset needs
    a reference, which a picture from elsewhere lacks.

    Raises
    ------
    FileError
        If the file is cut off, or no picture.
    """
    try:
        data = path.read_bytes()
        if path.suffix.lower() in _JPEG:
            check_complete(data)
        with Image.open(io.BytesIO(data)) as picture:
            width_px, height_px = picture.size
        exif = read_exif(data)
    except (JpegError, OSError, SyntaxError, ValueError, UnidentifiedImageError) as error:
        raise FileError(str(error)) from error
    exact = None
    if exif.shutter_s and exif.iso and exif.f_number:
        exact = ev(exif.shutter_s, exif.iso, exif.f_number)
    return FrameRow(
        0,
        0,
        0,
        "picture",
        "",
        exif_shutter_s=exif.shutter_s,
        exif_iso=exif.iso,
        exif_f_number=exif.f_number,
        ev=exact,
        ev_index=None if exact is None else ev_index(exact),
        size_bytes=len(data),
        width_px=width_px,
        height_px=height_px,
        camera_sha256=sha256,
        sha256=sha256,
        camera_time=exif.taken_at,
    )


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
