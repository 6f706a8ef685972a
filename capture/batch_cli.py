"""`snaprig capture batch`: many sweeps in one go, with an operator between them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from capture.auto_frame import take_auto_frame
from capture.batch import (
    Batch,
    Leg,
    Standing,
    itinerary,
    read_batch,
    require_consistent,
    standing,
)
from capture.batch_run import BatchRun, LeftError, Means, Terminal, shutter_share
from capture.options import device_options, preflight_options
from capture.pace import Pace
from capture.preflight_gate import Gate
from capture.progress import duration
from capture.shooting import EXIT, Shooting, say, sentence
from capture.states import Snapshot
from capture.stopping import StopRequest, stop_on_signals
from capture.sweep import Summary
from rig.bench import Bench
from rig.config import MeterConfig, RigConfig
from rig.errors import AskOperator
from rig.ownership import owned
from rig.protocols import LightMeter
from schemas.capture_store import add_scene
from schemas.catalog import SMALL_CACHE_MIB
from schemas.plan import SweepPlan
from schemas.records import Frame, RunStatus
from schemas.workspace import Workspace


@click.command()
@click.argument(
    "batch_file", metavar="BATCH", type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option("--dry-run", is_flag=True, help="Only print the itinerary; touch no device.")
@click.option("--no-wait", is_flag=True, help="Do not wait for Enter, only for the light.")
@preflight_options
@device_options
@click.pass_obj
def batch(
    root: Path,
    batch_file: Path,
    dry_run: bool,
    no_wait: bool,
    checklist_done: bool,
    force: bool,
    camera: str | None,
    hub: str | None,
    attempts: int,
    as_json: bool,
) -> None:
    """Shoot scenes x lightings: say what to place, wait for the light, shoot, go on.

    What has its frames already is skipped, so the same command goes on where it ended, between
    sweeps and within one. q at a prompt or Ctrl-C leaves. Exit status: 0 every sweep is complete,
    1 shots failed, 3 left and resumable.

    A batch file is TOML; only the scenes are required:

    \b
      plan = "coarse.toml"             # relative to this file; default: the full grid
      lightings = ["bright", "dim"]    # default: all of rig.toml
      order = "scene"                  # all lightings of a scene first, or "lighting"
      auto_frame = true                # take the auto frame before each sweep
      sweep = "guided"                 # default "exhaustive"
      audit = 0.05
      [[scene]]
      name = "cups-3"
      category = "cup"
      count = 3

    \b
    Examples:
      snaprig -w lab capture batch tonight.toml --dry-run
      snaprig -w lab capture batch tonight.toml
      snaprig -w lab capture batch tonight.toml --no-wait --checklist-done --json
    """  # noqa: D301
    todo, plan = read_batch(batch_file)
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    legs = itinerary(todo, config.lighting)
    life = config.preflight.shutter_life
    with workspace.catalog(SMALL_CACHE_MIB) as catalog:
        require_consistent(catalog, legs, plan)
        if dry_run:
            _print_itinerary([standing(catalog, leg, todo, plan) for leg in legs], life, as_json)
            return
        command = f"snaprig -w {root} capture batch {batch_file}"
        stop = StopRequest()
        gate = Gate.at_terminal(checklist_done=checklist_done, force=force)
        shooting = Shooting(workspace, catalog, config, gate, attempts)
        with stop_on_signals(stop, say), owned(workspace, steerable=True):
            for leg in legs:
                add_scene(catalog, leg.scene)
            run = BatchRun(
                catalog,
                todo,
                plan,
                legs,
                Terminal(
                    stop,
                    sys.stdin,
                    say,
                    draw=_draw if sys.stderr.isatty() else None,
                    waits=not no_wait,
                ),
                means(shooting, todo, plan, stop),
                stop,
                attended=not no_wait,
                patience_s=config.guard.patience_min * 60 if no_wait else None,
                shutter_life=life,
            )
            reason = _walk(run)
        _finish(run, reason, command, as_json)


def _walk(run: BatchRun) -> str:
    """Walk through the batch; says why it was left early, empty if it was not."""
    try:
        for summary in run.walk():
            say(sentence(summary))
            if summary.status is RunStatus.STOPPED:
                return summary.reason
    except LeftError as left:
        return str(left)
    except AskOperator as error:  # nobody is there to be asked
        return f"{error}: {error.action}" if error.action else str(error)
    return ""


def _finish(run: BatchRun, reason: str, command: str, as_json: bool) -> None:
    """Say where the batch stands, and leave with its exit status."""
    standings = run.standings()
    open_legs = [one for one in standings if not one.complete]
    status = RunStatus.STOPPED if reason else RunStatus.FAILED if open_legs else RunStatus.DONE
    if as_json:
        document = {
            "status": status,
            "reason": reason,
            "sweeps": len(standings),
            "complete": len(standings) - len(open_legs),
            "remaining": sum(len(one.remaining) for one in standings),
            "shot": [summary.to_json() for summary in run.summaries],
            "next": command if open_legs else "",
        }
        click.echo(json.dumps(document, indent=2))
    say(f"{len(standings) - len(open_legs)} of {len(standings)} sweeps complete")
    if status is RunStatus.STOPPED:
        say(f"left: {reason}")
    elif open_legs:
        say(f"shots failed of {', '.join(str(one.leg) for one in open_legs)}")
    if open_legs:
        say(f"  next: {command}")
    click.get_current_context().exit(EXIT[status])


def _draw(text: str) -> None:
    """Over the text before it, on a terminal."""
    click.echo(f"\r\x1b[K{text}", nl=False, err=True)


def means(shooting: Shooting, todo: Batch, plan: SweepPlan, stop: StopRequest) -> Means:
    """What a batch works with: the configured devices."""
    import rig.bench  # libgphoto2 and yoctopuce: 0.3 s

    config = shooting.config

    def sweep(bench: Bench, leg: Leg, pace: Pace, more: Callable[[Snapshot], str]) -> Summary:
        return shooting.sweep(
            bench,
            leg.scene.name,
            leg.lighting,
            plan,
            stop=stop,
            guidance=todo.guidance,
            pace=pace,
            more=more,
        )

    def auto_frame(bench: Bench, leg: Leg) -> Frame:
        return take_auto_frame(
            shooting.workspace,
            shooting.catalog,
            bench,
            scene=leg.scene.name,
            lighting=leg.lighting,
            attempts=shooting.attempts,
        )

    return Means(
        partial(_meter, config.meter),
        lambda: rig.bench.open_bench(config),
        sweep,
        auto_frame,
        shooting.desk.light,
    )


@contextmanager
def _meter(config: MeterConfig) -> Iterator[LightMeter]:
    import rig.bench

    meter = rig.bench.meter_of(config)
    try:
        meter.open()
        yield meter
    finally:
        meter.close()


def _print_itinerary(standings: list[Standing], life: int, as_json: bool) -> None:
    pace = Pace()
    exposures = sum(one.exposures for one in standings)
    seconds = sum(one.left_s(pace) for one in standings)
    if as_json:
        document = {
            "itinerary": [one.to_json() for one in standings],
            "exposures": exposures,
            "seconds": round(seconds, 2),
            "shutter_life": life,
        }
        click.echo(json.dumps(document, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("#", "scene", "objects", "lighting", "lux", "shots left", "about"):
        table.add_column(
            column, justify="right" if column in ("#", "lux", "shots left") else "left"
        )
    for one in standings:
        leg = one.leg
        table.add_row(
            str(leg.number),
            leg.scene.name,
            f"{leg.scene.count} x {leg.scene.category}",
            leg.lighting.name,
            f"{leg.lighting.lux:g}",
            f"{len(one.remaining)} of {one.planned}" + (" + auto" if one.auto_frame else ""),
            "complete" if one.complete else duration(one.left_s(pace)),
        )
    Console(highlight=False).print(table)
    click.echo(f"{exposures} exposures, about {duration(seconds)} of shooting")
    click.echo(shutter_share(exposures, life))
