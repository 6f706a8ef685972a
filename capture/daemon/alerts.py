"""Tells somebody who looks at no page: a fault, again until it is acknowledged, and its end.

One thread looks at the service twice a second, one for each way of telling does the telling: a
sender that hangs delays no other one, and never a shot.
"""

from __future__ import annotations

import json
import logging
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from capture.daemon.jobs import Fault
from rig.config import AlertsConfig
from schemas.records import utc_now

_log = logging.getLogger(__name__)

_LOOK_S = 0.5
#: Messages that wait for a sender that hangs; older ones are dropped.
_MOST_WAITING = 20


class Watched(Protocol):
    """What is looked at."""

    @property
    def trouble(self) -> tuple[str, Fault] | None:
        """What is wrong now, with a key that stays the same while it is the same trouble."""
        ...


@dataclass(frozen=True)
class Alert:
    """A trouble that somebody was told of."""

    key: str
    fault: Fault
    since: str
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    acknowledged: bool = False

    def to_json(self) -> dict[str, Any]:
        """For the API."""
        fault = {"code": self.fault.code, "text": self.fault.text, "action": self.fault.action}
        return {
            "id": self.id,
            **fault,
            "since": self.since,
            "acknowledged": self.acknowledged,
        }


class Sender:
    """One way of telling, with a thread of its own."""

    def __init__(self, name: str, send: Callable[[dict[str, Any]], None]) -> None:
        self._name = name
        self._send = send
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name=f"alert-{name}", daemon=True)
        self._thread.start()

    def tell(self, message: dict[str, Any] | None) -> None:
        """Queue a message (None: the last one); never blocks."""
        try:
            self._messages.put_nowait(message)
        except queue.Full:
            _log.warning("alerts by %s wait for a sender that hangs: one is dropped", self._name)

    def _work(self) -> None:
        while (message := self._messages.get()) is not None:
            try:
                self._send(message)
            except (
                httpx.HTTPError,
                httpx.InvalidURL,
                OSError,
                subprocess.SubprocessError,
            ) as error:
                # The address may hold a secret: only the kind of failure is told.
                _log.warning("an alert by %s failed: %s", self._name, type(error).__name__)


def senders(config: AlertsConfig) -> list[Sender]:
    """The configured ways."""
    timeout_s = config.timeout_s

    def webhook(message: dict[str, Any]) -> None:
        httpx.post(config.webhook, json=message, timeout=timeout_s).raise_for_status()

    def ntfy(message: dict[str, Any]) -> None:
        urgent = message["event"] != "resolved"
        headers = {"Title": f"snaprig: {message['event']}", "Priority": "4" if urgent else "3"}
        text = " ".join(part for part in (message["text"], message["action"]) if part)
        httpx.post(
            config.ntfy, content=text.encode(), headers=headers, timeout=timeout_s
        ).raise_for_status()

    def command(message: dict[str, Any]) -> None:
        subprocess.run(
            config.command,
            input=json.dumps(message).encode(),
            timeout=timeout_s,
            check=True,
            capture_output=True,
        )

    ways = {
        "webhook": (config.webhook, webhook),
        "ntfy": (config.ntfy, ntfy),
        "command": (config.command, command),
    }
    return [Sender(name, send) for name, (wanted, send) in ways.items() if wanted]


class Alarm:
    """The alert that is open, if any.

    Parameters
    ----------
    watched : Watched
    config : AlertsConfig
    tell : callable
        Told of every change, with the alert or None.
    ways : list of Sender or None
        In place of the configured ones.
    clock : callable
        Monotonic, in seconds.
    """

    def __init__(
        self,
        watched: Watched,
        config: AlertsConfig,
        tell: Callable[[dict[str, Any] | None], None],
        *,
        ways: list[Sender] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watched = watched
        self._repeat_s = config.repeat_min * 60
        self._tell = tell
        self._ways = senders(config) if ways is None else ways
        self._clock = clock
        self._lock = threading.Lock()
        self._alert: Alert | None = None
        self._told_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="alarm", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; what waits to be sent is given up soon."""
        self._over.set()
        for way in self._ways:
            way.tell(None)

    @property
    def alert(self) -> Alert | None:
        """The one that is open."""
        with self._lock:
            return self._alert

    def acknowledge(self, alert_id: str) -> bool:
        """Stop repeating it; False if it is not open any more."""
        with self._lock:
            alert = self._alert
            if alert is None or alert.id != alert_id:
                return False
            self._alert = alert = Alert(alert.key, alert.fault, alert.since, alert.id, True)
        self._tell(alert.to_json())
        return True

    def look(self) -> None:
        """One look: raise, repeat, or resolve."""
        trouble, now_s = self._watched.trouble, self._clock()
        with self._lock:
            before = alert = self._alert
            event = ""
            if trouble is None or (before is not None and before.key != trouble[0]):
                event, alert = ("resolved" if before else ""), None
            elif before is None:
                key, fault = trouble
                alert = Alert(key, fault, utc_now().isoformat(timespec="seconds"))
                event = "fault"
            elif not before.acknowledged and now_s - self._told_s >= self._repeat_s:
                event = "reminder"
            if event in ("fault", "reminder"):
                self._told_s = now_s
            self._alert = alert
        told = before if event == "resolved" else alert
        if event and told is not None:
            for way in self._ways:
                way.tell({"event": event, **told.to_json()})
        if alert is not before:
            self._tell(alert.to_json() if alert else None)

    def _work(self) -> None:
        while not self._over.wait(_LOOK_S):
            try:
                self.look()
            except Exception:  # the alarm must outlive whatever it looks at
                _log.exception("the alarm could not look")
