"""`snaprig darkroom`: run the virtual dark room in the foreground."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import threading
from datetime import UTC, datetime
from pathlib import Path

import click

from hardware_mocks.faults import UnknownFaultError, load_script
from hardware_mocks.named_faults import FAULTS

_PORT = click.IntRange(0, 65535)


@click.command()
@click.option(
    "--scene",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Photograph of what stands before the lens (JPEG or PNG). Required.",
)
@click.option(
    "--lux",
    type=click.FloatRange(0, 1e6, max_open=True),
    default=1000.0,
    show_default=True,
    help="Illuminance that the meter and the sensor see.",
)
@click.option(
    "--timescale",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Factor on exposure times: 1 is real time, 0 exposes at once.",
)
@click.option(
    "--scene-lux",
    type=click.FloatRange(0, min_open=True),
    help="Light under which the photograph was taken, where it is known.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the noise.")
@click.option("--camera-port", type=_PORT, default=0, help="0 (default): a free one.")
@click.option("--hub-port", type=_PORT, default=0, help="0 (default): a free one.")
@click.option("--control-port", type=_PORT, default=0, help="0 (default): a free one.")
@click.option(
    "--faults",
    "script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file of [[fault]] tables; see --list-faults.",
)
@click.option(
    "--clock",
    help="ISO 8601 start of a body clock that only exposures move, for repeatable files.",
)
@click.option(
    "--end-with-stdin",
    is_flag=True,
    help="End also when standard input does: with whoever holds its other end, even if killed.",
)
@click.option("--list-faults", is_flag=True, help="List the known faults and exit.")
@click.option("--json", "as_json", is_flag=True, help="With --list-faults: as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Log every command to stderr.")
def darkroom(
    scene: Path | None,
    lux: float,
    timescale: float,
    scene_lux: float | None,
    seed: int,
    camera_port: int,
    hub_port: int,
    control_port: int,
    script: Path | None,
    clock: str | None,
    end_with_stdin: bool,
    list_faults: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Run a virtual dark room: a Canon EOS Rebel T7 and a Yocto-Light-V3 on loopback.

    Prints one JSON line with its ports when ready, and runs until Ctrl-C or SIGTERM.

    \b
    Examples:
      snaprig darkroom --scene cup.jpg --lux 1000 --timescale 0
      snaprig darkroom --scene cup.jpg --lux 10 --faults faults.toml
      snaprig darkroom --list-faults
    """  # noqa: D301
    if list_faults:
        _list_faults(as_json)
        return
    if scene is None:
        raise click.UsageError(
            "the dark room needs something to photograph: --scene PHOTO (any JPEG or PNG), "
            "for example: snaprig darkroom --scene cup.jpg --lux 1000 --timescale 0"
        )
    try:
        start = None if clock is None else _utc(clock)
        faults = load_script(script, FAULTS) if script else []
    except UnknownFaultError as error:
        raise click.BadParameter(str(error), param_hint="--faults") from error
    except ValueError as error:
        raise click.BadParameter(f"not an ISO 8601 time: {clock}", param_hint="--clock") from error
    logging.basicConfig(level=logging.DEBUG if verbose else logging.WARNING)
    logging.getLogger("PIL").setLevel(logging.WARNING)
    # numpy, Pillow and piexif load here: --help and --list-faults do without.
    from hardware_mocks.darkroom import Darkroom, DarkroomOptions

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if end_with_stdin:
        threading.Thread(target=_await_end_of_stdin, args=(ended,), daemon=True).start()
    options = DarkroomOptions(
        scene=scene,
        lux=lux,
        scene_lux=scene_lux,
        timescale=timescale,
        seed=seed,
        camera_port=camera_port,
        hub_port=hub_port,
        control_port=control_port,
        clock=start,
        faults=faults,
    )
    try:
        room = Darkroom(options)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"cannot set up the dark room: {error}") from error
    room.start()
    click.echo(json.dumps(room.ready_line()))
    ended.wait()
    room.close()


def _await_end_of_stdin(ended: threading.Event) -> None:
    # Not by sys.stdin: its lock would be held when the interpreter ends.
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    ended.set()


def _utc(text: str) -> datetime:
    when = datetime.fromisoformat(text)
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


def _list_faults(as_json: bool) -> None:
    known = [
        {
            "name": fault.name,
            "description": fault.description,
            "report": fault.report,
            "part": fault.part,
            "moment": fault.occasion.__name__,
            "keys": {
                key: "required" if isinstance(value, type) else value
                for key, value in fault.keys.items()
            },
        }
        for fault in sorted(FAULTS.values(), key=lambda f: f.name)
    ]
    if as_json:
        click.echo(json.dumps(known))
        return
    for fault in known:
        keys = ", ".join(f"{k} = {v}" for k, v in fault["keys"].items())  # type: ignore[attr-defined]
        click.echo(f"{fault['name']}: {fault['description']}")
        click.echo(f"    keys: at, times{', ' + keys if keys else ''}; report: {fault['report']}")
