"""A JPEG file as a Canon EOS Rebel T7 writes it, from pixels and settings.

Compared with the 20 frames of a real T7 in the public SNAP release: 4:2:2, the T7's quantization
tables, no JFIF segment, and the same Exif tags but for most of the maker's note.
"""

from __future__ import annotations

import io
import math
import re
import struct
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import piexif
from PIL import Image

from schemas.exposure import true_f_number, true_shutter_s

#: Says in every frame that no camera took it.
SOFTWARE = "snaprig virtual dark room"

# Quantization tables of the T7's "S2" JPEG, in rows of 8.
_LUMA_TABLE = [
    *(1, 1, 1, 1, 1, 2, 3, 3),
    *(1, 1, 1, 1, 1, 3, 3, 3),
    *(1, 1, 1, 1, 2, 3, 3, 3),
    *(1, 1, 1, 2, 3, 4, 4, 3),
    *(1, 1, 2, 3, 3, 5, 5, 4),
    *(1, 2, 3, 3, 4, 5, 5, 4),
    *(2, 3, 4, 4, 5, 6, 6, 5),
    *(4, 4, 5, 5, 5, 5, 5, 5),
]
_CHROMA_TABLE = [
    *(1, 1, 1, 2, 5, 5, 5, 5),
    *(1, 1, 1, 3, 5, 5, 5, 5),
    *(1, 1, 3, 5, 5, 5, 5, 5),
    *(2, 3, 5, 5, 5, 5, 5, 5),
    *(5, 5, 5, 5, 5, 5, 5, 5) * 4,
]

_MODEL = "Canon EOS Rebel T7"
_MODEL_ID = 0x80000432
#: Canon numbers files as folder and picture: 100-0001 is 1000001.
_FIRST_FOLDER = 100
_FILES_PER_FOLDER = 9999
_THUMBNAIL_SIZE = (160, 120)


def encode_jpeg(
    pixels: npt.NDArray[np.uint8],
    *,
    shutter_s: float,
    f_number: float,
    iso: int,
    taken_at: datetime,
    image_number: int,
    serial: str,
    lens: str,
    manual: bool,
    flash_fired: bool = False,
    focal_mm: int = 35,
    size: tuple[int, int] | None = None,
) -> bytes:
    """The file that the camera hands over.

    Parameters
    ----------
    pixels
        uint8 (H, W, 3), RGB.
    shutter_s, f_number, iso
        Marked settings. Exif gets them as marked (1/60, 5.6) and as APEX values of the true stops.
    taken_at
        The camera's own clock, which knows no time zone: it is written as it reads.
    image_number
        1 for the first picture; named in the maker's note as Canon's file number.
    serial, lens
        Body serial number; lens name such as ``EF-S18-55mm f/3.5-5.6 III``.
    manual
        Mode dial on M, else an automatic mode.
    focal_mm
        Where the zoom stands.
    size
        Width and height in pixels, if other than those of `pixels`.
    """
    image = Image.fromarray(pixels)
    if size is not None and size != image.size:
        image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    exif = {
        "0th": _image_tags(taken_at),
        "Exif": {
            **_exposure_tags(shutter_s, f_number, iso, manual=manual, flash_fired=flash_fired),
            **_body_tags(taken_at, serial, lens, focal_mm, image.size),
            piexif.ExifIFD.MakerNote: _maker_note(image_number),
        },
        "GPS": {piexif.GPSIFD.GPSVersionID: (2, 3, 0, 0)},
        "Interop": {piexif.InteropIFD.InteroperabilityIndex: b"R98"},
        "1st": {
            piexif.ImageIFD.Compression: 6,
            piexif.ImageIFD.XResolution: (72, 1),
            piexif.ImageIFD.YResolution: (72, 1),
            piexif.ImageIFD.ResolutionUnit: 2,
        },
        "thumbnail": _thumbnail(image),
    }
    return _with_exif(_compress(image), piexif.dump(exif))


def exif_shutter(shutter_s: float) -> tuple[int, int]:
    """ExposureTime as the body writes it: (1, 60), (5, 10), (30, 1); 10.3 s is (10, 1)."""
    if shutter_s < 0.28:
        return 1, round(1 / shutter_s)
    # libgphoto2 spells the 10 s of the dial "10.3"
    return _tenths(10.0 if math.isclose(shutter_s, 10.3) else shutter_s)


def _tenths(value: float) -> tuple[int, int]:
    """(8, 1) for a whole number, else tenths: (56, 10)."""
    return (round(value), 1) if value == round(value) else (round(value * 10), 10)


def _apex(stops: float) -> tuple[int, int]:
    """An APEX value in 65536ths; the body counts in eighths of a stop (1/40 s is 5.375)."""
    return round(stops * 8) * 8192, 65536


