"""`snaprig init`, `status` and `check`: the workspace as a whole."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rig.config import default_rig_toml
from rig.ownership import owned
from schemas.catalog import Catalog
from schemas.check import CheckResult, check_files
from schemas.repair import RepairResult, repair
from schemas.summary import FrameCounts, Summary, summarize
from schemas.workspace import Workspace

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--camera", help='Camera port, e.g. "usb:" or "ptpip:127.0.0.1:15740:15740".')
@click.option("--hub", help='Lux meter hub, e.g. "usb" or "127.0.0.1:4444".')
def init(folder: Path, camera: str | None, hub: str | None) -> None:
    """Make a workspace: configuration, empty catalog, folders.

    \b
    Examples:
      snaprig init lab
      snaprig init lab --camera ptpip:127.0.0.1:15740:15740 --hub 127.0.0.1:4444
    """  # noqa: D301
    workspace = Workspace.create(folder, default_rig_toml(camera=camera, hub=hub))
    click.echo(f"made {workspace.root}")
    click.echo(f"  next: look at {workspace.rig_toml}, then add a scene:")
    click.echo(f"        snaprig -w {folder} scene add NAME --category CLASS --count N")


@click.command()
@as_json
@click.pass_obj
def status(root: Path, as_json: bool) -> None:
    """Say what is in the workspace.

    \b
    Examples:
      snaprig -w lab status
      snaprig -w lab status --json | jq .frames
    """  # noqa: D301
    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        summary = summarize(catalog)
    if as_json:
        document = {"workspace": str(workspace.root.resolve()), **summary.to_json()}
        click.echo(json.dumps(document, indent=2))
        return
    _print_summary(workspace, summary)


@click.command()
@click.option("--quick", is_flag=True, help="Only whether each file is there, and its size.")
@click.option(
    "--repair",
    "repairing",
    is_flag=True,
    help="Queue damaged frames to be shot again and clear away what a crash left.",
)
@as_json
@click.pass_obj
def check(root: Path, quick: bool, repairing: bool, as_json: bool) -> None:
    """Verify every stored file against its row, and the database.

    Size and sha256, the settings in its Exif, its XMP, and the camera's own bytes. Exit status
    1 if anything is damaged. Files without a row are named; they are harmless.

    --repair moves damaged files to quarantine/ and says which command shoots them again; files
    without a row move to quarantine/orphans, unfinished ones are deleted. Good files are never
    touched. Not while a run goes on.

    \b
    Examples:
      snaprig -w lab check
      snaprig -w lab check --quick --json
      snaprig -w lab check --repair && snaprig -w lab capture resume
    """  # noqa: D301
    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        if not repairing:
            found = _checked(workspace, catalog, quick)
            result = RepairResult(found)
        else:
            with owned(workspace):
                found = _checked(workspace, catalog, quick)
                result = repair(workspace, catalog, found)
    if as_json:
        document = result.to_json() if repairing else found.to_json()
        click.echo(json.dumps(document, indent=2))
    else:
        _print_check(result, repairing)
    if not result.left.ok:
        sys.exit(1)


def _checked(workspace: Workspace, catalog: Catalog, quick: bool) -> CheckResult:
    console = Console(stderr=True)
    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("check")
        return check_files(
            workspace,
            catalog,
            lambda done, total: bar.update(task, completed=done, total=total),
            quick=quick,
        )


def _print_check(result: RepairResult, repairing: bool) -> None:
    for repaired in result.repaired:
        click.echo(f"{repaired.file}: {repaired.problem}")
        click.echo(f"  {repaired.action}")
    for problem in result.left.problems:
        click.echo(f"{problem.file}: {problem.problem}")
    for orphan in result.left.orphans:
        click.echo(f"{orphan}: no row" + ("; not ours to touch" if repairing else ""))
    damaged = len(result.left.problems)
    verdict = f"{damaged} damaged" if damaged else "all as their rows say"
    if repairing and result.repaired:
        verdict = f"{len(result.repaired)} put right" + (f", {damaged} left" if damaged else "")
    click.echo(f"{result.left.checked} files checked: {verdict}")
    for command in result.next:
        click.echo(f"  next: {command}")
    if not repairing and (result.left.problems or result.left.orphans):
        click.echo("  next: snaprig check --repair")


def _print_summary(workspace: Workspace, summary: Summary) -> None:
    click.echo(f"workspace {workspace.root.resolve()}")
    if summary.simulated:
        click.echo("  holds frames from a VIRTUAL dark room")
    if not summary.sweeps:
        click.echo(f"  {summary.scenes} scenes, no frames yet")
        click.echo("  next: snaprig capture run --scene NAME --lighting NAME")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("scene")
    table.add_column("lighting")
    for name in FrameCounts.__dataclass_fields__:
        table.add_column(name.removeprefix("rejected_"), justify="right")
    for sweep in summary.sweeps:
        table.add_row(sweep.scene, sweep.lighting, *_cells(sweep.frames))
    if len(summary.sweeps) > 1:
        table.add_section()
        table.add_row("all", "", *_cells(summary.frames))
    # A pipe has no width: nothing is cut off for it.
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160).print(table)
    click.echo(
        f"{summary.auto_frames} auto frames, {summary.light_readings} light readings, "
        f"{summary.observers} observers, {summary.responses} responses"
        + (f" ({summary.failed_responses} failed)" if summary.failed_responses else "")
    )
    if summary.runs_unfinished:
        click.echo(
            f"{summary.runs_unfinished} runs have no end: they are going on, or crashed "
            "(go on with `snaprig capture resume`)"
        )


def _cells(counts: FrameCounts) -> list[str]:
    return [str(getattr(counts, name)) for name in FrameCounts.__dataclass_fields__]
