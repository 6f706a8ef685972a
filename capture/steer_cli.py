"""`snaprig capture status`, `pause` and `stop`: with a daemon, and with a `capture run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from capture.steering import PAUSE, STOP, require_steerable, tell
from rig.errors import Abort
from schemas.workspace import Workspace

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@_json
@click.pass_obj
def status(root: Path, as_json: bool) -> None:
    """Say what is being shot, how far it is, and what somebody has to do.

    \b
    Examples:
      snaprig -w lab capture status
      snaprig -w lab capture status --json
    """  # noqa: D301
    show(where_it_stands(Workspace.open(root)), as_json)


@click.command()
@_json
@click.pass_obj
def pause(root: Path, as_json: bool) -> None:
    """Have what is being shot pause after the frame at hand; `capture resume` goes on.

    \b
    Examples:
      snaprig -w lab capture pause
    """  # noqa: D301
    from capture.daemon.client import find_daemon

    workspace = Workspace.open(root)
    client = find_daemon(workspace)
    if client is not None:
        show(client.post("/api/pause", {}), as_json)
        return
    owner = tell(workspace, PAUSE, "pause")
    _told(f"{owner.text} pauses after the frame at hand", "snaprig capture resume", as_json)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask whether that is meant.")
@_json
@click.pass_obj
def stop(root: Path, yes: bool, as_json: bool) -> None:
    """Have what is being shot end after the frame at hand; it can be resumed later.

    At a terminal it first says what is kept and what is missing, and asks.

    \b
    Examples:
      snaprig -w lab capture stop
      snaprig -w lab capture stop --yes
    """  # noqa: D301
    from capture.daemon.client import find_daemon

    workspace = Workspace.open(root)
    client = find_daemon(workspace)
    if client is not None:
        confirm = client.get("/api/state")["confirm"]
        if confirm is None:
            raise Abort("nothing runs that could stop", "`snaprig capture status`")
        _confirm(confirm["text"], yes)
        show(client.post("/api/stop", {"confirm": confirm["job"]}), as_json)
        return
    owner = require_steerable(workspace, "stop")
    _confirm(f"Stop {owner.text}? {where_it_stands(workspace)['sentence']}", yes)
    owner = tell(workspace, STOP, "stop")
    _told(f"{owner.text} ends after the frame at hand", "snaprig capture resume", as_json)


def where_it_stands(workspace: Workspace) -> dict[str, Any]:
    """The daemon's snapshot; without one what lock and catalog tell."""
    from capture.daemon.client import find_daemon
    from capture.daemon.past import offline_state

    client = find_daemon(workspace)
    if client is not None:
        document: dict[str, Any] = client.get("/api/state")
        return document
    with workspace.catalog() as catalog:
        return offline_state(workspace, catalog)


def show(state: dict[str, Any], as_json: bool) -> None:
    """Print the sentence and what is to be done next, or everything."""
    if as_json:
        click.echo(json.dumps(state, indent=2))
        return
    click.echo(state["sentence"])
    if state["next"]:
        click.echo(f"  next: {state['next']}")


def _told(text: str, following: str, as_json: bool) -> None:
    show({"sentence": f"{text}.", "next": following}, as_json)


def _confirm(text: str, yes: bool) -> None:
    if not yes and sys.stdin is not None and sys.stdin.isatty():
        click.confirm(text, abort=True, err=True)
