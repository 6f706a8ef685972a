"""A CR2 as far as a host that wants JPEGs looks at it: a TIFF whose first image is a JPEG.

The raw samples themselves are left out: this rig measures JPEGs, and a RAW file here serves to
show what a wrong image format does to a session.
"""

from __future__ import annotations

import struct

from hardware_mocks.canon_properties import ImageFormat

_TYPE_SHORT, _TYPE_LONG = 3, 4
_DATA_AT = 128


def files_of(image_format: ImageFormat, jpeg: bytes) -> list[bytes]:
    """What the body writes for one exposure, in order: JPEGs, and CR2s around them."""
    size_px = image_format.size_px
    return [jpeg if kind == 1 else cr2(jpeg, size_px) for kind, _, _ in image_format.files]


def cr2(jpeg: bytes, size_px: tuple[int, int]) -> bytes:
    """Wrap a JPEG in CR2 header and IFD0 (source: lclevy, "Canon CR2 file format", 2015)."""
    entries = (
        (0x0100, _TYPE_LONG, size_px[0]),  # ImageWidth
        (0x0101, _TYPE_LONG, size_px[1]),  # ImageLength
        (0x0103, _TYPE_SHORT, 6),  # Compression: old-style JPEG
        (0x0111, _TYPE_LONG, _DATA_AT),  # StripOffsets
        (0x0117, _TYPE_LONG, len(jpeg)),  # StripByteCounts
    )
    ifd = struct.pack("<H", len(entries))
    ifd += b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
    header = b"II*\0" + struct.pack("<I", 16) + b"CR\x02\0" + struct.pack("<I", 0)
    return (header + ifd + struct.pack("<I", 0)).ljust(_DATA_AT, b"\0") + jpeg
