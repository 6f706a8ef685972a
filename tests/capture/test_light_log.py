"""The light during a run."""

import time

import pytest

from capture.light_log import INTERVAL_S, REACH_S, LightLog
from rig.errors import AskOperator, Reconnect, Retry
from schemas.records import Light
from tests.devices import FakeClock, InMemoryMeter


@pytest.fixture
def meter():
    found = InMemoryMeter(FakeClock(), lux=lambda now_s: 100 + now_s)
    found.open()
    return found


def poll_at(log, meter, *moments_s):
    for moment_s in moments_s:
        meter.clock.elapsed_s = moment_s - 0.001  # a read takes 1 ms
        log.poll()


def test_a_window_holds_mean_and_extremes_of_the_readings_inside(meter):
    log = LightLog(meter)
    poll_at(log, meter, 1, 2, 3, 4)
    light = log.window(1.5, 3.5)
    assert (light.lux, light.lux_min, light.lux_max) == pytest.approx((102.5, 102, 103))
    assert light.readings == 2


@pytest.mark.parametrize(("window", "lux"), [((2.1, 2.2), 102), ((2.8, 2.9), 103), ((3, 3), 103)])
def test_a_window_between_readings_takes_the_nearest(meter, window, lux):
    log = LightLog(meter)
    poll_at(log, meter, 1, 2, 3)
    light = log.window(*window)
    assert light.lux == light.lux_min == light.lux_max == pytest.approx(lux)
    assert light.readings == 1


def test_a_gap_stays_a_gap(meter):
    log = LightLog(meter)
    assert log.window(0, 1) == Light()
    poll_at(log, meter, 1)
    assert log.window(1 + REACH_S - 0.1, 5).readings == 1
    assert log.window(1 + REACH_S + 0.1, 5) == Light()


def test_readings_are_taken_once(meter):
    log = LightLog(meter)
    poll_at(log, meter, 1, 2)
    assert [r.lux for r in log.take()[0]] == pytest.approx([101, 102])
    assert log.take() == ([], [])
    assert log.window(0, 9).readings == 2


def test_a_passing_fault_is_tried_again_without_opening_anew(meter):
    log = LightLog(meter)
    meter.faults.add("read", Retry("noise"))
    assert log.poll() == INTERVAL_S
    assert log.latest_lux is None
    meter.faults.add("open", AssertionError("must not be opened"))
    assert log.poll() == INTERVAL_S
    assert log.latest_lux == pytest.approx(100, abs=0.1)
    assert [kind for kind, _ in log.take()[1]] == ["meter_lost", "meter_back"]


@pytest.mark.parametrize("error", [Reconnect, AskOperator])
def test_a_lost_meter_is_opened_anew_with_back_off(meter, error):
    log = LightLog(meter)
    meter.faults.add("read", error("unplugged"))
    meter.faults.add("open", *(Reconnect("still gone") for _ in range(6)))
    delays = [log.poll() for _ in range(7)]
    assert delays == sorted(delays)
    assert delays[0] > INTERVAL_S
    assert delays[-1] == delays[-2] == 8.0
    assert log.poll() == INTERVAL_S
    readings, events = log.take()
    assert len(readings) == 1
    assert events == [("meter_lost", "unplugged"), ("meter_back", "after 7 failed readings")]


def test_the_thread_polls_until_it_is_stopped(meter):
    log = LightLog(meter, interval_s=0.001)
    log.start()
    deadline = time.monotonic() + 30
    while log.window(0, 1e9).readings < 5:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    log.stop()
    log.take()
    time.sleep(0.01)
    assert log.take() == ([], [])


def test_stopping_a_log_that_never_started_is_harmless(meter):
    LightLog(meter).stop()
