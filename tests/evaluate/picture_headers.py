"""Pictures with Exif made byte by byte, for the tests of the header reader."""

import io
import random
import struct
import zlib

from PIL import Image

SHORT, LONG, RATIONAL, ASCII = 3, 4, 5, 2
EXPOSURE_TIME, F_NUMBER, ISO, EXPOSURE_MODE, EXPOSURE_PROGRAM = (
    0x829A,
    0x829D,
    0x8827,
    0xA402,
    0x8822,
)
DATE = 0x9003

#: tag, type, value: a plain exposure of 1/125 s at f/2.8 and ISO 200, manual.
PLAIN = (
    (EXPOSURE_TIME, RATIONAL, (1, 125)),
    (F_NUMBER, RATIONAL, (28, 10)),
    (EXPOSURE_PROGRAM, SHORT, 1),
    (ISO, SHORT, 200),
    (DATE, ASCII, b"2014:05:06 07:08:09\0"),
    (EXPOSURE_MODE, SHORT, 1),
)


def tiff(entries=PLAIN, order="<", exif_at=26):
    """A TIFF structure with the entries in its Exif IFD."""
    mark = b"II" if order == "<" else b"MM"
    main = struct.pack(order + "HHHII", 1, 0x8769, LONG, 1, exif_at) + bytes(4)
    head = mark + struct.pack(order + "HI", 42, 8) + main
    at = len(head) + 2 + 12 * len(entries) + 4
    table, data = struct.pack(order + "H", len(entries)), b""
    for tag, kind, value in entries:
        if kind == RATIONAL:
            raw, count = struct.pack(order + "II", *value), 1
        elif kind == ASCII:
            raw, count = value, len(value)
        else:
            raw, count = struct.pack(order + {SHORT: "H", LONG: "I"}[kind], value), 1
        if len(raw) > 4:
            data += raw
            raw = struct.pack(order + "I", at + len(data) - len(raw))
        table += struct.pack(order + "HHI", tag, kind, count) + raw.ljust(4, b"\0")
    return head + table + bytes(4) + data


def segment(code, body):
    return bytes([0xFF, code]) + struct.pack(">H", len(body) + 2) + body


def jpeg(*segments):
    """A JPEG up to its scan; a TIFF structure among the segments is wrapped as Exif."""
    return (
        b"\xff\xd8"
        + b"".join(s if s[:1] == b"\xff" else segment(0xE1, b"Exif\0\0" + s) for s in segments)
        + segment(0xDA, bytes(10))
    )


def photo(exif):
    """A small whole JPEG that any reader opens, with a TIFF structure as its Exif block."""
    whole = io.BytesIO()
    Image.new("RGB", (8, 8), "gray").save(whole, "JPEG")
    return b"\xff\xd8" + segment(0xE1, b"Exif\0\0" + exif) + whole.getvalue()[2:]


def png(*chunks):
    made = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (*chunks, (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + made


def pixels(size_bytes):
    """As many chunks of 8 KiB as libpng makes of so many bytes that do not compress."""
    noise = random.Random(1)  # noqa: S311 - repeatable
    return [(b"IDAT", noise.randbytes(8192)) for _ in range(size_bytes // 8192)]


def webp(*chunks):
    body = b"".join(
        kind + struct.pack("<I", len(data)) + data + bytes(len(data) & 1) for kind, data in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def xmp(*attributes):
    fields = " ".join(f'exif:{name}="{value}"' for name, value in attributes)
    packet = f"<x:xmpmeta><rdf:RDF><rdf:Description {fields}/></rdf:RDF></x:xmpmeta>"
    return segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + packet.encode())
