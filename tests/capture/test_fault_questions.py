"""Faults of the camera that end in a question: its sentence, the answer, and the end after it."""

from __future__ import annotations

import pytest

from tests.capture.fault_lab import FaultLab, finish

pytestmark = pytest.mark.wire


def test_power_is_cycled_for_a_body_that_hangs(make_fault_lab, fault_free):
    """busy_after_many: the command of `rig.toml` brings it back."""
    lab: FaultLab = make_fault_lab(power=True)
    lab.room.script("busy_after_many", 8)
    ended = lab.run()
    assert ended.code == 0, ended.said
    lab.check_truth()
    assert lab.outcomes() == fault_free
    assert "power_cycle" in lab.events()


#: Fault, the picture that it strikes, what the run says, and the answer in the room.
ASKED = [
    pytest.param(
        "busy_after_many",
        8,
        "the camera is busy",
        [("/power", {"on": False}), ("/power", {"on": True})],
        id="busy_after_many",
        marks=pytest.mark.soak,
    ),
    ("dial_moved", 8, "dial is on P", [("/dial", {"mode": "M"})]),
    (
        "lens_zoomed",
        8,
        "offers no aperture for 1/60 s, ISO 800, f/4.5",
        [("/zoom", {"focal_mm": 35})],
    ),
    ("lens_zoomed", 13, "taken at 55 mm, and not at 35 mm", [("/zoom", {"focal_mm": 35})]),
    ("battery_dies", 8, "battery", [("/power", {"on": True})]),
]


@pytest.mark.parametrize(("fault", "at", "sentence", "answers"), ASKED)
def test_a_sweep_asks_and_finishes_after_the_answer(
    make_fault_lab, fault_free, fault, at, sentence, answers
):
    lab: FaultLab = make_fault_lab()
    lab.room.script(fault, at)
    ask_and_answer(lab, sentence, answers, fault_free)


def test_a_full_card_is_named_and_another_one_helps(make_fault_lab, fault_free):
    """card_full."""
    lab: FaultLab = make_fault_lab(target="Memory card")
    lab.room.script("card_full", 8)
    ask_and_answer(lab, "card", [("/card", {})], fault_free)


def test_a_shutter_that_stays_shut_is_a_fault_and_no_darkness(make_fault_lab, fault_free):
    """silent_black for good: no shot is given up for it, none is `rejected_black`."""
    lab: FaultLab = make_fault_lab()
    lab.room.script("silent_black", 9, times=1000)
    ended = lab.run()
    assert ended.code == 3, ended.said
    assert "black" in ended.said
    lab.check_truth()
    lab.room.post("/reset", {})
    finish(lab, fault_free)


def ask_and_answer(lab: FaultLab, sentence: str, answers, fault_free) -> None:
    ended = lab.run()
    assert ended.code == 3, ended.said
    assert sentence in ended.document["reason"] + ended.document["next"]
    assert 0 < ended.document["remaining"] < len(lab.plan)
    lab.check_truth()
    for path, document in answers:
        lab.room.post(path, document)
    finish(lab, fault_free)
