"""A server that stands in for the daemon: the real page, and documents and events of the test's.

For what a real sweep shows only by chance or after weeks: a hostile name in every field, 100 runs,
5,000 frames, a version that moved on. What the daemon itself does is tested against the daemon.
"""

from __future__ import annotations

import io
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

from capture.dashboard.page import dashboard_page, login_page, static_files

VERSION = "1.2.3"
SHUTTER = "30 15 8 4 2 1 0.5 1/4 1/8 1/15 1/30 1/60 1/125 1/250 1/500 1/1000 1/2000 1/4000".split()
ISO = [100, 200, 400, 800, 1600, 3200, 6400]
_DOCUMENTS = Path(__file__).with_name("canned.json")
_FREE_TEXT = set(
    "sentence next scene lighting name category cause text action found wanted check reason "
    "trouble camera meter label duration_text left_text settings setting".split()
)
F_NUMBER = [5.6, 8.0, 11.0, 16.0, 22.0]


class Canned:
    """Documents by path below ``/api/``, what was posted, and open streams."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = documents()
        self.answers: dict[str, tuple[int, Any]] = {}
        self.posted: list[tuple[str, Any]] = []
        self.asked: list[str] = []
        self.streams: set[queue.SimpleQueue[bytes | None]] = set()
        self.most_streams = 0
        self.opened_streams = 0
        self.silent = False
        self.signed_in = True
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"canned": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def send(self, name: str, data: Any) -> None:
        """An event to every stream."""
        line = f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        with self._lock:
            for stream in self.streams:
                stream.put(line)

    def state(self, **changes: Any) -> dict[str, Any]:
        """Change the snapshot, and send it."""
        state = self.documents["state"]
        state.update(changes, seq=state["seq"] + 1, turn=state["turn"] + 1)
        self.send("state", state)
        return state

    def beat(self, version: str = VERSION) -> None:
        """A heartbeat."""
        state = self.documents["state"]
        self.send("heartbeat", {"version": version, "boot": state["boot"], "seq": state["seq"]})

    def hang_up(self) -> None:
        """End every stream."""
        with self._lock:
            for stream in self.streams:
                stream.put(None)

    def close(self) -> None:
        self.hang_up()
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def stream(self) -> Iterator[queue.SimpleQueue[bytes | None]]:
        events: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with self._lock:
            self.streams.add(events)
            self.opened_streams += 1
            self.most_streams = max(self.most_streams, len(self.streams))
        try:
            yield events
        finally:
            with self._lock:
                self.streams.discard(events)


class _Handler(BaseHTTPRequestHandler):
    canned: Canned
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path.startswith("/static/"):
            asset = static_files()[path.removeprefix("/static/")]
            return self._send(200, asset.content, asset.content_type)
        if path == "/":
            make = dashboard_page if self.canned.signed_in else login_page
            page = make(VERSION)
            return self._send(200, page.html, "text/html", page.policy)
        if path == "/api/events":
            return self._events()
        self.canned.asked.append(path)
        return self._document(path.removeprefix("/api/"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["X-Snaprig"] == "1"
        assert self.headers["Content-Type"] == "application/json"
        name = self.path.removeprefix("/api/")
        self.canned.posted.append((name, body))
        status, answer = self.canned.answers.get(name, (200, self.canned.documents["state"]))
        self._json(status, answer)

    def _document(self, name: str) -> None:
        found = self.canned.documents.get(name)
        if found is None:
            return self._json(404, {"detail": f"no {name}"})
        if isinstance(found, bytes):
            return self._send(200, found, "image/png")
        return self._json(200, found)

    def _events(self) -> None:
        with self.canned.stream() as events:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                if not self.canned.silent:
                    self.canned.beat()
                while (line := events.get()) is not None:
                    self.wfile.write(line)
                    self.wfile.flush()
            except OSError:
                return  # the tab went

    def _json(self, status: int, document: Any) -> None:
        self._send(status, json.dumps(document).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str, policy: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if policy:
            self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def stem(shutter: str, iso: int, f_number: float) -> str:
    return f"{shutter}_{iso}_f{f_number:g}".replace("/", "-").replace(".", "-")


def grid(shot: int = 0) -> dict[str, Any]:
    """The full grid of which the first `shot` triplets have their row."""
    cells: list[dict[str, Any]] = []
    for n, f_number in enumerate(F_NUMBER):
        for i, iso in enumerate(ISO):
            for s, shutter in enumerate(SHUTTER):
                offset = 10 - s + i - n
                outcome = "accepted"
                outcome = "rejected_white" if offset > 6 else outcome
                outcome = "rejected_black" if offset < -4 else outcome
                outcome = "failed" if len(cells) == 100 else outcome
                outcome = "skipped" if offset > 9 else outcome
                row = len(cells) < shot
                cells.append(
                    {
                        "stem": stem(shutter, iso, f_number),
                        "shutter": shutter,
                        "iso": iso,
                        "f_number": f_number,
                        "outcome": outcome if row else None,
                        "frame_id": 214 if row else None,
                        "ev_offset": offset,
                        "attempts": 1,
                        "reason": "",
                    }
                )
    return {
        "scene": "cups-3", "lighting": "bright", "shutter": SHUTTER, "iso": ISO,
        "f_number": F_NUMBER, "cells": cells,
    }  # fmt: skip


def picture(mode: str = "RGB") -> bytes:
    """A gradient with a black and a white corner; as gray, where it is clipped."""
    image = Image.linear_gradient("L").resize((480, 320))
    if mode == "L":
        image = image.point(lambda v: 127 if v < 20 else 255 if v > 235 else 0)
    else:
        red = image.rotate(180)
        image = Image.merge("RGB", (image, red, image.point(lambda v: v // 2 + 60)))
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def histogram() -> list[int]:
    """A hill in the middle, and spikes at both ends."""
    hill = [int(3000 / (1 + ((v - 110) / 35) ** 2)) for v in range(256)]
    return [count + (9000 if v in (0, 255) else 0) for v, count in enumerate(hill)]


def readings() -> list[list[float]]:
    """Five minutes around 1000 lux, with a dip to 740."""
    noise = [40 * ((n * 7919) % 13 - 6) / 6 for n in range(600)]
    return [
        [1_772_400_000 + n / 2, 1000 + more - (260 if 300 < n < 340 else 0)]
        for n, more in enumerate(noise)
    ]


def run(number: int) -> dict[str, Any]:
    """A run of the past."""
    status = "done" if number % 5 else ("failed", "stopped", "interrupted")[number % 3]
    return {
        "run": number,
        "scene": f"cups-{number % 9}",
        "lighting": "bright" if number % 2 else "dim",
        "started_at": f"2026-02-{1 + number % 28:02d}T2{number % 4}:15:00Z",
        "ended_at": None,
        "status": status,
        "cause": {"done": "completed", "stopped": "stopped", "failed": "error"}.get(
            status, "killed"
        ),
        "reason": "the light was wrong for 30 min: 700 lux" if status == "failed" else "",
        "counts": {"accepted": 400 + number, "rejected_black": 90, "rejected_white": 120},
        "planned": 630,
        "work_s": 2400.0 + number,
        "paused_s": 30.0 * (number % 3),
        "simulated": False,
        "retries": {"retry": number % 4},
    }


def documents() -> dict[str, Any]:
    """A plausible rig in the middle of a sweep."""
    found: dict[str, Any] = json.loads(_DOCUMENTS.read_text())
    found["light"]["points"] = readings()
    found["frames/214"]["histogram"] = histogram()
    return found | {
        "grid": grid(shot=214),
        "history": [run(number) for number in range(100, 0, -1)],
        "frames/214/thumbnail": picture(),
        "frames/214/clipping": picture("L"),
    }


def hostile(document: Any, text: str) -> Any:
    """The same document with `text` wherever a device or a person may have written."""
    if isinstance(document, list):
        return [hostile(item, text) for item in document]
    if not isinstance(document, dict):
        return document
    return {
        key: text if key in _FREE_TEXT and isinstance(value, str) else hostile(value, text)
        for key, value in document.items()
    }
