"""`snaprig experiment import`: logs of sessions into the catalog."""

from __future__ import annotations

import json
from pathlib import Path

import click

from experiment.design_cli import plain_errors
from schemas.workspace import Workspace


@click.command()
@click.argument(
    "files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, dir_okay=False)
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def import_sessions(root: Path, files: tuple[Path, ...], as_json: bool) -> None:
    """Bring sessions into the catalog: all of the workspace, or the logs that are named.

    A session lands once, however often this is called; one that went on since is completed.
    A session also lands by itself when it ends.

    \b
    Examples:
      snaprig -w lab experiment import
      snaprig -w lab experiment import lab/sessions/P07/questions.jsonl --json
    """  # noqa: D301
    from experiment.importing import import_sessions as bring

    workspace = Workspace.open(root)
    with plain_errors(), workspace.catalog() as catalog:
        done = bring(catalog, workspace, files)
    if as_json:
        document = {
            "sessions": [one.as_json() for one in done],
            "added": sum(one.added for one in done),
            "corrected": sum(one.corrected for one in done),
        }
        click.echo(json.dumps(document, indent=2))
        return
    for one in done:
        state = "was there already" if one.unchanged else f"{one.added} new answers"
        corrected = f", {one.corrected} corrected" if one.corrected else ""
        robot = " (robot)" if one.robot else ""
        ended = "" if one.ended else ", not at its end"
        click.echo(
            f"{one.participant}{robot}, {one.study}: {one.trials} trials, {state}{corrected}{ended}"
        )
    if not done:
        click.echo(f"no session in {workspace.sessions}", err=True)
