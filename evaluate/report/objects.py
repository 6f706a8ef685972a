"""The annotated objects of scenes, drawn on a frame each, to see whether they lie right."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageOps

from evaluate.report.thumbnails import JPEG_QUALITY, data_uri
from schemas.annotation_store import clearest_frame, scene_instances
from schemas.catalog import Catalog
from schemas.masks import MaskError
from schemas.overlay import draw_instances
from schemas.workspace import Workspace

#: Width in pixels of a drawn frame.
_WIDTH_PX: Final = 480


@dataclass(frozen=True)
class MarkedScene:
    """A scene with its objects drawn.

    `picture` is a data address; None where the frame cannot be shown, with the `problem`.
    """

    scene: str
    objects: int
    picture: str | None
    problem: str


def marked_scenes(
    catalog: Catalog, workspace: Workspace, scenes: Sequence[str]
) -> tuple[MarkedScene, ...]:
    """The scenes that have objects, each on its accepted frame nearest to EV offset 0."""
    found = []
    for scene in scenes:
        instances = scene_instances(catalog, scene)
        frame = clearest_frame(catalog, scene) if instances else None
        if frame is None:
            continue
        try:
            with Image.open(workspace.resolve(frame.path)) as picture:
                picture.draft("RGB", (_WIDTH_PX, _WIDTH_PX))
                upright = ImageOps.exif_transpose(picture).convert("RGB")
            height_px = max(1, round(_WIDTH_PX * upright.height / upright.width))
            drawn = draw_instances(upright.resize((_WIDTH_PX, height_px)), instances)
        except (OSError, SyntaxError, ValueError, MaskError) as error:
            found.append(MarkedScene(scene, len(instances), None, str(error)))
            continue
        buffer = io.BytesIO()
        drawn.save(buffer, "JPEG", quality=JPEG_QUALITY)
        shown = data_uri(buffer.getvalue(), "image/jpeg")
        found.append(MarkedScene(scene, len(instances), shown, ""))
    return tuple(found)
