"""`snaprig evaluate review`: list answers that the parser is unsure of, and rule on them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from evaluate.errors import EvaluateError
from evaluate.rulings import RULINGS, Ruling
from schemas.workspace import Workspace


class _RulingType(click.ParamType[tuple[int, Ruling]]):
    """``RESPONSE_ID=right``, ``=wrong`` or ``=no-answer``."""

    name = "response_id=ruling"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, Ruling]:
        """Split at the equals sign."""
        key, _, said = str(value).partition("=")
        found = [ruling for ruling in RULINGS if ruling == said and key.isdecimal()]
        if not found:
            self.fail(f"{value!r} is not of the form RESPONSE_ID={'|'.join(RULINGS)}", param, ctx)
        return int(key), found[0]


@click.command()
@click.option(
    "--limit", type=click.IntRange(0), default=20, show_default=True, help="Answers listed."
)
@click.option(
    "--rule",
    "rulings",
    multiple=True,
    type=_RulingType(),
    metavar="RESPONSE_ID=right|wrong|no-answer",
    help="Rule on an answer; repeat.",
)
@click.option("--by", help="Who rules; kept with the ruling.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def review(
    root: Path,
    *,
    limit: int,
    rulings: tuple[tuple[int, Ruling], ...],
    by: str | None,
    as_json: bool,
) -> None:
    """List answers to Q1 to Q4 that the parser is unsure of, and take a person's rulings.

    A ruling is kept with who and when, and wins over the parser whenever scores are rebuilt
    under protocol `paper`; `release` stays as released. A right answer that says more than was
    asked stays unfaithful: soft, not hard.

    \b
    Examples:
      snaprig -w lab evaluate review --limit 50
      snaprig -w lab evaluate review --json
      snaprig -w lab evaluate review --rule 4711=right --rule 4712=no-answer --by anna
    """  # noqa: D301
    from evaluate.review import list_unsure, rule
    from evaluate.vocabulary import load_vocabulary

    name = (by or "").strip()
    if rulings and not name:
        raise click.UsageError("say who rules: --by NAME")
    if len(dict(rulings)) < len(rulings):
        raise click.UsageError("one ruling for each answer")
    try:
        with Workspace.open(root).catalog() as catalog:
            vocabulary = load_vocabulary(root)
            kept = rule(catalog, vocabulary, dict(rulings), name) if rulings else []
            found = list_unsure(catalog, vocabulary, 0 if rulings else limit)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        document = {
            "unsure": sum(found.counts.values()),
            "by_reason": found.counts,
            "answers": [one.as_json() for one in found.answers],
            "ruled": kept,
            "rulings": found.ruled,
        }
        click.echo(json.dumps(document, indent=2))
        return
    for one in kept:
        click.echo(f"{one['response_id']} {one['ruling']}, by {one['by']}: {one['text']!r}")
    for unsure in found.answers:
        row = unsure.row
        named = ", ".join(json.loads(row.parsed).get("named", [])) or "nothing"
        click.echo(
            f"{row.response_id}  {row.task}, {row.objects} x {row.category}, {row.observer}: "
            f"{row.text!r} (read: {named}; {unsure.reason})"
        )
    for reason, number in found.counts.items():
        click.echo(f"{number}: {reason}")
    click.echo(f"{found.ruled} answers have a person's ruling")
