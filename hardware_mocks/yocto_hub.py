"""A VirtualHub on the wire, for the real yoctopuce library.

Raw sockets on purpose: the library's request lines have no ``HTTP/1.1``, which `http.server`
takes for HTTP/0.9 (an answer without headers) and others refuse.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hardware_mocks import yocto_api
from hardware_mocks.light_meter import REFRESH_S, MeterState, VirtualLightMeter
from hardware_mocks.listener import Listener
from hardware_mocks.yocto_api import METER_SERIAL, MeterSettings

_log = logging.getLogger(__name__)

#: The library calls a hub dead after 4 s without a line.
_PING_S = 2.0
_HEAD_LIMIT = 65536
_NOT_FOUND: tuple[str, Any] = ("404 Not Found", {})


class YoctoHub:
    """Serves one meter; `start` returns at once, `close` ends every connection."""

    def __init__(self, meter: VirtualLightMeter, port: int = 0) -> None:
        self._meter = meter
        self._settings = MeterSettings()
        self._listener = Listener(self._serve, "yocto-hub", port)
        self.port = self._listener.port
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._listeners: list[socket.socket] = []  # open not.byn connections
        self._position = 0
        self._started_s = time.monotonic()
        self._closed = threading.Event()
        self._answering = threading.Event()
        self._answering.set()
        self._timers: list[threading.Timer] = []
        meter.on_plug = self._plugged

    def start(self) -> None:
        """Serve from now on."""
        self._listener.open()
        threading.Thread(target=self._pulse, name="yocto-pulse", daemon=True).start()

    def close(self) -> None:
        """Stop listening and cut every connection."""
        self._closed.set()
        self._answering.set()
        self._listener.close()
        for timer in self._timers:
            timer.cancel()
        self._cut()

    def restart(self, after_s: float) -> None:
        """The hub program ends, and starts on the same port after a while; the meter stays on."""
        self._listener.shut()
        self._cut()
        self._later(after_s)

    def hang(self, for_s: float) -> None:
        """Accept connections and answer nothing, not even pings, for a while."""
        self._answering.clear()
        self._later(for_s)

    def recover(self) -> None:
        """Listen and answer, at once."""
        if self._closed.is_set():
            return
        with self._lock:
            self._position, self._started_s = 0, time.monotonic()
        self._answering.set()
        self._listener.open()

    def _later(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self.recover)
        timer.daemon = True
        self._timers = [*filter(threading.Timer.is_alive, self._timers), timer]
        timer.start()

    # --- connections

    def _cut(self) -> None:
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            self._end(connection)

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
        keep = False
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            target = _request_target(connection)
            self._answering.wait()
            keep = target is not None and self._answer(connection, target)
        except OSError as error:
            _log.debug("hub connection ended: %s", error)
        finally:
            if not keep:
                self._end(connection)

    def _end(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
            if connection in self._listeners:
                self._listeners.remove(connection)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        connection.close()

    def _answer(self, connection: socket.socket, target: str) -> bool:
        """Answer one request; True where the connection stays open for notifications."""
        url = urlsplit(target)
        # Setters end in "&.": the rest guards against caches.
        query = dict(parse_qsl(url.query.split("&.")[0], keep_blank_values=True))
        if url.path == "/not.byn":
            self._subscribe(connection)
            return True
        status, document = self._route(url.path, query)
        body = json.dumps(document, separators=(",", ":")).encode("latin1")
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode("latin1") + body)
        return False

    def _route(self, path: str, query: dict[str, str]) -> tuple[str, Any]:
        if path == "/info.json":
            return "200 OK", yocto_api.hub_info(self.port)
        state = self._meter.state()
        if path == "/api.json":
            uptime_ms = int((time.monotonic() - self._started_s) * 1000) & 0x7FFFFFFF
            tree = yocto_api.hub_tree(state, self._settings, uptime_ms)
            return "200 OK", yocto_api.hub_jzon(tree) if "fw" in query else tree
        prefix = f"/bySerial/{METER_SERIAL}/"
        if state.plugged and path.startswith(prefix):
            return self._meter_route(state, path.removeprefix(prefix).split("/"), query)
        return _NOT_FOUND

    def _meter_route(
        self, state: MeterState, parts: list[str], query: dict[str, str]
    ) -> tuple[str, Any]:
        """``api.json``, or ``api/<function>/<attribute>`` with what to change in the query."""
        if parts == ["api.json"]:
            tree = self._meter_tree(state)
            return "200 OK", yocto_api.jzon(tree) if "fw" in query else tree
        function = parts[1].removesuffix(".json") if len(parts) > 1 else ""
        if parts[0] != "api" or (function and function not in self._meter_tree(state)):
            return _NOT_FOUND
        try:
            known = [self._settings.change(k, unquote(v)) for k, v in query.items()]
        except ValueError as error:
            return "400 Bad Request", {"error": str(error)}
        if not all(known):
            _log.info("unknown attribute in %s", query)
        tree = self._meter_tree(state)
        return "200 OK", tree[function] if function else tree

    def _meter_tree(self, state: MeterState) -> yocto_api.Tree:
        return yocto_api.meter_tree(state, self._settings, int(time.time()))

    # --- notifications

    def _subscribe(self, connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
        with self._lock:
            # A bare line feed right after the sync line declares keep-alive pings.
            connection.sendall(head + f"YN01@{self._position}\n\n".encode())
            self._listeners.append(connection)

    def _notify(self, lines: bytes) -> None:
        with self._lock:
            if lines != b"\n":  # pings do not count in the position
                self._position += len(lines)
            listeners = list(self._listeners)
        for connection in listeners:
            try:
                connection.sendall(lines)
            except OSError:
                self._end(connection)

    def _plugged(self, plugged: bool) -> None:
        if plugged:
            self._settings = MeterSettings()
        self._notify(yocto_api.plug_line(plugged))

    def _pulse(self) -> None:
        """Pings, value changes and timed reports."""
        shown = ""
        ping_due_s = report_due_s = time.monotonic()
        while not self._closed.wait(REFRESH_S):
            self._answering.wait()
            now_s, state = time.monotonic(), self._meter.state()
            if now_s >= ping_due_s:
                ping_due_s = now_s + _PING_S
                self._notify(b"\n")
            if not state.plugged:
                continue
            if (value := yocto_api.advertised(state.lux)) != shown:
                shown = value
                self._notify(yocto_api.value_line(state.lux))
            period_s = yocto_api.report_period_s(self._settings.report_frequency)
            if period_s is not None and now_s >= report_due_s:
                report_due_s = now_s + period_s
                self._notify(yocto_api.report_lines(state.lux, time.time(), period_s))


def _request_target(connection: socket.socket) -> str | None:
    """The path of a request, once its head is complete; None where the client went away."""
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = connection.recv(4096)
        if not chunk or len(head) > _HEAD_LIMIT:
            return None
        head += chunk
    words = head.split(b"\r\n", 1)[0].decode("latin1").split(" ")
    return words[1] if len(words) > 1 else None
