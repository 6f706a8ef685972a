"""The root command. Commands are found by entry point and loaded when they are called.

`snaprig --help` imports no command module: each entry point of the group `snaprig.commands`
names a click command, and its one-line help stands in `HELP`. A dot makes a group:
``export.frames`` is `snaprig export frames`.
"""

from __future__ import annotations

import logging
import sys
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path

import click

from rig.errors import AskOperator, RigError
from schemas.catalog import CatalogError
from schemas.workspace import WorkspaceError

#: Exit statuses of every command (2, wrong usage, is click's own).
DONE, FAILED, WRONG_USAGE, RESUMABLE = 0, 1, 2, 3

HELP = {
    "backup": "Copy the workspace incrementally, each file proven.",
    "bias": "Capture bias of image collections, from their Exif.",
    "capture": "Plan, run and resume sweeps.",
    "check": "Verify every file against its row.",
    "color": "What the color of an object against its background does to answers.",
    "daemon": "Own the devices, serve dashboard and API.",
    "darkroom": "Run the virtual dark room: a Canon and a lux meter on the wire.",
    "demo": "The whole chain once: virtual sweep, real model, report.",
    "evaluate": "Models over the catalog, scoring, report.",
    "experiment": "Human trials: design, sessions, timing, exports.",
    "export": "Write the catalog in other formats.",
    "import": "Read data made elsewhere into the catalog.",
    "init": "Make a workspace.",
    "merge": "Bring another workspace into this one.",
    "questions": "Make the questions that people and models are asked.",
    "scene": "Add, list and annotate scenes.",
    "status": "Say what is in the workspace.",
}


class Resumable(click.ClickException):
    """Stopped on purpose; the message says how to go on. Exit status 3."""

    exit_code = RESUMABLE


class LazyGroup(click.Group):
    """A group whose commands are entry points, imported when called.

    Attributes
    ----------
    prefix : str
        Entry points that begin with it belong to this group.
    """

    def __init__(self, *args: object, prefix: str = "", **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # click's own arguments
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names below this group, sorted."""
        del ctx
        own = (point.name.removeprefix(self.prefix) for point in self._points())
        return sorted({name.partition(".")[0] for name in own})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None if there is none of that name."""
        del ctx
        full = self.prefix + cmd_name
        points = {point.name: point for point in self._points()}
        if full in points:
            loaded: click.Command = points[full].load()
            return loaded
        if any(name.startswith(full + ".") for name in points):
            return LazyGroup(name=cmd_name, prefix=full + ".", help=HELP.get(cmd_name))
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their one-line help, without importing them at the root."""
        rows = []
        for name in self.list_commands(ctx):
            if not self.prefix:
                rows.append((name, HELP[name]))
            elif (command := self.get_command(ctx, name)) is not None:
                rows.append((name, command.get_short_help_str()))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _points(self) -> list[EntryPoint]:
        points = entry_points(group="snaprig.commands")
        return [point for point in points if point.name.startswith(self.prefix)]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-w",
    "--workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    envvar="SNAPRIG_WORKSPACE",
    help="Workspace folder (default: the current one).",
)
@click.option("--debug", is_flag=True, help="Log details; show tracebacks of errors.")
@click.version_option(version("snaprig"), prog_name="snaprig")
@click.pass_context
def snaprig(ctx: click.Context, workspace: Path, debug: bool) -> None:
    """Measure how capture conditions change what machines and people see.

    \b
    Examples:
      snaprig demo                          the whole chain once, without any hardware
      snaprig init lab && cd lab            a workspace of your own
      snaprig capture run --scene mugs --lighting bright
    """  # noqa: D301
    ctx.obj = workspace
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if debug else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: errors become one line and what to do next."""
    debug = "--debug" in (args if args is not None else sys.argv[1:])
    try:
        sys.exit(snaprig.main(args, prog_name="snaprig", standalone_mode=False) or DONE)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.Abort:
        _say("interrupted")
        sys.exit(RESUMABLE)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (RigError, CatalogError, WorkspaceError) as error:
        if debug:
            raise
        _say(str(error), getattr(error, "action", ""))
        sys.exit(RESUMABLE if isinstance(error, AskOperator) else FAILED)
    except Exception as error:
        if debug:
            raise
        _say(
            f"{type(error).__name__}: {error}",
            "this is a defect: run again with `snaprig --debug …` and report what it prints",
        )
        sys.exit(FAILED)


def _say(reason: str, action: str = "") -> None:
    click.echo(f"snaprig: {reason}" + (f"\n  next: {action}" if action else ""), err=True)
