"""What a believed frame lets expect of another exposure; no correct frame is ever refused."""

import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from capture.prediction import Anchor, Expectation, light_stops
from capture.reference import choose
from hardware_mocks.scene import load_scene
from hardware_mocks.sensor import Sensor
from rig.protocols import OfferedSettings
from schemas.acceptance import extremes
from schemas.exposure import F_NUMBERS, ISO_SPEEDS, SHUTTER_SPEEDS, Exposure
from schemas.plan import SweepPlan

OFFERED = OfferedSettings(
    SHUTTER_SPEEDS["1/3"], tuple(map(str, ISO_SPEEDS)), tuple(f"{n:g}" for n in F_NUMBERS["1/3"])
)
BLACK, WHITE = (np.bincount([level] * 1000, minlength=256).astype(np.uint32) for level in (0, 255))
#: A scene of even steps from dark to bright, in shares of full scale at 0 stops.
SCENE = np.geomspace(0.01, 0.9, 400)


def rendered(stops, curve=lambda x: x ** (1 / 2.2)):
    """Luma counts of the scene at an exposure, by a tone curve of 0..1."""
    level = np.rint(255 * curve(np.clip(SCENE * 2.0**stops, 0, 1)))
    return np.bincount(level.astype(int), minlength=256).astype(np.uint32)


def srgb(x):
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.maximum(x, 1e-9) ** (1 / 2.4) - 0.055)


def contrasty(x):
    """A crushed black and an S on top of sRGB: as a camera's standard picture style."""
    y = srgb(np.clip((x - 0.0025) / 0.9675, 0, 1))
    return 0.6 * y + 0.4 * y * y * (3 - 2 * y)


CURVES = {
    "power": lambda x: x ** (1 / 2.2),
    "flat": lambda x: x ** (1 / 1.8),
    "srgb": srgb,
    "S": contrasty,
}


# ---- the arithmetic


def share_black(share):
    """A frame with so many of its pixels black, the rest at the lowest levels."""
    counts = np.zeros(256, np.uint32)
    counts[:3] = round(1e6 * share), round(8e5 * (1 - share)), round(2e5 * (1 - share))
    return counts


def test_light_counts_by_true_stops():
    base = light_stops(Exposure(1 / 60, 100, 5.6), 1000)
    assert light_stops(Exposure(1 / 60, 200, 5.6), 1000) == pytest.approx(base + 1)
    assert light_stops(Exposure(1 / 60, 100, 5.6), 500) == pytest.approx(base - 1)
    assert light_stops(Exposure(1 / 60, 100, 11), 1000) == pytest.approx(base - 2)
    # 1/60 is 1/64, 30 s is 32 s: eleven stops apart.
    assert light_stops(Exposure(30, 100, 5.6), 1000) == pytest.approx(base + 11)


@given(st.floats(-4, 4), st.sampled_from(sorted(CURVES)))
def test_the_true_shift_is_among_the_possible_ones(shift, name):
    """Up to four stops, for any of these tone curves, within a fraction of the distance."""
    anchor = Anchor.of(rendered(0.0, CURVES[name]), 0.0)
    possible = anchor.shifts(extremes(rendered(shift, CURVES[name])).mean)
    error = 0.25 + 0.45 * abs(shift)
    assert possible.low - error <= shift <= possible.high + error


def test_black_and_white_have_no_bound_on_their_far_side():
    anchor = Anchor.of(rendered(0.0), 0.0)
    assert anchor.shifts(0.0).low == -math.inf
    assert anchor.shifts(255.0).high == math.inf
    assert anchor.shifts(0.0).high < -4
    assert anchor.shifts(255.0).low > 4


@given(st.floats(0, 255), st.floats(0, 255))
def test_brighter_pictures_lie_at_higher_shifts(one, other):
    anchor = Anchor.of(rendered(0.0), 0.0)
    dark, bright = (anchor.shifts(mean) for mean in sorted((one, other)))
    assert dark.low <= bright.low
    assert dark.high <= bright.high


# ---- the rules


def test_a_dead_shutter_is_told_from_darkness():
    expectation = Expectation(rendered(0.0), 0.0)
    assert expectation.deviation(BLACK, 0.0).kind == "silent_black"
    assert expectation.deviation(BLACK, 3.0).kind == "silent_black"
    # The brightest steps of the scene lie 8 stops above blackness at 0: dead down to -5.5.
    assert expectation.deviation(BLACK, -5.5).kind == "silent_black"
    # Around the border nothing tells them apart but the same again; far below it is dark.
    assert expectation.deviation(BLACK, -8.5).kind == "doubtful_black"
    assert expectation.deviation(BLACK, -11.5) is None


