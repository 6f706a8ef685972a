"""A photograph becomes linear light, and comes back as it was."""

import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import piexif
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from hardware_mocks import optics
from hardware_mocks.scene import load_scene
from hardware_mocks.sensor import Sensor
from schemas.exposure import (
    F_NUMBERS,
    SHUTTER_SPEEDS,
    Exposure,
    parse_shutter_s,
    true_f_number,
    true_shutter_s,
)

SIZE = (96, 64)
LUMA = (0.299, 0.587, 0.114)


def ramp(width=96, height=64):
    """A smooth picture that has every 8-bit value from 0 to 255."""
    row = np.linspace(0, 255, width)
    gray = np.broadcast_to(row, (height, width))
    return np.stack([gray, gray[:, ::-1], gray], axis=-1).round().astype(np.uint8)


def photograph(path, pixels, *, shutter=(1, 60), f_number=(56, 10), iso=400, orientation=1):
    exif = piexif.dump(
        {
            "0th": {piexif.ImageIFD.Orientation: orientation},
            "Exif": {
                piexif.ExifIFD.ExposureTime: shutter,
                piexif.ExifIFD.FNumber: f_number,
                piexif.ExifIFD.ISOSpeedRatings: iso,
            },
        }
    )
    Image.fromarray(pixels).save(path, quality=98, subsampling=0, exif=exif)
    return path


def real_photographs(data: Path):
    photos = sorted((data / "snap" / "annotations" / "images_SNAP").glob("*_10_auto.jpg"))
    assert len(photos) == 20
    for photo in photos:
        exif = piexif.load(str(photo))["Exif"]
        yield (
            photo,
            {
                "shutter_s": np.divide(*exif[piexif.ExifIFD.ExposureTime]),
                "f_number": np.divide(*exif[piexif.ExifIFD.FNumber]),
                "iso": exif[piexif.ExifIFD.ISOSpeedRatings],
            },
        )


def test_every_8_bit_value_survives_there_and_back():
    bins = optics.tone_bins()
    middle = (bins[:-1] + bins[1:]) / 2
    assert (np.diff(bins) > 0).all()
    assert np.rint(optics.tone(middle)).astype(int).tolist() == list(range(256))


@given(st.floats(0, optics.BLACK), st.floats(optics.WHITE, 1e6))
def test_tone_curve_has_exact_ends(dark, bright):
    assert np.rint(optics.tone(np.array([dark, bright]))).tolist() == [0.0, 255.0]


@given(st.lists(st.floats(0, 2), min_size=2))
def test_tone_curve_never_falls(signals):
    assert (np.diff(optics.tone(np.sort(np.array(signals)))) >= 0).all()


def test_vignetting_is_one_on_the_axis_and_weaker_when_stopped_down():
    corners = []
    for f_number in F_NUMBERS["1"]:
        rows, columns = optics.falloff(193, 129, f_number)
        assert rows[64] == columns[96] == 1.0
        corners.append(float(rows[0] * columns[0]))
    assert corners == sorted(corners)
    assert 0.5 < corners[0] < corners[-1] < 0.95


@given(
    st.sampled_from(SHUTTER_SPEEDS["1"]), st.sampled_from(F_NUMBERS["1"]), st.integers(100, 6400)
)
def test_metered_light_is_the_light_of_exposure_one(shutter, f_number, iso):
    setting = {"shutter_s": parse_shutter_s(shutter), "f_number": f_number, "iso": iso}
    lux = optics.metered_lux(**setting)
    assert optics.relative_exposure(lux=lux, **setting) == pytest.approx(1)


def test_meter_constant_agrees_with_the_automatic_exposures_of_the_release():
    for lux, median_ev in ((1000, 10.55), (10, 3.98)):
        found = optics.metered_lux(shutter_s=1, f_number=2 ** (median_ev / 2), iso=100)
        assert math.log2(found / lux) == pytest.approx(0, abs=0.05)


def test_photograph_returns_at_its_own_exposure_and_light(tmp_path):
    photo = photograph(tmp_path / "ramp.jpg", ramp(), shutter=(1, 60), iso=100)
    scene = load_scene(photo, scene_lux=250, size=SIZE)
    setting = {"lux": 250, "shutter_s": 1 / 60, "f_number": 5.6, "iso": 100}
    pixels = Sensor(seed=3).develop(scene, **setting, nth=0).pixels
    was = np.asarray(Image.open(photo)).astype(int)
    assert np.abs(pixels - was).mean() < 4
    assert scene.assumption == "Exif: 1/60 s, ISO 100, f/5.6 at 250 lux (given)"


