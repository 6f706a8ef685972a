"""Every named fault of the camera in a sweep of 20 shots through the real libraries.

Either the sweep ends as the fault-free one does, at the price of exposures, or it stops with the
right question and ends so after the answer. Rows are compared with the dark room's own journal.
Those of light, meter and host stand in `test_light_fault_sweeps.py`.
"""

from __future__ import annotations

import pytest

import capture.rescue
import rig.gphoto_camera
from tests.capture.fault_lab import FaultLab, finish

pytestmark = pytest.mark.wire

#: Fault, the picture that it strikes, its keys, and events that tell of it.
SURVIVED = [
    ("busy_on_set", 8, {"times": 2}, {"retry"}),
    ("busy_on_release", 8, {"times": 2}, {"retry"}),
    ("busy_after_many", 8, {"until": "session"}, {"retry", "rebuild"}),
    ("set_ignored", 8, {}, {"wrong_exif"}),
    ("stale_frame", 10, {}, {"stale_picture"}),
    ("leftover_in_buffer", 10, {}, {"retry"}),
    ("truncated_jpeg", 10, {}, {"undecodable"}),
    ("corrupt_jpeg", 10, {}, {"undecodable"}),
    ("no_object", 10, {}, {"retry"}),
    ("double_event", 10, {}, set()),
    ("raw_plus_jpeg", 10, {}, {"wrong_size"}),
    ("connection_drop", 10, {}, {"reconnect"}),
    ("reboot_with_defaults", 10, {}, {"reconnect"}),
    ("auto_iso", 11, {}, {"wrong_exif"}),
    ("autofocus_hunt", 8, {}, set()),
    ("slow_long_exposure", 6, {"times": 2}, set()),
    ("clock_wrong", 10, {}, {"stale_time"}),
    ("silent_black", 10, {}, {"silent_black"}),
    ("flash_fired", 10, {}, {"flash_fired"}),
]


@pytest.fixture(autouse=True)
def soon_out_of_patience(monkeypatch) -> None:
    """A body that hangs is asked for ten seconds whether it is ready; here for one."""
    monkeypatch.setattr(capture.rescue, "_PROBES", 4)
    monkeypatch.setattr(rig.gphoto_camera, "_READY_S", 1.0)


@pytest.mark.parametrize(("fault", "at", "keys", "events"), SURVIVED, ids=[f[0] for f in SURVIVED])
def test_a_sweep_survives(make_fault_lab, fault_free, fault, at, keys, events):
    lab: FaultLab = make_fault_lab()
    lab.room.script(fault, at, **keys)
    ended = lab.run()
    assert ended.code == 0, ended.said
    assert set(lab.struck()) == {fault}
    lab.check_truth()
    assert lab.outcomes() == fault_free
    assert events <= set(lab.events())


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
    (
        "busy_after_many",
        8,
        "the camera is busy",
        [("/power", {"on": False}), ("/power", {"on": True})],
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


@pytest.mark.parametrize(
    ("fault", "at", "sentence", "answers"), ASKED, ids=[f"{f[0]}-{f[1]}" for f in ASKED]
)
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
