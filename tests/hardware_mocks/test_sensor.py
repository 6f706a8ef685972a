"""Light and settings become pixels by the laws of a sensor."""

import io
import math
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hardware_mocks import sensor as physics
from hardware_mocks.canon_jpeg import encode_jpeg
from hardware_mocks.scene import Scene
from hardware_mocks.sensor import Sensor
from schemas.exposure import (
    F_NUMBERS,
    ISO_SPEEDS,
    SHUTTER_SPEEDS,
    Exposure,
    parse_shutter_s,
    true_f_number,
    true_shutter_s,
)

SENSOR = Sensor(seed=7)
SHUTTERS = [parse_shutter_s(name) for name in SHUTTER_SPEEDS["1"]]
LIGHTINGS = [(1000, 11), (10, 5)]
MIDDLE = {"lux": 1000, "shutter_s": 1 / 60, "f_number": 5.6, "iso": 100, "nth": 0}


def flat(luminance=0.15, size=(96, 64)):
    """An even scene; digest and so noise seed differ with its brightness."""
    field = np.full((size[1], size[0], 3), luminance, np.float32)
    return Scene("flat", field, "made for a test", f"{luminance!r}")


def natural(size=(96, 64), seed=0):
    """Brightness spread over about 8 stops around middle gray, as in ordinary scenes."""
    stops = np.random.default_rng(seed).normal(0, 1.3, (size[1], size[0], 1)).clip(-4, 3)
    field = np.repeat(0.15 * np.exp2(stops), 3, axis=-1).astype(np.float32)
    return Scene("natural", field, "made for a test", f"natural {seed}")


def at_offset(offset, ev_reference, iso):
    """Marked settings of the grid at an EV offset, or None where the grid has none."""
    for shutter_s in SHUTTERS:
        for f_number in F_NUMBERS["1"]:
            if Exposure(shutter_s, iso, f_number).ev_offset(ev_reference) == offset:
                return {"shutter_s": shutter_s, "f_number": f_number, "iso": iso}
    return None


def decoded(developed, **setting):
    jpeg = encode_jpeg(
        developed.pixels,
        **setting,
        taken_at=datetime(2025, 1, 1, tzinfo=UTC),
        image_number=1,
        serial="1",
        lens="EF-S18-55mm f/3.5-5.6 III",
        manual=True,
    )
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("L"))


def test_repeats_bit_for_bit_in_another_sensor_of_the_same_seed():
    one = Sensor(seed=7).develop(natural(), **MIDDLE)
    SENSOR.develop(natural(seed=1), **{**MIDDLE, "nth": 5})  # a history must not matter
    two = SENSOR.develop(natural(), **MIDDLE)
    assert np.array_equal(one.pixels, two.pixels)
    assert (one.shutter_s, one.f_number) == (two.shutter_s, two.f_number)


