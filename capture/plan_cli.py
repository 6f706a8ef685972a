"""`snaprig capture plan`: what a plan costs and covers, without touching a device."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from capture.guidance import Guidance
from capture.guiding import require_provable, start_guide
from capture.progress import duration
from capture.scene_cli import require_scene
from capture.sweep import survey
from rig.config import RigConfig, default_rig_toml
from schemas.exposure import spell_shutter
from schemas.plan import Lighting, Shot, SweepPlan
from schemas.workspace import Workspace


def read_plan(path: Path | None) -> SweepPlan:
    """The plan of a file, the full grid without one; wrong usage if it is not a plan."""
    if path is None:
        return SweepPlan()
    try:
        return SweepPlan.from_file(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@click.command()
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Plan file (default: the full grid, 18 shutter speeds x 7 ISO x 5 F-numbers).",
)
@click.option("--lighting", help="Count shots by EV offset under this lighting.")
@click.option("--scene", help="With --lighting: count what is left to shoot.")
@click.option(
    "--overhead",
    "overhead_s",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Seconds that a shot takes beside its exposure.",
)
@click.option(
    "--sweep",
    type=click.Choice(["exhaustive", "guided"]),
    default="exhaustive",
    help="guided: what a guided sweep takes at most; how much less, the scene decides.",
)
@click.option("--list", "listed", is_flag=True, help="List every shot in order.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def plan(
    root: Path,
    plan_file: Path | None,
    lighting: str | None,
    scene: str | None,
    overhead_s: float,
    sweep: str,
    listed: bool,
    as_json: bool,
) -> None:
    """Say what a plan covers and how long it takes. Needs no device and no workspace.

    A plan file is TOML; every key is optional:

    \b
      shutter = ["1/4000", "1/60", "0.5", "30"]
      iso = [100, 6400]
      f_number = [5.6, 22]
      step = "1"                  # of what is not listed: "1", "1/2" or "1/3" stop
      acceptance = "pixels95"     # or "mean"
      order = "fewest_changes"    # or "random", with seed = N

    \b
    Examples:
      snaprig capture plan
      snaprig capture plan --plan coarse.toml --lighting dim
      snaprig -w lab capture plan --scene cups-3 --lighting bright --json
      snaprig -w lab capture plan --scene cups-3 --lighting bright --sweep guided
      snaprig capture plan --list | less
    """  # noqa: D301
    if scene is not None and lighting is None:
        raise click.UsageError("--scene needs --lighting: a scene has a sweep under each lighting")
    sweep_plan = read_plan(plan_file)
    light = None if lighting is None else _config(root).lighting_named(lighting)
    remaining = None
    if scene is not None and light is not None:
        with Workspace.open(root).catalog() as catalog:
            require_scene(catalog, scene)
            remaining = survey(catalog, scene, light.name, sweep_plan).remaining
            if sweep == "guided":
                guide = start_guide(catalog, scene, light.name, sweep_plan, Guidance())
                remaining = tuple(guide.left())
    document = describe(sweep_plan, light, remaining, overhead_s, guided=sweep == "guided")
    if listed:
        document["list"] = [_shot(shot) for shot in sweep_plan]
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    _print(document, sweep_plan if listed else None)


def describe(
    sweep_plan: SweepPlan,
    lighting: Lighting | None = None,
    remaining: tuple[Shot, ...] | None = None,
    overhead_s: float = 1.0,
    *,
    guided: bool = False,
) -> dict[str, Any]:
    """A plan as a JSON document; times in seconds.

    Of a guided sweep all numbers are upper bounds: which shots have a witness is not known
    before the scene was seen.
    """
    if guided:
        require_provable(sweep_plan)
    cost = sweep_plan.estimate(overhead_s)
    document: dict[str, Any] = {
        "shots": cost.shots,
        "open_shutter_s": round(cost.open_shutter_s, 2),
        "duration_s": round(cost.duration_s, 2),
        "overhead_s": overhead_s,
        "digest": sweep_plan.digest,
        "shutter": list(sweep_plan.shutter),
        "iso": list(sweep_plan.iso),
        "f_number": list(sweep_plan.f_number),
        "acceptance": sweep_plan.acceptance,
        "order": sweep_plan.order,
        "sweep": "guided" if guided else "exhaustive",
        "upper_bound": guided,
    }
    if lighting is not None:
        reference = lighting.ev_reference
        offsets = Counter(shot.exposure.ev_offset(reference) for shot in sweep_plan)
        document["lighting"] = lighting.name
        document["by_ev_offset"] = {str(offset): offsets[offset] for offset in sorted(offsets)}
    if remaining is not None:
        left_s = sum(shot.exposure.shutter_s for shot in remaining)
        document["remaining"] = len(remaining)
        document["remaining_s"] = round(left_s + overhead_s * len(remaining), 2)
    return document


def _config(root: Path) -> RigConfig:
    """The workspace's configuration, or what a new workspace would have."""
    toml = Workspace(root).rig_toml
    return RigConfig.load(toml) if toml.exists() else RigConfig.parse(default_rig_toml())


def _shot(shot: Shot) -> dict[str, Any]:
    exposure = shot.exposure
    return {
        "index": shot.index,
        "shutter": spell_shutter(exposure.shutter_s),
        "iso": exposure.iso,
        "f_number": exposure.f_number,
        "ev": round(exposure.ev, 3),
    }


def _print(document: dict[str, Any], listed: SweepPlan | None) -> None:
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    most = "at most " if document["upper_bound"] else ""
    table.add_row("shots", f"{most}{document['shots']}")
    table.add_row("shutter", " ".join(document["shutter"]))
    table.add_row("ISO", " ".join(map(str, document["iso"])))
    table.add_row("F-number", " ".join(f"{n:g}" for n in document["f_number"]))
    table.add_row("acceptance", document["acceptance"])
    table.add_row("order", document["order"])
    table.add_row("open shutter", f"{most}{duration(document['open_shutter_s'])}")
    table.add_row(
        "duration",
        f"{most}{duration(document['duration_s'])}, "
        f"at {document['overhead_s']:g} s a shot beside it",
    )
    if "by_ev_offset" in document:
        counts = "  ".join(f"{int(k):+d}: {n}" for k, n in document["by_ev_offset"].items())
        table.add_row(f"by EV offset ({document['lighting']})", counts)
    if "remaining" in document:
        left = f"{most}{document['remaining']} shots, {duration(document['remaining_s'])}"
        table.add_row("remaining", left)
    table.add_row("digest", document["digest"][:16])
    console.print(table)
    if most:
        click.echo(
            "A guided sweep skips what a witness proves to be rejected. How much that is depends "
            "on the scene and is known only while it runs; the audit comes on top."
        )
    for shot in listed or ():
        click.echo(f"{shot.index:5d}  {shot.exposure}  EV {shot.exposure.ev:.2f}")
