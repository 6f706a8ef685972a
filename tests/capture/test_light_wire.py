"""The light guard through the real libraries: the meter's hub fails, the lamp is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

from capture.light_log import LightLog
from rig.config import default_rig_toml
from rig.light_guard import Band, Judgement
from rig.yocto_meter import YoctoMeter
from schemas.capture_store import add_scene, list_events, list_runs
from schemas.frame_store import list_frames
from schemas.plan import Lighting, SweepPlan
from schemas.records import Scene
from schemas.workspace import Workspace
from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire

BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11, settle_s=0.5)
PLAN = SweepPlan(shutter=("1/60", "1/30"), iso=(100, 200), f_number=(8, 11))
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """Gray stripes."""
    path = tmp_path_factory.mktemp("photo") / "stripes.png"
    stripes = np.repeat(np.linspace(20, 230, 16).astype(np.uint8), 24)
    Image.fromarray(np.tile(stripes, (256, 1))).convert("RGB").save(path)
    return path


@pytest.fixture(scope="module")
def room(photo):
    with darkroom(photo) as room:
        yield room


@pytest.fixture(autouse=True)
def right_light(room):
    yield
    room.post("/lux", {"lux": 1000})
    room.post("/meter", {"plugged": True})


# ---- the poller


@pytest.fixture
def log(room):
    meter = YoctoMeter(room.hub, read_deadline_s=0.5)
    meter.open()
    with LightLog(meter, Band.of(BRIGHT)) as log:
        wait_until(lambda: not log.trouble)
        yield log
    meter.close()


def wait_until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    return time.monotonic()


@contextmanager
def hanging(room):
    """The hub accepts connections, as its kernel does, and answers nothing."""
    room.proc.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        room.proc.send_signal(signal.SIGCONT)


def check_gap(log, lost_s):
    """The meter is back: light settles, and what was shot in the gap stays unproven."""
    settled_s = wait_until(lambda: not log.trouble)
    wait_until(lambda: log.judge(settled_s, settled_s).judgement is not Judgement.PENDING)
    assert log.judge(settled_s, settled_s).judgement is Judgement.PROVEN
    for share in (0.1, 0.5, 0.9):
        moment_s = lost_s + share * (settled_s - BRIGHT.settle_s - lost_s)
        assert log.judge(moment_s, moment_s).judgement is Judgement.REFUSED
    assert [kind for kind, _ in log.take()[1]] == ["meter_lost", "meter_back"]


def test_a_meter_that_is_unplugged_is_a_gap_until_it_is_back(room, log):
    room.post("/meter", {"plugged": False})
    lost_s = time.monotonic()
    wait_until(lambda: "the meter is silent" in log.trouble)
    assert log.judge(lost_s, lost_s).judgement is Judgement.REFUSED
    room.post("/meter", {"plugged": True})
    check_gap(log, lost_s)


def test_a_hub_that_hangs_is_a_gap_until_it_answers(room, log):
    with hanging(room):
        lost_s = time.monotonic()
        wait_until(lambda: "the meter is silent" in log.trouble)
        assert log.judge(lost_s, lost_s).judgement is Judgement.REFUSED
    check_gap(log, lost_s)


def test_the_light_of_the_room_is_what_is_judged(room, log):
    shot_s = time.monotonic()
    wait_until(lambda: log.judge(shot_s, shot_s).judgement is not Judgement.PENDING)
    assert log.judge(shot_s, shot_s).judgement is Judgement.PROVEN
    room.post("/lux", {"lux": 850})
    changed_s = time.monotonic()
    wait_until(lambda: "outside 900 to 1100 lux" in log.trouble)
    assert log.judge(changed_s, changed_s).judgement is Judgement.REFUSED
    room.post("/lux", {"lux": 1000})
    wait_until(lambda: not log.trouble)


# ---- a run


@pytest.fixture
def workspace(tmp_path, room):
    workspace = Workspace.create(tmp_path / "lab", default_rig_toml(room.camera, room.hub))
    with workspace.catalog() as catalog:
        add_scene(catalog, Scene("stripes", "stripe", 16))
    (workspace.root / "plan.toml").write_text(PLAN.to_toml())
    return workspace


def start(workspace, tmp_path):
    """`capture run`; the preflight refuses wrong light, unless forced."""
    (tmp_path / "xdg" / "gphoto").mkdir(parents=True)
    plan = str(workspace.root / "plan.toml")
    command = [sys.executable, "-c", "from rig.cli import main; main()", "-w", str(workspace.root)]
    command += ["capture", "run", "--scene", "stripes", "--lighting", "bright", "--plan", plan]
    return subprocess.Popen(
        [*command, "--json", "--checklist-done", "--force"],
        cwd=ROOT,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "xdg")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(process, text):
    """What the process says on stderr, up to a line that holds `text`."""
    said = ""
    while text not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said


def events(workspace):
    with workspace.catalog() as catalog:
        return [event.kind for event in list_events(catalog)]


def test_a_run_under_wrong_light_waits_and_goes_on_by_itself(room, workspace, tmp_path):
    before = len(room.pictures())
    room.post("/lux", {"lux": 500})
    with start(workspace, tmp_path) as process:
        read_until(process, "lux, outside 900 to 1100 lux")
        room.post("/lux", {"lux": 1000})
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    assert json.loads(out)["remaining"] == 0
    assert [kind for kind in events(workspace) if kind in ("suspended", "resumed")] == [
        "suspended",
        "resumed",
    ]
    pictures = room.pictures()[before:]
    assert all(900 <= picture["lux_min"] <= picture["lux_max"] <= 1100 for picture in pictures)
    with workspace.catalog() as catalog:
        frames = list(list_frames(catalog))
    assert len(frames) == len(PLAN)
    assert {frame.camera_sha256 for frame in frames} <= {p["sha256"] for p in pictures}


def test_ctrl_c_ends_a_suspended_run(room, workspace, tmp_path):
    before, settings = len(room.pictures()), room.state()["settings"]
    room.post("/lux", {"lux": 500})
    with start(workspace, tmp_path) as process:
        read_until(process, "lux, outside 900 to 1100 lux")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 3, err
    document = json.loads(out)
    assert (document["status"], document["reason"]) == ("stopped", "Ctrl-C")
    assert document["remaining"] == len(PLAN)
    assert len(room.pictures()) == before
    assert room.state()["settings"] == settings
    with workspace.catalog() as catalog:
        assert [run.status for run in list_runs(catalog)] == ["stopped"]
