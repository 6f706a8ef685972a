"""`snaprig questions`: make the questions that people and models are asked."""

from __future__ import annotations

import json
from pathlib import Path

import click

from schemas.workspace import Workspace


@click.command()
@click.option("--seed", type=int, required=True, help="Of the order of options; keep it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def make(root: Path, seed: int, as_json: bool) -> None:
    """Make Q1 to Q4 for every accepted frame, options in an order of its own.

    Class and count, open-ended (Q1, Q2) and multiple choice (Q3, Q4). Idempotent: a question
    that is in the catalog keeps its options, whatever the seed.

    \b
    Examples:
      snaprig -w lab questions make --seed 1
      snaprig -w lab questions make --seed 1 --json
    """  # noqa: D301
    from evaluate.questions import make_questions
    from schemas.questions import TASKS

    with Workspace.open(root).catalog() as catalog:
        made = make_questions(catalog, seed)
    if as_json:
        click.echo(json.dumps({"seed": seed, **made.as_json()}, indent=2))
        return
    click.echo(f"{made.frames} accepted frames; Q3 offers {', '.join(made.categories)}, other")
    for task in TASKS:
        click.echo(f"{task}: {made.added[task]} added, {made.kept[task]} there already")
    for task, number in made.set_aside.items():
        if number:
            click.echo(f"{task}: {number} imported without their options stand aside", err=True)
    for task, number in made.kept_with_others.items():
        click.echo(f"{task}: {number} offer other categories than the rest", err=True)
    for reason, number in made.left_out.items():
        click.echo(f"left out: {number} frames, {reason}", err=True)