@pytest.mark.parametrize(
    "change", [{"nth": 1}, {"lux": 1000.5}, {"seed": 8}, {"iso": 200}], ids=str
)
def test_any_other_shot_has_another_noise(change):
    seed = change.pop("seed", 7)
    scene, center = flat(size=(192, 128)), np.s_[56:72, 84:108, 1]  # too small to show vignetting
    one = SENSOR.raw(scene, **MIDDLE)[center].astype(float)
    two = Sensor(seed).raw(scene, **{**MIDDLE, **change})[center].astype(float)
    noise = [(field - field.mean()).ravel() for field in (one, two)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.3


@given(st.sampled_from(SHUTTERS), st.sampled_from(F_NUMBERS["1"]), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_true_stops_with_small_errors(shutter_s, f_number, nth):
    scene = flat(size=(8, 8))
    shot = SENSOR.develop(scene, lux=10, shutter_s=shutter_s, f_number=f_number, iso=100, nth=nth)
    assert abs(math.log2(shot.shutter_s / true_shutter_s(shutter_s))) < 0.15
    assert abs(2 * math.log2(shot.f_number / true_f_number(f_number))) < 0.15
    again = SENSOR.develop(
        scene, lux=10, shutter_s=shutter_s, f_number=f_number, iso=100, nth=nth + 1
    )
    assert shot.shutter_s != again.shutter_s
    assert shot.f_number != again.f_number


def test_fixed_errors_belong_to_body_and_setting():
    def error(seed, shutter_s):
        """Mean over jitter, relative to the true stop."""
        body, scene = Sensor(seed), flat(size=(8, 8))
        setting = {**MIDDLE, "shutter_s": shutter_s}
        shots = [body.develop(scene, **{**setting, "nth": n}).shutter_s for n in range(20)]
        return np.mean(shots) / true_shutter_s(shutter_s) - 1

    errors = [error(seed, shutter_s) for seed in (1, 2) for shutter_s in (1 / 60, 1 / 125)]
    assert len({round(e, 3) for e in errors}) == 4
    assert error(1, 1 / 60) == errors[0]


@given(
    st.integers(0, len(SHUTTERS) - 2),
    st.integers(0, len(ISO_SPEEDS) - 2),
    st.integers(1, len(F_NUMBERS["1"]) - 1),
    st.floats(1, 2000),
    st.sampled_from(["shutter_s", "iso", "f_number", "lux"]),
)
@settings(max_examples=60, deadline=None)
def test_a_stop_more_of_anything_is_never_darker(shutter, iso, f_number, lux, what):
    base = {
        "shutter_s": SHUTTERS[shutter + 1],
        "iso": ISO_SPEEDS[iso],
        "f_number": F_NUMBERS["1"][f_number],
        "lux": lux,
    }
    more = {
        "shutter_s": SHUTTERS[shutter],
        "iso": ISO_SPEEDS[iso + 1],
        "f_number": F_NUMBERS["1"][f_number - 1],
        "lux": 2 * lux,
    }[what]
    scene = natural()
    less, lighter = (
        SENSOR.develop(scene, **setting, nth=0).pixels.mean()
        for setting in (base, {**base, what: more})
    )
    if less < 250:
        assert lighter >= less - 0.05  # noise about black
    if 10 < less < 200:
        assert lighter > 1.1 * less


def test_raw_signal_is_proportional_to_light():
    signals = []
    for lux in (50, 100, 200, 400):
        level = SENSOR.raw(flat(), **{**MIDDLE, "lux": lux}).mean(axis=(0, 1)) - physics.BLACK_LEVEL
        signals.append(level.mean())
    assert [b / a for a, b in pairwise(signals)] == pytest.approx([2, 2, 2], rel=0.05)


@pytest.mark.parametrize("iso", [100, 800, 6400])
def test_photon_transfer_is_linear(iso):
    """Variance against mean before the tone curve: slope of the gain, offset of the read noise."""
    means, variances = [], []
    gain = (physics.WHITE_LEVEL - physics.BLACK_LEVEL) / (physics.FULL_SCALE_E * 100 / iso)
    for share in (0.0, 0.05, 0.1, 0.2, 0.4, 0.6):
        scene = flat(1.0, size=(192, 128))
        exact = {"shutter_s": 0.25, "f_number": 8.0, "iso": iso, "nth": 0}
        lux = share * 65 * 64 / (0.25 * iso)
        center = SENSOR.raw(scene, lux=lux, **exact)[48:80, 72:120, 1].astype(float)
        # Vignetting and noise are separated by the difference of two shots of the same light.
        other = SENSOR.raw(scene, lux=lux, **{**exact, "nth": 1})[48:80, 72:120, 1].astype(float)
        difference = (center - center.mean()) - (other - other.mean())
        means.append(center.mean() - physics.BLACK_LEVEL)
        variances.append(difference.var() / 2)
    slope, offset = np.polyfit(means, variances, 1)
    assert slope == pytest.approx(physics.NOISE_GAIN**2 * gain, rel=0.15)
    assert np.corrcoef(means, variances)[0, 1] > 0.99
    read = physics.READ_NOISE_E**2 + (physics.ADC_NOISE_E * 100 / iso) ** 2
    assert variances[0] == pytest.approx((physics.NOISE_GAIN * gain) ** 2 * read + 1 / 12, rel=0.25)
    assert offset == pytest.approx(variances[0], abs=0.05 * max(variances))


def test_noise_grows_with_iso_at_equal_exposure():
    deviations = []
    for iso in ISO_SPEEDS:
        shutter_s = SHUTTERS[8 + ISO_SPEEDS.index(iso)]
        pixels = SENSOR.develop(
            flat(0.15, size=(192, 128)), lux=100, shutter_s=shutter_s, f_number=8, iso=iso, nth=0
        ).pixels
        deviations.append(pixels[54:74, 86:106].std(axis=(0, 1)).mean())
    assert all(a < b for a, b in pairwise(deviations)), deviations
    assert deviations[-1] > 4 * deviations[0]


def test_noise_at_iso_3200_is_that_of_real_frames():
    """Real T7 frames of the release: 2 to 4 levels in flat midtones, 1 to 2 in the shadows."""
    for luminance, low, high in ((0.15, 1.5, 4.0), (0.006, 0.8, 3.0)):
        pixels = SENSOR.develop(
            flat(luminance, (192, 128)), lux=10, shutter_s=1 / 30, f_number=4.5, iso=3200, nth=0
        ).pixels
        assert low < pixels[54:74, 86:106].std(axis=(0, 1)).mean() < high


def test_noise_is_common_to_the_channels_and_soft():
    field = SENSOR.raw(flat(0.3, (192, 128)), **{**MIDDLE, "iso": 1600, "shutter_s": 1 / 1000})
    noise = field[44:84, 76:116].astype(float)
    noise -= noise.mean(axis=(0, 1))
    assert np.corrcoef(noise[..., 0].ravel(), noise[..., 1].ravel())[0, 1] == pytest.approx(
        0.9, abs=0.05
    )
    across = np.corrcoef(noise[:, 1:, 1].ravel(), noise[:, :-1, 1].ravel())[0, 1]
    assert across == pytest.approx(0.25, abs=0.1)


def test_equal_exposures_look_nearly_the_same():
    means = []
    for shutter_s, iso, f_number in ((1 / 4, 100, 22), (1 / 60, 100, 5.6), (1 / 1000, 1600, 5.6),
                                     (1 / 15, 100, 11), (1 / 250, 6400, 22)):  # fmt: skip
        assert Exposure(shutter_s, iso, f_number).ev_offset(11) == 0
        pixels = SENSOR.develop(
            natural(), lux=1000, shutter_s=shutter_s, iso=iso, f_number=f_number, nth=0
        ).pixels
        means.append(pixels[24:40, 36:60].mean())
    assert max(means) - min(means) < 8


def test_corners_are_darker_wide_open_than_stopped_down():
    def corner(f_number, shutter_s):
        pixels = (
            SENSOR.raw(
                flat(), lux=1000, shutter_s=shutter_s, f_number=f_number, iso=100, nth=0
            ).astype(float)
            - physics.BLACK_LEVEL
        )
        return pixels[:6, :6].mean() / pixels[29:35, 45:51].mean()

    open_wide, stopped_down = corner(5.6, 1 / 60), corner(22, 1 / 4)
    assert open_wide < stopped_down - 0.1
    assert stopped_down < 1


@pytest.mark.parametrize(("lux", "ev_reference"), LIGHTINGS)
def test_offset_0_is_well_exposed(lux, ev_reference):
    gray = SENSOR.develop(natural(), lux=lux, nth=0, **at_offset(0, ev_reference, 400)).pixels
    assert 60 < gray.mean() < 150
    assert (gray == 0).mean() < 0.05
    assert (gray == 255).mean() < 0.05


@pytest.mark.parametrize(("lux", "ev_reference"), LIGHTINGS)
@pytest.mark.parametrize("iso", [100, 6400])
def test_both_ends_are_exact_after_the_jpeg(lux, ev_reference, iso):
    scene = natural((480, 320))
    for offset, value in ((-10, 0), (9, 255)):
        setting = at_offset(offset, ev_reference, iso)
        if setting is None:
            continue  # the grid has no such triplet at this ISO
        gray = decoded(SENSOR.develop(scene, lux=lux, nth=0, **setting), **setting)
        assert (gray == value).mean() > 0.95, (offset, iso)


def test_no_light_is_black_at_every_iso():
    for iso in ISO_SPEEDS:
        setting = {"shutter_s": 30.0, "f_number": 8.0, "iso": iso}
        gray = decoded(SENSOR.develop(natural((480, 320)), lux=0, nth=0, **setting), **setting)
        assert (gray == 0).mean() > 0.95, iso


def test_far_overexposure_is_clean_white():
    pixels = SENSOR.develop(natural(), lux=1e5, shutter_s=30, f_number=5.6, iso=6400, nth=0).pixels
    assert (pixels == 255).all()
    raw = SENSOR.raw(natural(), lux=1e5, shutter_s=30, f_number=5.6, iso=100, nth=0)
    assert (raw < physics.ADC_MAX).all()  # at ISO 100 the well is full before the converter
    raw = SENSOR.raw(natural(), lux=1e5, shutter_s=30, f_number=5.6, iso=6400, nth=0)
    assert (raw == physics.ADC_MAX).all()


@pytest.mark.parametrize("size", [(1, 1), (5, 33), (33, 5), (96, 65)])
def test_frames_of_any_size(size):
    assert SENSOR.develop(flat(size=size), **MIDDLE).pixels.shape == (size[1], size[0], 3)


@pytest.mark.parametrize(
    "wrong",
    [{"lux": -1}, {"shutter_s": 0}, {"f_number": 0}, {"iso": 0}, {"lux": math.nan}],
    ids=str,
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="settings must be positive"):
        SENSOR.develop(flat(), **{**MIDDLE, **wrong})
