"""`snaprig import`: the SNAP release, labelled pictures, COCO files, human trials."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import click
from rich.console import Console

from evaluate.errors import EvaluateError
from evaluate.importing import ImportReport
from schemas.workspace import Workspace

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--download",
    "fetch",
    is_flag=True,
    help="Fetch the release from its hub into FOLDER first (default: SNAP in the workspace).",
)
@click.option("--revision", help="Commit of the hub's repository (default: its newest).")
@click.option(
    "--only", "patterns", multiple=True, help="Fetch only files like this, e.g. 'images/*'; repeat."
)
@_JSON
@click.pass_obj
def snap(
    root: Path,
    *,
    folder: Path | None,
    fetch: bool,
    revision: str | None,
    patterns: tuple[str, ...],
    as_json: bool,
) -> None:
    """Import a checkout of the public SNAP release, whole or in part.

    Frames, masks, questions, raw results of models, trials of people and, where they are
    there, pictures. Files that are in the catalog already are skipped.

    \b
    Examples:
      snaprig -w lab import snap SNAP
      snaprig -w lab import snap SNAP --json
      snaprig -w lab import snap --download
    """  # noqa: D301
    if folder is None and not fetch:
        raise click.UsageError("name the folder of a checkout, or give --download")
    where = root / "SNAP" if folder is None else folder
    started = monotonic()
    with _plain_errors(), Workspace.open(root).catalog() as catalog, _progress() as progress:
        if fetch:
            from evaluate.release.download import download

            download(where, revision=revision, patterns=patterns)
        if not where.is_dir():
            raise EvaluateError(f"there is no folder {where}")
        from evaluate.release.importer import import_snap

        report = import_snap(catalog, Workspace(root), where.resolve(), progress)
    _say(report, monotonic() - started, as_json=as_json)


@click.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--labels",
    type=_FILE,
    required=True,
    help="CSV with columns file and label, and count where known.",
)
@click.option("--boxes", type=_FILE, help="COCO ground truth with the boxes of these files.")
@_JSON
@click.pass_obj
def images(root: Path, folder: Path, labels: Path, boxes: Path | None, as_json: bool) -> None:
    """Import labelled pictures as frames whose light and exposure nobody set.

    Exposure settings are taken from Exif where it is there. Pictures are linked into the
    workspace, or copied where links cannot reach.

    \b
    Examples:
      snaprig -w lab import images ImageNet/val --labels val.csv
      snaprig -w lab import images photos --labels photos.csv --boxes photos.json --json
    """  # noqa: D301
    started = monotonic()
    with _plain_errors(), Workspace.open(root).catalog() as catalog:
        from evaluate.importing_images import import_images

        report = import_images(catalog, Workspace(root), folder.resolve(), labels, boxes)
    _say(report, monotonic() - started, as_json=as_json)


@click.command()
@click.argument("truth", type=_FILE)
@click.argument("detections", type=_FILE)
@click.option("--name", help="Name of the detector in the catalog (default: the file's stem).")
@_JSON
@click.pass_obj
def coco(root: Path, truth: Path, detections: Path, name: str | None, as_json: bool) -> None:
    """Import a COCO ground truth, and a detector's results on it.

    Each picture becomes a scene of one frame; a second detector on the same ground truth adds
    its responses only.

    \b
    Examples:
      snaprig -w lab import coco instances.json results.json
      snaprig -w lab import coco instances.json results.json --name detr-r50 --json
    """  # noqa: D301
    started = monotonic()
    with _plain_errors(), Workspace.open(root).catalog() as catalog:
        from evaluate.importing_coco import import_coco

        report = import_coco(catalog, truth, detections, name)
    _say(report, monotonic() - started, as_json=as_json)


@click.command()
@click.argument("folder", type=_FOLDER)
@_JSON
@click.pass_obj
def trials(root: Path, folder: Path, as_json: bool) -> None:
    """Import trials of people or models: the CSV files of the model-vs-human format.

    \b
    Examples:
      snaprig -w lab import trials model-vs-human/raw-data/sketch
      snaprig -w lab import trials model-vs-human/raw-data/cue-conflict --json
    """  # noqa: D301
    started = monotonic()
    with _plain_errors(), Workspace.open(root).catalog() as catalog:
        from evaluate.importing_trials import import_trials

        report = import_trials(catalog, folder.resolve())
    _say(report, monotonic() - started, as_json=as_json)


def _say(report: ImportReport, seconds: float, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.to_json(seconds), indent=2))
        return
    for kind, number in report.counts.items():
        click.echo(f"{kind.replace('_', ' ')}: {number}")
    for one in report.rejected:
        examples = ", ".join(one["examples"][:2])
        click.echo(f"not used: {one['rows']} rows of {one['source']}: {one['reason']} ({examples})")
    orders = report.row_orders
    if orders["distinct"] > 1:
        click.echo(f"{orders['distinct']} row orders, joined by path:")
        for order in orders["orders"]:
            click.echo(f"  from {order['first_path']}: {', '.join(order['files'])}")
    new, changed = len(report.imported), len(report.changed)
    click.echo(
        f"{new} files imported, {changed} imported again because they changed, "
        f"{len(report.unchanged)} in the catalog already, in {seconds:.1f} s"
    )


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show the file at hand when stderr is a terminal."""
    console = Console(stderr=True)
    with console.status("looking for files") as status:
        yield status.update


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except EvaluateError as error:
        raise click.ClickException(str(error)) from error
