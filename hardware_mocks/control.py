"""The control endpoint: HTTP with JSON on loopback, for tests and for the person at the bench.

Reading
    GET /state
        Light, scene, mode dial, settings as spelled, counters, buffer, meter, faults to come.
    GET /log?since=N
        A list of what really happened after entry N (default 0: everything). Every entry has
        ``seq``, ``kind``, ``at`` (host UTC) and ``monotonic_s`` (CLOCK_MONOTONIC). Kinds:

        picture
            One exposure: ``picture`` (number since the start), marked ``shutter_s``, ``iso``,
            ``f_number``, ``ev``, ``true_shutter_s``, ``true_f_number``, ``lux``, ``lux_min``,
            ``lux_max`` over the exposure, ``scene``, ``scene_digest``, ``mode``,
            ``started_monotonic_s``, ``ended_monotonic_s``, ``taken_at`` (the body's clock),
            ``destination``, ``image_number``, ``sha256`` and ``bytes`` of the file made,
            ``faults`` that struck it, and ``offered``: name, sha256 and size of each file that
            the host can fetch (the file made, unless a fault changed that).
        setting, dial, zoom, hand, power, card, lux, scene, meter, fault, connect, disconnect,
        error
            What was changed, struck or lost.

Writing (``Content-Type: application/json``; the answer is the new state)
    POST /lux     ``{"lux": 10, "over_s": 0}``
    POST /scene   ``{"photo": "/path.jpg", "scene_lux": null}``
    POST /dial    ``{"mode": "M"}`` (M, P, AV, TV or Auto)
    POST /body    ``{"white_balance": 0, "custom_functions": {"0x201": 1}}``: properties by the
                  names of `canon_properties.Prop` and Canon's codes, as if set by its menu
    POST /zoom    ``{"focal_mm": 55}``
    POST /power   ``{"on": false}``: the camera's; ``{"on": true}`` puts a charged battery in
    POST /card    ``{}`` puts an empty card in; ``{"free_shots": 3}`` one with so much room
    POST /meter   ``{"plugged": false}``
    POST /faults  ``[{"name": "lux_step_mid_exposure", "at": 5, "lux": 300}]``
    POST /reset   ``{}``: the room as at the start, no fault to come; log and counters go on

Errors are ``{"error": "..."}`` with 400 (not understood), 403 (Host is not loopback), 404 or 415.
A page in a browser cannot drive it: a foreign Host is refused, and a write needs a content type
that no form can send.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from hardware_mocks.journal import Journal

_log = logging.getLogger(__name__)

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_LONGEST_BODY = 1 << 20
_WRITABLE = (
    *("/lux", "/scene", "/dial", "/body", "/zoom", "/power", "/card", "/meter", "/faults"),
    "/reset",
)


class Bench(Protocol):
    """What the endpoint controls; `hardware_mocks.darkroom.Darkroom`."""

    @property
    def journal(self) -> Journal:
        """What happened."""
        ...

    def state(self) -> dict[str, Any]:
        """The room now."""
        ...

    def set_light(self, lux: float, over_s: float = 0.0) -> None:
        """Turn the lamps."""
        ...

    def set_scene(self, photo: Path, scene_lux: float | None = None) -> None:
        """Put something else before the lens."""
        ...

    def turn_dial(self, mode: str) -> None:
        """Turn the mode dial."""
        ...

    def set_body(self, properties: dict[str, Any]) -> None:
        """Change properties at the body."""
        ...

    def zoom(self, focal_mm: int) -> None:
        """Turn the zoom ring."""
        ...

    def switch_camera(self, *, on: bool) -> None:
        """Give the camera power, or take it."""
        ...

    def use_card(self, free_shots: int | None) -> None:
        """Put another card in."""
        ...

    def reset(self) -> None:
        """Have everything as at the start."""
        ...

    def plug_meter(self, plugged: bool) -> None:
        """Pull the meter's cable or put it back."""
        ...

    def add_faults(self, entries: list[dict[str, Any]]) -> None:
        """Script more faults."""
        ...


class ControlServer:
    """Serves the endpoint on loopback; `start` returns at once."""

    def __init__(self, bench: Bench, port: int = 0) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, bench))
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]

    def start(self) -> None:
        """Serve from now on."""
        threading.Thread(
            target=partial(self._server.serve_forever, poll_interval=0.05),
            name="control",
            daemon=True,
        ).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, bench: Bench, *args: Any) -> None:  # noqa: ANN401 - http.server's own
        self._bench = bench
        super().__init__(*args)

    def do_GET(self) -> None:
        self._answer(self._read)

    def do_POST(self) -> None:
        self._answer(self._write)

    def _answer(self, act: Callable[[], Any]) -> None:
        try:
            host = self.headers.get("Host", "").rsplit(":", 1)[0]
            if host not in _LOOPBACK:
                raise _RefusedError(403, "this endpoint answers to loopback names only")
            status, document = 200, act()
        except _RefusedError as refused:
            status, document = refused.status, {"error": str(refused)}
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _read(self) -> Any:  # noqa: ANN401 - JSON
        url = urlsplit(self.path)
        if url.path == "/state":
            return self._bench.state()
        if url.path == "/log":
            since = parse_qs(url.query).get("since", ["0"])[0]
            if not since.isdigit():
                raise _RefusedError(400, "since is the number of the last entry you have")
            return self._bench.journal.since(int(since))
        raise _RefusedError(404, "GET /state or /log")

    def _write(self) -> Any:  # noqa: ANN401 - JSON
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(415, "send Content-Type: application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _LONGEST_BODY:
            raise _RefusedError(400, f"send Content-Length, {_LONGEST_BODY} at most")
        try:
            self._act(json.loads(self.rfile.read(int(length))))
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise _RefusedError(400, f"{type(error).__name__}: {error}") from error
        return self._bench.state()

    def _act(self, document: Any) -> None:  # noqa: ANN401 - JSON
        bench = self._bench
        is_list = isinstance(document, list)
        if is_list != (self.path == "/faults") or not isinstance(document, list | dict):
            kind = "a list of faults" if self.path == "/faults" else "an object with its keys"
            raise _RefusedError(400, f"{self.path} takes {kind}, as JSON")
        self._act_on(bench, document)

    def _act_on(self, bench: Bench, document: Any) -> None:  # noqa: ANN401 - JSON
        match self.path:
            case "/lux":
                bench.set_light(float(document["lux"]), float(document.get("over_s", 0)))
            case "/scene":
                scene_lux = document.get("scene_lux")
                lux = None if scene_lux is None else float(scene_lux)
                bench.set_scene(Path(document["photo"]), lux)
            case "/dial":
                bench.turn_dial(str(document["mode"]))
            case "/body":
                bench.set_body(document)
            case "/zoom":
                bench.zoom(int(document["focal_mm"]))
            case "/power":
                bench.switch_camera(on=bool(document["on"]))
            case "/card":
                free_shots = document.get("free_shots")
                bench.use_card(None if free_shots is None else int(free_shots))
            case "/reset":
                bench.reset()
            case "/meter":
                bench.plug_meter(bool(document["plugged"]))
            case "/faults":
                bench.add_faults(document)
            case _:
                raise _RefusedError(404, f"POST {', '.join(_WRITABLE)}")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401 - http.server's own
        _log.debug(format, *args)
