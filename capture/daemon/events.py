"""What happened, numbered: a ring of events, and the stream that a page follows.

Any thread publishes; it appends to the ring and never waits. A follower is a place in the ring,
nothing more: one that is too slow loses its place and is told to fetch the whole state again, so
nobody's queue grows.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from schemas.records import utc_now

#: Events kept: about a minute of the fastest sweep.
_KEPT = 2000
#: A page that hears nothing for a few of these says so.
HEARTBEAT_S = 2.0
#: A follower that lost its connection comes back after so long, so that not all come at once.
_RETRY_MS = (800, 2500)


@dataclass(frozen=True)
class Event:
    """One event; `data` is JSON on one line."""

    seq: int
    name: str
    data: str


class Hub:
    """The ring, and who is to be woken.

    Parameters
    ----------
    version : str
        Told in every heartbeat: a page of another version reloads itself.
    kept : int
        Events that the ring holds.

    Attributes
    ----------
    boot : str
        Of this process. An event's id is ``<boot>-<seq>``: a restart cannot fake continuity.
    followers : int
        Streams that are being sent.
    """

    def __init__(self, version: str, kept: int = _KEPT) -> None:
        self.boot = secrets.token_hex(6)
        self.followers = 0
        self._version = version
        self._lock = threading.Lock()
        self._ring: deque[Event] = deque(maxlen=kept)
        self._seq = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sleepers: set[asyncio.Event] = set()
        self._closed = False

    @property
    def seq(self) -> int:
        """Number of the last event."""
        with self._lock:
            return self._seq

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop in which streams are followed; called in it."""
        self._loop = loop

    def publish(self, name: str, data: Any) -> int:  # noqa: ANN401 - anything JSON can say
        """Append an event; from any thread. Returns its number."""
        text = json.dumps(data, separators=(",", ":"))
        with self._lock:
            self._seq += 1
            self._ring.append(Event(self._seq, name, text))
            seq = self._seq
        self._call(self._wake)
        return seq

    def close(self) -> None:
        """End all streams, now and later ones; from any thread, and from a signal's handler."""
        self._closed = True
        self._call(self._wake)

    def since(self, seq: int) -> list[Event] | None:
        """Events behind `seq`, exactly; None if some of them are not kept any more."""
        with self._lock:
            if seq > self._seq or (seq < self._seq and seq < self._ring[0].seq - 1):
                return None
            newest_first = []
            for event in reversed(self._ring):
                if event.seq <= seq:
                    break
                newest_first.append(event)
        return newest_first[::-1]

    def place(self, after: str) -> int | None:
        """Number of the event with that id; None if it is not one of this boot's."""
        boot, _, number = after.rpartition("-")
        if boot != self.boot or not number.isascii() or not number.isdigit():
            return None
        return int(number) if len(number) < 19 else None

    async def follow(self, after: str | None) -> AsyncIterator[str]:
        """Server-sent events behind the id `after`; from now on where there is none."""
        self.followers += 1
        woken = asyncio.Event()
        self._sleepers.add(woken)
        try:
            low, high = _RETRY_MS
            yield f"retry: {low + secrets.randbelow(high - low)}\n\n"
            place = self.seq if after is None else self.place(after)
            beat_s = 0.0
            clock = asyncio.get_running_loop().time
            while not self._closed:
                woken.clear()
                events = None if place is None else self.since(place)
                if events is None:
                    place = self.seq
                    yield self._said("resync", json.dumps({"seq": place}), place)
                    continue
                for event in events:
                    place = event.seq
                    yield self._said(event.name, event.data, event.seq)
                if (now_s := clock()) >= beat_s:
                    beat_s = now_s + HEARTBEAT_S
                    yield self._said("heartbeat", json.dumps(self.pulse()))
                if not events:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(woken.wait(), max(0.0, beat_s - clock()))
        finally:
            self._sleepers.discard(woken)
            self.followers -= 1

    def pulse(self) -> dict[str, Any]:
        """What a heartbeat says."""
        now = utc_now().isoformat(timespec="milliseconds")
        return {"version": self._version, "boot": self.boot, "seq": self.seq, "now": now}

    def _said(self, name: str, data: str, seq: int | None = None) -> str:
        numbered = "" if seq is None else f"id: {self.boot}-{seq}\n"
        return f"{numbered}event: {name}\ndata: {data}\n\n"

    def _wake(self) -> None:
        for sleeper in self._sleepers:
            sleeper.set()

    def _call(self, work: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody follows any more
                self._loop.call_soon_threadsafe(work)
