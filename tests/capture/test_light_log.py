"""The light during a run: what counts as a sample, what is a gap, how the meter comes back."""

import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from capture.light_log import INTERVAL_S, LightLog
from rig.errors import AskOperator, Reconnect, Retry
from rig.light_guard import GAP_S, Band, Judgement
from schemas.plan import Lighting
from schemas.records import Light
from tests.devices import FakeClock, InMemoryMeter

#: 80 to 120 lux.
BAND = Band.of(Lighting(name="a", lux=100, tolerance=0.2, settle_s=2.0, ev_reference=8))


@pytest.fixture
def meter():
    found = InMemoryMeter(FakeClock(), lux=lambda now_s: 100 + now_s)
    found.open()
    return found


@pytest.fixture
def log(meter):
    return LightLog(meter, BAND, clock=meter.clock.now_s)


def poll_at(log, meter, *moments_s):
    for moment_s in moments_s:
        meter.clock.elapsed_s = moment_s - 0.001  # a read takes 1 ms
        log.poll()


def poll_for(log, meter, seconds):
    """Poll at the log's own pace."""
    end_s = meter.clock.now_s() + seconds
    while meter.clock.now_s() < end_s:
        meter.clock.sleep(log.poll())


def kinds(log):
    return [kind for kind, _ in log.take()[1]]


# ---- statistics of a window


def test_a_window_holds_mean_and_extremes_of_the_readings_inside(log, meter):
    poll_at(log, meter, 1, 2, 3, 4)
    light = log.window(1.5, 3.5)
    assert (light.lux, light.lux_min, light.lux_max) == pytest.approx((102.5, 102, 103))
    assert light.readings == 2


@pytest.mark.parametrize(("window", "lux"), [((2.1, 2.2), 102), ((2.8, 2.9), 103), ((3, 3), 103)])
def test_a_window_between_readings_takes_the_nearest(log, meter, window, lux):
    poll_at(log, meter, 1, 2, 3)
    light = log.window(*window)
    assert light.lux == light.lux_min == light.lux_max == pytest.approx(lux)
    assert light.readings == 1


def test_a_gap_stays_a_gap(log, meter):
    assert log.window(0, 1) == Light()
    poll_at(log, meter, 1)
    assert log.window(1 + GAP_S - 0.1, 5).readings == 1
    assert log.window(1 + GAP_S + 0.1, 5) == Light()


def test_readings_are_taken_once(log, meter):
    poll_at(log, meter, 1, 2)
    assert [r.lux for r in log.take()[0]] == pytest.approx([101, 102])
    assert log.take() == ([], [])
    assert log.window(0, 9).readings == 2


# ---- the guard and the judgement, fed by the log


def test_a_log_is_starting_until_light_has_been_seen_for_half_a_second(log, meter):
    assert log.starting
    poll_for(log, meter, 0.4)
    assert log.starting
    poll_for(log, meter, 0.3)
    assert not log.starting
    assert log.trouble == ""


def test_a_meter_that_never_answers_ends_the_start_with_its_error(log, meter):
    meter.faults.add("read", *(Retry("no sensor") for _ in range(9)))
    poll_for(log, meter, GAP_S + 0.5)
    assert not log.starting
    assert log.trouble == "the meter is silent: no sensor"


def test_time_alone_brings_trouble(log, meter):
    poll_for(log, meter, 1)
    meter.clock.sleep(GAP_S + 0.3)  # the thread hangs inside a call: nobody polls
    assert log.trouble == "the meter is silent"
    assert log.latest_lux is None


def test_an_exposure_is_judged_with_the_samples_of_the_log(log, meter):
    poll_for(log, meter, 2)
    assert log.judge(1.0, 1.8).judgement is Judgement.PENDING
    poll_for(log, meter, 1)
    assert log.judge(1.0, 1.8).judgement is Judgement.PROVEN
    meter.lux = 300.0
    poll_for(log, meter, 1)
    assert log.judge(2.2, 2.8).reason == "300 lux, outside 80 to 120 lux"
    assert "300 lux" in log.trouble
    assert log.latest_lux == 300


# ---- a meter that fails


def test_a_passing_fault_is_tried_again_without_opening_anew(log, meter):
    meter.faults.add("read", Retry("noise"))
    assert log.poll() == INTERVAL_S
    assert log.latest_lux is None
    meter.faults.add("open", AssertionError("must not be opened"))
    assert log.poll() == INTERVAL_S
    assert log.latest_lux == pytest.approx(100, abs=0.1)
    assert kinds(log) == ["meter_lost", "meter_back"]


