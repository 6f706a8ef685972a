"""`snaprig evaluate`: models, run, score, report. Heavy libraries load inside the commands."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import click

from evaluate.errors import EvaluateError
from evaluate.models_cli import models
from evaluate.review_cli import review
from schemas.workspace import Workspace

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


class Stopped(click.ClickException):
    """Stopped on purpose and resumable: exit status 3."""

    exit_code = 3


@click.group()
def evaluate() -> None:
    """Models over the catalog, scoring, report."""


evaluate.add_command(models)
evaluate.add_command(review)


@evaluate.command()
@click.option("--model", "names", multiple=True, required=True, help="Name from the zoo; repeat.")
@click.option(
    "--device", default="auto", show_default=True, help="auto (a GPU if any), cpu, cuda, cuda:1, …"
)
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Frames asked at once.",
)
@click.option("--as", "alias", help="Name of the observer in the catalog (default: the model's).")
@click.option("--retry-failed", is_flag=True, help="Ask again about frames that failed before.")
@_JSON
@click.pass_obj
def run(
    root: Path,
    *,
    names: tuple[str, ...],
    device: str,
    batch_size: int,
    alias: str | None,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Ask models about all accepted frames that they have not seen yet.

    Resumable: what is in the catalog is not asked again. Ctrl-C finishes the batch at hand.

    \b
    Examples:
      snaprig -w lab evaluate run --model tf_efficientnet_lite2
      snaprig -w lab evaluate run --model tf_efficientnet_lite2 --device cuda --json
    """  # noqa: D301
    if alias is not None and len(names) > 1:
        raise click.UsageError("--as names one observer: give one --model with it")
    with _plain_errors():
        _require("torch", "timm")
        workspace = Workspace.open(root)
        with workspace.catalog() as catalog, _interruptible() as stop:
            from evaluate.runner import run_models

            found = run_models(
                catalog,
                workspace,
                names,
                device=device,
                batch_size=batch_size,
                alias=alias,
                retry_failed=retry_failed,
                stop=stop.is_set,
            )
    total = {
        "observers": [result.as_json() for result in found],
        "responses": sum(result.progress.responses for result in found),
        "failed": sum(result.progress.failed for result in found),
    }
    if as_json:
        click.echo(json.dumps(total, indent=2))
    else:
        for result in found:
            click.echo(result.sentence())
    if any(result.progress.interrupted for result in found):
        raise Stopped("interrupted; run the same command again to go on")


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


@contextmanager
def _interruptible() -> Iterator[Event]:
    """An event that the first Ctrl-C sets; the second one interrupts at once."""
    stop = Event()

    def on_interrupt(_number: int, _frame: Any) -> None:  # noqa: ANN401 - a frame object
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        click.echo("\nfinishing the batch at hand; Ctrl-C again stops at once", err=True)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
