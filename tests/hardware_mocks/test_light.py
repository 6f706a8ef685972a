from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardware_mocks.journal import Journal
from hardware_mocks.light import Light
from hardware_mocks.light_meter import VirtualLightMeter


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def test_steady_light(clock):
    light = Light(1000, clock)
    clock.now_s += 5
    assert light.lux == light.at(0) == light.at(1e6) == 1000
    assert light.span(100, 105).mean_lux == 1000


def test_step_is_weighed_by_time(clock):
    light = Light(1000, clock)
    clock.now_s = 101
    light.set(10)
    span = light.span(100, 103)
    assert span.mean_lux == pytest.approx((1000 + 10 + 10) / 3)
    assert (span.min_lux, span.max_lux) == (10, 1000)
    assert light.span(99, 100.5).mean_lux == 1000


def test_ramp_is_even_and_ends(clock):
    light = Light(0, clock)
    light.set(100, over_s=10)
    assert light.at(105) == pytest.approx(50)
    assert light.at(110) == light.at(1000) == 100
    assert light.span(100, 110).mean_lux == pytest.approx(50)


def test_change_overrides_a_ramp_under_way(clock):
    light = Light(0, clock)
    light.set(100, over_s=10)
    clock.now_s = 105
    light.set(20)
    assert light.at(104) == pytest.approx(40)
    assert light.at(105) == light.at(111) == 20


def test_moment_has_the_light_of_that_moment(clock):
    light = Light(1000, clock)
    clock.now_s = 101
    light.set(10)
    assert light.span(101, 101).mean_lux == 10


@given(st.lists(st.tuples(st.floats(0.01, 5), st.floats(0, 1e5), st.floats(0, 3)), max_size=8))
def test_mean_lies_between_the_extremes(changes):
    clock = Clock()
    light = Light(500, clock)
    for wait_s, lux, over_s in changes:
        clock.now_s += wait_s
        light.set(lux, over_s)
    span = light.span(100, clock.now_s + 4)
    slack = 1e-6 * (1 + span.max_lux)
    assert span.min_lux - slack <= span.mean_lux <= span.max_lux + slack


@pytest.mark.parametrize(("lux", "over_s"), [(-1, 0), (float("nan"), 0), (2e6, 0), (5, -1)])
def test_impossible_light_is_refused(clock, lux, over_s):
    with pytest.raises(ValueError, match=r"illuminance|cannot take"):
        Light(1000, clock).set(lux, over_s)


@pytest.fixture
def meter(clock):
    light = Light(1000, clock)
    return light, VirtualLightMeter(light, seed=3, journal=Journal(), clock=clock)


def test_meter_refreshes_at_4_hz_while_its_clock_runs_on(clock, meter):
    light, device = meter
    clock.now_s += 0.3
    before = device.state()
    light.set(10)
    clock.now_s += 0.1
    assert device.state().lux == before.lux
    assert device.state().uptime_ms == before.uptime_ms + 100
    clock.now_s += 0.2
    assert device.state().lux == pytest.approx(10, rel=0.005)


def test_meter_reads_the_same_however_often_it_is_asked(clock, meter):
    _, device = meter
    clock.now_s += 1.01
    first = device.state()
    assert all(device.state() == first for _ in range(50))


def test_meter_noise_is_small_and_seeded(clock):
    light = Light(1000, clock)
    devices = [VirtualLightMeter(light, seed=s, journal=Journal(), clock=clock) for s in (1, 1, 2)]
    readings = []
    for _ in range(40):
        clock.now_s += 0.25
        readings.append([d.state().lux for d in devices])
    first, same, other = zip(*readings, strict=True)
    assert first == same != other
    assert all(abs(lux - 1000) < 3 for lux in first)
    assert len(set(first)) > 20


def test_replugged_meter_starts_anew(clock, meter):
    _, device = meter
    told = []
    device.on_plug = told.append
    clock.now_s += 60
    device.unplug()
    device.unplug()
    assert not device.state().plugged
    clock.now_s += 1
    device.plug()
    clock.now_s += 0.1
    assert device.state().uptime_ms == pytest.approx(100, abs=1)
    assert told == [False, True]
