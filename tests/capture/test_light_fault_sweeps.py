"""Every named fault of light, meter, hub and host in a sweep of 20 shots; see `test_fault_sweeps`.

The meter's faults suspend the run, which goes on by itself; frames of an unproven light are shot
again. What lasts too long, and what a host's owner must mend, ends in a question.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from hardware_mocks.host_faults import BALLAST
from tests.capture.fault_lab import FaultLab, finish

pytestmark = pytest.mark.wire

#: Fault, the picture that it strikes, its keys, and events that tell of it.
SUSPENDED = [
    ("lux_step_mid_exposure", 6, {"lux": 700, "for_s": 1.0}, {"light_refused", "suspended"}),
    ("lux_drift", 6, {"lux": 1300, "over_s": 1.0, "for_s": 1.0}, {"light_refused", "suspended"}),
    ("meter_unplugged", 6, {"for_s": 1.5}, {"meter_lost", "meter_back", "suspended"}),
    ("meter_frozen", 6, {"for_s": 2.0}, {"meter_frozen", "meter_back", "suspended"}),
    ("hub_restart", 6, {"for_s": 1.5}, {"meter_lost", "meter_back", "suspended"}),
    ("hub_hangs", 6, {"for_s": 3.0}, {"meter_lost", "meter_back", "suspended"}),
]


@pytest.mark.parametrize(
    ("fault", "at", "keys", "events"), SUSPENDED, ids=[f[0] for f in SUSPENDED]
)
def test_a_sweep_is_suspended_and_goes_on_by_itself(
    make_fault_lab, fault_free, fault, at, keys, events
):
    lab: FaultLab = make_fault_lab()
    lab.room.script(fault, at, **keys)
    ended = lab.run()
    assert ended.code == 0, ended.said
    assert lab.struck() == [fault]
    lab.check_truth()
    assert lab.outcomes() == fault_free
    assert events <= set(lab.events())


@pytest.mark.parametrize(
    ("fault", "keys", "sentence", "answer"),
    [
        (
            "lux_drift",
            {"lux": 700, "over_s": 0.5},
            "outside 900 to 1100 lux",
            ("/lux", {"lux": 1000}),
        ),
        ("meter_unplugged", {"for_s": 0.0}, "meter", ("/meter", {"plugged": True})),
    ],
    ids=["lux_drift", "meter_unplugged"],
)
def test_a_sweep_asks_when_its_light_stays_wrong(
    make_fault_lab, fault_free, fault, keys, sentence, answer
):
    lab: FaultLab = make_fault_lab(patience_min=0.03)
    lab.room.script(fault, 6, **keys)
    ended = lab.run()
    assert ended.code == 3, ended.said
    assert "the light was wrong for 0.03 min" in ended.document["reason"]
    assert sentence in ended.document["reason"]
    assert "panels" in ended.document["next"]
    lab.check_truth()
    lab.room.post(*answer)
    time.sleep(0.6)  # no sample of the meter is from before the answer: it measures at 4 Hz
    finish(lab, fault_free)


def test_a_locked_database_is_waited_for(make_fault_lab, fault_free):
    """database_locked."""
    lab: FaultLab = make_fault_lab()
    lab.room.script("database_locked", 8, database=str(lab.root / "catalog.sqlite"), for_s=2.0)
    ended = lab.run()
    assert ended.code == 0, ended.said
    assert lab.struck() == ["database_locked"]
    lab.check_truth()
    assert lab.outcomes() == fault_free


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 240 MB; only root can mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=240m", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk; test_sweep.py has this in memory")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_named_and_room_on_it_helps(fault_room, fault_free, small_disk: Path):
    """disk_full."""
    lab = FaultLab(small_disk / "lab", fault_room.afresh())
    lab.room.script("disk_full", 8, folder=str(small_disk))
    ended = lab.run()
    assert ended.code == 3, ended.said
    assert "could not be stored" in ended.document["reason"]
    assert "make room on the disk" in ended.document["next"]
    lab.check_truth()
    (small_disk / BALLAST).unlink()
    ended = lab.resume()
    assert ended.code == 0, ended.said
    lab.check_truth()
    assert lab.outcomes() == fault_free
