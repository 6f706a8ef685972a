"""What a stored picture says of itself: its provenance as XMP, and its bytes without it.

The image data and every other segment are copied bit for bit. The same function makes the fields
for storing and for checking, so a file is compared with exactly what its row would write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from schemas.capture_store import Run
from schemas.jpeg import JpegError, xmp_block, xmp_place, xmp_segments
from schemas.records import Frame, Scene
from schemas.xmp import EMPTY, XmpError, add_fields, read_fields, remove_fields, sayable

#: Characters of a value: all of them together fit one segment, whatever a category is called.
_LONGEST = 1000


def provenance(frame: Frame, scene: Scene, run: Run) -> dict[str, str]:
    """What the file of a frame says of its origin; what is not known is left out.

    Numbers are written so that reading them gives the same number back. A run is known by its
    start and its number: numbers alone would clash where workspaces are joined.
    """
    light, asked = frame.light, frame.requested
    facts: dict[str, object] = {
        "scene": scene.name,
        "category": scene.category,
        "count": scene.count,
        "lighting": frame.lighting,
        "kind": frame.kind,
        "reference": frame.number,
        "lux": _real(light.lux),
        "luxMin": _real(light.lux_min),
        "luxMax": _real(light.lux_max),
        "luxReadings": light.readings,
        "ev": _real(frame.ev),
        "evOffset": frame.ev_offset,
        "requestedShutterSeconds": _real(asked.shutter_s) if asked else None,
        "requestedIso": asked.iso if asked else None,
        "requestedFNumber": _real(asked.f_number) if asked else None,
        "run": run.id,
        "runStarted": run.started_at.isoformat(),
        "planDigest": run.plan_digest or None,
        "software": f"snaprig {run.versions.get('snaprig', 'of an unknown version')}",
        "simulated": run.simulated,
        "cameraSha256": frame.camera_sha256,
    }
    return {name: sayable(str(v))[:_LONGEST] for name, v in facts.items() if v is not None}


def _real(value: float | None) -> float | None:
    """As the catalog gives it back: 8 and 8.0 are one number, but two texts."""
    return None if value is None else float(value)


def stamp_frame(frame: Frame, data: bytes, scene: Scene, run: Run) -> tuple[Frame, bytes]:
    """The bytes to store for a frame, and the frame with their size and sha256.

    `data` is what the camera gave, whose digest the frame has already.
    """
    stamped = stamp(data, provenance(frame, scene, run))
    digest = hashlib.sha256(stamped).hexdigest()
    return replace(frame, size_bytes=len(stamped), sha256=digest), stamped


def stamp(data: bytes, fields: Mapping[str, str]) -> bytes:
    """The JPEG with `fields` in its XMP, in place of earlier ones of ours.

    They join the packet that is there. One that is broken, or too full for both (a segment holds
    64 KB), is left as it is, and ours goes into a segment of its own behind it, which ExifTool
    and Pillow read.

    Raises
    ------
    JpegError
        If the bytes are not a JPEG.
    """
    data = unstamp(data)
    present = xmp_segments(data)
    if present:
        first = present[0]
        try:
            merged = add_fields(first.packet, fields)
            if read_fields(merged) != fields:
                raise XmpError("another encoding than UTF-8")
            return data[: first.start] + xmp_block(merged) + data[first.end :]
        except (XmpError, JpegError):
            at = present[-1].end
    else:
        at = xmp_place(data)
    return data[:at] + xmp_block(add_fields(EMPTY, fields)) + data[at:]


def unstamp(data: bytes) -> bytes:
    """The JPEG without our fields: the camera's file again, byte for byte.

    Raises JpegError if the bytes are not a JPEG.
    """
    for found in reversed(xmp_segments(data)):
        packet = remove_fields(found.packet)
        if packet != found.packet:
            block = b"" if packet == EMPTY else xmp_block(packet)
            data = data[: found.start] + block + data[found.end :]
    return data


def read_stamp(data: bytes) -> dict[str, str]:
    """Our fields in a JPEG; empty where it has none.

    Raises
    ------
    JpegError
        If the bytes are not a JPEG.
    """
    found: dict[str, str] = {}
    for segment in xmp_segments(data):
        try:
            found |= read_fields(segment.packet)
        except XmpError:  # a foreign packet that `stamp` left alone
            continue
    return found
