"""Pictures that the body holds: files on the card, and files in memory waiting for the host."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hardware_mocks.ptp import ObjectInfo

STORAGE = 0x00020001
DCIM = 0x90000000
FOLDER = 0x91900000
_FIRST_HANDLE = 0x91900010

_FOLDER_FORMAT = 0x3001
_JPEG_FORMAT = 0x3801
_CR2_FORMAT = 0xB103


@dataclass(frozen=True)
class StoredFile:
    """One file.

    Attributes
    ----------
    picture : int
        Number of the exposure since the dark room started; see `hardware_mocks.occasions`.
    image_number : int
        The body's own count, which names the file and goes on for ever.
    on_card : bool
        False for a file in memory, which is gone once the host has confirmed the transfer.
    """

    handle: int
    picture: int
    image_number: int
    data: bytes
    on_card: bool
    size_px: tuple[int, int]
    taken_at: datetime

    @property
    def is_raw(self) -> bool:
        """Whether this is a CR2 (a TIFF) and not a JPEG."""
        return self.data.startswith(b"II*\0")

    @property
    def info(self) -> ObjectInfo:
        """The file as PTP describes it."""
        number = (self.image_number - 1) % 9999 + 1
        return ObjectInfo(
            storage=STORAGE,
            object_format=_CR2_FORMAT if self.is_raw else _JPEG_FORMAT,
            size=len(self.data),
            parent=FOLDER,
            name=f"IMG_{number:04d}.{'CR2' if self.is_raw else 'JPG'}",
            width_px=self.size_px[0],
            height_px=self.size_px[1],
            taken=f"{self.taken_at:%Y%m%dT%H%M%S}",
        )

    @property
    def offer(self) -> dict[str, str | int]:
        """Name, size and digest, JSON-ready."""
        digest = hashlib.sha256(self.data).hexdigest()
        return {"name": self.info.name, "bytes": len(self.data), "sha256": digest}

    @property
    def taken_s(self) -> int:
        """Capture time as seconds since 1970."""
        return int(self.taken_at.timestamp())


FOLDER_INFOS = {
    DCIM: ObjectInfo(STORAGE, _FOLDER_FORMAT, 0, 0, "DCIM", is_folder=True),
    FOLDER: ObjectInfo(STORAGE, _FOLDER_FORMAT, 0, DCIM, "100CANON", is_folder=True),
}


class PictureStore:
    """Files by object handle. Thread-safe; handles are never used twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[int, StoredFile] = {}
        self._next = _FIRST_HANDLE

    def add(
        self,
        data: bytes,
        *,
        picture: int,
        image_number: int,
        on_card: bool,
        size_px: tuple[int, int],
        taken_at: datetime,
    ) -> StoredFile:
        """Keep a file under a new handle."""
        with self._lock:
            handle = self._next
            self._next += 1
            stored = StoredFile(handle, picture, image_number, data, on_card, size_px, taken_at)
            self._files[handle] = stored
            return stored

    def get(self, handle: int) -> StoredFile | None:
        """The file of a handle, or None."""
        with self._lock:
            return self._files.get(handle)

    def remove(self, handle: int) -> bool:
        """Delete a file; False where there is none."""
        with self._lock:
            return self._files.pop(handle, None) is not None

    def forget_memory(self) -> None:
        """Lose what waits in memory, as a body without power does."""
        self._keep(lambda file: file.on_card)

    def forget_card(self) -> None:
        """Lose what is on the card: another one is in."""
        self._keep(lambda file: not file.on_card)

    def _keep(self, wanted: Callable[[StoredFile], bool]) -> None:
        with self._lock:
            self._files = {handle: f for handle, f in self._files.items() if wanted(f)}

    def on_card(self) -> list[StoredFile]:
        """Files on the card, oldest first."""
        with self._lock:
            return [f for f in self._files.values() if f.on_card]

    def waiting(self) -> list[StoredFile]:
        """Files in memory that the host has not fetched, oldest first."""
        with self._lock:
            return [f for f in self._files.values() if not f.on_card]
