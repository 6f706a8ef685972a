"""`snaprig capture auto-frame`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from capture.auto_frame import require_absent, take_auto_frame, wait_for_manual
from capture.ev_reference import adopt_ev_reference, derive_ev_reference
from capture.options import device_options
from capture.readiness import MANUAL
from capture.scene_cli import require_scene
from rig.config import RigConfig
from rig.ownership import owned
from rig.protocols import Camera
from schemas.exposure import Exposure
from schemas.records import ExifSettings, Frame
from schemas.workspace import Workspace


@click.command(name="auto-frame")
@click.option("--scene", help="What stands in front of the camera.")
@click.option("--lighting", required=True, help="A [lighting.NAME] of rig.toml.")
@click.option("--replace", is_flag=True, help="Take it again where there is one.")
@click.option(
    "--ev-reference",
    type=click.Choice(["auto"]),
    help="Shoot nothing: derive the lighting's EV reference from its auto frames so far.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait until the mode dial is back on M.")
@device_options
@click.pass_obj
def auto_frame(
    root: Path,
    scene: str | None,
    lighting: str,
    replace: bool,
    ev_reference: str | None,
    no_wait: bool,
    camera: str | None,
    hub: str | None,
    attempts: int,
    as_json: bool,
) -> None:
    """Take the first picture of a scene: the camera chooses, its mode dial on P or A+.

    It is stored as auto.jpg beside the sweep and is not part of any plan; `capture run` does
    not wait for it. A picture that the flash lit is refused. At a terminal the command then waits
    until the dial is back on M.

    With --ev-reference auto nothing is shot: the median EV of all auto frames of the lighting,
    rounded, becomes its reference, for every scene of the data set; put the line it prints into
    rig.toml. Sweeps that exist under another reference are never moved.

    \b
    Examples:
      snaprig -w lab capture auto-frame --scene cups-3 --lighting bright
      snaprig -w lab capture auto-frame --lighting bright --ev-reference auto
    """  # noqa: D301
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    if ev_reference is not None:
        _reference(workspace, config.lighting_named(lighting).name, as_json)
        return
    if scene is None:
        raise click.UsageError("--scene says whose auto frame it is (or give --ev-reference auto)")
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
            click.echo(f"{frame.path}: the camera chose {_chosen(frame)}", err=as_json)
            mode = _dial_back(bench.camera, wait=not no_wait and sys.stdin.isatty())
    if as_json:
        click.echo(json.dumps({**describe(frame), "mode_dial": mode}, indent=2))


def _dial_back(camera: Camera, *, wait: bool) -> str:
    """Ask for the dial to go back to M; the mode it is on in the end."""
    mode = camera.mode()
    if mode != MANUAL:
        click.echo("  next: turn the mode dial back to M", err=True)
    if mode != MANUAL and wait:
        click.echo("  waiting for it (Ctrl-C leaves the dial to you)", err=True)
        try:
            wait_for_manual(camera)
        except KeyboardInterrupt:
            return camera.mode()
        mode = MANUAL
        click.echo("  the mode dial is on M", err=True)
    return mode


def _reference(workspace: Workspace, lighting: str, as_json: bool) -> None:
    with workspace.catalog() as catalog, owned(workspace):
        value, evs = derive_ev_reference(catalog, lighting)
        adopt_ev_reference(workspace, catalog, lighting, value)
    if as_json:
        document = {"lighting": lighting, "ev_reference": value, "evs": evs}
        click.echo(json.dumps(document, indent=2))
        return
    listed = ", ".join(f"{value:.2f}" for value in evs[:8]) + (", …" if len(evs) > 8 else "")
    click.echo(f"{len(evs)} auto frames under {lighting}: EV {listed}")
    click.echo("  next: in rig.toml,")
    click.echo(f"        [lighting.{lighting}]")
    click.echo(f"        ev_reference = {value}")


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