def test_after_a_dead_shutter_no_black_is_believed_until_something_shows():
    expectation = Expectation(rendered(0.0), 0.0)
    expectation.learn(BLACK, -9.0)
    assert expectation.deviation(BLACK, -9.0) is None
    assert expectation.deviation(BLACK, -12.0) is None
    expectation.distrust_shutter()
    for stops in (-9.0, -12.0):
        assert expectation.deviation(BLACK, stops).kind == "doubtful_black"
    expectation.learn(BLACK, -12.0)
    assert expectation.deviation(BLACK, -12.0).kind == "doubtful_black", "black proves nothing"
    expectation.renew(rendered(0.0), 0.0)
    assert expectation.deviation(BLACK, -9.0) is None


def test_a_black_picture_is_believed_beside_one_with_as_much_light():
    expectation = Expectation(rendered(0.0, contrasty), 0.0)
    expectation.learn(rendered(-7.0, contrasty), -7.0)
    assert expectation.deviation(BLACK, -8.5).kind == "doubtful_black", "the first is taken twice"
    expectation.learn(BLACK, -8.5)
    assert expectation.deviation(BLACK, -8.5) is None
    assert expectation.deviation(BLACK, -8.4) is None, "the lamp flickers"
    assert expectation.deviation(BLACK, -8.2).kind == "doubtful_black"


def test_black_beside_a_frame_that_was_not_is_looked_at_again():
    """Near the border of blackness a dead shutter is told by what as little light has shown."""
    expectation = Expectation(rendered(0.0, contrasty), 0.0)
    expectation.learn(BLACK, -7.5)
    expectation.learn(share_black(0.62), -8.5)
    assert expectation.deviation(BLACK, -8.5).kind == "doubtful_black"
    assert expectation.deviation(BLACK, -8.0).kind == "doubtful_black"
    # A frame with 80 to 95 % black lies within a stop of such a one.
    assert expectation.deviation(BLACK, -9.5).kind == "doubtful_black"
    assert expectation.deviation(BLACK, -9.7) is None
    assert (expectation.doubts_black(-9.5), expectation.doubts_black(-9.7)) == (True, False)
    # A frame that is nearly black says nothing: noise alone turns such ones over.
    expectation = Expectation(rendered(0.0, contrasty), 0.0)
    expectation.learn(BLACK, -7.5)
    expectation.learn(share_black(0.94), -8.5)
    assert expectation.deviation(BLACK, -8.5) is None


def test_black_with_no_less_light_than_a_black_frame_is_dark():
    expectation = Expectation(rendered(0.0, contrasty), 0.0)
    expectation.learn(BLACK, -7.5)
    assert expectation.deviation(BLACK, -10.0) is None


def test_black_with_more_light_than_what_showed_something_is_a_dead_shutter():
    """Whatever the tone curve: this camera shows what others crush."""
    expectation = Expectation(rendered(0.0), 0.0)
    expectation.learn(rendered(-11.0), -11.0)
    assert expectation.deviation(BLACK, -9.0).kind == "silent_black"


def test_a_white_picture_that_should_be_dark_is_refused():
    found = Expectation(rendered(0.0), 0.0).deviation(WHITE, -3.0)
    assert found.kind == "too_bright"
    assert found.stops > 3


@pytest.mark.parametrize("curve", sorted(CURVES))
@pytest.mark.parametrize("off", [-3.0, -2.0, 2.0, 3.0])
@pytest.mark.parametrize("at", [-1.0, 0.0, 1.0])
def test_two_stops_off_in_the_mid_range_are_refused(curve, off, at):
    expectation = Expectation(rendered(0.0, CURVES[curve]), 0.0)
    found = expectation.deviation(rendered(at + off, CURVES[curve]), at)
    assert found.kind == ("too_bright" if off > 0 else "too_dark")
    assert math.copysign(1, found.stops) == math.copysign(1, off)


@pytest.mark.parametrize("curve", sorted(CURVES))
@settings(deadline=None)
@given(order=st.permutations(range(-12, 17)), jitter=st.floats(-0.4, 0.4))
def test_a_correct_sweep_is_never_refused(curve, order, jitter):
    """In any order, with any of these tone curves, with light a third of a stop off."""
    expectation = Expectation(rendered(0.0, CURVES[curve]), 0.0)
    for at in order:
        histogram = rendered(at + jitter, CURVES[curve])
        found = expectation.deviation(histogram, float(at))
        assert found is None or found.kind == "doubtful_black"
        expectation.learn(histogram, float(at))


