"""Pictures and masks, pixel for pixel."""

import hashlib

import numpy as np
import pytest
from PIL import Image

from experiment.errors import ExperimentError
from experiment.image_preparation import halve, make_mask, open_picture

SHOWN = (96, 64)


def random_pixels(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def saved(path, pixels, **more):
    image = Image.fromarray(pixels) if isinstance(pixels, np.ndarray) else pixels
    image.save(path, **more)
    return path


def test_halving_is_the_exact_mean_of_two_by_two():
    pixels = random_pixels(64, 96)
    mean = pixels.reshape(32, 2, 48, 2, 3).astype(float).mean(axis=(1, 3))
    assert np.array_equal(halve(pixels), np.floor(mean + 0.5).astype(np.uint8))


@pytest.mark.parametrize(
    ("block", "mean"), [((0, 0, 0, 1), 0), ((0, 0, 1, 1), 1), ((255,) * 4, 255), ((1, 2, 3, 4), 3)]
)
def test_halves_are_rounded_up(block, mean):
    pixels = np.repeat(np.array(block, np.uint8).reshape(2, 2, 1), 3, axis=2)
    assert halve(pixels).tolist() == [[[mean] * 3]]


def test_a_frame_of_twice_the_size_is_halved_and_its_file_hashed(tmp_path):
    pixels = random_pixels(128, 192)
    path = saved(tmp_path / "frame.png", pixels)
    prepared = open_picture(path, SHOWN)
    assert np.array_equal(np.asarray(prepared.image), halve(pixels))
    assert prepared.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_picture_of_the_shown_size_stays_as_it_is(tmp_path):
    pixels = random_pixels(64, 96)
    prepared = open_picture(saved(tmp_path / "a.png", pixels), SHOWN)
    assert np.array_equal(np.asarray(prepared.image), pixels)


def test_a_gray_picture_becomes_rgb(tmp_path):
    prepared = open_picture(saved(tmp_path / "g.png", Image.new("L", SHOWN, 77)), SHOWN)
    assert np.asarray(prepared.image)[0, 0].tolist() == [77, 77, 77]


def test_exif_turns_the_picture_upright(tmp_path):
    pixels = np.zeros((96, 64, 3), np.uint8)
    pixels[:, 32:] = 255  # the right half is white
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    path = saved(tmp_path / "turned.png", pixels, exif=exif)
    upright = np.asarray(open_picture(path, SHOWN).image)
    assert upright.shape == (64, 96, 3)
    assert upright[:32].max() == 0
    assert upright[32:].min() == 255


def test_other_sizes_are_refused_or_fitted_on_request(tmp_path):
    path = saved(tmp_path / "wide.png", random_pixels(50, 200))
    with pytest.raises(ExperimentError, match="200 x 50 px"):
        open_picture(path, SHOWN)
    fitted = np.asarray(open_picture(path, SHOWN, fit=True).image)
    assert fitted.shape == (64, 96, 3)
    assert fitted[0, 0].tolist() == [128, 128, 128]


@pytest.mark.parametrize("mode", ["CMYK", "I;16", "RGBA"])
def test_what_would_be_shown_otherwise_is_refused(tmp_path, mode):
    suffix = "jpg" if mode == "CMYK" else "png"
    path = saved(tmp_path / f"odd.{suffix}", Image.new(mode, SHOWN))
    with pytest.raises(ExperimentError, match="8-bit"):
        open_picture(path, SHOWN)


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(ExperimentError, match=r"gone\.jpg is missing"):
        open_picture(tmp_path / "gone.jpg", SHOWN)
    whole = saved(tmp_path / "whole.jpg", random_pixels(128, 192))
    for name, data in {"cut": whole.read_bytes()[:3000], "text": b"no picture"}.items():
        path = tmp_path / f"{name}.jpg"
        path.write_bytes(data)
        with pytest.raises(ExperimentError, match=f"{name}.jpg cannot be read"):
            open_picture(path, SHOWN)


def test_a_noise_mask_is_uniform_over_all_levels_and_repeats_with_its_seed():
    mask = np.asarray(make_mask("noise", (960, 640), 1))
    assert (mask.shape, mask.dtype) == ((640, 960, 3), np.uint8)
    assert mask.mean() == pytest.approx(127.5, abs=0.5)
    for channel in range(3):
        counts = np.bincount(mask[:, :, channel].ravel(), minlength=256)
        assert counts.min() > 0.8 * counts.mean()
    assert np.array_equal(mask, np.asarray(make_mask("noise", (960, 640), 1)))
    assert not np.array_equal(mask, np.asarray(make_mask("noise", (960, 640), 2)))


def test_a_white_mask_is_white():
    assert np.asarray(make_mask("white", SHOWN, 0)).min() == 255


def test_there_is_no_other_mask():
    with pytest.raises(ValueError, match="noise, white"):
        make_mask("pink", SHOWN, 0)
