"""Every named fault of the camera in a sweep of 20 shots through the real libraries.

The sweep ends as the fault-free one does, at the price of exposures. Rows are compared with the
dark room's own journal. What ends in a question stands in `test_fault_questions.py`; light, meter
and host in `test_light_fault_sweeps.py`.
"""

from __future__ import annotations

import pytest

from schemas.exposure import Exposure
from schemas.plan import SweepPlan
from schemas.records import Outcome
from tests.capture.fault_lab import FaultLab

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
    ("reboot_with_defaults", 10, {"boot_s": 0.1}, {"reconnect"}),
    ("auto_iso", 11, {}, {"wrong_exif"}),
    ("autofocus_hunt", 8, {}, set()),
    ("slow_long_exposure", 6, {"times": 2}, set()),
    ("clock_wrong", 10, {}, {"stale_time"}),
    ("silent_black", 10, {}, {"silent_black"}),
    ("flash_fired", 10, {}, {"flash_fired"}),
]


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


def test_a_dead_shutter_is_told_at_the_border_of_blackness(make_fault_lab):
    """silent_black where two fifths of the pixels would have shown something, hardly more."""
    plan = SweepPlan(
        shutter=("1/4000", "1/2000", "1/1000", "1/60", "1/4"), iso=(100, 200), f_number=(16, 22)
    )
    border = Exposure(1 / 1000, 200, 22)
    place = [shot.exposure for shot in plan].index(border)
    lab: FaultLab = make_fault_lab(plan=plan)
    lab.room.script("silent_black", place + 2)  # the first picture is the reference frame
    ended = lab.run()
    assert ended.code == 0, ended.said
    (struck,) = [picture for picture in lab.room.pictures() if picture["faults"]]
    assert (struck["shutter_s"], struck["iso"], struck["f_number"]) == (0.001, 200, 22)
    lab.check_truth()
    assert lab.outcomes()[border] is Outcome.ACCEPTED
