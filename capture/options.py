"""Options that several capture commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def device_options(command: _F) -> _F:
    """Options of every command that opens the bench."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document at the end."),
        click.option(
            "--attempts",
            type=click.IntRange(1),
            default=3,
            show_default=True,
            help="Failed exposures of a shot after which it is given up.",
        ),
        click.option("--hub", help="Light meter hub in place of rig.toml's: usb or ADDRESS:PORT."),
        click.option(
            "--camera", help="Camera port in place of rig.toml's: usb: or ptpip:ADDRESS:PORT:PORT."
        ),
    ):
        command = option(command)
    return command
