"""A batch through the real libraries, the test playing the operator of the virtual dark room."""

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rig.config import default_rig_toml
from schemas.check import check_files
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.workspace import Workspace
from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire

PLAN = SweepPlan(shutter=("1/60", "1/8", "1"), iso=(100, 1600), f_number=(5.6,))
BATCH = """\
plan = "plan.toml"
lightings = ["bright", "dim"]
[[scene]]
name = "squares"
category = "square"
count = 8
"""


@pytest.fixture
def photo(tmp_path) -> Path:
    y, x = np.mgrid[0:160, 0:240]
    picture = np.stack([x / 240, y / 160, 0.5 + 0 * x], axis=-1) * 160 + 40
    path = tmp_path / "gradient.png"
    Image.fromarray(picture.astype(np.uint8)).save(path)
    return path


class Session:
    """The command with its prompts on a pipe, read line by line as a person would."""

    def __init__(self, workspace, xdg):
        command = [sys.executable, "-c", "from rig.cli import main; main()"]
        command += ["-w", str(workspace.root), "capture", "batch"]
        command += [str(workspace.root / "batch.toml"), "--json", "--checklist-done"]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "XDG_CONFIG_HOME": str(xdg)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = []
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.process.stderr as stderr:
            for line in stderr:
                self._lines.put(line.rstrip())

    def until(self, wanted):
        """The next line that holds `wanted`."""
        while True:
            try:
                self.said.append(self._lines.get(timeout=60))
            except queue.Empty:
                raise AssertionError(f"never said {wanted!r}: {self.said}") from None
            if wanted in self.said[-1]:
                return self.said[-1]

    def type(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self):
        """Exit status and JSON document."""
        code = self.process.wait(60)
        document = json.loads(self.process.stdout.read())
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()
        return code, document


def test_a_batch_with_an_operator_who_first_sets_the_wrong_light(photo, tmp_path):
    (tmp_path / "xdg" / "gphoto").mkdir(parents=True)
    with darkroom(photo, lux=400.0, scene_lux=1000.0) as room:
        workspace = Workspace.create(tmp_path / "lab", default_rig_toml(room.camera, room.hub))
        (workspace.root / "plan.toml").write_text(PLAN.to_toml())
        (workspace.root / "batch.toml").write_text(BATCH)

        first = Session(workspace, tmp_path / "xdg")
        try:
            first.until(
                "place scene squares (square, 8 objects), set the panels to 1000 lux, press"
            )
            first.type("")
            assert "lux, outside 900 to 1100 lux" in first.until("waiting for the light")
            assert room.pictures() == []
            room.post("/lux", {"lux": 1000})
            first.until("the light is right")
            first.until("squares under bright: done")
            first.until("leave scene squares as it is, set the panels to 10 lux")
            first.type("q")
            code, document = first.end()
        finally:
            first.process.kill()
        assert code == 3
        assert (document["status"], document["reason"]) == ("stopped", "left at a prompt")
        assert (document["complete"], document["sweeps"]) == (1, 2)
        assert "capture batch" in document["next"]

        room.post("/lux", {"lux": 10})
        second = Session(workspace, tmp_path / "xdg")
        try:
            second.until("squares under bright: complete, skipped")
            second.until("place scene squares (square, 8 objects), set the panels to 10 lux")
            second.type("")
            code, document = second.end()
        finally:
            second.process.kill()
        assert code == 0, second.said
        assert (document["status"], document["complete"], document["remaining"]) == ("done", 2, 0)
        pictures = room.pictures()

    with workspace.catalog() as catalog:
        frames = list(list_frames(catalog))
        assert check_files(workspace, catalog).ok
    assert sorted(f.lighting for f in frames) == ["bright"] * len(PLAN) + ["dim"] * len(PLAN)
    made = {picture["sha256"]: picture for picture in pictures}
    for frame in frames:
        assert made[frame.camera_sha256]["lux"] == {"bright": 1000, "dim": 10}[frame.lighting]
