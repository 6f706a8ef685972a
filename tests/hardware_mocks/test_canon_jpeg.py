"""The virtual camera's file, compared with files of a real T7."""

import io
import struct
from datetime import UTC, datetime

import numpy as np
import piexif
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hardware_mocks.canon_jpeg import SOFTWARE, encode_jpeg, exif_shutter
from schemas.exposure import F_NUMBERS, ISO_SPEEDS, SHUTTER_SPEEDS, parse_shutter_s

PIXELS = np.full((64, 96, 3), 128, np.uint8)
TAKEN_AT = datetime(2024, 10, 3, 13, 33, 26, 830_000, tzinfo=UTC)
E = piexif.ExifIFD


def encode(pixels=PIXELS, **changed):
    given_ = {
        "shutter_s": 1 / 60,
        "f_number": 5.6,
        "iso": 400,
        "taken_at": TAKEN_AT,
        "image_number": 1,
        "serial": "572076004169",
        "lens": "EF-S18-55mm f/3.5-5.6 III",
        "manual": True,
    }
    return encode_jpeg(pixels, **{**given_, **changed})


def exif_of(jpeg):
    return piexif.load(jpeg)


def real_photos(data):
    return sorted((data / "snap" / "annotations" / "images_SNAP").glob("*.jpg"))


@pytest.mark.parametrize(
    ("marked", "written"),
    [("1/4000", (1, 4000)), ("1/60", (1, 60)), ("1/4", (1, 4)), ("0.3", (3, 10)), ("0.5", (5, 10)),
     ("1", (1, 1)), ("1.3", (13, 10)), ("10.3", (10, 1)), ("30", (30, 1))],
)  # fmt: skip
def test_exposure_time_is_written_as_marked(marked, written):
    assert exif_shutter(parse_shutter_s(marked)) == written


@given(
    st.sampled_from(SHUTTER_SPEEDS["1/3"]),
    st.sampled_from(F_NUMBERS["1/3"]),
    st.sampled_from(ISO_SPEEDS),
)
@settings(max_examples=40, deadline=None)
def test_every_setting_of_the_body_is_read_back(shutter, f_number, iso):
    shutter_s = parse_shutter_s(shutter)
    exif = exif_of(encode(shutter_s=shutter_s, f_number=f_number, iso=iso))["Exif"]
    assert np.divide(*exif[E.ExposureTime]) == pytest.approx(shutter_s, rel=0.03)
    assert np.divide(*exif[E.FNumber]) == pytest.approx(f_number)
    assert exif[E.ISOSpeedRatings] == exif[E.RecommendedExposureIndex] == iso
    # APEX values count the true stops, in eighths.
    apex = -np.divide(*exif[E.ShutterSpeedValue])
    assert apex * 8 == round(apex * 8)
    assert abs(apex - np.log2(shutter_s)) < 0.2


def test_apex_values_differ_from_marked_ones():
    exif = exif_of(encode(shutter_s=30.0, f_number=22.0))["Exif"]
    assert exif[E.ExposureTime] == (30, 1)
    assert np.exp2(-np.divide(*exif[E.ShutterSpeedValue])) == 32.0
    assert exif[E.FNumber] == (22, 1)
    assert np.exp2(np.divide(*exif[E.ApertureValue]) / 2) == pytest.approx(22.627, abs=0.001)


def test_exif_equals_that_of_real_frames(snaprig_data):
    """Every tag that a real T7 writes is there with the same value, but for those named here."""
    only_real = {"0th": {34853}, "Exif": {E.MakerNote, E.UserComment, E.LensSerialNumber}}
    only_ours = {"0th": {piexif.ImageIFD.ImageDescription, piexif.ImageIFD.Software}, "Exif": set()}
    for photo in real_photos(snaprig_data):
        real = piexif.load(str(photo))
        taken_at = datetime.strptime(
            real["0th"][piexif.ImageIFD.DateTime].decode(), "%Y:%m:%d %H:%M:%S"
        ).replace(microsecond=int(real["Exif"][E.SubSecTime]) * 10_000, tzinfo=UTC)
        ours = exif_of(
            encode(
                np.zeros((1280, 1920, 3), np.uint8),
                shutter_s=np.divide(*real["Exif"][E.ExposureTime]),
                f_number=np.divide(*real["Exif"][E.FNumber]),
                iso=real["Exif"][E.ISOSpeedRatings],
                taken_at=taken_at,
                serial=real["Exif"][E.BodySerialNumber].decode(),
                lens=real["Exif"][E.LensModel].decode(),
                manual=False,
                flash_fired=bool(real["Exif"][E.Flash] & 1),
            )
        )
        for ifd in ("0th", "Exif"):
            pointers = {34665, 34853, 40965}  # offsets of other directories
            theirs = {k: v for k, v in real[ifd].items() if k not in only_real[ifd] | pointers}
            made = {k: v for k, v in ours[ifd].items() if k not in only_ours[ifd] | pointers}
            made.pop(E.MakerNote, None)
            assert made == theirs, photo.name
        assert ours["Interop"] == real["Interop"]