def test_real_photographs_return_at_their_own_exposure_and_light(snaprig_data):
    sensor = Sensor(seed=1)
    for photo, setting in real_photographs(snaprig_data):
        scene = load_scene(photo, scene_lux=10, size=(1920, 1280))
        pixels = sensor.develop(scene, lux=10, nth=0, **setting).pixels
        gray = np.asarray(Image.fromarray(pixels).convert("L")).astype(int)
        was = np.asarray(Image.open(photo).convert("L")).astype(int)
        assert np.abs(gray - was).mean() < 5, photo.name
        assert abs(gray.mean() - was.mean()) < 4, photo.name


def test_real_scenes_turn_black_and_white_where_the_release_says(snaprig_data):
    """The offsets that the release kept end where ours do: the released scripts' own rule."""
    kept = defaultdict(set)
    with (snaprig_data / "snap" / "annotations" / "data.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            if line["EV_offset"] != "auto":
                scene, lux, *_ = line["Path"].split("/")
                kept[scene, int(lux)].add(int(line["EV_offset"]))

    sensor, errors = Sensor(seed=1), []
    for photo, _ in real_photographs(snaprig_data):
        if photo.name.startswith("61_mouse"):
            continue  # ISO 125 at "10 lux": taken under the bright lighting, by its exposure
        scene = load_scene(photo, scene_lux=10, size=(480, 320))
        for lux, ev_reference in ((10, 5), (1000, 11)):
            ours = set()
            for offset in range(-9, 11):
                pixels = sensor.develop(
                    scene, lux=lux, shutter_s=2.0 ** (offset - ev_reference + 3), f_number=8,
                    iso=800, nth=0,
                ).pixels  # fmt: skip
                if 3 <= int((pixels @ LUMA).mean()) <= 253:
                    ours.add(offset)
            theirs = kept[photo.name.removesuffix("_10_auto.jpg"), lux]
            errors += [(min(ours) - min(theirs), max(ours) - max(theirs))]
    assert np.abs(errors).max() <= 2
    assert np.abs(np.mean(errors, axis=0)).max() < 0.5


def test_exposure_and_light_scale_the_scene(tmp_path):
    """A photograph that got a stop more light shows a scene half as bright."""
    one, two = (
        load_scene(photograph(tmp_path / f"{iso}.jpg", ramp(), iso=iso), scene_lux=100, size=SIZE)
        for iso in (100, 200)
    )
    assert one.luminance.mean() / two.luminance.mean() == pytest.approx(2, rel=0.01)


def test_light_is_estimated_where_it_is_not_given(tmp_path):
    photo = photograph(tmp_path / "a.jpg", ramp(), shutter=(1, 60), f_number=(56, 10), iso=100)
    scene = load_scene(photo, size=SIZE)
    lux = 65 * true_f_number(5.6) ** 2 / (true_shutter_s(1 / 60) * 100)
    assert f"{lux:.4g} lux (estimated" in scene.assumption
    given_lux = load_scene(photo, scene_lux=lux, size=SIZE)
    assert np.allclose(scene.luminance, given_lux.luminance)


def test_without_exif_it_is_well_exposed_at_offset_0(tmp_path):
    Image.fromarray(ramp()).save(tmp_path / "plain.png")
    scene = load_scene(tmp_path / "plain.png", size=SIZE)
    assert scene.assumption.startswith("no Exif exposure: assumed 1/60 s, ISO 100, f/5.6 at 1000")
    assert Exposure(1 / 60, 100, 5.6).ev_offset(11) == 0
    pixels = (
        Sensor(seed=5)
        .develop(scene, lux=1000, shutter_s=1 / 60, f_number=5.6, iso=100, nth=0)
        .pixels
    )
    assert np.abs(pixels.astype(int) - ramp()).mean() < 4


@pytest.mark.parametrize(
    "broken",
    [{"shutter": (0, 0)}, {"shutter": (0, 1)}, {"f_number": (1, 0)}, {"iso": 0}],
    ids=str,
)
def test_unusable_exif_counts_as_none(tmp_path, broken):
    scene = load_scene(photograph(tmp_path / "a.jpg", ramp(), **broken), size=SIZE)
    assert scene.assumption.startswith("no Exif exposure")


def test_dark_values_are_spread_so_that_they_do_not_posterize(tmp_path):
    Image.new("RGB", SIZE, (3, 3, 3)).save(tmp_path / "dark.png")
    scene = load_scene(tmp_path / "dark.png", size=SIZE)
    assert len(np.unique(scene.luminance)) > 1000
    # On the axis, where no vignetting was undone: evenly spread over the bin of value 3.
    center = scene.luminance[28:36, 42:54]
    setting = {"shutter_s": true_shutter_s(1 / 60), "f_number": true_f_number(5.6), "iso": 100}
    bin_width = np.diff(optics.tone_bins())[3] / optics.relative_exposure(lux=1000, **setting)
    assert np.ptp(center) == pytest.approx(bin_width, rel=0.1)
    assert center.std() == pytest.approx(bin_width / 12**0.5, rel=0.1)


def test_veiling_glare_lifts_black_beside_white(tmp_path):
    pixels = np.zeros((64, 96, 3), np.uint8)
    pixels[:, 48:] = 255
    Image.fromarray(pixels).save(tmp_path / "half.png")
    Image.fromarray(pixels * 0).save(tmp_path / "black.png")
    half, black = (load_scene(tmp_path / f"{n}.png", size=SIZE) for n in ("half", "black"))
    assert half.luminance[:, :48].mean() > 1.5 * black.luminance[:, :48].mean()
    assert half.luminance[:, :48].max() < 0.01 * half.luminance[:, 48:].mean()


@pytest.mark.parametrize("shape", [(31, 200), (200, 31), (64, 96), (640, 960), (1, 1)])
def test_any_shape_fills_the_frame(tmp_path, shape):
    Image.fromarray(ramp(shape[1], shape[0])).save(tmp_path / "a.png")
    scene = load_scene(tmp_path / "a.png", size=SIZE)
    assert scene.luminance.shape == (64, 96, 3)
    assert scene.luminance.dtype == np.float32
    assert np.isfinite(scene.luminance).all()
    assert (scene.luminance >= 0).all()


def test_orientation_is_respected(tmp_path):
    """Orientation 3: the stored picture is upside down."""
    pixels = np.zeros((64, 96, 3), np.uint8)
    pixels[:32] = 200
    upright = load_scene(photograph(tmp_path / "a.jpg", pixels), size=SIZE).luminance
    turned = load_scene(photograph(tmp_path / "b.jpg", pixels, orientation=3), size=SIZE).luminance
    assert upright[:30].mean() > 10 * upright[34:].mean()
    assert turned[34:].mean() > 10 * turned[:30].mean()


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "CMYK", "1", "I;16"])
def test_modes_are_understood(tmp_path, mode):
    gray = Image.new("L", SIZE, 128)
    if mode == "I;16":
        image = Image.fromarray(np.full((64, 96), 128 * 257, np.uint16))
    elif mode == "1":
        image = Image.new("1", SIZE, 1)
    else:
        image = gray.convert("RGB").convert(mode) if mode in ("CMYK", "P") else gray.convert(mode)
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    image.save(path)
    plain = tmp_path / "plain.png"
    Image.new("L", SIZE, 255 if mode == "1" else 128).save(plain)
    found, expected = (load_scene(p, size=SIZE).luminance for p in (path, plain))
    assert found.mean() == pytest.approx(expected.mean(), rel=0.05)


