"""`snaprig export snap/coco/vqa/croissant/parquet`: the accepted frames as datasets."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from rig.errors import Abort
from schemas.workspace import Workspace

if TYPE_CHECKING:  # what an export needs is imported when one runs
    from capture.exports.job import Form
    from schemas.records import FrameKind

_INCLUDE = {"real": False, "simulated": True, "both": None}


@dataclass(frozen=True)
class Asked:
    """The options that all exports share."""

    root: Path
    out: Path
    scenes: tuple[str, ...]
    lightings: tuple[str, ...]
    include: str | None
    about: dict[str, str]
    as_json: bool


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """Arguments and options of every export; the command gets them as `asked`."""

    @click.argument("out", type=click.Path(path_type=Path, file_okay=False))
    @click.option("--scene", "scenes", multiple=True, help="Only this scene; repeat for more.")
    @click.option(
        "--lighting", "lightings", multiple=True, help="Only this lighting; repeat for more."
    )
    @click.option(
        "--include",
        type=click.Choice(list(_INCLUDE)),
        help="Frames of real devices, of virtual ones, or both; needed where both are there.",
    )
    @click.option("--name", help="Of the dataset (default: the workspace's folder).")
    @click.option("--license", "license_", default="", help="SPDX identifier, e.g. CC-BY-4.0.")
    @click.option("--creator", default="", help="Who made it.")
    @click.option("--url", default="", help="Where it is published.")
    @click.option("--version", default="1.0.0", show_default=True, help="Of the dataset.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @click.pass_obj
    def wrapped(
        root: Path,
        /,
        out: Path,
        scenes: tuple[str, ...],
        lightings: tuple[str, ...],
        include: str | None,
        name: str | None,
        license_: str,
        creator: str,
        url: str,
        version: str,
        as_json: bool,
        **own: object,
    ) -> None:
        about = {
            "name": name or root.resolve().name,
            "license": license_,
            "creator": creator,
            "url": url,
            "version": version,
        }
        command(Asked(root, out, scenes, lightings, include, about, as_json), **own)

    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    return wrapped


@click.command()
@_shared
def snap(asked: Asked) -> None:
    """Write the layout of the public SNAP release, which its own tools read.

    ID_CATEGORY/LUX/OFFSET/S_I_F.jpg, annotations/data.csv, mask pictures, auto frames, and
    SNAP_VQA.json where there are questions. `import snap` gives the same frames again. Stopped,
    it goes on where it was; the files of another export are never touched.

    \b
    Examples:
      snaprig -w lab export snap SNAP-lab
      snaprig -w lab export snap SNAP-lab --lighting bright --license CC-BY-4.0
    """  # noqa: D301
    from capture.exports.snap import Names, write_snap
    from schemas.export_store import Selection

    with Workspace.open(asked.root).catalog() as catalog:
        names = Names.of(catalog, Selection(lightings=asked.lightings))
    _export(asked, "snap", lambda job: write_snap(job, names), kinds=("manual", "auto"))


@click.command()
@_shared
def coco(asked: Asked) -> None:
    """Write a COCO ground truth: pictures, and in each the objects of its scene.

    Boxes, areas and masks in the pixels of each frame. Checked by rules of our own, which are
    stricter than pycocotools.

    \b
    Examples:
      snaprig -w lab export coco coco-lab
      snaprig -w lab export coco coco-cups --scene cups-3 --json
    """  # noqa: D301
    from capture.exports.coco import write_coco

    _export(asked, "coco", write_coco)


@click.command()
@_shared
def vqa(asked: Asked) -> None:
    """Write the questions Q1 to Q4 with their options and true answers, as the VQA challenge.

    \b
    Examples:
      snaprig -w lab questions make --seed 1
      snaprig -w lab export vqa vqa-lab
    """  # noqa: D301
    from capture.exports.vqa import write_vqa

    _export(asked, "vqa", write_vqa)


@click.command()
@_shared
def croissant(asked: Asked) -> None:
    """Write pictures and tables, described by a croissant.json that catalogs of data read.

    \b
    Examples:
      snaprig -w lab export croissant lab-dataset
      snaprig -w lab export croissant lab-dataset --name "Cups" --license CC-BY-4.0
    """  # noqa: D301
    from capture.exports.croissant import write_croissant

    _export(asked, "croissant", write_croissant)


@click.command()
@click.option("--by-path", is_flag=True, help="Pictures beside the table instead of in it.")
@_shared
def parquet(asked: Asked, by_path: bool) -> None:
    """Write Parquet files that the datasets library and pandas read, pictures in them.

    \b
    Examples:
      snaprig -w lab export parquet lab-parquet
      snaprig -w lab export parquet lab-pictures --by-path
    """  # noqa: D301
    if importlib.util.find_spec("pyarrow") is None:
        raise Abort("Parquet files need pyarrow", "pip install 'snaprig[export]'")
    from capture.exports.parquet import write_by_path, write_embedded

    if by_path:
        _export(asked, "parquet-by-path", write_by_path)
    else:
        _export(asked, "parquet", write_embedded)


def _export(
    asked: Asked, form: str, write: Form, kinds: tuple[FrameKind, ...] = ("manual",)
) -> None:
    from capture.exports.datasheet import write_datasheet
    from capture.exports.facts import About
    from capture.exports.job import run_export
    from capture.scene_cli import require_scene
    from schemas.export_store import Selection

    started = monotonic()
    workspace = Workspace.open(asked.root)
    simulated = None if asked.include is None else _INCLUDE[asked.include]
    with workspace.catalog() as catalog, _progress(form) as progress:
        for name in asked.scenes:
            require_scene(catalog, name)
        try:
            summary = run_export(
                workspace,
                catalog,
                asked.out,
                form,
                write,
                about=About(**asked.about),
                selection=Selection(asked.scenes, asked.lightings, kinds, simulated),
                mixed=asked.include == "both",
                datasheet=write_datasheet,
                progress=progress,
            )
        except OSError as error:  # what is wrong with a stored frame is said as such
            raise Abort(
                f"cannot write {error.filename or asked.out}: {error.strerror or error}",
                "make room or choose another folder; the same command goes on",
            ) from error
    summary["seconds"] = round(monotonic() - started, 3)
    if asked.as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    click.echo(
        f"{asked.out}: {summary['frames']} frames of {summary['scenes']} scenes, "
        f"{summary['bytes'] / 1e6:.1f} MB in {summary['files']} files "
        f"({summary['copied']} pictures written, {summary['kept']} there already) "
        f"in {summary['seconds']:.1f} s"
    )
    for reason, number in summary["left_out"].items():
        click.echo(f"  left out: {number} frames, {reason}", err=True)
    for note in summary["notes"]:
        click.echo(f"  {note}", err=True)
    if not asked.about["license"]:
        click.echo("  next: fill in README.md, or give --license and --creator", err=True)


class _Rate(ProgressColumn):
    """Frames a second; nothing before the first."""

    def render(self, task: Task) -> Text:
        """One cell."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.0f} frames/s")


@contextmanager
def _progress(form: str) -> Iterator[Callable[[int, int], None]]:
    console = Console(stderr=True)
    columns = (
        TextColumn(form),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(form, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