def test_coding_equals_that_of_real_frames(snaprig_data):
    with Image.open(io.BytesIO(encode())) as ours:
        for photo in real_photos(snaprig_data)[:3]:
            with Image.open(photo) as real:
                assert ours.quantization == real.quantization
                assert ours.layer == real.layer  # 4:2:2
                assert "jfif" not in ours.info
                assert "jfif" not in real.info


def test_frame_says_that_it_is_simulated():
    tags = exif_of(encode())["0th"]
    assert tags[piexif.ImageIFD.Software].decode() == SOFTWARE == "snaprig virtual dark room"
    assert tags[piexif.ImageIFD.ImageDescription] == b"simulated: snaprig virtual dark room"
    assert tags[piexif.ImageIFD.Model] == b"Canon EOS Rebel T7"


@pytest.mark.parametrize(
    ("manual", "program", "mode"), [(True, 1, 1), (False, 0, 0)], ids=["manual", "auto"]
)
def test_mode_dial(manual, program, mode):
    exif = exif_of(encode(manual=manual))["Exif"]
    assert (exif[E.ExposureProgram], exif[E.ExposureMode]) == (program, mode)


def test_flash():
    assert exif_of(encode())["Exif"][E.Flash] & 1 == 0
    assert exif_of(encode(flash_fired=True))["Exif"][E.Flash] & 1 == 1


def test_time_to_the_hundredth():
    exif = exif_of(encode())["Exif"]
    assert exif[E.DateTimeOriginal] == b"2024:10:03 13:33:26"
    assert exif[E.SubSecTimeOriginal] == b"83"


@pytest.mark.parametrize(
    ("number", "file_number"), [(1, 1000001), (9999, 1009999), (10_000, 1010001)]
)
def test_maker_note_has_the_file_number(number, file_number):
    note = exif_of(encode(image_number=number))["Exif"][E.MakerNote]
    (count,) = struct.unpack_from(">H", note)
    entries = {
        tag: value
        for tag, kind, length, value in struct.iter_unpack(">HHII", note[2 : 2 + 12 * count])
        if (kind, length) == (4, 1)
    }
    assert entries == {0x0008: file_number, 0x0010: 0x80000432}


def test_lens_range():
    assert exif_of(encode(lens="EF50mm f/1.8 STM"))["Exif"][E.LensSpecification][:2] == (
        (50, 1),
        (50, 1),
    )
    assert exif_of(encode(lens="unknown"))["Exif"][E.LensSpecification][0] == (0, 1)


def test_thumbnail_shows_the_picture_between_bars():
    red = np.zeros((128, 192, 3), np.uint8)
    red[..., 0] = 255
    thumbnail = Image.open(io.BytesIO(exif_of(encode(red))["thumbnail"]))
    assert thumbnail.size == (160, 120)
    assert thumbnail.getpixel((80, 60))[0] > 240
    assert thumbnail.getpixel((80, 1))[0] < 20


def test_another_size_scales_the_picture():
    jpeg = encode(size=(48, 32))
    assert Image.open(io.BytesIO(jpeg)).size == (48, 32)
    exif = exif_of(jpeg)["Exif"]
    assert (exif[E.PixelXDimension], exif[E.PixelYDimension]) == (48, 32)


@pytest.mark.parametrize("value", [0, 255])
def test_flat_black_and_white_stay_exact(value):
    pixels = np.full((64, 96, 3), value, np.uint8)
    assert (np.asarray(Image.open(io.BytesIO(encode(pixels)))) == value).all()


def test_the_file_is_complete_and_repeats():
    jpeg = encode()
    assert jpeg[:4] == b"\xff\xd8\xff\xe1"
    assert jpeg[-2:] == b"\xff\xd9"
    assert jpeg == encode()
