"""What a person sees of a run."""

from dataclasses import replace

import pytest

from capture.progress import Lines, duration, outcomes, pace, shown
from capture.states import RunState, Snapshot
from schemas.exposure import Exposure
from schemas.records import Outcome
from tests.devices import FakeClock

RUNNING = Snapshot(
    RunState.RUNNING,
    planned=630,
    counts={Outcome.ACCEPTED: 40, Outcome.REJECTED_BLACK: 2},
    shot=Exposure(1 / 60, 400, 5.6),
    lux=998.7,
    shots_per_min=31.2,
    left_s=1234,
)


def test_details_name_counts_light_rate_and_time_left():
    assert outcomes(RUNNING) == "accepted 40, black 2"
    assert pace(RUNNING) == "998.7 lux, 31.2 shots/min, 21 min left"


def test_what_is_not_known_is_not_said():
    early = Snapshot(RunState.PREPARING, planned=630)
    assert outcomes(early) == pace(early) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (119.4, "119 s"), (120, "2 min"), (3599, "60 min"), (7500, "2 h 05 min")],
)
def test_durations_read_well(seconds, text):
    assert duration(seconds) == text


def test_lines_come_with_a_change_of_state_a_message_or_time():
    clock, said = FakeClock(), []
    lines = Lines("cups/bright", said.append, clock.now_s)
    for _ in range(3):
        lines(RUNNING)
    assert said == [f"cups/bright: running, 42 of 630 shots, {outcomes(RUNNING)}, {pace(RUNNING)}"]
    lines(Snapshot(RunState.RUNNING, planned=630, message="reconnecting"))
    assert said[1:] == ["cups/bright: reconnecting"]
    clock.sleep(60)
    lines(RUNNING)
    lines(Snapshot(RunState.DONE, planned=630))
    assert said[3:] == ["cups/bright: done, 0 of 630 shots"]


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    with shown("cups/bright") as watch:
        watch(replace(RUNNING, state=RunState.STOPPING, message="[no markup] Ctrl-C"))
    seen = capsys.readouterr().err
    assert "42/630" in seen
    assert "[no markup] Ctrl-C" in seen
