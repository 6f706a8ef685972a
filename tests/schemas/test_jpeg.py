"""Segments, Exif and XMP of real and made JPEG files."""

import contextlib
import io
import itertools
from pathlib import Path

import piexif
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from schemas.jpeg import (
    JpegError,
    check_complete,
    iter_segments,
    read_exif,
)


def picture(exif: bytes = b"", size=(16, 8)) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise(size, 40).save(buffer, "JPEG", exif=exif)
    return buffer.getvalue()


def exif_block(**tags: object) -> bytes:
    exif = {getattr(piexif.ExifIFD, name): value for name, value in tags.items()}
    return piexif.dump({"0th": {piexif.ImageIFD.Model: b"Canon EOS Rebel T7"}, "Exif": exif})


def test_nominal_settings_are_read_and_apex_ones_are_not():
    data = picture(
        exif_block(
            ExposureTime=(1, 60),
            FNumber=(56, 10),
            ISOSpeedRatings=400,
            ShutterSpeedValue=(6, 1),  # APEX: 1/64 s
            ApertureValue=(5, 1),  # APEX: f/5.657
            DateTimeOriginal=b"2026:01:02 03:04:05",
            SubSecTimeOriginal=b"78",
            Flash=16,
        )
    )
    exif = read_exif(data)
    assert exif.shutter_s == pytest.approx(1 / 60)
    assert (exif.f_number, exif.iso) == (5.6, 400)
    assert exif.taken_at == "2026:01:02 03:04:05.78"
    assert exif.model == "Canon EOS Rebel T7"
    assert not exif.flash_fired


def test_missing_or_unusable_tags_are_none():
    exif = read_exif(picture(exif_block(ExposureTime=(0, 0), FNumber=(0, 10), Flash=1)))
    assert (exif.shutter_s, exif.f_number, exif.iso) == (None, None, None)
    assert exif.flash_fired
    assert read_exif(picture()).shutter_s is None


def test_saturated_iso_falls_back_to_the_recommended_index():
    exif = read_exif(
        picture(
            exif_block(ISOSpeedRatings=65535, RecommendedExposureIndex=102400, ExposureTime=(1, 60))
        )
    )
    assert exif.iso == 102400


def test_real_photographs(snaprig_data: Path):
    photos = sorted((snaprig_data / "snap/annotations/images_SNAP").glob("*.jpg"))
    assert len(photos) == 20
    for photo in photos:
        data = photo.read_bytes()
        check_complete(data)
        exif = read_exif(data)
        truth = piexif.load(data)["Exif"]
        numerator, denominator = truth[piexif.ExifIFD.ExposureTime]
        assert exif.shutter_s == pytest.approx(numerator / denominator)
        assert exif.iso == truth[piexif.ExifIFD.ISOSpeedRatings]
        assert exif.model == "Canon EOS Rebel T7"


def test_segments_cover_the_file_up_to_the_image_data():
    data = picture(exif_block(FNumber=(8, 1)))
    segments = list(iter_segments(data))
    assert segments[0].start == 2
    for before, after in itertools.pairwise(segments):
        assert before.end == after.start
    assert data[segments[-1].end : segments[-1].end + 2] == b"\xff\xda"


def test_fill_bytes_before_a_marker_are_allowed():
    data = picture(exif_block(FNumber=(8, 1)))
    padded = data[:2] + b"\xff\xff" + data[2:]
    assert len(list(iter_segments(padded))) == len(list(iter_segments(data)))


@pytest.mark.parametrize("keep", [0, 1, 3, 30, 200])
def test_truncated_files_are_refused(keep):
    with pytest.raises(JpegError):
        check_complete(picture()[:keep])


def test_a_missing_end_marker_is_noticed_and_padding_is_not():
    data = picture(size=(64, 64))
    with pytest.raises(JpegError, match="end marker"):
        check_complete(data[:-10])
    check_complete(data + b"\x00" * 100)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow warns of a damaged Exif block
@given(st.binary(max_size=300))
def test_junk_never_raises_anything_else(junk):
    for data in (junk, b"\xff\xd8" + junk):
        for read in (check_complete, read_exif):
            with contextlib.suppress(JpegError):
                read(data)


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=30)
@given(st.data())
def test_mutated_headers_never_raise_anything_else(data):
    block = bytearray(picture(exif_block(FNumber=(8, 1), ExposureTime=(1, 60))))
    for _ in range(data.draw(st.integers(1, 8))):
        block[data.draw(st.integers(0, 150))] = data.draw(st.integers(0, 255))
    for read in (check_complete, read_exif):
        with contextlib.suppress(JpegError):
            read(bytes(block))
