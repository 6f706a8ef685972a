"""A guided sweep over the wire: killed, resumed, audited, and checked by shooting the rest."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from rig.config import default_rig_toml
from schemas.capture_store import add_scene
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.records import Outcome, Scene
from schemas.workspace import Workspace
from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire

#: 48 shots; both ends are rejected.
SMALL = SweepPlan(
    shutter=("30", "4", "1", "1/4", "1/30", "1/250", "1/1000", "1/4000"),
    iso=(100, 6400),
    f_number=(5.6, 11, 22),
)
COMMAND = (sys.executable, "-c", "from rig.cli import main; main()")


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """A gray gradient with dark and bright squares: it turns white and black late."""
    y, x = np.mgrid[0:320, 0:480]
    picture = np.stack([(x + y) / 800] * 3, axis=-1) * 120 + 60
    path = tmp_path_factory.mktemp("photo") / "gradient.png"
    Image.fromarray(picture.astype(np.uint8)).save(path)
    return path


class Rig:
    """A workspace, a plan and the commands over them; the preflight is not what is tested."""

    def __init__(self, root, room, plan):
        self.workspace = Workspace.create(root, default_rig_toml(room.camera, room.hub))
        with self.workspace.catalog() as catalog:
            add_scene(catalog, Scene("squares", "square", 8))
        self.plan = root / "plan.toml"
        self.plan.write_text(plan.to_toml())
        xdg = root / "xdg"  # libgphoto2 keeps settings in the user's folder: none of it here
        (xdg / "gphoto").mkdir(parents=True)
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(xdg)}

    def start(self, verb, *arguments):
        if verb == "run":
            arguments = (
                *("--scene", "squares", "--lighting", "bright", "--plan", str(self.plan)),
                *arguments,
            )
        command = (*COMMAND, "-w", str(self.workspace.root), "capture", verb)
        return subprocess.Popen(
            [*command, *arguments, "--json", "--checklist-done", "--force"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, verb, *arguments, timeout=110):
        process = self.start(verb, *arguments)
        out, err = process.communicate(timeout=timeout)
        assert process.returncode == 0, err
        return json.loads(out)

    def frames(self):
        with self.workspace.catalog() as catalog:
            return {frame.setting: frame for frame in list_frames(catalog)}

    def kill_after(self, process, rows):
        deadline = time.monotonic() + 100
        while len(self.frames()) < rows and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGKILL)
        process.communicate()


def check(rig, room, plan, audit, rows_at_kill, timeout=110):
    process = rig.start("run", "--sweep", "guided", "--audit", str(audit))
    rig.kill_after(process, rows_at_kill)
    document = rig.finish("resume", timeout=timeout)
    assert (document["sweep"], document["status"]) == ("guided", "done")
    frames = rig.frames()
    skipped = {name for name, frame in frames.items() if frame.outcome is Outcome.SKIPPED}
    assert len(frames) == document["planned"] == len(plan)
    assert document["skipped"] == len(skipped) > 5
    # The room saw no exposure of what was skipped.
    room_saw = {
        (round(p["shutter_s"], 7), p["iso"], round(p["f_number"], 3)) for p in room.pictures()
    }
    assert len(room_saw) <= len(plan) - len(skipped) + 2
    for name in skipped:
        witness = frames[frames[name].reason.removeprefix("witness ").partition(":")[0]]
        assert max(witness.white_fraction, witness.black_fraction) > 0.97
        assert witness.requested.iso == frames[name].requested.iso
    # Now shoot them: none of them would have been accepted.
    document = rig.finish("run", timeout=timeout)
    assert (document["sweep"], document["skipped"]) == ("exhaustive", 0)
    found = {name: frame.outcome for name, frame in rig.frames().items() if name in skipped}
    assert set(found.values()) <= {Outcome.REJECTED_WHITE, Outcome.REJECTED_BLACK}
    for name, outcome in found.items():
        assert ("white" in frames[name].reason) == (outcome is Outcome.REJECTED_WHITE)


def test_a_guided_sweep_killed_and_resumed_skips_nothing_acceptable(photo, tmp_path):
    with darkroom(photo, seed=3) as room:
        check(Rig(tmp_path / "lab", room, SMALL), room, SMALL, 0.1, rows_at_kill=9)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_whole_guided_sweep_skips_nothing_acceptable(photo, tmp_path):
    plan = SweepPlan()
    with darkroom(photo, seed=3) as room:
        check(Rig(tmp_path / "lab", room, plan), room, plan, 0.05, rows_at_kill=200, timeout=900)