def test_the_nearest_believed_frame_is_asked():
    """Two stops off are within the tolerance three stops away, not at a neighbor's side."""
    expectation = Expectation(rendered(0.0), 0.0)
    wrong = rendered(5.25)
    assert expectation.deviation(wrong, 3.0) is None
    expectation.learn(rendered(2.5), 2.5)
    assert expectation.deviation(wrong, 3.0).kind == "too_bright"


def test_a_new_reference_takes_the_place_of_the_old_one():
    expectation = Expectation(rendered(0.0), 0.0)
    expectation.renew(rendered(-3.0), 0.0)  # the scene became darker
    assert expectation.deviation(rendered(-3.0), 0.0) is None
    assert expectation.deviation(rendered(0.5), 0.0) is not None


# ---- whole sweeps over the virtual sensor, no wire


def check_grid(photo: Path, plan: SweepPlan, size, lightings=((1000, 11), (10, 5))):
    """Shoot a plan of a photograph; returns counts by name."""
    scene, sensor = load_scene(photo, size=size), Sensor(0)
    totals: Counter[str] = Counter()
    for lux, ev_reference in lightings:

        def shoot(exposure, nth, lux=lux):
            pixels = sensor.develop(
                scene,
                lux=lux,
                shutter_s=exposure.shutter_s,
                f_number=exposure.f_number,
                iso=exposure.iso,
                nth=nth,
            ).pixels
            return np.array(Image.fromarray(pixels).convert("L").histogram(), np.uint32)

        believed = []  # light of shots that show something, where a black picture is believed
        reference = choose(plan, OFFERED, ev_reference)
        expectation = Expectation(shoot(reference, 1), light_stops(reference, lux))
        for shot in plan:
            histogram, stops = shoot(shot.exposure, 0), light_stops(shot.exposure, lux)
            # Two stops above the border of blackness half of the pixels show something.
            dead = extremes(histogram).black_fraction < 0.05
            noticed = dead and expectation.deviation(BLACK, stops) is not None
            if extremes(histogram).black_fraction <= 0.95:
                totals.update(shown=1)
                if expectation.deviation(BLACK, stops) is None:
                    believed.append(stops)
            found = expectation.deviation(histogram, stops)
            doubtful = found is not None and found.kind == "doubtful_black"
            totals.update(shots=1, dead=dead, noticed=noticed, doubtful=doubtful)
            totals.update(refused=found is not None and not doubtful)
            expectation.learn(histogram, stops)
        # What came later takes the others back.
        totals.update(wrong=sum(not expectation.doubts_black(stops) for stops in believed))
    return totals


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """A dark and a bright half with texture."""
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 480)
    picture = (20 + 200 * x[None, :, None] ** 2) * rng.uniform(0.6, 1.1, (320, 480, 3))
    path = tmp_path_factory.mktemp("photo") / "photo.png"
    Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(path)
    return path


@pytest.mark.parametrize("order", ["fewest_changes", "random"])
def test_the_whole_grid_of_a_synthetic_scene(photo, order):
    found = check_grid(photo, SweepPlan(order=order), (240, 160))
    assert (found["shots"], found["refused"]) == (1260, 0)
    # The first black picture of each lighting, and in a random order the first of more light.
    assert 1 <= found["doubtful"] <= (4 if order == "random" else 2)
    assert found["dead"] > 500
    assert found["noticed"] == found["dead"]
    # ISO 6400 lifts a few pixels out of black where other ISOs with as much light stay black.
    assert found["wrong"] <= 0.005 * found["shown"]


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.skipif("SNAPRIG_DATA" not in os.environ, reason="SNAPRIG_DATA is not set")
def test_the_whole_grid_of_twenty_real_scenes():
    folder = Path(os.environ["SNAPRIG_DATA"]) / "snap" / "annotations" / "images_SNAP"
    for photograph in sorted(folder.glob("*.jpg")):
        for order in ("fewest_changes", "random"):
            found = check_grid(photograph, SweepPlan(order=order), (480, 320))
            assert (found["shots"], found["refused"]) == (1260, 0), photograph.name
            # Noise moves the border of blackness with the ISO: a few are looked at again.
            assert found["doubtful"] <= 0.04 * found["shots"], photograph.name
            assert found["noticed"] >= 0.98 * found["dead"], photograph.name
            assert found["wrong"] <= 0.002 * found["shown"], photograph.name
