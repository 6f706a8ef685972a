"""Small copies of frames, for the page and for the figures."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from PIL import Image, ImageOps

from schemas.workspace import Workspace

JPEG_QUALITY = 82


class HasPath(Protocol):
    """A frame: its file is all that is needed. Relative to the workspace, empty for none."""

    @property
    def path(self) -> str: ...  # noqa: D102


#: Width in pixels -> JPEG bytes of a frame, None where its file cannot be read.
Thumbnail = Callable[[HasPath, int], bytes | None]


def thumbnail_maker(workspace: Workspace) -> Thumbnail:
    """A function that makes a thumbnail of a frame once and remembers it."""

    @lru_cache(maxsize=2048)
    def make(path: str, width_px: int) -> bytes | None:
        try:
            with Image.open(workspace.resolve(path)) as picture:
                # A JPEG decodes at 1/2, 1/4 or 1/8 of its size: plenty for a thumbnail.
                picture.draft("RGB", (2 * width_px, 2 * width_px))
                upright = ImageOps.exif_transpose(picture).convert("RGB")
        except (OSError, SyntaxError, ValueError):
            return None  # the page says "unreadable"; `snaprig check` says why
        height_px = max(1, round(width_px * upright.height / upright.width))
        small = upright.resize((width_px, height_px), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        small.save(buffer, "JPEG", quality=JPEG_QUALITY)
        return buffer.getvalue()

    return lambda frame, width_px: make(frame.path, width_px) if frame.path else None


def data_uri(data: bytes, kind: str) -> str:
    """Bytes as a `data:` address of a media type."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
