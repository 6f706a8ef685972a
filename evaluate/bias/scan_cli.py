"""`snaprig bias scan`: exposure settings of a collection from the headers of its pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from evaluate.errors import EvaluateError

if TYPE_CHECKING:
    from evaluate.bias.scan import Engine, Tally


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Parquet file to write, one row a picture. A repeated scan reads what changed.",
)
@click.option("--name", help="What the collection is called (default: the first source's name).")
@click.option("--year", type=click.IntRange(1826, 2200), help="Year of publication.")
@click.option(
    "--nominal",
    type=click.IntRange(1),
    help="Images that the collection is said to have (default: those found).",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="every core",
    help="Processes that read.",
)
@click.option(
    "--engine",
    "engine_name",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where they run: on this machine, or on a Ray cluster that sees the same files.",
)
@click.option(
    "--address",
    default="auto",
    show_default=True,
    help="Ray cluster: 'auto', HOST:PORT, or 'local' to start one here.",
)
@click.option(
    "--verify",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the pictures to read again with Pillow, and with ExifTool where installed.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def scan(
    sources: tuple[Path, ...],
    out: Path,
    name: str | None,
    year: int | None,
    nominal: int | None,
    *,
    workers: int,
    engine_name: str,
    address: str,
    verify: float,
    as_json: bool,
) -> None:
    """Read shutter speed, F-number, ISO, mode and date of every picture of SOURCES.

    A source is a folder (read with all below it), a list of paths (.txt), a tar or WebDataset
    shard, a zip file, a parquet file of img2dataset or with pictures inside, or the metadata of a
    photo service as JSON or CSV. Only the first bytes of a picture are read. A broken
    picture is a row with its reason. Interrupted or repeated, a scan reads only what it lacks.

    \b
    Examples:
      snaprig bias scan photos --out photos.parquet
      snaprig bias scan shards/*.tar --out cc3m.parquet --name CC3M --year 2018 --nominal 3300000
      snaprig bias scan list.txt --out list.parquet --verify 0.01 --json
    """  # noqa: D301
    from evaluate.bias.scan import Collection
    from evaluate.bias.scan import scan as run
    from evaluate.bias.sources import SourceError, find_units

    collection = Collection(name or sources[0].resolve().stem, year, nominal)
    engine = _engine(engine_name, workers, address)
    started = monotonic()
    try:
        with _progress(sources) as (watch, counted):
            tally = run(counted(find_units(sources)), out, collection, engine, watch)
        duration_s = monotonic() - started
        checks = _verify(out, verify) if verify else None
    except (SourceError, EvaluateError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error}") from error
    document = {
        "out": str(out),
        "collection": collection.name,
        "images": tally.images,
        "readable": tally.readable,
        "with_all_three": tally.with_all_three,
        "reused": tally.reused,
        "by_source": dict(tally.by_source.most_common()),
        "by_reason": dict(tally.by_reason.most_common()),
        "by_mode": dict(tally.by_mode.most_common()),
        "mode_conflicts": tally.mode_conflicts,
        "files_per_s": round((tally.images - tally.reused) / duration_s, 1),
        "duration_s": round(duration_s, 3),
    }
    if checks is not None:
        document["verified"] = checks
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        _say(tally, document)


def _engine(name: str, workers: int, address: str) -> Engine:
    from evaluate.bias import engines

    if name == "ray":
        # not imported yet: Ray reads then whether its token is asked for
        if find_spec("ray") is None:
            raise click.ClickException("Ray is missing: pip install 'ray>=2.60'")
        return partial(engines.run_ray, address=address, workers=workers)
    if workers == 1:
        return engines.run_serial
    return partial(engines.run_processes, workers=workers)


@contextmanager
def _progress(
    sources: tuple[Path, ...],
) -> Iterator[tuple[Callable[[Tally], None], Callable[[Iterator[Any]], Iterator[Any]]]]:
    """A bar with rate and time left, where someone watches; it needs to count first."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeRemainingColumn

    from evaluate.bias.sources import find_units

    console = Console(stderr=True)
    if not console.is_terminal:
        yield (lambda _tally: None), (lambda units: units)
        return
    with console.status("counting files"):
        total = sum(1 for _ in find_units(sources))
    columns = (
        *Progress.get_default_columns()[:3],
        TimeRemainingColumn(),
        TextColumn("{task.fields[said]}"),
    )
    started = monotonic()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("scanning", total=total, said="")

        def watch(tally: Tally) -> None:
            rate = (tally.images - tally.reused) / max(monotonic() - started, 1e-9)
            bar.update(task, said=f"{tally.images:,} images, {rate:,.0f}/s")

        def counted(units: Iterator[Any]) -> Iterator[Any]:
            for unit in units:
                yield unit
                bar.advance(task)

        yield watch, counted


def _say(tally: Tally, document: dict[str, Any]) -> None:
    share = tally.with_all_three / tally.images if tally.images else 0.0
    click.echo(
        f"{tally.images:,} images, {tally.readable:,} readable, {tally.with_all_three:,} "
        f"({share:.1%}) with shutter speed, F-number and ISO; "
        f"{document['files_per_s']:,.0f} files/s"
    )
    for reason, count in tally.by_reason.most_common(10):
        click.echo(f"  {count:>10,}  {reason}")
    for line in document.get("verified", {}).get("differences", []):
        click.echo(f"  differs: {line['path']} {line['setting']}: {line}")
    click.echo(f"next: snaprig bias report {document['out']}")


def _verify(out: Path, share: float) -> dict[str, Any]:
    from evaluate.bias.verify import verify

    return verify(out, share)
