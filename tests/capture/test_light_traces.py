"""Any light, any failure of the meter: no frame without proven light, and every shot its row."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rig.errors import Reconnect, Retry
from rig.protocols import LightReading
from schemas.plan import SweepPlan
from schemas.records import Outcome
from tests.capture.lab import BRIGHT

GOOD_LUX = 1000.0
#: Short exposures and long ones. None is black unless a lamp is out, and that must not pass for it.
PLAN = SweepPlan(shutter=("1/4000", "1/60", "2", "30"), iso=(100,), f_number=(5.6, 22))

#: What the lamp does, or why the meter cannot say.
lights = st.sampled_from((GOOD_LUX, GOOD_LUX, 0.0, 300.0, 890.0, 1110.0, 6000.0, "busy", "lost"))
#: A change that is shorter than two samples apart may not be seen: docs/technician.md.
lengths_s = st.sampled_from((0.3, 0.7, 1.5, 4.0, 17.0))
traces = st.lists(st.tuples(lengths_s, lights), max_size=14)


@dataclass
class Weather:
    """A trace of light from the plug-in of the meter on; good for ever behind its end."""

    trace: list[tuple[float, float | str]]
    readings: list[tuple[float, float]] = field(default_factory=list)

    def at(self, now_s: float) -> float | str:
        ends_s = accumulate(length_s for length_s, _ in self.trace)
        for end_s, (_, light) in zip(ends_s, self.trace, strict=True):
            if now_s < end_s:
                return light
        return GOOD_LUX

    def lux(self, now_s: float) -> float:
        """What falls on the scene: a meter that cannot be read dims no lamp."""
        light = self.at(now_s)
        return GOOD_LUX if isinstance(light, str) else light

    def spoil(self, lab) -> None:
        """Let the devices of a lab live under it."""
        lab.camera.lux = lab.meter.lux = self.lux
        read, opened = lab.meter.read, lab.meter.open

        def obstruct():
            light = self.at(lab.clock.now_s())
            if light == "busy":
                raise Retry("not ready")
            if light == "lost":
                raise Reconnect("unplugged")

        def reading() -> LightReading:
            obstruct()
            found = read()
            self.readings.append((found.monotonic_s, found.lux))
            return found

        def opening():
            if lab.clock.beat is not None:  # before the run it was there
                obstruct()
            return opened()

        lab.meter.read, lab.meter.open = reading, opening


def exposure_s(lab, frame):
    return tuple(
        (moment - lab.clock.started_at).total_seconds()
        for moment in (frame.commanded_at, frame.captured_at)
    )


def check_light_of(lab, weather, frame):
    start_s, end_s = exposure_s(lab, frame)
    window = (start_s - 0.5, end_s + 0.5)
    inside = [lux for moment_s, lux in weather.readings if window[0] <= moment_s <= window[1]]
    assert set(inside) <= {GOOD_LUX}, frame.setting
    # Not only as read: as it was. Every change of a trace lasts longer than from read to read.
    moments = [start_s + share * (end_s - start_s) / 200 for share in range(201)]
    assert {weather.lux(moment_s) for moment_s in moments} == {GOOD_LUX}, frame.setting
    for earlier, later in pairwise(moment_s for moment_s, _ in weather.readings):
        if later - earlier > 1.0:
            assert later <= window[0] or earlier >= window[1], frame.setting
    assert weather.readings[0][0] <= window[0]
    assert weather.readings[-1][0] >= window[1]


@pytest.fixture(scope="module")
def outcomes(make_lab):
    lab = make_lab()
    lab.sweep(PLAN)
    found = {frame.setting: frame.outcome for frame in lab.frames()}
    assert {*found.values()} == {Outcome.ACCEPTED, Outcome.REJECTED_WHITE}  # none is black
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(trace=traces)
def test_no_frame_without_proven_light_and_every_shot_its_row(make_lab, outcomes, trace):
    lab, weather = make_lab(), Weather(trace)
    weather.spoil(lab)
    summary = lab.sweep(PLAN, attempts=1, patience_s=600)
    assert (summary.status, summary.failed, summary.remaining) == ("done", 0, 0)
    assert {frame.setting: frame.outcome for frame in lab.frames()} == outcomes
    for frame in lab.frames():
        check_light_of(lab, weather, frame)


@pytest.mark.parametrize("light", [0.0, 6000.0, "lost"])
@pytest.mark.parametrize("length_s", [0.3, 4.0])
def test_a_change_at_every_moment_of_a_short_run(make_lab, light, length_s):
    """Slide one change over a run of two fast shots, in steps finer than those of the meter."""
    plan = PLAN.subset(shutter=("1/60",))
    check = functools.partial(_slide, make_lab, plan, light, length_s)
    for step in range(0, 24, 4):
        check(step / 10)


def _slide(make_lab, plan, light, length_s, start_s):
    lab, weather = make_lab(), Weather([(start_s, GOOD_LUX), (length_s, light)])
    weather.spoil(lab)
    summary = lab.sweep(plan, lighting=BRIGHT, attempts=1)
    assert (summary.status, summary.remaining) == ("done", 0)
    for frame in lab.frames():
        check_light_of(lab, weather, frame)
