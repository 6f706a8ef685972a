"""What the body has to tell: records queued until the host asks with GetEvent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from hardware_mocks.canon_properties import Prop
from hardware_mocks.canon_settings import Settings
from hardware_mocks.canon_store import FOLDER, STORAGE, StoredFile
from hardware_mocks.ptp import (
    EventCode,
    EventRecord,
    encode_events,
    object_added,
    transfer_request,
    u16,
    u32,
)

_AF_LOCKED = bytes.fromhex("000000000101")
_AF_FAILED = bytes.fromhex("000000000200")
_AF_MASK = 0x0100


class EventQueue:
    """Event records for one host; nothing is kept while none listens. The body guards it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._records: deque[EventRecord] = deque()
        self._listening = False

    def listen(self, on: bool) -> None:
        """Start with an empty queue, or stop."""
        self._records.clear()
        self._listening = on

    def take(self) -> bytes:
        """Everything queued, as a GetEvent reply."""
        records, self._records = self._records, deque()
        return encode_events(records)

    def values(self, props: Iterable[Prop]) -> None:
        """Tell the values of properties."""
        for prop in props:
            body = u32(prop) + self._settings.values[prop]
            self._put(EventCode.PROPERTY_CHANGED, body)

    def values_and_choices(self, props: Iterable[Prop]) -> None:
        """Tell the values of properties, then what they offer."""
        told = list(props)
        self.values(told)
        for prop in told:
            offered = self._settings.encoded_choices(prop)
            if offered is not None:
                body = u32(prop) + u32(3) + u32(len(offered)) + b"".join(offered)
                self._put(EventCode.CHOICES_CHANGED, body)

    def file(self, file: StoredFile) -> None:
        """Tell of a picture: it is on the card, or it waits for the host to fetch it."""
        if file.on_card:
            body = object_added(file.handle, STORAGE, FOLDER, file.info, file.taken_s)
            self._put(EventCode.OBJECT_ADDED, body)
        else:
            self._put(EventCode.REQUEST_OBJECT_TRANSFER, transfer_request(file.handle, file.info))

    def busy(self, is_busy: bool) -> None:
        """Tell that an exposure has begun or ended."""
        self._put(EventCode.CAMERA_STATUS, u32(int(is_busy)))

    def focus(self, found: bool) -> None:
        """Tell how the autofocus fared."""
        result = _AF_LOCKED if found else _AF_FAILED
        head = u32(8 + len(result)) + u16(_AF_MASK) + u16(0)
        self._put(EventCode.OLC_INFO, head + result)

    def _put(self, code: EventCode, body: bytes) -> None:
        if self._listening:
            self._records.append(EventRecord(code, body))
