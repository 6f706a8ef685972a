"""`snaprig merge` and `snaprig backup`: workspaces brought together, and kept safe."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from rig.errors import Abort
from rig.ownership import owned
from schemas.backup import BackupResult, back_up, open_backup, verify_backup
from schemas.check import CheckResult
from schemas.copying import DigestError
from schemas.merging import MergeConflictError, MergeResult, merge_workspaces
from schemas.workspace import Workspace

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("other", type=_FOLDER)
@click.option("--dry-run", is_flag=True, help="Only say what would be done, and what contradicts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def merge(root: Path, other: Path, dry_run: bool, as_json: bool) -> None:
    """Bring everything of workspace OTHER into this one; OTHER is only read.

    Scenes, lightings, runs, frames with their files, objects, questions, answers, session files:
    from a capture laptop, from two of them, from a backup. The same twice changes nothing. First
    all is compared: where the two contradict each other (one scene with two categories, one shot
    with two pictures, one observer with two specifications), that is named, and nothing is
    written. rig.toml stays as it is; verdicts are made again by `evaluate score`.

    \b
    Examples:
      snaprig -w lab merge /media/laptop/lab --dry-run
      snaprig -w lab merge /media/laptop/lab
    """  # noqa: D301
    ours, theirs = Workspace.open(root), Workspace.open(other)
    try:
        with owned(ours), _progress("merging") as progress:
            result = merge_workspaces(ours, theirs, progress, dry_run=dry_run)
    except MergeConflictError as error:
        if as_json:
            click.echo(json.dumps(MergeResult(conflicts=error.conflicts).to_json(), indent=2))
        raise Abort(
            str(error),
            "change one of the two, or keep them apart: `snaprig init` makes a workspace of its "
            "own",
        ) from error
    except DigestError as error:
        raise Abort(
            str(error), f"snaprig -w {other} check --repair, then merge again: it goes on"
        ) from error
    except OSError as error:
        raise _stuck(error) from error
    if as_json:
        click.echo(json.dumps({"dry_run": dry_run, **result.to_json()}, indent=2))
    else:
        _say_merged(result, other, dry_run)
    if result.conflicts:
        sys.exit(1)


@click.command()
@click.argument("dest", type=_FOLDER)
@click.option("--verify", is_flag=True, help="Copy nothing: read the whole backup and check it.")
@click.option("--force", is_flag=True, help="Even if the backup was used as a workspace since.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def backup(root: Path, dest: Path, verify: bool, force: bool, as_json: bool) -> None:
    """Copy this workspace to DEST: new and changed files only, each proven by its sha256.

    Works while a sweep runs. Nothing in DEST is deleted: what is replaced, the catalog at each
    change above all, moves to DEST/generations. The backup is a workspace: `snaprig -w DEST`
    opens it; copy it back to restore. Reports are left out: they are made again.

    \b
    Examples:
      snaprig -w lab backup /media/disk/lab
      snaprig -w lab backup /media/disk/lab --verify
    """  # noqa: D301
    workspace = Workspace.open(root)
    if verify:
        with _progress("verifying") as progress:
            found = verify_backup(Workspace(dest), progress)
        _say_verified(found, as_json)
        if not found.ok:
            sys.exit(1)
        return
    workspace.catalog().close()  # brings an older release's catalog to this one's tables
    target = open_backup(workspace, dest)
    try:
        with owned(target), _progress("backing up") as progress:
            result = back_up(workspace, target, progress, force=force)
    except DigestError as error:
        raise Abort(str(error), "choose another disk for the backup") from error
    except OSError as error:
        raise _stuck(error) from error
    _say_backed_up(result, dest, as_json)
    if result.problems:
        sys.exit(1)


def _stuck(error: OSError) -> Abort:
    return Abort(
        f"stopped at {error.filename or 'a file'}: {error.strerror or error}",
        "make room, or see to the disk; the same command goes on",
    )


def _say_merged(result: MergeResult, other: Path, dry_run: bool) -> None:
    if dry_run:
        for conflict in result.conflicts:
            click.echo(conflict)
        verdict = (
            f"{len(result.conflicts)} contradictions: nothing could be merged"
            if result.conflicts
            else "nothing contradicts"
        )
        click.echo(f"{other}: {result.files} files to copy, {result.size_bytes / 1e6:.1f} MB")
        click.echo(verdict)
        return
    for name, number in result.added.items():
        if number:
            click.echo(f"{name.replace('_', ' ')}: {number}")
    for path in result.set_aside:
        click.echo(f"a file without a row lay in the way, it is in {path} now", err=True)
    if not any(number for name, number in result.added.items() if name != "responses_kept"):
        click.echo("nothing new")
    elif result.added["responses"] or result.added["rulings"]:
        click.echo("  next: snaprig evaluate score")


def _say_backed_up(result: BackupResult, dest: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result.to_json(), indent=2))
        return
    click.echo(
        f"{dest}: {result.copied} files copied ({result.size_bytes / 1e6:.1f} MB), "
        f"{result.unchanged} there already"
    )
    if result.generation:
        click.echo(f"  what they replaced is in {dest / result.generation}")
    for problem in result.problems:
        click.echo(f"{problem.file}: {problem.problem}", err=True)
    if result.problems:
        click.echo(
            f"  {len(result.problems)} files could not be copied; a good copy of them stays\n"
            "  next: snaprig check --repair",
            err=True,
        )


def _say_verified(found: CheckResult, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return
    for problem in found.problems:
        click.echo(f"{problem.file}: {problem.problem}")
    verdict = f"{len(found.problems)} damaged" if found.problems else "all good"
    click.echo(f"{found.checked} files of the backup checked: {verdict}")
    if found.problems:
        click.echo("  next: snaprig backup again puts back what is good in the workspace")


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
