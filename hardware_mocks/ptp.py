"""Pure encoding and decoding of PTP datasets and Canon EOS event records.

Little endian throughout. Sources: PIMA 15740 / ISO 15740 (datasets), and the Canon EOS records
as libgphoto2's `ptp-pack.c` reads them; each was checked by driving libgphoto2 2.5.30 and 2.5.34.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum


class Response(IntEnum):
    """Response codes that the body gives."""

    OK = 0x2001
    GENERAL_ERROR = 0x2002
    SESSION_NOT_OPEN = 0x2003
    OPERATION_NOT_SUPPORTED = 0x2005
    INVALID_STORAGE = 0x2008
    INVALID_OBJECT = 0x2009
    PROPERTY_NOT_SUPPORTED = 0x200A
    STORE_FULL = 0x200C
    NO_THUMBNAIL = 0x2010
    DEVICE_BUSY = 0x2019
    INVALID_VALUE = 0x201C
    INVALID_PARAMETER = 0x201D


class EventCode(IntEnum):
    """Canon EOS event records in a GetEvent reply."""

    END = 0x0000
    OBJECT_ADDED = 0xC181
    OBJECT_REMOVED = 0xC182
    REQUEST_OBJECT_TRANSFER = 0xC186
    PROPERTY_CHANGED = 0xC189
    CHOICES_CHANGED = 0xC18A
    CAMERA_STATUS = 0xC18B
    OLC_INFO = 0xC1A5


def u16(value: int) -> bytes:
    """Two bytes; negative numbers in two's complement."""
    return struct.pack("<H", value & 0xFFFF)


def u32(value: int) -> bytes:
    """Four bytes; negative numbers in two's complement."""
    return struct.pack("<I", value & 0xFFFFFFFF)


def u64(value: int) -> bytes:
    """Eight bytes."""
    return struct.pack("<Q", value)


def array16(values: Sequence[int]) -> bytes:
    """A PTP array of 16-bit numbers: count, then values."""
    return u32(len(values)) + b"".join(map(u16, values))


def array32(values: Sequence[int]) -> bytes:
    """A PTP array of 32-bit numbers: count, then values."""
    return u32(len(values)) + b"".join(map(u32, values))


