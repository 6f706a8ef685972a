"""`snaprig capture auto-frame`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from capture.auto_frame import require_absent, take_auto_frame
from capture.options import device_options
from capture.ownership import owned
from capture.scene_cli import require_scene
from rig.config import RigConfig
from schemas.exposure import Exposure
from schemas.records import ExifSettings, Frame
from schemas.workspace import Workspace


@click.command(name="auto-frame")
@click.option("--scene", required=True, help="What stands in front of the camera.")
@click.option("--lighting", required=True, help="A [lighting.NAME] of rig.toml.")
@click.option("--replace", is_flag=True, help="Take it again where there is one.")
@device_options
@click.pass_obj
def auto_frame(
    root: Path,
    scene: str,
    lighting: str,
    replace: bool,
    camera: str | None,
    hub: str | None,
    attempts: int,
    as_json: bool,
) -> None:
    """Take the first picture of a scene: the camera chooses, its mode dial on P or A+.

    It is stored as auto.jpg beside the sweep and is not part of any plan; `capture run` does
    not wait for it. Turn the dial back to M afterwards.

    \b
    Examples:
      snaprig -w lab capture auto-frame --scene cups-3 --lighting bright
    """  # noqa: D301
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    with workspace.catalog() as catalog:
        require_scene(catalog, scene)
        light = config.lighting_named(lighting)
        if not replace:
            require_absent(catalog, scene, lighting)
        from rig.bench import open_bench  # libgphoto2 and yoctopuce: 0.3 s

        with owned(workspace), open_bench(config) as bench:
            frame = take_auto_frame(
                workspace, catalog, bench, scene=scene, lighting=light, attempts=attempts
            )
    if as_json:
        click.echo(json.dumps(describe(frame), indent=2))
        return
    click.echo(f"{frame.path}: the camera chose {_chosen(frame)}")
    click.echo("  next: turn the mode dial back to M")


def describe(frame: Frame) -> dict[str, Any]:
    """An auto frame as a JSON document; settings None where the picture does not say them."""
    exif = frame.exif or ExifSettings(None, None, None)
    return {
        "scene": frame.scene,
        "lighting": frame.lighting,
        "path": frame.path,
        "shutter_s": exif.shutter_s,
        "iso": exif.iso,
        "f_number": exif.f_number,
        "ev": frame.ev,
        "ev_offset": frame.ev_offset,
        "lux": frame.light.lux,
        "sha256": frame.sha256,
    }


def _chosen(frame: Frame) -> str:
    document = describe(frame)
    if frame.ev is None:
        return "settings that the picture does not say"
    exposure = Exposure(document["shutter_s"], document["iso"], document["f_number"])
    return f"{exposure}, EV offset {frame.ev_offset}"
