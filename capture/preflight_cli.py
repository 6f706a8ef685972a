"""`snaprig capture preflight` and `snaprig capture white-balance`."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from capture.options import checklist_option, port_options, require_own_devices
from capture.plan_cli import read_plan
from capture.preflight import Manner, Preflight, answers_path, unreachable
from capture.preflight_gate import asker
from capture.scene_cli import require_scene
from capture.sweep import survey
from rig.checklist import Answer, Answers
from rig.config import RigConfig
from rig.errors import Abort, AskOperator, RigError
from rig.gphoto_names import CUSTOM_WHITE_BALANCE
from rig.ownership import owned
from rig.preflight import Finding, Status, Task, failures
from schemas.plan import Lighting, SweepPlan
from schemas.workspace import Workspace

_COLORS = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "bold red"}


@click.command()
@click.option("--scene", help="Count what its sweep still lacks (default: the whole plan).")
@click.option("--lighting", help="A [lighting.NAME] of rig.toml: its band is checked.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Plan file (default: the full grid of 630 shots).",
)
@click.option("--no-burst", is_flag=True, help="Do not shoot the six pictures that show flicker.")
@click.option("--ask", "ask_again", is_flag=True, help="Ask again what has been answered.")
@checklist_option
@port_options
@click.pass_obj
def preflight(
    root: Path,
    scene: str | None,
    lighting: str | None,
    plan_file: Path | None,
    no_burst: bool,
    ask_again: bool,
    checklist_done: bool,
    camera: str | None,
    hub: str | None,
    as_json: bool,
) -> None:
    """Check camera, meter, light and host before a night's sweep.

    Reads every setting that the body tells, watches the meter for 5 s and, with --lighting,
    shoots six pictures at a fast shutter to see whether the lamps flicker; they are measured and
    forgotten. What no device tells is asked at a terminal, once for each camera body (the state
    of the room: once a night). Where `snaprig daemon` owns the devices, it makes the checks.
    Exit status: 0 nothing failed, 1 something did.

    \b
    Examples:
      snaprig -w lab capture preflight --scene cups-3 --lighting bright
      snaprig -w lab capture preflight --lighting dim --no-burst --checklist-done --json
    """  # noqa: D301
    from capture.daemon.client import find_daemon

    sweep_plan = read_plan(plan_file)
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    light = None if lighting is None else config.lighting_named(lighting)
    client = find_daemon(workspace)
    if client is not None:
        require_own_devices(camera is None and hub is None)
        from capture.daemon.follow import preflight_by_daemon

        request = {
            "scene": scene,
            "lighting": lighting,
            "plan": sweep_plan.model_dump(mode="json"),
            "burst": not no_burst,
            "ask_again": ask_again,
            "checklist_done": checklist_done,
            "key": secrets.token_hex(8),
        }
        findings = preflight_by_daemon(client, request)
    else:
        manner = Manner.full(
            checklist_done=checklist_done,
            burst=not no_burst,
            ask=asker(checklist_done=checklist_done),
            ask_again=ask_again,
            sleep=time.sleep,
        )
        findings = _check_here(workspace, config, scene, light, sweep_plan, manner)
    if as_json:
        click.echo(json.dumps([finding.to_json() for finding in findings], indent=2))
    else:
        show(findings)
    click.get_current_context().exit(1 if failures(findings) else 0)


def _check_here(
    workspace: Workspace,
    config: RigConfig,
    scene: str | None,
    light: Lighting | None,
    plan: SweepPlan,
    manner: Manner,
) -> list[Finding]:
    shots = tuple(plan)
    with workspace.catalog() as catalog:
        if scene is not None:
            require_scene(catalog, scene)
            if light is not None:
                shots = survey(catalog, scene, light.name, plan).remaining
        task = Task(tuple(shot.exposure for shot in shots), light)
        flight = Preflight(workspace, catalog, config, task, manner)
        try:
            with owned(workspace):
                look(flight, config)
        except Abort as error:  # another run owns the devices: nothing of them can be told
            flight.add(unreachable("workspace", error))
            flight.host()
        finally:
            flight.close()
    return flight.findings


def look(flight: Preflight, config: RigConfig) -> None:
    """Open each device that can be opened, look at it, and put it back as it was."""
    from rig.bench import camera_of, meter_of  # libgphoto2 and yoctopuce: 0.3 s

    flight.host()
    meter, body = meter_of(config.meter), camera_of(config.camera)
    try:
        info = meter.open()
    except RigError as error:
        flight.add(unreachable("meter", error))
    else:
        try:
            flight.meter(meter, info)
        finally:
            meter.close()
    try:
        who = body.open()
    except RigError as error:
        flight.add(unreachable("camera", error))
    else:
        try:
            flight.camera(body, who)
        finally:
            body.close()


def show(findings: Sequence[Finding]) -> None:
    """Print a table, worst first, and how many of which."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "check", "found", "wanted", "what to do"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        table.add_row(
            f"[{_COLORS[finding.status]}]{finding.status}[/]",
            finding.check.replace("_", " "),
            *map(_plain, (finding.found, finding.wanted, finding.action)),
        )
    console = Console(file=sys.stdout, highlight=False)
    console.print(table)
    counts = ", ".join(
        f"{sum(finding.status is status for finding in findings)} {status}" for status in Status
    )
    click.echo(counts)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


@click.command(name="white-balance")
@click.option("--lighting", required=True, help="A [lighting.NAME] of rig.toml.")
@click.option("--done", is_flag=True, help="It is done: do not wait for Enter.")
@port_options
@click.pass_obj
def white_balance(
    root: Path, lighting: str, done: bool, camera: str | None, hub: str | None, as_json: bool
) -> None:
    """Make a custom white balance from a gray card under a lighting, and record that it was made.

    The body makes it by its own menu (no remote control does it on a T7); this command says how,
    waits, verifies that the body uses it, and records the date for this body and lighting.

    \b
    Examples:
      snaprig -w lab capture white-balance --lighting bright
    """  # noqa: D301
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    light = config.lighting_named(lighting)
    if not done:
        for line in _STEPS:
            click.echo(line.format(lux=f"{light.lux:g}", name=light.name), err=True)
        if not sys.stdin.isatty():
            raise AskOperator(
                "nobody is at the terminal to say that it is done",
                "do it, then run the command again with --done",
            )
        click.prompt("Press Enter when it is done", default="", show_default=False, err=True)
    from rig.bench import camera_of  # libgphoto2: 0.2 s

    body = camera_of(config.camera)
    with owned(workspace):
        try:
            serial = body.open().serial
            found = body.read_settings().get("whitebalance", "")
        finally:
            body.close()
        if found not in CUSTOM_WHITE_BALANCE:
            raise AskOperator(
                f"the body's white balance is {found or 'unknown'}, not the custom one",
                "WB button, Custom; then run the command again with --done",
            )
        now = datetime.now(UTC)
        path = answers_path(workspace)
        answer = Answer("white_balance", serial, True, now, light.name)
        Answers.load(path).with_answer(answer).save(path)
    if as_json:
        document = {"camera": serial, "lighting": light.name, "at": now.isoformat()}
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(f"recorded: custom white balance of {serial} under {light.name}")


_STEPS = (
    "1. Set the panels to {lux} lux ({name}) and let them warm up.",
    "2. Fill the frame with a gray card in the light of the scene; lens on MF, any sharpness.",
    "3. Dial on P, shoot one picture to the card by the body's own button.",
    "4. Menu: Custom White Balance; choose that picture; confirm.",
    "5. WB button: Custom. Dial back to M. (The picture on the card is yours to delete.)",
)
