"""`snaprig export trials`: answers of people and models in the model-vs-human format."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from evaluate.errors import EvaluateError
from schemas.workspace import Workspace


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def trials(root: Path, folder: Path, as_json: bool) -> None:
    """Write trials of people and models as CSV files: the model-vs-human format.

    One file an observer below DIR, in a folder for each imported data set, and one each for
    Q1, Q3 and classification: trials of one folder are comparable, and `import trials` reads
    it. The condition is the view, or the EV offset of a frame shown as it is.

    \b
    Examples:
      snaprig -w lab export trials trials
      snaprig -w lab export trials trials --json
    """  # noqa: D301
    from evaluate.exporting_trials import export_trials
    from evaluate.vocabulary import load_vocabulary

    try:
        with Workspace.open(root).catalog() as catalog:
            written = export_trials(catalog, load_vocabulary(root), folder)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"files": [asdict(one) for one in written]}, indent=2))
        return
    for one in written:
        click.echo(f"{folder / one.path}: {one.trials} trials, {one.no_response} without response")
    if not written:
        click.echo("nothing written: no answer in the catalog names a class", err=True)
