"""Options that several capture commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def port_options(command: _F) -> _F:
    """Options of every command that opens a device."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document at the end."),
        click.option("--hub", help="Light meter hub in place of rig.toml's: usb or ADDRESS:PORT."),
        click.option(
            "--camera", help="Camera port in place of rig.toml's: usb: or ptpip:ADDRESS:PORT:PORT."
        ),
    ):
        command = option(command)
    return command


def device_options(command: _F) -> _F:
    """Options of every command that shoots."""
    attempts = click.option(
        "--attempts",
        type=click.IntRange(1),
        default=3,
        show_default=True,
        help="Failed exposures of a shot after which it is given up.",
    )
    return port_options(attempts(command))


def preflight_options(command: _F) -> _F:
    """Options of every command that runs the preflight before it shoots."""
    for option in (
        click.option(
            "--force", is_flag=True, help="Shoot although the preflight failed; recorded as such."
        ),
        checklist_option,
    ):
        command = option(command)
    return command


def checklist_option(command: _F) -> _F:
    """`--checklist-done`."""
    return click.option(
        "--checklist-done",
        is_flag=True,
        help="Answer yes to the checklist and to every setting that cannot be read, for "
        "unattended runs; recorded as such.",
    )(command)
