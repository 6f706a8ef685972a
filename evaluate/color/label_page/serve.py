"""Serves the labeling page until it is ended by Ctrl-C or a signal."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import uvicorn

from evaluate.color.label_page.desk import Desk, Task
from evaluate.color.label_page.site import make_site
from evaluate.errors import EvaluateError
from rig.web.security import Guard, is_loopback, split_host
from schemas.catalog import Catalog
from schemas.workspace import Workspace

#: Pictures still being sent at the end are cut off after so long.
_GRACE_S = 2


class PageServer(uvicorn.Server):
    """uvicorn, with the signals left to whoever runs it."""

    def __init__(self, site: Guard) -> None:
        super().__init__(
            uvicorn.Config(
                site,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_S,
                ws="none",
                proxy_headers=False,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


def serve(
    workspace: Workspace, catalog: Catalog, task: Task, listen: str, say: Callable[[str], None]
) -> dict[str, Any]:
    """Serve the page for one person; returns after a signal, with how far they came.

    Parameters
    ----------
    listen : str
        ``HOST:PORT`` of the loopback, port 0 for any free one.
    say : callable
        Is told the address.

    Raises
    ------
    EvaluateError
        If there is nothing to label, or the address cannot be had or is reached from elsewhere.
    """
    host, port = _address(listen)
    desk = Desk(catalog, task)
    with _bound(host, port) as sock:
        server = PageServer(make_site(desk, workspace, version("snaprig"), host))
        shown = f"[{host}]" if ":" in host else host
        with _ended_by_signal(server):
            say(f"http://{shown}:{sock.getsockname()[1]}/")
            server.run(sockets=[sock])
    return desk.progress() | desk.summary()


def _address(listen: str) -> tuple[str, int]:
    host, port = split_host(listen)
    if not host or not port:
        raise EvaluateError(f"{listen!r} is not HOST:PORT, e.g. 127.0.0.1:8418 or [::1]:8418")
    if not is_loopback(host):
        raise EvaluateError(
            f"{host} can be reached by others: the page is for this computer alone; from another "
            f"one use `ssh -L {port}:127.0.0.1:{port} THIS-COMPUTER`"
        )
    return host, int(port)


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as error:
            raise EvaluateError(
                f"cannot listen at {host}:{port}: {error.strerror or error}; "
                "choose another address by --listen"
            ) from error
        sock.listen(128)
        yield sock


@contextmanager
def _ended_by_signal(server: PageServer) -> Iterator[None]:
    """Within: SIGINT, SIGTERM or SIGHUP ends the server in good order, a second one at once."""

    def end(_number: int, _frame: object) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    handlers = {
        number: signal.signal(number, end)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
