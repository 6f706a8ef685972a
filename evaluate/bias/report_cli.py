"""`snaprig bias report` and `snaprig bias compare`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from schemas.workspace import Workspace

_SCAN = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("scans", nargs=-1, required=True, type=_SCAN)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write (default: bias/ in the workspace's reports, or here without one).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def report(root: Path, scans: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Table 1, figures and bias scores of one or more scans.

    In a workspace with frames, the report shows them beside as the balanced reference.

    \b
    Examples:
      snaprig bias report photos.parquet
      snaprig -w lab bias report voc.parquet imagenet.parquet coco.parquet
      snaprig bias report photos.parquet --out photos-bias --json
    """  # noqa: D301
    from evaluate.bias.distribution import ScanFileError, read_distribution
    from evaluate.bias.report import reference_settings, write_report
    from schemas.bias_store import accepted_settings

    in_workspace = Workspace(root).catalog_path.exists()
    rows: list[tuple[float, float, int]] = []
    if in_workspace:
        with Workspace.open(root).catalog() as catalog:
            rows = accepted_settings(catalog)
    folder = out or (Workspace(root).reports / "bias" if in_workspace else Path("bias"))
    try:
        collections = [read_distribution(path) for path in scans]
    except ScanFileError as error:
        raise click.ClickException(str(error)) from error
    done = write_report(collections, reference_settings(rows), folder / "index.html")
    if as_json:
        click.echo(json.dumps(done.as_json(), indent=2))
    else:
        click.echo(f"{done.page}: {len(done.figures)} figures, {len(done.tables)} tables")


@click.command()
@click.argument("scan", type=_SCAN)
@click.option("--observer", "name", required=True, help="An observer of the catalog.")
@click.option(
    "--task", default="classification", show_default=True, help="What the observer was asked."
)
@click.option(
    "--protocol",
    type=click.Choice(["paper", "release"]),
    default="paper",
    show_default=True,
    help="Rules by which the answers were scored.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write (default: bias-OBSERVER in the workspace's reports).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def compare(
    root: Path, scan: Path, name: str, task: str, protocol: str, out: Path | None, *, as_json: bool
) -> None:
    """Accuracy at each EV offset against the density of that exposure in a training set.

    SCAN is of the pictures that the observer learned from. Answers must be scored first
    (`snaprig evaluate score`).

    \b
    Examples:
      snaprig -w lab bias compare imagenet.parquet --observer resnet50.tv_in1k
      snaprig -w lab bias compare coco.parquet --observer yolo11x --task detection --json
    """  # noqa: D301
    from evaluate.bias.compare import compare as run
    from evaluate.bias.compare import comparison_figure
    from evaluate.bias.distribution import ScanFileError, read_distribution
    from evaluate.report.figures import write_files
    from schemas.answer_store import list_answers, list_observers

    workspace = Workspace.open(root)
    with workspace.catalog() as catalog:
        observers = {one.name: one for one in list_observers(catalog)}
        if name not in observers:
            known = ", ".join(sorted(observers)) or "none"
            raise click.ClickException(f"no observer {name} in the catalog; there are: {known}")
        try:
            training = read_distribution(scan)
        except ScanFileError as error:
            raise click.ClickException(str(error)) from error
        answers = list_answers(catalog, observers[name].id or 0, protocol, task)
        found = run(name, answers, training)
    if not found.points:
        raise click.ClickException(
            f"{name} has no scored answers to {task} under {protocol}: run `snaprig evaluate score`"
        )
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
    files = write_files(comparison_figure(found), out or workspace.reports / f"bias-{safe}")
    if as_json:
        click.echo(json.dumps(found.as_json() | {"figure": str(files.svg)}, indent=2))
    else:
        click.echo(
            f"Spearman's correlation of accuracy and density over {len(found.points)} exposures: "
            f"{found.correlation:.2f} [{found.low:.2f}, {found.high:.2f}]\n{files.svg}"
        )
