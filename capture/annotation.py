"""Objects of a scene, marked once and valid for all its frames: checked, then stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from capture.annotation_files import AnnotationError, read_coco, read_cvat
from rig.errors import Abort
from schemas.annotation_store import clearest_frame, scene_instances, set_instances
from schemas.catalog import Catalog
from schemas.masks import MaskError, read_mask, same_proportions
from schemas.overlay import draw_instances
from schemas.records import Frame, Instance, Scene
from schemas.workspace import Workspace

#: How many found areas are named where their number is wrong.
_NAMED = 8


@dataclass(frozen=True)
class Annotated:
    """What `annotate` did.

    Attributes
    ----------
    left_out : int
        Objects of other labels in the file.
    changed : bool
        False where the catalog had just these objects.
    """

    scene: Scene
    instances: tuple[Instance, ...]
    left_out: int
    changed: bool

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        return {
            "scene": self.scene.name,
            "category": self.scene.category,
            "declared": self.scene.count,
            "image_size_px": list(self.instances[0].image_size_px),
            "left_out": self.left_out,
            "changed": self.changed,
            "instances": [
                {
                    "category": one.category,
                    "box_xywh_px": list(one.box_xywh_px),
                    "area_px": one.area_px,
                    "crowd": one.crowd,
                    "mask": one.rle is not None,
                }
                for one in self.instances
            ],
        }


def read_instances(
    scene: Scene, *, masks: Path | None, coco: Path | None, cvat: Path | None, image: str | None
) -> list[Instance]:
    """The objects in a file, with the labels of the file.

    A mask picture has no labels: its objects are of the scene's category.

    Raises
    ------
    AnnotationError
        If the file cannot be used.
    """
    try:
        if masks is not None:
            return read_mask(masks, scene.category)
        if coco is not None:
            return read_coco(coco, image)
        if cvat is not None:
            return read_cvat(cvat, image)
    except MaskError as error:
        raise AnnotationError(str(error)) from error
    raise AnnotationError("name a file with --masks, --coco or --cvat")


def annotate(
    workspace: Workspace,
    catalog: Catalog,
    scene: Scene,
    found: Sequence[Instance],
    *,
    label: str | None = None,
    replacing: bool = False,
) -> Annotated:
    """Check the objects of a scene against what is known of it, and store them.

    Parameters
    ----------
    label : str or None
        Name of the scene's category in the file; objects of other labels are left out. By
        default it is the category itself, and another label is an error.
    replacing : bool
        The scene may have other objects already.

    Raises
    ------
    AnnotationError
        If labels, count or size of the picture contradict the scene or its frames.
    """
    mine = _of_label(scene, found, label)
    _check_count(scene, mine)
    _check_size(workspace, catalog, scene, mine)
    known = scene_instances(catalog, scene.name)
    changed = known != tuple(mine)
    if known and changed and not replacing:
        raise AnnotationError(
            f"scene {scene.name} has {len(known)} other objects already: look at them with "
            f"`snaprig scene overlay {scene.name}`, put these in their place with --replace"
        )
    if changed:
        set_instances(catalog, scene.name, mine)
    return Annotated(scene, tuple(mine), len(found) - len(mine), changed)


def overlay(
    workspace: Workspace, catalog: Catalog, scene: Scene, lighting: str | None
) -> tuple[Frame, Image.Image]:
    """The clearest accepted frame of a scene, and its picture with the objects drawn on it.

    Raises
    ------
    Abort
        If the scene has no objects or no frame, or its file cannot be read.
    """
    instances = scene_instances(catalog, scene.name)
    if not instances:
        raise Abort(
            f"nobody marked the objects of scene {scene.name}",
            f"snaprig scene annotate {scene.name} --masks FILE",
        )
    frame = clearest_frame(catalog, scene.name, lighting)
    if frame is None:
        raise Abort(
            f"scene {scene.name} has no accepted frame" + (f" under {lighting}" * bool(lighting)),
            f"snaprig capture run --scene {scene.name} --lighting {lighting or 'NAME'}",
        )
    try:
        with Image.open(workspace.resolve(frame.path)) as picture:
            return frame, draw_instances(ImageOps.exif_transpose(picture), instances)
    except MaskError as error:
        raise Abort(
            f"{frame.path}: {error}", f"snaprig scene annotate {scene.name} --replace"
        ) from error
    except (OSError, SyntaxError, UnidentifiedImageError) as error:
        raise Abort(f"{frame.path} cannot be read: {error}", "snaprig check") from error


def _of_label(scene: Scene, found: Sequence[Instance], label: str | None) -> list[Instance]:
    """The objects of the scene's category, called as the scene calls it."""
    wanted = _plain(label or scene.category)
    others = sorted({one.category for one in found if _plain(one.category) != wanted})
    if others and label is None:
        raise AnnotationError(
            f"the file has objects called {', '.join(others)}, scene {scene.name} is of "
            f"{scene.category}: say with --label which of them these are"
        )
    mine = [one for one in found if _plain(one.category) == wanted]
    return [replace(one, category=scene.category) for one in mine]


def _plain(label: str) -> str:
    """`Comic book`, `comic-book` and `comic_book` are one label."""
    return label.strip().lower().replace("_", " ").replace("-", " ")


def _check_count(scene: Scene, found: Sequence[Instance]) -> None:
    number = sum(not one.crowd for one in found)
    if number == scene.count and found:
        return
    areas = sorted((round(one.area_px) for one in found), reverse=True)
    more = ", …" if len(areas) > _NAMED else ""
    seen = f" (of {', '.join(map(str, areas[:_NAMED]))}{more} pixels)" if areas else ""
    raise AnnotationError(
        f"scene {scene.name} has {scene.count} x {scene.category}, the file has {number}{seen}: "
        "mark each object once, in a mask picture in a color of its own without soft edges"
    )


def _check_size(
    workspace: Workspace, catalog: Catalog, scene: Scene, found: Sequence[Instance]
) -> None:
    """Objects must have been marked on a picture of the frames' proportions."""
    frame = clearest_frame(catalog, scene.name)
    if frame is None:
        return
    try:
        with Image.open(workspace.resolve(frame.path)) as picture:
            shown = ImageOps.exif_transpose(picture).size
    except (OSError, SyntaxError, UnidentifiedImageError):  # `snaprig check` names a damaged file
        return
    size_px = found[0].image_size_px
    if not same_proportions(size_px, shown):
        raise AnnotationError(
            f"the objects were marked on a picture of {size_px[0]} x {size_px[1]} pixels, the "
            f"frames of scene {scene.name} have {shown[0]} x {shown[1]}: it is another picture"
        )
