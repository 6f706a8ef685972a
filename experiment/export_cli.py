"""`snaprig experiment export`: sessions for other people's tools."""

from __future__ import annotations

import json
from pathlib import Path

import click

from experiment.design_cli import plain_errors
from schemas.workspace import Workspace


@click.command()
@click.option(
    "--format",
    "layout",
    type=click.Choice(["psychds"]),
    default="psychds",
    show_default=True,
    help="psychds: Psych-DS, CSV files with a dictionary of every column.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder (default: reports/psychds in the workspace).",
)
@click.option(
    "--with-demographics",
    is_flag=True,
    help="Add each participant's age and sex (default: only their summary).",
)
@click.option("--with-robots", is_flag=True, help="Add the sessions that a robot answered.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def export(
    root: Path,
    *,
    layout: str,
    out: Path | None,
    with_demographics: bool,
    with_robots: bool,
    as_json: bool,
) -> None:
    """Write the sessions with all answers, timing evidence and scores.

    In the model-vs-human format, people's answers stand beside those of models:
    `snaprig export trials`.

    \b
    Examples:
      snaprig -w lab experiment export --format psychds
      snaprig -w lab experiment export --out shared/answers --with-demographics --json
    """  # noqa: D301
    from experiment.psychds import export_psychds

    workspace = Workspace.open(root)
    with plain_errors(), workspace.catalog() as catalog:
        done = export_psychds(
            catalog,
            workspace,
            out or workspace.reports / layout,
            with_demographics=with_demographics,
            with_robots=with_robots,
        )
    if as_json:
        document = {
            "format": layout,
            "folder": str(done.folder),
            "files": done.files,
            "participants": done.participants,
            "rows": done.rows,
            "unscored": done.unscored,
            "robots_left_out": done.robots_left_out,
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo(f"{done.rows} rows of {done.participants} participants: {done.folder}")
    if done.robots_left_out:
        click.echo(
            f"{done.robots_left_out} sessions of robots left out (--with-robots adds them)",
            err=True,
        )
    if done.unscored:
        click.echo(
            f"{done.unscored} answers are not scored: `snaprig experiment import`, then "
            "`snaprig evaluate score`, then export again",
            err=True,
        )
