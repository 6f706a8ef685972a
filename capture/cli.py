"""`snaprig capture`: plan, run and resume sweeps, and the auto frame before them."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import click

from capture.asking import helped
from capture.auto_frame_cli import auto_frame
from capture.batch_cli import batch
from capture.guidance import Guidance
from capture.options import (
    device_options,
    preflight_options,
    read_guidance,
    reference_option,
    require_own_devices,
    sweep_options,
)
from capture.plan_cli import plan, read_plan
from capture.preflight_cli import preflight, white_balance
from capture.preflight_gate import Gate
from capture.scene_cli import require_scene
from capture.shooting import EXIT, Shooting, say, sentence
from capture.steer_cli import pause, show, status, stop
from capture.steering import GO_ON, tell
from capture.stopping import StopRequest, stop_on_signals
from capture.sweep import Summary, summarize_sweep
from capture.unfinished import find_unfinished
from rig.config import RigConfig
from rig.ownership import holder, owned
from schemas.catalog import SMALL_CACHE_MIB, Catalog
from schemas.plan import Lighting, SweepPlan
from schemas.workspace import Workspace


@click.group()
def capture() -> None:
    """Plan, run and resume sweeps."""


capture.add_command(plan)
capture.add_command(auto_frame)
capture.add_command(batch)
capture.add_command(preflight)
capture.add_command(white_balance)
capture.add_command(status)
capture.add_command(pause)
capture.add_command(stop)


@capture.command()
@click.option("--scene", required=True, help="What stands in front of the camera.")
@click.option("--lighting", required=True, help="A [lighting.NAME] of rig.toml.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Plan file (default: the full grid of 630 shots).",
)
@click.option("--limit", type=click.IntRange(1), help="Take this many shots, then stop.")
@sweep_options
@reference_option
@preflight_options
@device_options
@click.pass_obj
def run(
    root: Path,
    scene: str,
    lighting: str,
    plan_file: Path | None,
    limit: int | None,
    sweep: str | None,
    audit: float | None,
    no_reference: bool,
    checklist_done: bool,
    force: bool,
    camera: str | None,
    hub: str | None,
    attempts: int,
    as_json: bool,
) -> None:
    """Shoot what a plan still lacks of a scene under a lighting.

    What has its frame already is never shot again, so a second call goes on where the first
    one ended. The preflight comes first, without its burst of pictures, and a failed check
    refuses the run (see `capture preflight`). Ctrl-C stops after the frame at hand, a second one
    at once. Exit status: 0 every shot has its frame, 1 failed, 3 stopped and resumable.

    Where `snaprig daemon` owns the devices it is asked to shoot, and followed; a terminal that is
    closed leaves the sweep to it.

    \b
    Examples:
      snaprig -w lab capture run --scene cups-3 --lighting bright
      snaprig -w lab capture run --scene cups-3 --lighting dim --plan coarse.toml --json
      snaprig -w lab capture run --scene cups-3 --lighting bright --sweep guided --audit 0.05
    """  # noqa: D301
    sweep_plan = read_plan(plan_file)
    guidance = read_guidance(sweep, audit)
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    with workspace.catalog(SMALL_CACHE_MIB) as catalog:
        require_scene(catalog, scene)
        light = config.lighting_named(lighting)
        summary = _run(
            workspace,
            catalog,
            config,
            scene,
            light,
            sweep_plan,
            guidance=guidance,
            attempts=attempts,
            limit=limit,
            references=not no_reference,
            gate=Gate.at_terminal(checklist_done=checklist_done, force=force),
            own_devices=camera is None and hub is None,
        )
    report(summary, as_json)


@capture.command()
@click.option("--scene", help="Only sweeps of this scene.")
@click.option("--lighting", help="Only sweeps under this lighting.")
@sweep_options
@reference_option
@preflight_options
@device_options
@click.pass_obj
def resume(
    root: Path,
    scene: str | None,
    lighting: str | None,
    sweep: str | None,
    audit: float | None,
    no_reference: bool,
    checklist_done: bool,
    force: bool,
    camera: str | None,
    hub: str | None,
    attempts: int,
    as_json: bool,
) -> None:
    """Go on: with what is paused, else with the sweep that ran last and has shots left.

    It keeps its own plan. Shots that failed are shot again. A guided sweep goes on guided, with
    its audit, unless --sweep says otherwise. Other unfinished sweeps are named; choose one with
    --scene and --lighting.

    \b
    Examples:
      snaprig -w lab capture resume
      snaprig -w lab capture resume --scene cups-3 --lighting dim
    """  # noqa: D301
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    if _go_on(workspace, as_json):
        return
    with workspace.catalog(SMALL_CACHE_MIB) as catalog:
        found = find_unfinished(catalog, scene, lighting)
        if not found:
            click.echo("nothing to resume: every sweep has all its frames", err=True)
            if as_json:
                click.echo(
                    json.dumps({"status": "done", "reason": "nothing to resume", "run": None})
                )
            return
        chosen, *others = found
        click.echo(f"resuming {chosen}", err=True)
        for other in others:
            click.echo(f"also unfinished: {other}", err=True)
        light = config.lighting_named(chosen.run.lighting)
        summary = _run(
            workspace,
            catalog,
            config,
            chosen.run.scene,
            light,
            chosen.plan,
            guidance=read_guidance(sweep, audit, chosen.guidance),
            attempts=attempts,
            references=not no_reference,
            gate=Gate.at_terminal(checklist_done=checklist_done, force=force),
            own_devices=camera is None and hub is None,
        )
    report(summary, as_json)


def _go_on(workspace: Workspace, as_json: bool) -> bool:
    """Have what is paused go on; False where nothing is at hand."""
    from capture.daemon.client import find_daemon

    client = find_daemon(workspace)
    if client is not None:
        if client.get("/api/state")["confirm"] is None:
            return False
        show(client.post("/api/resume", {}), as_json)
        return True
    if holder(workspace) is None:
        return False
    owner = tell(workspace, GO_ON, "go on")
    show({"sentence": f"{owner.text} goes on.", "next": ""}, as_json)
    return True


def _run(
    workspace: Workspace,
    catalog: Catalog,
    config: RigConfig,
    scene: str,
    lighting: Lighting,
    sweep_plan: SweepPlan,
    *,
    guidance: Guidance | None,
    attempts: int,
    references: bool,
    gate: Gate,
    own_devices: bool,
    limit: int | None = None,
) -> Summary:
    before = summarize_sweep(catalog, scene, lighting.name, sweep_plan, guidance)
    if not before.remaining:
        return before
    from capture.daemon.client import find_daemon

    client = find_daemon(workspace)
    if client is not None:
        require_own_devices(own_devices)
        from capture.daemon.follow import run_by_daemon

        request = {
            "kind": "sweep",
            "scene": scene,
            "lighting": lighting.name,
            "plan": sweep_plan.model_dump(mode="json"),
            "sweep": "exhaustive" if guidance is None else "guided",
            "audit": 0.0 if guidance is None else guidance.audit,
            "attempts": attempts,
            "references": references,
            "limit": limit,
            "checklist_done": gate.checklist_done,
            "force": gate.force,
            "rev": client.get("/api/state")["rev"],
            "key": secrets.token_hex(8),
        }
        return run_by_daemon(client, request)
    from rig.bench import open_bench  # libgphoto2 and yoctopuce: 0.3 s

    stop = StopRequest()
    shooting = Shooting(workspace, catalog, config, gate, attempts, references)

    def shoot() -> Summary:
        with open_bench(config) as bench:
            return shooting.sweep(
                bench, scene, lighting, sweep_plan, stop=stop, guidance=guidance, limit=limit
            )

    with stop_on_signals(stop, say), owned(workspace, steerable=True):
        return helped(shoot, shooting.desk.asker(stop), stop)


def report(summary: Summary, as_json: bool) -> None:
    """Print how a run ended and leave with its exit status."""
    if as_json:
        click.echo(json.dumps(summary.to_json(), indent=2))
    click.echo(sentence(summary), err=True)
    if summary.next:
        click.echo(f"  next: {summary.next}", err=True)
    click.get_current_context().exit(EXIT[summary.status])
