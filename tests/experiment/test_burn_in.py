"""The burn-in: what it says of a screen, from measured times."""

from dataclasses import replace

import pytest

from experiment.burn_in import BurnIn, present, verdict
from experiment.preflight import Check, Level
from experiment.results import spread
from experiment.timing import Mode, Refresh, Schedule
from experiment.timing_report import histogram, timing_document, timing_page
from tests.experiment.scripted_screen import ScriptedScreen

PROVEN = Refresh(144, 144.0, 0.0001, 119, "")
CHECKS = [Check("gamma", Level.NOTE, "left <as> it is")]


def burned(hz=144.0, trials=5, drop=(), mode=Mode.FRAMES, refresh=PROVEN):
    screen = ScriptedScreen(hz)
    screen.drop_at = set(drop)
    schedule = Schedule(mode, hz, 0.1, 0.2, 0.2)
    return BurnIn(refresh, schedule, present(screen, schedule, (96, 64), trials))


def test_an_exact_screen_is_proven_with_achieved_against_wanted():
    found = burned()
    document = timing_document(found, CHECKS)
    assert document["wanted"]["image"] == {
        "ms": 200.0, "refreshes": 28.8, "frames": 29, "achievable_ms": 201.389,
    }  # fmt: skip
    assert document["image_ms"]["mean"] == pytest.approx(201.389, abs=0.001)
    assert document["status"] == {"proven": 5, "failed": 0, "unproven": 0}
    assert document["verdict"].startswith("Proven by the times of flips: 5 of 5")
    assert "29 refreshes" in document["verdict"]
    assert document["flip_interval_ms"]["n"] == 5 * 58


def test_one_dropped_refresh_is_not_good_enough():
    found = burned(drop=[20])
    document = timing_document(found, CHECKS)
    assert document["dropped_frames"] == 1
    assert document["status"]["failed"] == 1
    assert verdict(found).startswith("Not good enough: 4 of 5")


def test_by_a_clock_the_verdict_names_the_reason():
    unproven = replace(PROVEN, fault="flips do not wait for the screen")
    found = burned(1000, mode=Mode.CLOCK, refresh=unproven)
    assert verdict(found).startswith("Unproven: flips do not wait for the screen;")
    assert timing_document(found, [])["flip_interval_ms"] is None


def test_the_page_shows_every_distribution_and_escapes_what_it_quotes():
    found = replace(burned(), stamp_errors_s=(0.001, 0.002), keys_sent=2)
    page = timing_page(found, CHECKS, "Timing")
    assert page.count("<svg") == 4
    assert "left &lt;as&gt; it is" in page
    assert "<link" not in page
    assert "<script" not in page


def test_lost_keys_are_said():
    page = timing_page(replace(burned(), keys_sent=20, keys_lost=3), [], "Timing")
    assert "3 of 20 keys were lost" in page


def test_the_bars_of_a_histogram_count_every_value():
    drawn = histogram([1.0, 1.0, 2.0, 5.0], mark=3.0)
    counts = [int(part.split("<")[0]) for part in drawn.split(": ")[1:]]
    assert sum(counts) == 4
    assert max(counts) == 2
    assert drawn.count("stroke-dasharray") == 1


def test_the_spread_of_nothing_is_nothing():
    assert spread([]) is None
    assert spread([2.0]) == {"n": 1, "mean": 2.0, "sd": 0.0, "min": 2.0, "max": 2.0}
