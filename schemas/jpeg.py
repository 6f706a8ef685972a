"""JPEG segments, Exif and XMP: the one module that takes a JPEG file apart.

Image data is never decoded or re-encoded here: segments are found and spliced byte for byte.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from PIL import Image, UnidentifiedImageError

SOI = b"\xff\xd8"
EOI = b"\xff\xd9"
APP0 = 0xE0
APP1 = 0xE1
SOS = 0xDA
EXIF_HEADER = b"Exif\x00\x00"
XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\x00"

_STANDALONE = {0x01, *range(0xD0, 0xD9)}  # TEM, RSTn, SOI: no length follows
_EXIF_IFD = 0x8769
_MAX_SEGMENT = 65533


class JpegError(ValueError):
    """Not a JPEG file, or a broken one. The text says what is wrong with it."""


@dataclass(frozen=True)
class Segment:
    """One marker segment before the image data: ``data[start:end]``, marker bytes included."""

    marker: int
    start: int
    end: int
    payload: bytes


@dataclass(frozen=True)
class Exif:
    """What a picture's Exif block says of its exposure; None where a tag is absent or unusable.

    Attributes
    ----------
    shutter_s, f_number : float or None
        ExposureTime in seconds and FNumber as written: nominal on a Canon body. The APEX
        fields beside them hold the true stops and are not read here.
    iso : int or None
        ISOSpeedRatings, or RecommendedExposureIndex where that is saturated (65535).
    taken_at : str
        DateTimeOriginal with its fraction, as written: a camera clock has no zone.
    flash_fired : bool
    make, model, serial, software : str
    file_number : int or None
        Canon's FileNumber (maker's note, 0x0008): the body's own count of its pictures, folder
        and picture as in 1000042. Real T7 frames taken into the camera's memory have none.
    focal_length_mm : float or None
        Where the zoom stood.
    """

    shutter_s: float | None = None
    f_number: float | None = None
    iso: int | None = None
    taken_at: str = ""
    flash_fired: bool = False
    make: str = ""
    model: str = ""
    serial: str = ""
    software: str = ""
    file_number: int | None = None
    focal_length_mm: float | None = None


def iter_segments(data: bytes) -> Iterator[Segment]:
    """Yield the marker segments from SOI up to the start of the image data (SOS excluded).

    Raises
    ------
    JpegError
        If the bytes are not a JPEG, or end before the image data.
    """
    if not data.startswith(SOI):
        raise JpegError("not a JPEG: it does not begin with FF D8")
    position = 2
    while True:
        if position + 4 > len(data):
            raise JpegError("cut off before the image data")
        if data[position] != 0xFF:
            raise JpegError(f"no marker at byte {position}")
        start = position
        while data[position] == 0xFF:  # fill bytes may precede a marker
            position += 1
            if position >= len(data):
                raise JpegError("cut off before the image data")
        marker = data[position]
        position += 1
        if marker == SOS:
            return
        if marker in _STANDALONE:
            continue
        length = int.from_bytes(data[position : position + 2], "big")
        end = position + length
        if length < 2 or end > len(data):
            raise JpegError(f"segment FF{marker:02X} at byte {start} runs beyond the file")
        yield Segment(marker, start, end, data[position + 2 : end])
        position = end


def check_complete(data: bytes) -> None:
    """Raise JpegError unless the file has its headers and ends with EOI (padding aside)."""
    for _ in iter_segments(data):
        pass
    if not data.rstrip(b"\x00").endswith(EOI):
        raise JpegError("cut off: the end marker FF D9 is missing")


def read_exif(data: bytes) -> Exif:
    """Read the exposure settings of a picture.

    Raises
    ------
    JpegError
        If the file cannot be opened as a picture. A missing tag is None, not an error.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            main = image.getexif()
            tags: dict[int, Any] = main.get_ifd(_EXIF_IFD)
            endian = main.endian
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise JpegError(f"unreadable picture: {error}") from error
    iso = _whole(tags.get(0x8827))
    if iso == 65535:  # the tag is 16 bit wide
        iso = _whole(tags.get(0x8832)) or iso
    fraction = _text(tags.get(0x9291))
    return Exif(
        shutter_s=_positive(tags.get(0x829A)),
        f_number=_positive(tags.get(0x829D)),
        iso=iso,
        taken_at=_text(tags.get(0x9003)) + (f".{fraction}" if fraction else ""),
        flash_fired=bool((_whole(tags.get(0x9209)) or 0) & 1),
        make=_text(main.get(0x010F)),
        model=_text(main.get(0x0110)),
        serial=_text(tags.get(0xA431)),
        software=_text(main.get(0x0131)),
        file_number=_canon_file_number(tags.get(0x927C), "little" if endian == "<" else "big"),
        focal_length_mm=_positive(tags.get(0x920A)),
    )


def read_focal_length_mm(data: bytes) -> float | None:
    """FocalLength of a picture in mm; None where its Exif does not say. Raises JpegError."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return _positive(image.getexif().get_ifd(_EXIF_IFD).get(0x920A))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise JpegError(f"unreadable picture: {error}") from error


@dataclass(frozen=True)
class XmpSegment:
    """An XMP segment: ``data[start:end]`` (fill bytes before it left out), and its packet."""

    start: int
    end: int
    packet: bytes


def xmp_segments(data: bytes) -> list[XmpSegment]:
    """The XMP of a JPEG. Raises JpegError as `iter_segments` does."""
    return [
        XmpSegment(s.end - len(s.payload) - 4, s.end, s.payload[len(XMP_HEADER) :])
        for s in iter_segments(data)
        if s.marker == APP1 and s.payload.startswith(XMP_HEADER)
    ]


def xmp_block(packet: bytes) -> bytes:
    """A packet as a segment. Raises JpegError if it does not fit one (65,504 bytes)."""
    payload = XMP_HEADER + packet
    if len(payload) > _MAX_SEGMENT:
        raise JpegError(f"an XMP packet of {len(packet)} bytes does not fit one segment")
    return b"\xff\xe1" + (len(payload) + 2).to_bytes(2, "big") + payload


def xmp_place(data: bytes) -> int:
    """Where a first XMP segment goes: behind the JFIF and Exif blocks. Raises JpegError."""
    place = 2
    for segment in iter_segments(data):
        if segment.marker == APP0 or segment.payload.startswith(EXIF_HEADER):
            place = segment.end
    return place


def _positive(value: Any) -> float | None:  # noqa: ANN401 - a rational, number or junk
    try:
        number = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return number if 0 < number < float("inf") else None


def _whole(value: Any) -> int | None:  # noqa: ANN401
    if isinstance(value, tuple) and value:
        value = value[0]
    return value if isinstance(value, int) and value > 0 else None


def _canon_file_number(note: Any, order: Literal["little", "big"]) -> int | None:  # noqa: ANN401
    """FileNumber of a Canon maker's note: a bare directory of 12-byte entries."""
    if not isinstance(note, bytes):
        return None
    for at in range(2, min(len(note) - 11, 2 + 12 * int.from_bytes(note[:2], order)), 12):
        tag, kind, count = (
            int.from_bytes(note[at + start : at + end], order)
            for start, end in ((0, 2), (2, 4), (4, 8))
        )
        if (tag, kind, count) == (0x0008, 4, 1):  # one unsigned long
            return int.from_bytes(note[at + 8 : at + 12], order) or None
    return None


def _text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return str(value).replace("\x00", "").strip() if value is not None else ""
