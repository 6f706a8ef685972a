"""`snaprig scene annotate` and `scene overlay`: the objects of a scene, marked once."""

from __future__ import annotations

import io
import json
from pathlib import Path

import click

from capture.annotation_files import AnnotationError
from rig.errors import Abort
from schemas.workspace import Workspace, write_atomically

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}


@click.command()
@click.argument("name")
@click.option("--masks", type=_FILE, help="PNG: one color an object, on black or transparent.")
@click.option("--coco", type=_FILE, help="COCO ground truth: boxes, polygons or run lengths.")
@click.option("--cvat", type=_FILE, help='XML of "CVAT for images 1.1": boxes, polygons, masks.')
@click.option("--image", help="Which picture of a COCO or CVAT file: its file name or id.")
@click.option("--label", help="What the file calls the scene's category; others are left out.")
@click.option("--replace", "replacing", is_flag=True, help="In place of the objects it has.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def annotate(
    root: Path,
    name: str,
    masks: Path | None,
    coco: Path | None,
    cvat: Path | None,
    image: str | None,
    label: str | None,
    replacing: bool,
    as_json: bool,
) -> None:
    """Mark the objects of scene NAME: class, box, area and mask, valid for all its frames.

    Mark them on any frame of the scene, at any size. There must be as many as the scene
    declares. The same file twice changes nothing.

    \b
    Examples:
      snaprig -w lab scene annotate cups-3 --masks cups-3.png
      snaprig -w lab scene annotate cups-3 --coco instances.json --image cups-3.jpg
      snaprig -w lab scene annotate cups-3 --cvat annotations.xml --label mug --replace
    """  # noqa: D301
    from capture.annotation import annotate as store
    from capture.annotation import read_instances
    from capture.scene_cli import require_scene

    if sum(file is not None for file in (masks, coco, cvat)) != 1:
        raise click.UsageError("give one of --masks, --coco and --cvat")
    if masks is not None and (image is not None or label is not None):
        raise click.UsageError("a mask picture has neither --image nor --label")
    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        scene = require_scene(catalog, name)
        try:
            found = read_instances(scene, masks=masks, coco=coco, cvat=cvat, image=image)
            done = store(workspace, catalog, scene, found, label=label, replacing=replacing)
        except AnnotationError as error:
            raise Abort(f"{masks or coco or cvat}: {error}") from error
    if as_json:
        click.echo(json.dumps(done.to_json(), indent=2))
        return
    click.echo(f"scene {name}: {len(done.instances)} x {scene.category}")
    for number, one in enumerate(done.instances, start=1):
        left, top, width, height = one.box_xywh_px
        what = "mask" if one.rle is not None else "box only"
        click.echo(
            f"  {number}: {width:g} x {height:g} at {left:g}, {top:g}; {one.area_px:g} px ({what})"
        )
    if done.left_out:
        click.echo(f"  left out: {done.left_out} objects of other labels")
    if not done.changed:
        click.echo("  just as the catalog had them")
    click.echo(f"  next: snaprig scene overlay {name}")


@click.command()
@click.argument("name")
@click.option("--lighting", help="On a frame under this lighting (default: any).")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="PNG or JPEG to write (default: reports/overlay-NAME.png in the workspace).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def overlay(root: Path, name: str, lighting: str | None, out: Path | None, as_json: bool) -> None:
    """Draw the boxes and masks of scene NAME on its accepted frame nearest to EV offset 0.

    \b
    Examples:
      snaprig -w lab scene overlay cups-3
      snaprig -w lab scene overlay cups-3 --lighting dim --out cups-3.png
    """  # noqa: D301
    from capture.annotation import overlay as draw
    from capture.scene_cli import require_scene

    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        scene = require_scene(catalog, name)
        target = out or workspace.reports / f"overlay-{scene.name}.png"
        if target.suffix.lower() not in _FORMATS:
            raise click.BadParameter("name a .png or .jpg file", param_hint="--out")
        frame, picture = draw(workspace, catalog, scene, lighting)
    data = io.BytesIO()
    picture.save(data, _FORMATS[target.suffix.lower()])
    write_atomically(target, data.getvalue())
    if as_json:
        document = {"scene": name, "frame": frame.path, "ev_offset": frame.ev_offset}
        click.echo(json.dumps({**document, "file": str(target)}, indent=2))
        return
    click.echo(f"{target}: {frame.path}, EV offset {frame.ev_offset}")
