"""JSON lists and objects larger than memory: items aside in a nameless file, then in one piece."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self


class JsonItems:
    """Collects items of one JSON list, or pairs of one object, on disk.

    Attributes
    ----------
    number : int
        How many were added.
    """

    def __init__(self, folder: Path) -> None:
        self.number = 0
        # Without a name it is gone with the process, however that ends.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__

    def add(self, item: Any) -> None:  # noqa: ANN401 - JSON
        """Append an item of a list."""
        self._append(_dense(item))

    def add_pair(self, key: str, value: Any) -> None:  # noqa: ANN401 - JSON
        """Append a pair of an object. The caller keeps keys unique."""
        self._append(_dense(key) + b":" + _dense(value))

    def write_list(self, file: IO[bytes]) -> None:
        """Write all items as a list."""
        self._write(file, b"[", b"\n]")

    def write_object(self, file: IO[bytes]) -> None:
        """Write all pairs as an object."""
        self._write(file, b"{", b"\n}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def _append(self, data: bytes) -> None:
        self._file.write((b",\n" if self.number else b"\n") + data)
        self.number += 1

    def _write(self, file: IO[bytes], opening: bytes, closing: bytes) -> None:
        file.write(opening)
        self._file.seek(0)
        shutil.copyfileobj(self._file, file)
        file.write(closing)


def _dense(value: Any) -> bytes:  # noqa: ANN401 - JSON
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
