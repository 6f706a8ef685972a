"""What really happened in the dark room, in order: the truth that tests compare with."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Any

Entry = dict[str, Any]


class Journal:
    """An append-only, thread-safe list of JSON-ready entries.

    Every entry has `seq` (from 1, without gaps), `kind`, `at` (host UTC, ISO 8601) and
    `monotonic_s` (CLOCK_MONOTONIC, the same for all processes of a Linux host); the rest depends
    on `kind`, see `hardware_mocks.control`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []

    def add(self, kind: str, **facts: Any) -> None:  # noqa: ANN401 - JSON values
        """Append one entry."""
        with self._lock:
            self._entries.append(
                {
                    "seq": len(self._entries) + 1,
                    "kind": kind,
                    "at": datetime.now(UTC).isoformat(),
                    "monotonic_s": time.monotonic(),
                    **facts,
                }
            )

    def since(self, seq: int = 0) -> list[Entry]:
        """Entries after number `seq`."""
        with self._lock:
            return self._entries[max(seq, 0) :]
