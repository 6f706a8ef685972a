"""`snaprig scene`: what stands in front of the camera."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from capture.annotation_cli import annotate, overlay
from rig.errors import Abort
from schemas.capture_store import add_scene, list_scenes
from schemas.catalog import Catalog
from schemas.records import Scene
from schemas.workspace import Workspace, safe_name


@click.group()
def scene() -> None:
    """Add, list and annotate scenes."""


scene.add_command(annotate)
scene.add_command(overlay)


@scene.command()
@click.argument("name")
@click.option("--category", required=True, help="Class of all its objects, e.g. cup.")
@click.option("--count", required=True, type=click.IntRange(1), help="Number of objects.")
@click.pass_obj
def add(root: Path, name: str, category: str, count: int) -> None:
    """Add a scene: an arrangement of COUNT objects of one CATEGORY.

    \b
    Examples:
      snaprig -w lab scene add cups-3 --category cup --count 3
    """  # noqa: D301
    if not category.strip():
        raise click.BadParameter("a category needs a name", param_hint="--category")
    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        add_scene(catalog, Scene(safe_name(name), category.strip(), count))
    click.echo(f"scene {name}: {count} x {category.strip()}")


@scene.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def list_command(root: Path, as_json: bool) -> None:
    """List the scenes in the order they were added.

    \b
    Examples:
      snaprig -w lab scene list
      snaprig -w lab scene list --json
    """  # noqa: D301
    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        found = list_scenes(catalog)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=2))
        return
    if not found:
        click.echo("no scenes yet\n  next: snaprig scene add NAME --category CLASS --count N")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("scene", "category", "count"):
        table.add_column(column, justify="right" if column == "count" else "left")
    for one in found:
        table.add_row(one.name, one.category, str(one.count))
    Console().print(table)


def require_scene(catalog: Catalog, name: str) -> Scene:
    """The scene of that name. Raises Abort, naming those there are and how to add one."""
    found = list_scenes(catalog)
    for one in found:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in found) or "none"
    raise Abort(
        f"there is no scene {name!r} (known: {known})",
        f"snaprig scene add {name} --category CLASS --count N",
    )