@pytest.mark.parametrize("error", [Reconnect, AskOperator])
def test_a_lost_meter_is_opened_anew_with_back_off(log, meter, error):
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


@pytest.mark.parametrize(
    "fault",
    [
        Reconnect("The light meter is gone: Device not found"),  # unplugged
        Reconnect("No answer from the meter's hub: connection refused"),  # hub restarts
        Reconnect("The meter's hub gave no answer within 2 s."),  # hub hangs
        Retry("The light sensor is not ready (state 1)."),
        Retry("The light meter gave an impossible value (-1.8e+308 lx)."),
    ],
)
def test_after_any_fault_a_gap_stays_a_gap_and_the_light_has_to_settle(log, meter, fault):
    meter.lux = 100.0
    poll_for(log, meter, 3)
    verb = "read" if isinstance(fault, Retry) else "open"
    meter.faults.add("read", fault)
    meter.faults.add(verb, *(type(fault)(str(fault)) for _ in range(6)))
    lost_s = meter.clock.now_s()
    while meter.faults.queued[verb]:
        poll_for(log, meter, 0.1)
        if meter.clock.now_s() - lost_s > GAP_S:
            assert str(fault) in log.trouble
            assert log.judge(lost_s, lost_s).judgement is Judgement.REFUSED
    poll_for(log, meter, 0.5)
    back_s = meter.clock.now_s()
    assert "now inside again" in log.trouble
    poll_for(log, meter, BAND.settle_s + 1)
    assert log.trouble == ""
    assert log.judge(lost_s - 1.2, lost_s - 1.2).judgement is Judgement.PROVEN
    for moment_s in (lost_s, (lost_s + back_s) / 2, back_s - 0.6):
        assert log.judge(moment_s, moment_s).judgement is Judgement.REFUSED
    assert kinds(log) == ["meter_lost", "meter_back"]


def test_a_frozen_meter_is_a_gap_and_says_so(log, meter):
    meter.lux = 100.0
    poll_for(log, meter, 2)
    meter.frozen = True
    frozen_s = meter.clock.now_s()
    poll_for(log, meter, GAP_S - 0.3)
    assert (log.trouble, kinds(log)) == ("", [])
    poll_for(log, meter, 1)
    assert "the meter is frozen at 100 lux" in log.trouble
    assert log.judge(frozen_s, frozen_s).judgement is Judgement.REFUSED
    assert log.latest_lux is None
    meter.frozen = False
    poll_for(log, meter, BAND.settle_s + 0.5)
    assert log.trouble == ""
    readings, events = log.take()
    assert [kind for kind, _ in events] == ["meter_frozen", "meter_back"]
    assert "frozen for" in events[1][1]
    uptimes = [reading.uptime_ms for reading in readings]
    assert len(set(uptimes)) == len(uptimes)


def test_a_meter_that_started_anew_gives_fresh_samples(log, meter):
    meter.lux = 100.0
    poll_for(log, meter, 2)
    read = meter.read
    meter.read = lambda: replace(read(), uptime_ms=read().uptime_ms - 2000)
    poll_for(log, meter, 1)
    assert log.trouble == ""


@pytest.mark.parametrize("step_h", [-1, 1, 24])
def test_a_step_of_the_wall_clock_changes_nothing(log, meter, step_h):
    meter.lux = 100.0
    poll_for(log, meter, 2)
    meter.clock.started_at += timedelta(hours=step_h)
    poll_for(log, meter, 2)
    assert log.trouble == ""
    assert log.judge(1.5, 2.5).judgement is Judgement.PROVEN
    assert kinds(log) == []


# ---- the thread


def test_the_thread_polls_until_it_is_stopped(meter):
    log = LightLog(meter, BAND, interval_s=0.001)
    with log:
        deadline = time.monotonic() + 30
        while log.window(0, 1e9).readings < 5:
            assert time.monotonic() < deadline
            log.wait(0.1)
    log.take()
    time.sleep(0.01)
    assert log.take() == ([], [])


def test_stopping_a_log_that_never_started_is_harmless(log):
    log.stop()


def test_a_call_that_hangs_does_not_hold_the_end_up_and_leaves_no_meter_open(meter):
    hanging, answered = threading.Event(), threading.Event()
    opened = meter.open

    def hang():
        hanging.set()
        assert answered.wait(30)
        return opened()

    meter.open = hang
    meter.faults.add("read", Reconnect("gone"))
    log = LightLog(meter, BAND, interval_s=0.001)
    log.start()
    assert hanging.wait(30)
    log.stop(timeout_s=0.01)
    meter.close()
    answered.set()
    log._thread.join(30)
    assert not meter.is_open
