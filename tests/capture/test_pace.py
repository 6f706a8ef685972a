"""Time left."""

import pytest

from capture.pace import Pace


def test_nothing_is_said_without_evidence():
    assert Pace().left_s(100, 10) is None


@pytest.mark.parametrize(("slope", "overhead_s"), [(1.0, 1.2), (2.0, 0.8), (0.0, 0.1)])
def test_the_line_is_found(slope, overhead_s):
    pace = Pace()
    for _ in range(30):
        for shutter_s in (30.0, 8.0, 1.0, 0.01):
            pace.add(shutter_s, slope * shutter_s + overhead_s)
    expected = slope * 500 + overhead_s * 100
    assert pace.left_s(500, 100) == pytest.approx(expected, rel=0.1)


def test_one_speed_only_gives_its_own_time():
    pace = Pace()
    for _ in range(50):
        pace.add(0.01, 0.21)
    assert pace.left_s(1.0, 100) == pytest.approx(0.21 * 100 + 1, rel=0.2)


def test_a_long_exposure_ahead_counts():
    pace = Pace()
    for _ in range(20):
        pace.add(0.001, 1.0)
    assert pace.left_s(30, 1) > 25


def test_nothing_left_takes_no_time():
    pace = Pace()
    pace.add(1, 2)
    assert pace.left_s(0, 0) == 0
