"""Frames as models see them: the pixels of Pillow, upright, or a reason."""

import hashlib
import io

import numpy as np
import pytest
from PIL import Image, ImageOps
from timm.data import create_transform

from evaluate.errors import EvaluateError
from evaluate.images import read_pixels
from evaluate.tensor_transform import normalization, resize_crop, steps_key, tensor_steps
from tests.evaluate.conftest import jpeg


def read(tmp_path, data):
    path = tmp_path / "picture"
    path.write_bytes(data)
    return read_pixels(path, hashlib.sha256(data).hexdigest())


def saved(image, form, **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


PICTURE = Image.open(io.BytesIO(jpeg(3, (120, 80))))


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("progressive", [False, True])
def test_a_jpeg_has_the_pixels_of_pillow(tmp_path, mode, subsampling, progressive):
    data = saved(
        PICTURE.convert(mode), "JPEG", subsampling=subsampling, progressive=progressive, quality=90
    )
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(image.convert("RGB"))
    found = read(tmp_path, data)
    assert (found.shape, found.dtype) == ((80, 120, 3), np.uint8)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)


def test_real_photographs_have_the_pixels_of_pillow(snaprig_data):
    for path in sorted((snaprig_data / "snap/annotations/images_SNAP").glob("*.jpg"))[:3]:
        found = read_pixels(path, hashlib.sha256(path.read_bytes()).hexdigest())
        with Image.open(path) as image:
            np.testing.assert_array_equal(found, ImageOps.exif_transpose(image).convert("RGB"))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_every_orientation_is_turned_upright(tmp_path, orientation, form):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(PICTURE, form, exif=exif)
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    np.testing.assert_array_equal(read(tmp_path, data), expected)


@pytest.mark.parametrize("mode", ["LA", "P", "RGBA", "I;16", "1"])
def test_what_rgb_would_distort_is_refused(tmp_path, mode):
    image = Image.new("I;16", (8, 8)) if mode == "I;16" else PICTURE.convert(mode)
    with pytest.raises(EvaluateError, match="pixel mode"):
        read(tmp_path, saved(image, "PNG"))


@pytest.mark.parametrize("part", [0.02, 0.5, 0.95])
def test_a_cut_jpeg_is_an_error(tmp_path, part):
    data = jpeg(1, (300, 200))
    with pytest.raises(EvaluateError, match="cannot be decoded"):
        read(tmp_path, data[: int(part * len(data))])


def pipeline(**options):
    return create_transform((3, 96, 96), is_training=False, **options).transforms


@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize(("crop_pct", "crop_mode"), [(0.875, "center"), (1.0, "squash")])
def test_resizing_on_tensors_differs_by_a_gray_level_at_most(interpolation, crop_pct, crop_mode):
    steps = pipeline(interpolation=interpolation, crop_pct=crop_pct, crop_mode=crop_mode)
    # smooth, as photographs are, and noise
    for picture in (PICTURE.resize((640, 427), Image.Resampling.BICUBIC), PICTURE):
        kept = tensor_steps(steps)
        found = resize_crop(np.array(picture), kept)
        expected = picture
        for step in steps[: len(kept)]:
            expected = step(expected)
        assert found.shape == (3, 96, 96)
        difference = np.abs(found.astype(int) - np.asarray(expected).transpose(2, 0, 1))
        assert difference.max() <= 1


def test_pipelines_with_other_steps_run_as_they_are():
    assert tensor_steps(pipeline(crop_mode="border")) is None
    assert tensor_steps([*pipeline()[:2], lambda x: x, *pipeline()[2:]]) is None
    assert tensor_steps(pipeline()[:2]) is None


def test_the_key_tells_transforms_apart_and_not_their_normalization():
    keys = {
        steps_key(tensor_steps(pipeline(crop_pct=crop, interpolation=name)))
        for crop in (0.875, 0.9)
        for name in ("bicubic", "bilinear")
    }
    assert len(keys) == 4
    one, other = pipeline(mean=(0.5, 0.5, 0.5)), pipeline(mean=(0.4, 0.4, 0.4))
    assert steps_key(tensor_steps(one)) == steps_key(tensor_steps(other))
    assert normalization(one)[0] != normalization(other)[0]
    assert normalization(other)[0] == pytest.approx([0.4] * 3)
