"""`snaprig color label`: people label, others' labels, measured ones, and who agrees with whom."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic
from typing import Any

import click

from evaluate.errors import EvaluateError
from schemas.workspace import Workspace, WorkspaceError, safe_name


def _pseudonym(_context: object, _parameter: object, value: str | None) -> str | None:
    try:
        return None if value is None else safe_name(value)
    except WorkspaceError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.option(
    "--labeler",
    metavar="PSEUDONYM",
    callback=_pseudonym,
    help="Serve a page on which this person labels colors; no real names.",
)
@click.option(
    "--round",
    "round_",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="2: the labeler's pictures of round 1 once more, without their labels.",
)
@click.option("--adjudicate", is_flag=True, help="The person decides where people's labels differ.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="N pictures at random, the same for every labeler.",
)
@click.option(
    "--listen",
    default="127.0.0.1:8418",
    show_default=True,
    help="HOST:PORT of the page, on this computer only.",
)
@click.option(
    "--import",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Labels of others: CSV, JSON, or the .npy of CIFAR-B.",
)
@click.option("--measure", "do_measure", is_flag=True, help="From pixels and object masks.")
@click.option(
    "--agreement", "do_agreement", is_flag=True, help="Percent and Cohen's kappa of all labelers."
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="every core",
    help="Frames measured at once.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def label(
    root: Path,
    *,
    labeler: str | None,
    round_: int,
    adjudicate: bool,
    sample: int | None,
    listen: str,
    file: Path | None,
    do_measure: bool,
    do_agreement: bool,
    threads: int,
    as_json: bool,
) -> None:
    """Say which colors objects and their backgrounds have.

    Labels of people count more than imported ones, those more than measured ones. Measuring needs
    object masks; each frame is measured as it appears, and each scene once from the frame nearest
    to EV offset 0. Interrupted or repeated, it measures only what it lacks.

    With --labeler a page for the browser shows picture after picture; a key a color, the object
    first, then its background. Each key is stored at once: end it with Ctrl-C at any time, and the
    same command goes on with what is left.

    \b
    Examples:
      snaprig -w lab color label --labeler L1
      snaprig -w lab color label --labeler L2 --sample 500
      snaprig -w lab color label --labeler L3 --adjudicate
      snaprig -w lab color label --measure
      snaprig -w lab color label --import cifar10_test_background.csv --json
      snaprig -w lab color label --agreement
    """  # noqa: D301
    if labeler is not None:
        if file or do_measure or do_agreement:
            raise click.UsageError(
                "--labeler serves a page: leave the other tasks to a next command"
            )
        if adjudicate and round_ > 1:
            raise click.UsageError("--adjudicate has no rounds")
        _serve(root, labeler, round_, adjudicate, sample, listen, as_json)
        return
    if adjudicate or sample or round_ > 1:
        raise click.UsageError("say who labels: --labeler PSEUDONYM, e.g. L1")
    if not (file or do_measure or do_agreement):
        raise click.UsageError(
            "say what to do: --labeler PSEUDONYM, --import FILE, --measure or --agreement"
        )
    from evaluate.color.importing import import_labels
    from evaluate.color.label_summary import agreements, count_labels
    from evaluate.color.measuring import measure_catalog
    from evaluate.color.progress import progress
    from schemas.color_store import list_color_frames, list_color_labels

    workspace = Workspace.open(root)
    document: dict[str, Any] = {}
    started = monotonic()
    try:
        with workspace.catalog() as catalog:
            if file is not None:
                document["imported"] = import_labels(catalog, file).as_json()
            if do_measure:
                with progress("measuring") as watch:
                    found = measure_catalog(catalog, workspace, watch, threads)
                document["measured"] = found.as_json()
            frames, labels = list_color_frames(catalog), list_color_labels(catalog)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    document["counts"] = count_labels(frames, labels)
    document["agreement"] = [one.as_json() for one in agreements(frames, labels)]
    document["duration_s"] = round(monotonic() - started, 3)
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        _say(document, do_agreement)
    failed = sum(one["frames"] for one in document.get("measured", {}).get("failed", []))
    if failed:
        raise click.ClickException(
            f"{failed} frames could not be measured; `snaprig check` says what is wrong with files"
        )


def _serve(
    root: Path,
    labeler: str,
    round_: int,
    adjudicate: bool,
    sample: int | None,
    listen: str,
    as_json: bool,
) -> None:
    # The web libraries take half a second: only this task pays for them.
    from evaluate.color.label_page.desk import Task
    from evaluate.color.label_page.serve import serve

    def say(address: str) -> None:
        click.echo(f"label at {address} in a browser; Ctrl-C ends it", err=True)

    workspace = Workspace.open(root)
    try:
        with workspace.catalog() as catalog:
            task = Task(labeler, round_, adjudicate, sample)
            document = serve(workspace, catalog, task, listen, say)
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    left = document["total"] - document["done"]
    click.echo(
        f"{document['done']:,} of {document['total']:,} pictures done"
        + (f"; the same command goes on with the other {left:,}" if left else "")
    )
    _say_agreement(document["agreement"])
    if document["differ"]:
        click.echo(f"pictures with differing labels: {document['differ']:,}; --adjudicate decides")


def _say(document: dict[str, Any], do_agreement: bool) -> None:
    if "imported" in document:
        _say_import(document["imported"])
    if "measured" in document:
        done = document["measured"]
        click.echo(
            f"measured: {done['frames']:,} frames and {done['scenes']:,} scenes in "
            f"{document['duration_s']:.1f} s, {done['known']:,} frames before; "
            f"{done['without_mask']:,} frames have no mask"
        )
        for one in done["failed"]:
            click.echo(f"  not measured: {one['frames']} frames: {one['reason']}")
    counts = document["counts"]
    for key, words in (("own", "labels that count"), ("apparent", "as the frames appear")):
        found = counts[key]
        if found["labeled"]:
            groups = ", ".join(f"{group} {n:,}" for group, n in found["group"].items())
            click.echo(f"{words}: {found['labeled']:,} of {counts['frames']:,} frames; {groups}")
    _say_agreement(document["agreement"])
    if do_agreement and not document["agreement"]:
        click.echo("no two labelers labeled the same picture")


def _say_agreement(found: list[dict[str, Any]]) -> None:
    for one in found:
        kappa = "undefined" if one["kappa"] is None else f"{one['kappa']:.2f}"
        click.echo(
            f"{one['first']} and {one['second']}, {one['what']}: {one['percent']:.1f} % of "
            f"{one['n']:,} equal, kappa {kappa}"
        )


def _say_import(done: dict[str, Any]) -> None:
    click.echo(f"{done['file']}: {done['rows']:,} rows, {done['labels']:,} became labels")
    for side in ("foreground", "background"):
        if side in done:
            colors = ", ".join(f"{color} {n:,}" for color, n in done[side].items())
            click.echo(f"  {side}: {colors}")
    for key, words in (
        ("without_picture", "name no picture of the catalog"),
        ("several_pictures", "may mean several pictures"),
    ):
        if done[key]["rows"]:
            click.echo(f"  {done[key]['rows']:,} {words}: {', '.join(done[key]['examples'])}, …")
    for one in done["rejected"]:
        click.echo(f"  {one['rows']:,} rows not used: {one['reason']} ({one['examples'][0]})")
