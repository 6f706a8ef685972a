"""What views do to pixels, and which names they have."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evaluate.corruptions import COMMON, SEVERITIES, SMALLEST_PX, corrupt
from evaluate.errors import EvaluateError
from evaluate.views import MID_GRAY, corruption, find_view, frequencies, split_frequencies

SQUARE = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
WIDE = np.random.default_rng(2).integers(0, 256, (40, 97, 3), np.uint8)


def smooth(height, width):
    """A picture with no noise of its own: ramps and a disk."""
    down, across = np.mgrid[0:height, 0:width]
    disk = 90 * (np.hypot(down - height / 2, across - width / 2) < height / 4)
    return np.stack([down, across, disk], axis=2).astype(np.uint8) + np.uint8(60)


def distance(a, b):
    return np.abs(a.astype(float) - b.astype(float)).mean()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("corruption:gaussian_noise:3", ("gaussian_noise", 3)),
        ("corruption:speckle_noise:1", ("speckle_noise", 1)),  # others may have shown it
        ("corruption:gaussian_noise:6", None),
        ("corruption:gaussian_noise:0", None),
        ("corruption:gaussian_noise", None),
        ("low:16", None),
    ],
)
def test_names_of_corruptions(name, found):
    assert corruption(name) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("low:16", ("low", 16)),
        ("high:8", ("high", 8)),
        ("lower:16", None),
        ("low:0", None),
        ("low:-8", None),
        ("low:", None),
        ("low:٨", None),
    ],
)
def test_names_of_frequencies(name, found):
    assert frequencies(name) == found


@pytest.mark.parametrize(
    "name",
    [
        *("", "gray", "Grayscale", "original ", "low", "low:0", "low:16\n", "high:x"),
        *("corruption:fog:0", "corruption:fog:6", "corruption:rain:1"),
        "corruption:speckle_noise:1",
    ],
)
def test_an_unknown_name_is_refused_with_what_there_is(name):
    with pytest.raises(EvaluateError) as refused:
        find_view(name)
    for word in ("original", "grayscale", "low:RADIUS", "high:RADIUS", *COMMON):
        assert word in str(refused.value)


def test_every_view_has_its_name_and_a_key_of_its_own():
    names = ["original", "grayscale", "low:8", "low:16", "high:8"]
    names += [f"corruption:{name}:{severity}" for name in COMMON for severity in SEVERITIES]
    views = [find_view(name) for name in names]
    assert [view.name for view in views] == names
    assert len({view.key for view in views}) == len(names)
    assert "imagecorruptions-imaug 1." in views[-1].key  # another version may draw other noise


@pytest.mark.parametrize("name", ["original", "grayscale", "low:8", "high:8", "corruption:fog:1"])
def test_a_view_keeps_shape_and_type_and_leaves_its_input_alone(name):
    given_pixels = WIDE.copy()
    given_pixels.flags.writeable = False
    seen = find_view(name).apply(given_pixels)
    assert (seen.shape, seen.dtype) == (WIDE.shape, np.uint8)
    assert np.array_equal(given_pixels, WIDE)


def test_original_is_the_frame_itself():
    assert find_view("original").apply(WIDE) is WIDE


def test_grayscale_of_a_pair_differs_only_by_luma():
    # equal Rec. 601 luma: .299 R + .587 G + .114 B = 76.2; and one that differs
    red, green, blue = (255, 0, 0), (0, 130, 0), (0, 0, 255)
    pair = np.zeros((4, 6, 3), np.uint8)
    pair[:, :2], pair[:, 2:4], pair[:, 4:] = red, green, blue
    seen = find_view("grayscale").apply(pair)
    assert np.ptp(seen, axis=2).max() == 0  # no chroma is left
    assert seen[0, 0, 0] == seen[0, 2, 0] == 76
    assert seen[0, 4, 0] == 29
    assert np.abs(seen[..., 0] - pair @ [0.299, 0.587, 0.114]).max() < 1


def test_grayscale_of_gray_is_itself():
    gray = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, axis=2)
    assert np.array_equal(find_view("grayscale").apply(gray), gray)


@settings(max_examples=30, deadline=None)
@given(
    arrays.arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))),
    st.sampled_from([1, 8, 16, 32]),
)
def test_low_and_high_frequencies_sum_to_the_picture(pixels, radius):
    low, high = split_frequencies(pixels, radius)
    assert np.abs(low + high - pixels).max() < 1e-3
    # the mean of a picture is its lowest frequency
    assert np.abs(low.mean((0, 1)) - pixels.mean((0, 1))).max() < 1e-2
    assert np.abs(high.mean((0, 1))).max() < 1e-2


@pytest.mark.parametrize("radius", [8, 16, 24])
@pytest.mark.parametrize("side", [49, 60, 64])
def test_the_parts_are_those_of_a_circle_in_the_spectrum(radius, side):
    # as the paper's reference does it: shifted spectrum, distance from the middle below radius
    picture = SQUARE[:side, :side]
    down, across = np.mgrid[0:side, 0:side]
    inside = np.hypot(down - side // 2, across - side // 2) < radius
    spectrum = np.fft.fftshift(np.fft.fft2(picture, axes=(0, 1)), axes=(0, 1))
    parts = [
        np.fft.ifft2(np.fft.ifftshift(spectrum * mask[..., None], axes=(0, 1)), axes=(0, 1)).real
        for mask in (inside, ~inside)
    ]
    for found, expected in zip(split_frequencies(picture, radius), parts, strict=True):
        assert np.abs(found - expected).max() < 1e-3


@pytest.mark.parametrize(("cycles", "part"), [(3, 0), (12, 1)])
def test_a_wave_goes_to_the_part_of_its_frequency_along_both_sides(cycles, part):
    height, width = 64, 128  # cycles over the shorter side, in both directions
    phase = 2 * np.pi * cycles / height * np.arange(width)
    for wave in (np.sin(phase)[None, :].repeat(height, 0), np.sin(phase[:64])[:, None]):
        pixels = np.broadcast_to(wave[..., None], (height, width, 3)).astype(np.float32)
        parts = split_frequencies(pixels, 8)
        assert np.abs(parts[part] - pixels).max() < 1e-4
        assert np.abs(parts[1 - part]).max() < 1e-4


def test_high_frequencies_are_shown_around_mid_gray():
    plain = np.full((32, 32, 3), 200, np.uint8)
    assert np.unique(find_view("high:8").apply(plain)).tolist() == [MID_GRAY]
    assert np.unique(find_view("low:8").apply(plain)).tolist() == [200]


@pytest.mark.parametrize("name", COMMON)
def test_every_corruption_runs_at_every_severity_and_repeats(name):
    seen = [find_view(f"corruption:{name}:{severity}").apply(SQUARE) for severity in SEVERITIES]
    for severity, one in zip(SEVERITIES, seen, strict=True):
        assert (one.shape, one.dtype) == (SQUARE.shape, np.uint8)
        assert distance(one, SQUARE) > 0
        assert np.array_equal(one, corrupt(SQUARE, name, severity))
    assert len({one.tobytes() for one in seen}) == len(SEVERITIES)


@pytest.mark.parametrize("name", ["gaussian_noise", "contrast"])
def test_severity_grows_the_difference(name):
    picture = smooth(64, 96)
    found = [distance(corrupt(picture, name, severity), picture) for severity in SEVERITIES]
    assert all(less < more for less, more in itertools.pairwise(found)), found


def test_noise_follows_the_picture():
    other = SQUARE.copy()
    other[0, 0, 0] ^= 1
    noise = [corrupt(p, "gaussian_noise", 1).astype(int) - p for p in (SQUARE, other)]
    assert np.abs(noise[0] - noise[1]).mean() > 5


def test_threads_and_the_global_generator_change_nothing():
    pictures = [np.roll(SQUARE, shift, axis=0) for shift in range(8)]
    names = ("shot_noise", "snow", "elastic_transform", "impulse_noise", "glass_blur")
    jobs = [(picture, name) for picture in pictures for name in names]
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    alone = [corrupt(picture, name, 2) for picture, name in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: corrupt(*job, 2), jobs))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
    assert np.array_equal(np.random.get_state()[1], before)


def test_the_names_are_those_of_the_package():
    package = pytest.importorskip("imagecorruptions")
    assert list(COMMON) == package.get_corruption_names("common")


def test_a_small_picture_is_refused():
    with pytest.raises(EvaluateError, match=f"31 x 40 px is too small for fog.*{SMALLEST_PX}"):
        find_view("corruption:fog:1").apply(np.zeros((40, 31, 3), np.uint8))


def test_without_the_package_the_reason_says_what_to_install(monkeypatch):
    from importlib.metadata import PackageNotFoundError

    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("evaluate.corruptions.version", absent)
    with pytest.raises(EvaluateError, match=r"imagecorruptions-imaug is not installed: pip"):
        find_view("corruption:fog:1")