def string(text: str) -> bytes:
    """A PTP string: length in UTF-16 units with the closing zero (one byte), then the text.

    Raises
    ------
    ValueError
        For a text of more than 254 units, which the length byte cannot count.
    """
    if not text:
        return b"\0"
    body = (text + "\0").encode("utf-16-le")
    if len(body) // 2 > 255:
        raise ValueError(f"a PTP string holds 254 characters at most: {text[:40]!r}…")
    return bytes([len(body) // 2]) + body


def fixed_ascii(text: str, size: int) -> bytes:
    """ASCII text padded with zeros to `size` bytes, cut so that a closing zero remains."""
    return text.encode("ascii")[: size - 1].ljust(size, b"\0")


class Reader:
    """Takes PTP values off the front of a dataset.

    Raises ValueError when the dataset ends early.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if self._at + size > len(self._data):
            raise ValueError(f"dataset ends at {len(self._data)}, wanted {self._at + size} bytes")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, size: int) -> int:
        """The next unsigned number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def array(self, size: int) -> tuple[int, ...]:
        """The next array of unsigned numbers of `size` bytes each."""
        return tuple(self.number(size) for _ in range(self.number(4)))

    def string(self) -> str:
        """The next PTP string."""
        units = self.number(1)
        return self.take(2 * units).decode("utf-16-le").removesuffix("\0")

    def rest(self) -> bytes:
        """Everything not yet taken."""
        return self.take(len(self._data) - self._at)


@dataclass(frozen=True)
class DeviceInfo:
    """The DeviceInfo dataset (reply to 0x1001)."""

    vendor_extension: int
    operations: tuple[int, ...]
    events: tuple[int, ...]
    properties: tuple[int, ...]
    capture_formats: tuple[int, ...]
    image_formats: tuple[int, ...]
    manufacturer: str
    model: str
    version: str
    serial: str

    def encode(self) -> bytes:
        """Bytes of the dataset."""
        return b"".join(
            (
                u16(100) + u32(self.vendor_extension) + u16(100) + string("") + u16(0),
                array16(self.operations),
                array16(self.events),
                array16(self.properties),
                array16(self.capture_formats),
                array16(self.image_formats),
                *map(string, (self.manufacturer, self.model, self.version, self.serial)),
            )
        )

    @classmethod
    def decode(cls, data: bytes) -> DeviceInfo:
        """Inverse of `encode`."""
        reader = Reader(data)
        reader.number(2)
        vendor = reader.number(4)
        reader.number(2)
        reader.string()
        reader.number(2)
        return cls(
            vendor,
            operations=reader.array(2),
            events=reader.array(2),
            properties=reader.array(2),
            capture_formats=reader.array(2),
            image_formats=reader.array(2),
            manufacturer=reader.string(),
            model=reader.string(),
            version=reader.string(),
            serial=reader.string(),
        )


@dataclass(frozen=True)
class ObjectInfo:
    """The part of the ObjectInfo dataset that a camera's file has (reply to 0x1008)."""

    storage: int
    object_format: int
    size: int
    parent: int
    name: str
    width_px: int = 0
    height_px: int = 0
    is_folder: bool = False
    taken: str = ""  # PTP date, YYYYMMDDThhmmss

    def encode(self) -> bytes:
        """Bytes of the dataset."""
        thumb_format = 0 if self.is_folder else 0x3808
        depth = 0 if self.is_folder else 24
        return b"".join(
            (
                u32(self.storage) + u16(self.object_format) + u16(0) + u32(self.size),
                u16(thumb_format) + u32(0) * 3,
                u32(self.width_px) + u32(self.height_px) + u32(depth) + u32(self.parent),
                u16(1 if self.is_folder else 0) + u32(0) * 2,
                string(self.name) + string(self.taken) * 2 + string(""),
            )
        )

    @classmethod
    def decode(cls, data: bytes) -> ObjectInfo:
        """Inverse of `encode`."""
        reader = Reader(data)
        storage, object_format, _, size = (reader.number(n) for n in (4, 2, 2, 4))
        reader.take(14)
        width, height, _, parent = (reader.number(4) for _ in range(4))
        is_folder = reader.number(2) == 1
        reader.take(8)
        name, taken = reader.string(), reader.string()
        return cls(storage, object_format, size, parent, name, width, height, is_folder, taken)


def storage_info(capacity_bytes: int, free_bytes: int) -> bytes:
    """StorageInfo of a removable card with a hierarchical file system (reply to 0x1005)."""
    kind = u16(4) + u16(3) + u16(0)
    return kind + u64(capacity_bytes) + u64(free_bytes) + u32(-1) + string("SD") + string("")


def folder_entry(handle: int, storage: int, info: ObjectInfo, taken_s: int) -> bytes:
    """One 56-byte entry of Canon's GetObjectInfoEx list (reply to 0x9109)."""
    return b"".join(
        (
            u32(56) + u32(handle) + u32(storage) + u32(info.object_format) + u32(0) * 2,
            u32(info.size) + u32(0) + u32(handle) + fixed_ascii(info.name, 16) + u32(taken_s),
        )
    )


@dataclass(frozen=True)
class EventRecord:
    """One record of a GetEvent reply (0x9116): {size, code, body}, closed by {8, 0}."""

    code: int
    body: bytes = field(default=b"")

    def encode(self) -> bytes:
        """Bytes of the record."""
        return u32(8 + len(self.body)) + u32(self.code) + self.body


def encode_events(records: Iterable[EventRecord]) -> bytes:
    """A GetEvent reply."""
    return b"".join(r.encode() for r in (*records, EventRecord(EventCode.END)))


def decode_events(data: bytes) -> list[EventRecord]:
    """Inverse of `encode_events`; ValueError when a record's size is impossible."""
    reader = Reader(data)
    records: list[EventRecord] = []
    while True:
        size, code = reader.number(4), reader.number(4)
        if size < 8:
            raise ValueError(f"an event record of {size} bytes")
        body = reader.take(size - 8)
        if code == EventCode.END:
            return records
        records.append(EventRecord(code, body))


def object_added(handle: int, storage: int, folder: int, info: ObjectInfo, taken_s: int) -> bytes:
    """Body of c181: a file is on the card."""
    return b"".join(
        (
            u32(handle) + u32(storage) + u32(info.object_format) + u32(0) * 2 + u32(info.size),
            u32(folder) + u32(handle) + fixed_ascii(info.name, 16) + u32(taken_s),
        )
    )


def transfer_request(handle: int, info: ObjectInfo) -> bytes:
    """Body of c186: a picture waits in the body's memory for the host to fetch it."""
    head = u32(handle) + u32(info.object_format) + u32(0) + u32(info.size) + u32(0)
    return head + fixed_ascii(info.name, 16)
