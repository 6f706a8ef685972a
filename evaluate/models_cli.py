"""`snaprig evaluate models`: which models there are, and what each needs to run here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from evaluate.errors import EvaluateError

_TASKS = ("classification", "detection", "vqa")


@click.command()
@click.option("--task", type=click.Choice(_TASKS), help="Only models that are asked this.")
@click.option(
    "--zoo",
    default="snap",
    show_default=True,
    help="snap (the paper's 52 models), colorsense, all (these, substitutes, the package-shipped "
    "model and your own rows), or a set that your models.toml names.",
)
@click.option(
    "--offline", is_flag=True, help="Judge without a network: only weights on this machine count."
)
@click.option(
    "--paper", is_flag=True, help="What is published about the paper's 52 models: size and results."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def models(
    root: Path | None, *, task: str | None, zoo: str, offline: bool, paper: bool, as_json: bool
) -> None:
    """List the models, whether each runs here, and why not.

    `untested with real weights`: the code that loads it is tested with a tiny checkpoint of the
    same architecture, its real weights were never run by snaprig's developers. Rows in the
    workspace's models.toml are listed with --zoo all.

    \b
    Examples:
      snaprig evaluate models
      snaprig evaluate models --task vqa
      snaprig evaluate models --zoo colorsense --offline
      snaprig -w lab evaluate models --zoo all --json
      snaprig evaluate models --paper
    """  # noqa: D301
    if paper:
        _list_published(task, as_json)
        return
    rows = _rows(root, zoo, task, offline)
    if as_json:
        click.echo(json.dumps({"models": rows}, indent=2))
    else:
        _print_table(rows)


def _rows(root: Path | None, zoo: str, task: str | None, offline: bool) -> list[dict[str, Any]]:
    from evaluate.paper_models import load_paper_models
    from evaluate.runnable import row_json
    from evaluate.zoo import load_rows, rows_of_zoo

    paper_names = {row.paper_id: row.paper_name for row in load_paper_models().model}
    try:
        chosen = rows_of_zoo(load_rows(root), zoo)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    return [
        row_json(row, paper_names.get(row.name), offline=offline)
        for row in chosen
        if task in (None, row.task)
    ]


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "paper", "task", "provider", "license", "status"):
        # a name is to be copied: never broken
        table.add_column(heading, overflow="fold", no_wrap=heading == "name")
    reasons: dict[str, int] = {}
    for row in rows:
        mark = ""
        if row["reason"]:
            mark = f" [{reasons.setdefault(row['reason'], len(reasons) + 1)}]"
        table.add_row(
            row["name"],
            row["paper_name"] or "",
            row["task"],
            row["provider"],
            row["license"],
            row["status"] + mark,
        )
    console = Console(width=None if Console().is_terminal else 200, markup=False, highlight=False)
    console.print(table)
    for reason, number in reasons.items():
        console.print(f"[{number}] {reason}", soft_wrap=True)
    for row in rows:
        if row["substitute_for"]:
            replaced = ", ".join(row["substitute_for"])
            console.print(f"{row['name']}: nearest substitute for {replaced}, under its own name")


def _list_published(task: str | None, as_json: bool) -> None:
    from evaluate.paper_models import paper_model_line, paper_models_json

    rows = [row for row in paper_models_json() if task in (None, row["task"])]
    if as_json:
        click.echo(json.dumps({"models": rows}, indent=2))
        return
    for row in rows:
        click.echo(paper_model_line(row))
