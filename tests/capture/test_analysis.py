"""Picture bytes to numbers."""

import io

import numpy as np
import pytest
from PIL import Image

from capture.analysis import analyze, small_luma
from schemas.exposure import Exposure
from schemas.jpeg import JpegError
from tests.devices import FakeClock, render


def jpeg(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=100, subsampling=0)
    return file.getvalue()


def test_the_histogram_is_rec_601_luma_of_every_pixel():
    rng = np.random.default_rng(3)
    data = jpeg(rng.integers(0, 256, (40, 56, 3), dtype=np.uint8))
    with Image.open(io.BytesIO(data)) as image:
        decoded = np.asarray(image.convert("RGB"), dtype=np.float64)
    luma = decoded @ (0.299, 0.587, 0.114)
    seen = analyze(data)
    assert seen.histogram.sum() == 40 * 56
    assert (seen.width_px, seen.height_px) == (56, 40)
    assert seen.luma.mean == pytest.approx(luma.mean(), abs=0.05)
    below = np.cumsum(seen.histogram)
    for level in (32, 128, 200):  # half a level of rounding either way
        assert (luma <= level - 0.5).sum() <= below[level] <= (luma <= level + 1).sum()


def test_clipping_is_counted_per_channel():
    pixels = np.zeros((48, 48, 3), dtype=np.uint8)
    pixels[:16], pixels[16:24], pixels[24:32, :, 0] = 255, (255, 0, 0), 255
    data = jpeg(pixels)
    with Image.open(io.BytesIO(data)) as image:
        decoded = np.asarray(image.convert("RGB"))
    seen = analyze(data)
    for channel, name in enumerate(("red", "green", "blue")):
        found = getattr(seen, name)
        assert found.low == pytest.approx((decoded[..., channel] == 0).mean())
        assert found.high == pytest.approx((decoded[..., channel] == 255).mean())
    assert seen.red.low < seen.blue.low
    assert seen.red.high > 0.3


def test_gray_pictures_count_alike_in_all_channels():
    seen = analyze(jpeg(np.full((16, 16), 255, dtype=np.uint8)))
    assert seen.luma.white_fraction == 1
    assert seen.red.high == seen.green.high == seen.blue.high == 1


def test_the_exif_settings_come_along():
    data = render(Exposure(1 / 60, 400, 5.6), 1000, FakeClock().now())
    exif = analyze(data).exif
    assert (exif.shutter_s, exif.iso, exif.f_number) == (1 / 60, 400, 5.6)


@pytest.mark.parametrize("keep", [0.999, 0.6, 0.1, 0.0])
def test_a_truncated_file_cannot_be_analyzed(keep):
    data = render(Exposure(1 / 60, 400, 5.6), 1000, FakeClock().now())
    with pytest.raises(JpegError):
        analyze(data[: int(len(data) * keep)])


@pytest.mark.parametrize("keep", [0.999, 0.9, 0.5])
def test_image_data_that_ends_early_before_a_valid_end_marker_is_noticed(keep):
    """Pillow takes such a file for a picture with a gray lower part."""
    rng = np.random.default_rng(3)
    data = jpeg(rng.integers(0, 256, (160, 240, 3), dtype=np.uint8))
    cut = data[: int(len(data) * keep)].rstrip(b"\xff") + b"\xff\xd9"
    with Image.open(io.BytesIO(cut)) as image:
        image.load()  # no complaint
    with pytest.raises(JpegError, match="premature end"):
        analyze(cut)


def test_the_pixels_are_those_that_pillow_decodes():
    data = render(Exposure(1 / 60, 400, 5.6), 1000, FakeClock().now())
    with Image.open(io.BytesIO(data)) as image:
        counts = image.convert("L").histogram()
    assert analyze(data).histogram.tolist() == counts


def test_a_small_luma_shows_the_same_scene():
    y, x = np.mgrid[0:1280, 0:1920]
    pixels = np.repeat((x / 1920 * 200 + y / 1280 * 50).astype(np.uint8)[:, :, None], 3, axis=2)
    small = small_luma(jpeg(pixels))
    assert small.shape == (160, 240)
    blocks = pixels[:, :, 0].reshape(160, 8, 240, 8).mean(axis=(1, 3))
    assert np.abs(small - blocks).max() < 2


def test_another_kind_of_file_is_no_picture():
    with pytest.raises(JpegError, match="not a JPEG"):
        analyze(b"RIFF....WEBP")
