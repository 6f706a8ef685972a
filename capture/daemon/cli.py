"""`snaprig daemon`."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from rig.config import RigConfig
from schemas.workspace import Workspace


@click.command()
@click.option(
    "--listen",
    default="127.0.0.1:8417",
    show_default=True,
    help="HOST:PORT of page and API. Any but the loopback needs --token-file.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the secret that lets a browser or program in.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A host name by which browsers reach it, beside addresses. May be given again.",
)
@click.option(
    "--camera", help="Camera port in place of rig.toml's: usb: or ptpip:ADDRESS:PORT:PORT."
)
@click.option("--hub", help="Light meter hub in place of rig.toml's: usb or ADDRESS:PORT.")
@click.option("--print-unit", is_flag=True, help="Print a systemd unit for it and end.")
@click.pass_obj
def daemon(
    root: Path,
    listen: str,
    token_file: Path | None,
    names: tuple[str, ...],
    camera: str | None,
    hub: str | None,
    print_unit: bool,
) -> None:
    """Own the devices, and shoot what the page and the capture commands ask for.

    Page and API are at http://127.0.0.1:8417. While it runs, `capture run`, `preflight`,
    `status`, `pause`, `resume` and `stop` talk to it. Ctrl-C or SIGTERM ends it after the frame at
    hand, with the camera put back; what was not shot can be resumed. After a crash it says what
    was interrupted.

    \b
    Examples:
      snaprig -w lab daemon
      snaprig -w lab daemon --listen 0.0.0.0:8417 --token-file token --allow-host darkroom.local
      snaprig -w lab daemon --print-unit > ~/.config/systemd/user/snaprig.service
    """  # noqa: D301
    # The web libraries take half a second: `--help` does not pay for them.
    from capture.daemon.server import Listen, read_token, run
    from capture.daemon.unit import longest_silence_s, unit

    try:
        where = Listen.parse(listen)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    workspace = Workspace.open(root)
    config = RigConfig.load(workspace.rig_toml).overridden(camera, hub)
    token = read_token(token_file, where)
    if print_unit:
        given = {
            "--listen": listen,
            "--token-file": token_file and str(token_file.resolve()),
            "--camera": camera,
            "--hub": hub,
        }
        options = [word for name, value in given.items() if value for word in (name, value)]
        options += [word for name in names for word in ("--allow-host", name)]
        silence_s = longest_silence_s(config.camera)
        click.echo(unit(root, options, silence_s), nl=False)
        return
    run(
        workspace,
        where,
        version=version("snaprig"),
        token=token,
        names=names,
        camera=camera,
        hub_address=hub,
        say=lambda text: click.echo(f"daemon: {text}", err=True),
    )
