"""`snaprig color report`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from evaluate.errors import EvaluateError
from schemas.workspace import Workspace


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write (default: color/ in the workspace's reports).",
)
@click.option(
    "--attention",
    "attended",
    default="",
    metavar="MODEL",
    help="Show in Figure 11 where this model of the zoo looks (Grad-CAM), on frames it got wrong.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def report(root: Path, *, out: Path | None, attended: str, as_json: bool) -> None:
    """Figures and tables of color discrimination, and exposure and color apart.

    For whatever models, people and labels the catalog has; what has no data is left out, with
    the reason. Answers without a verdict are scored first. Writes index.html, figures (SVG, PNG,
    CSV) and tables (CSV, LaTeX, Markdown).

    \b
    Examples:
      snaprig -w lab color report
      snaprig -w lab color report --out color-report --json
      snaprig -w lab color report --attention tf_efficientnet_lite2
    """  # noqa: D301
    from evaluate.color.progress import progress
    from evaluate.color.report import write_report

    workspace = Workspace.open(root)
    page = (out or workspace.reports / "color") / "index.html"
    try:
        with workspace.catalog() as catalog, progress("reading luma") as watch:
            done = write_report(catalog, workspace, page, watch, attended)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(done.as_json(), indent=2, allow_nan=False))
        return
    click.echo(f"{done.page}: {len(done.figures)} figures, {len(done.tables)} tables")
    for one in done.missing:
        click.echo(f"left out: {one.title}: {one.reason}")
    if done.unreadable:
        click.echo(f"luma unknown, files unreadable: {', '.join(done.unreadable[:5])}")
