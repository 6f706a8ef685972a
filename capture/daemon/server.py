"""Keeps the daemon alive: the listener, signals, systemd, and the file by which clients find it.

The main thread runs the event loop and takes the signals; the engine has its own. At a signal the
engine is asked to end after its frame first, the streams are ended next, and the listener closes;
the process ends when the engine has.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import sdnotify
import uvicorn

from capture.daemon.alerts import Alarm
from capture.daemon.events import Hub
from capture.daemon.service import Service
from capture.daemon.site import make_site
from capture.daemon.unit import longest_silence_s
from rig.errors import Abort
from rig.ownership import owned
from rig.web.security import Policy, is_loopback
from schemas.workspace import Workspace

_log = logging.getLogger(__name__)

#: Streams that do not end by themselves are cut off after so long.
_GRACE_S = 2
#: How often the watchdog is fed, at most; systemd says how often it wants it.
_FEED_S = 10.0
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Listen:
    """Where to listen: ``HOST:PORT``, port 0 for any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listen:
        """Read it. Raises ValueError."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{text!r} is not HOST:PORT, e.g. 127.0.0.1:8417 or [::1]:8417")
        return cls(host, int(port))

    def at(self, port: int) -> str:
        """The address with the port that it got, as a client on this machine calls it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def read_token(path: Path | None, listen: Listen) -> str | None:
    """The token of a file.

    Raises
    ------
    Abort
        If there is none though others can reach the listener, or it is too short to be one.
    """
    if path is None:
        if is_loopback(listen.host):
            return None
        raise Abort(
            f"{listen.host} can be reached from elsewhere: it needs a token",
            "write a secret of 16 characters or more into a file and name it by --token-file",
        )
    try:
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Abort(f"{path} cannot be read: {error.strerror}", "name another file") from error
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise Abort(
            f"{path} does not hold a token of {_SHORTEST_TOKEN} plain characters or more",
            "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes one",
        )
    return token


@dataclass(frozen=True)
class Announcement:
    """``daemon.json``: how clients on this machine find the daemon, and get in."""

    address: str
    key: str
    pid: int
    boot: str

    @staticmethod
    def path(workspace: Workspace) -> Path:
        """Where it lies."""
        return workspace.root / "daemon.json"

    @contextmanager
    def made(self, workspace: Workspace) -> Iterator[None]:
        """Within: the file is there, for this user alone."""
        path = self.path(workspace)
        partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
        partial.replace(path)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()


class Server(uvicorn.Server):
    """uvicorn, with the signals left to `run`: its own handling waits for streams for ever."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


class Watchdog:
    """Tells systemd that all is ready, and then that loop and engine both make progress."""

    def __init__(
        self,
        service: Service,
        notify: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._longest_s = longest_silence_s(service.config().camera)
        self._notify = notify
        self._clock = clock
        self._fed_s = clock()
        self._ready = False
        asked_us = os.environ.get("WATCHDOG_USEC", "")
        self._every_s = min(_FEED_S, int(asked_us) / 2e6) if asked_us.isdigit() else _FEED_S

    async def tick(self) -> None:
        """Called by the event loop, so that a loop that stands feeds nothing."""
        if not self._ready:  # what a crash left has been looked at, and the loop runs
            self._ready = True
            self._notify("READY=1")
        now_s = self._clock()
        if now_s - self._fed_s < self._every_s:
            return
        self._fed_s = now_s
        silent_s = self._service.silent_s
        if silent_s > self._longest_s:
            _log.error("the engine has not moved for %.0f s", silent_s)
            return
        self._notify("WATCHDOG=1")


def run(
    workspace: Workspace,
    listen: Listen,
    *,
    version: str,
    token: str | None,
    names: tuple[str, ...] = (),
    camera: str | None = None,
    hub_address: str | None = None,
    say: Callable[[str], None],
) -> None:
    """Serve until a signal; returns when the engine has ended in good order.

    Raises
    ------
    Abort
        If another process owns the workspace, or the address cannot be had.
    """
    with _bound(listen) as (sock, address), owned(workspace, who=f"the daemon at {address}"):
        notify = sdnotify.SystemdNotifier().notify
        hub = Hub(version)
        service = Service(workspace, hub, version, camera=camera, hub_address=hub_address)
        key = secrets.token_urlsafe(32)
        announcement = Announcement(address, key, os.getpid(), hub.boot)
        tokens = () if token is None else (token, key)
        site = make_site(service, Policy.of(listen.host, tokens=tokens, names=names), version)
        watchdog = Watchdog(service, notify)
        config = uvicorn.Config(
            site,
            lifespan="on",
            log_level="warning",
            access_log=False,  # it would name what was asked
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            callback_notify=watchdog.tick,
            timeout_notify=1,
            ws="none",
            proxy_headers=False,
        )
        server = Server(config)
        with _signals(server, service, hub, notify), announcement.made(workspace):
            alarm = Alarm(service, service.config().alerts, service.alerted)
            service.alarm = alarm
            service.start()
            alarm.start()
            say(f"{address}/ ({service.snapshot()['sentence']})")
            try:
                server.run(sockets=[sock])
            finally:
                say("ending after the frame at hand")
                service.close()
                alarm.close()


@contextmanager
def _bound(listen: Listen) -> Iterator[tuple[socket.socket, str]]:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((listen.host, listen.port))
        except OSError as error:
            raise Abort(
                f"cannot listen at {listen.host}:{listen.port}: {error.strerror or error}",
                "choose another one by --listen",
            ) from error
        sock.listen(128)  # who connects from now on waits until the loop runs
        yield sock, listen.at(sock.getsockname()[1])


@contextmanager
def _signals(
    server: Server,
    service: Service,
    hub: Hub,
    notify: Callable[[str], None],
) -> Iterator[None]:
    """Within: the first SIGINT or SIGTERM ends everything in good order, a second one at once."""
    asked = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if asked.is_set():
            os._exit(128 + number)  # the engine may hang in a C library: nothing else ends it
        asked.set()
        service.wind_down(name)
        hub.close()
        server.should_exit = True
        notify("STOPPING=1")

    handlers: dict[int, Any] = {
        number: signal.signal(number, handle)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
