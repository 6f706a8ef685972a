"""Options that several capture commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from capture.guidance import Guidance
from rig.errors import Abort

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


def require_own_devices(own: bool) -> None:
    """Raise Abort if other devices than rig.toml's were named, and a daemon owns those."""
    if not own:
        raise Abort(
            "the daemon owns the devices: --camera and --hub mean nothing here",
            "leave them out, or end the daemon",
        )


def reference_option(command: _F) -> _F:
    """`--no-reference`."""
    return click.option(
        "--no-reference",
        is_flag=True,
        help="Take no reference frames: no dead shutter, no bumped scene is noticed.",
    )(command)


def sweep_options(command: _F) -> _F:
    """`--sweep` and `--audit`; `read_guidance` makes sense of them."""
    for option in (
        click.option(
            "--audit",
            type=click.FloatRange(0, 1),
            help="Share of the skipped shots to shoot all the same; the run fails if one of them "
            "would have been accepted. For guided sweeps.",
        ),
        click.option(
            "--sweep",
            type=click.Choice(["exhaustive", "guided"]),
            help="guided: skip what a witness proves to be rejected. Without it a new sweep is "
            "exhaustive, and a resumed one goes on as it began.",
        ),
    ):
        command = option(command)
    return command


def read_guidance(
    sweep: str | None, audit: float | None, before: Guidance | None = None
) -> Guidance | None:
    """How to guide a sweep; `before` is how it was guided so far, kept where nothing is said."""
    if sweep == "exhaustive" or (sweep is None and before is None):
        if audit is not None:
            raise click.UsageError("--audit needs --sweep guided: an exhaustive one skips nothing")
        return None
    if audit is None:
        audit = before.audit if before else 0.0
    return Guidance(audit)