def _image_tags(taken_at: datetime) -> dict[int, Any]:
    tag = piexif.ImageIFD
    return {
        tag.ImageDescription: f"simulated: {SOFTWARE}".encode(),
        tag.Make: b"Canon",
        tag.Model: _MODEL.encode(),
        tag.Orientation: 1,
        tag.XResolution: (72, 1),
        tag.YResolution: (72, 1),
        tag.ResolutionUnit: 2,
        tag.Software: SOFTWARE.encode(),
        tag.DateTime: _clock(taken_at),
        tag.Artist: b"",
        tag.YCbCrPositioning: 2,
        tag.Copyright: b"",
    }


def _exposure_tags(
    shutter_s: float, f_number: float, iso: int, *, manual: bool, flash_fired: bool
) -> dict[int, Any]:
    tag = piexif.ExifIFD
    return {
        tag.ExposureTime: exif_shutter(shutter_s),
        tag.FNumber: _tenths(f_number),
        tag.ExposureProgram: 1 if manual else 0,  # a T7 on "A+" writes 0, not defined
        tag.ISOSpeedRatings: iso,
        tag.SensitivityType: 2,
        tag.RecommendedExposureIndex: iso,
        tag.ShutterSpeedValue: _apex(-math.log2(true_shutter_s(shutter_s))),
        tag.ApertureValue: _apex(2 * math.log2(true_f_number(f_number))),
        tag.ExposureBiasValue: (0, 1),
        tag.MeteringMode: 5,
        tag.Flash: 9 if flash_fired else 16,
        tag.ExposureMode: 1 if manual else 0,
        tag.WhiteBalance: 0,
        tag.CustomRendered: 0,
        tag.SceneCaptureType: 0,
    }


def _body_tags(
    taken_at: datetime, serial: str, lens: str, focal_mm: int, size: tuple[int, int]
) -> dict[int, Any]:
    tag = piexif.ExifIFD
    hundredths = f"{taken_at.microsecond // 10_000:02d}".encode()
    zoom = re.search(r"(\d+)(?:-(\d+))?mm", lens)
    shortest, longest = (int(zoom[1]), int(zoom[2] or zoom[1])) if zoom else (0, 0)
    return {
        tag.ExifVersion: b"0230",
        tag.DateTimeOriginal: _clock(taken_at),
        tag.DateTimeDigitized: _clock(taken_at),
        tag.SubSecTime: hundredths,
        tag.SubSecTimeOriginal: hundredths,
        tag.SubSecTimeDigitized: hundredths,
        tag.ComponentsConfiguration: b"\x01\x02\x03\x00",
        tag.FocalLength: (focal_mm, 1),
        tag.FlashpixVersion: b"0100",
        tag.ColorSpace: 1,
        tag.PixelXDimension: size[0],
        tag.PixelYDimension: size[1],
        tag.FocalPlaneXResolution: (size[0] * 1000, 893),
        tag.FocalPlaneYResolution: (size[1] * 1000, 593),
        tag.FocalPlaneResolutionUnit: 2,
        tag.CameraOwnerName: b"",
        tag.BodySerialNumber: serial.encode(),
        tag.LensSpecification: ((shortest, 1), (longest, 1), (0, 0), (0, 0)),
        tag.LensModel: lens.encode(),
    }


def _clock(taken_at: datetime) -> bytes:
    return taken_at.strftime("%Y:%m:%d %H:%M:%S").encode()


def _maker_note(image_number: int) -> bytes:
    """A Canon maker's note of two entries, FileNumber (0x0008) and ModelID (0x0010).

    Entries of four bytes lie in the directory itself, so no offset can go stale. Byte order is
    that of the Exif block: piexif writes big-endian.
    """
    folder, number = divmod(image_number - 1, _FILES_PER_FOLDER)
    file_number = (_FIRST_FOLDER + folder) * 10_000 + number + 1
    entries = (
        struct.pack(">HHII", tag, 4, 1, value)
        for tag, value in ((0x0008, file_number), (0x0010, _MODEL_ID))
    )
    return struct.pack(">H", 2) + b"".join(entries) + struct.pack(">I", 0)


def _thumbnail(image: Image.Image) -> bytes:
    """160 x 120 JPEG, the 3:2 picture between black bars, as Canon makes it."""
    thumbnail = Image.new("RGB", _THUMBNAIL_SIZE)
    width = _THUMBNAIL_SIZE[0]
    height = round(image.height * width / image.width)
    small = image.resize((width, height), Image.Resampling.BOX)
    thumbnail.paste(small, (0, (_THUMBNAIL_SIZE[1] - height) // 2))
    file = io.BytesIO()
    thumbnail.save(file, "JPEG", quality=90, subsampling="4:2:2")
    return file.getvalue()


def _compress(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", qtables=[_LUMA_TABLE, _CHROMA_TABLE], subsampling="4:2:2")
    return file.getvalue()


def _with_exif(jpeg: bytes, exif: bytes) -> bytes:
    """`jpeg` with an Exif segment in the place of Pillow's JFIF segment: Canon writes none."""
    start = 2
    if jpeg[2:4] == b"\xff\xe0":
        start += 2 + int.from_bytes(jpeg[4:6])
    return b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + jpeg[start:]
