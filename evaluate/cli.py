"""`snaprig evaluate`: models, run, score, report. Heavy libraries load inside the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import click

from evaluate.errors import EvaluateError
from evaluate.models_cli import models
from evaluate.review_cli import review
from evaluate.run_cli import run
from schemas.workspace import Workspace

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group()
def evaluate() -> None:
    """Models over the catalog, scoring, report."""


evaluate.add_command(models)
evaluate.add_command(review)
evaluate.add_command(run)


@evaluate.command()
@click.option(
    "--protocol",
    type=click.Choice(["paper", "release"]),
    default="paper",
    show_default=True,
    help="One rule for people and models, or the released scripts' own rules.",
)
@_JSON
@click.pass_obj
def score(root: Path, protocol: str, as_json: bool) -> None:
    """Score all responses anew under a protocol, without asking anyone again.

    \b
    Examples:
      snaprig -w lab evaluate score
      snaprig -w lab evaluate score --protocol release --json
    """  # noqa: D301
    with _plain_errors(), Workspace.open(root).catalog() as catalog:
        from evaluate.scores import score_observers
        from evaluate.scoring import score_catalog
        from evaluate.vocabulary import load_vocabulary

        started = monotonic()
        done = score_catalog(catalog, load_vocabulary(root), protocol)
        duration_s = monotonic() - started
        observers = score_observers(catalog, protocol)
    if as_json:
        document = {
            "protocol": protocol,
            "scored": done.scored,
            "unscorable": done.unscorable,
            "observers": observers,
            "seconds": round(monotonic() - started, 3),
        }
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(f"{done.scored} responses scored under {protocol} in {duration_s:.1f} s")
    for one in observers:
        shown = ("top1", "top5", "soft", "hard", "ps", "ap", "ap50", "olrp", "shape_bias")
        values = ", ".join(
            f"{name} {one['metrics'][name]:.3f}"
            for name in shown
            if one["metrics"].get(name) is not None
        )
        click.echo(f"{one['name']} ({one['task']}, {one['n']}): {values}")
    _say_unscorable(done.unscorable)


@evaluate.command()
@click.option(
    "--protocol",
    type=click.Choice(["paper", "release"]),
    default="paper",
    show_default=True,
    help="One rule for people and models, or the released scripts' own rules.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="HTML file (default: reports/index.html in the workspace); folders figures, tables and "
    "observers lie beside it.",
)
@_JSON
@click.pass_obj
def report(root: Path, protocol: str, out: Path | None, as_json: bool) -> None:
    """Write the report: every figure and table that the catalog has data for.

    One HTML page without outside requests, and a page for each observer; figures also as SVG,
    PNG and CSV, tables as CSV, LaTeX and Markdown. A figure without data is named with the reason.

    \b
    Examples:
      snaprig -w lab evaluate report
      snaprig -w lab evaluate report --protocol release --json
      snaprig -w lab evaluate report --out shared/report.html
    """  # noqa: D301
    with _plain_errors():
        _require("matplotlib", "jinja2", "scipy")
        workspace = Workspace.open(root)
        with workspace.catalog() as catalog:
            from evaluate.report import write_report
            from evaluate.report.steps import report_steps

            with report_steps(catalog) as tell:
                path = out or workspace.reports / "index.html"
                done = write_report(catalog, workspace, path, protocol, tell)
    if as_json:
        click.echo(json.dumps(done.as_json(), indent=2))
        return
    click.echo(f"report: {done.path} ({done.path.stat().st_size / 1e6:.1f} MB)")
    click.echo(
        f"{len(done.figures)} figures, {len(done.tables)} tables and {len(done.pages)} pages of "
        f"observers beside it; {len(done.contents.left_out)} figures left out, the page says why"
    )
    _say_unscorable(done.unscorable)


def _say_unscorable(unscorable: dict[str, str]) -> None:
    for reason in unscorable.values():
        click.echo(f"not scored: {reason}", err=True)


def _require(*modules: str) -> None:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise EvaluateError(
            f"{', '.join(missing)} not installed; this command needs the extra `evaluate`: "
            "pip install 'snaprig[evaluate]'"
        )


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors that a person can act on become one line and exit status 1."""
    try:
        yield
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