def test_transparent_parts_become_gray_cloth(tmp_path):
    Image.new("RGBA", SIZE, (255, 0, 0, 0)).save(tmp_path / "clear.png")
    red, green, blue = load_scene(tmp_path / "clear.png", size=SIZE).luminance.mean(axis=(0, 1))
    assert red == pytest.approx(green, rel=0.02)
    assert blue == pytest.approx(green, rel=0.02)


def test_the_same_file_is_the_same_scene(tmp_path):
    photo = photograph(tmp_path / "cup.jpg", ramp())
    one, two = load_scene(photo, size=SIZE), load_scene(photo, size=SIZE)
    assert one.name == "cup"
    assert one.digest == two.digest
    assert np.array_equal(one.luminance, two.luminance)


@pytest.mark.parametrize("content", [b"", b"not a picture", None], ids=["empty", "text", "cut"])
def test_broken_file_is_named(tmp_path, content):
    photo = photograph(tmp_path / "bad.jpg", ramp(640, 480))
    photo.write_bytes(photo.read_bytes()[:3000] if content is None else content)
    with pytest.raises(ValueError, match=r"bad\.jpg is not a readable picture .*give a JPEG"):
        load_scene(photo, size=SIZE)


@pytest.mark.parametrize("lux", [0, -1, math.nan, math.inf])
def test_light_must_be_positive(tmp_path, lux):
    photo = photograph(tmp_path / "a.jpg", ramp())
    with pytest.raises(ValueError, match="must be positive"):
        load_scene(photo, scene_lux=lux, size=SIZE)
