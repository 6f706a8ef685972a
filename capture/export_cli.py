"""`snaprig export frames`: the catalog's frames as a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import click

from schemas.frame_store import list_frames
from schemas.records import Frame
from schemas.workspace import PARTIAL, Workspace

COLUMNS = (
    "scene lighting shutter_s iso f_number ev ev_offset outcome reason attempt lux "
    "camera_sha256 sha256 path captured_at"
).split()


@click.command()
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def frames(root: Path, out: Path) -> None:
    """Write one CSV row for every planned shot that has been taken.

    `ev` is exact, `ev_offset` comes from its rounded index; `lux` is the mean over the exposure;
    `camera_sha256` is of the bytes as the camera gave them, known for rejected frames too;
    `path` is relative to the workspace; times are UTC.

    \b
    Examples:
      snaprig -w lab export frames frames.csv
    """  # noqa: D301
    workspace = Workspace.open(root)
    # Written aside, then renamed: nobody reads half a table.
    partial = out.with_name(out.name + PARTIAL)
    with workspace.catalog() as catalog, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        rows = 0
        for row in _rows(list_frames(catalog)):
            writer.writerow(row)
            rows += 1
    partial.replace(out)
    click.echo(f"{rows} frames written to {out}", err=True)


def _rows(stored: Iterator[Frame]) -> Iterator[list[object]]:
    for frame in stored:
        requested = frame.requested
        if requested is None:  # an auto frame belongs to no plan
            continue
        yield [
            frame.scene,
            frame.lighting,
            requested.shutter_s,
            requested.iso,
            requested.f_number,
            frame.ev,
            frame.ev_offset,
            frame.outcome.value,
            frame.reason,
            frame.attempt,
            frame.light.lux,
            frame.camera_sha256,
            frame.sha256,
            frame.path,
            "" if frame.captured_at is None else frame.captured_at.isoformat(),
        ]
