"""Sweeps through the real libraries against the virtual dark room, killed and resumed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rig.config import default_rig_toml
from schemas.capture_store import add_scene, list_events, list_runs
from schemas.frame_store import list_frames, load_histogram
from schemas.plan import SweepPlan
from schemas.records import Light, Outcome, Scene
from schemas.workspace import Workspace
from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire

#: 60 shots over the whole range: both rejections occur.
SIXTY = SweepPlan(
    shutter=("1/4000", "1/500", "1/60", "1/8", "1", "30"),
    iso=(100, 400, 1600, 6400, 800),
    f_number=(5.6, 22),
)
CLOCK = "2026-03-01T20:00:00"
COMMAND = (sys.executable, "-c", "from rig.cli import main; main()")


@pytest.fixture(scope="module")
def photo(tmp_path_factory) -> Path:
    """Colored squares on a gradient, seeded."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[0:320, 0:480]
    picture = np.stack([x / 480, y / 320, 0.5 + 0 * x], axis=-1) * 160 + 40
    for _ in range(8):
        top, left = rng.integers(0, 270), rng.integers(0, 430)
        picture[top : top + 50, left : left + 50] = rng.integers(10, 245, 3)
    path = tmp_path_factory.mktemp("photo") / "squares.png"
    Image.fromarray(picture.astype(np.uint8)).save(path)
    return path


@pytest.fixture
def environment(tmp_path):
    """libgphoto2 keeps settings in the user's folder: none of it here."""
    (tmp_path / "xdg" / "gphoto").mkdir(parents=True)
    return {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}


def make_workspace(root, room, plan):
    workspace = Workspace.create(root, default_rig_toml(room.camera, room.hub))
    with workspace.catalog() as catalog:
        add_scene(catalog, Scene("squares", "square", 8))
    (root / "plan.toml").write_text(plan.to_toml())
    return workspace


def start(workspace, environment, *arguments):
    return subprocess.Popen(
        [*COMMAND, "-w", str(workspace.root), "capture", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_arguments(workspace):
    # A reference frame repeats a planned setting, and the n-th exposure of a setting has noise of
    # its own: without them a resumed sweep equals an uninterrupted one pixel by pixel.
    plan = str(workspace.root / "plan.toml")
    return (
        "run",
        "--scene",
        "squares",
        "--lighting",
        "bright",
        "--plan",
        plan,
        "--json",
        "--no-reference",
    )


def finish(process):
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def sweep(workspace, environment, *arguments):
    code, out, err = finish(start(workspace, environment, *arguments))
    assert code == 0, err
    return json.loads(out)


def frames_of(workspace):
    with workspace.catalog() as catalog:
        return list(list_frames(catalog))


def wait_for_frames(workspace, process, wanted):
    """Return when the catalog holds `wanted` frames; True if the run still goes on."""
    deadline = time.monotonic() + 100
    while len(frames_of(workspace)) < wanted and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process.poll() is None


def content(workspace):
    """All columns but times, attempts, runs, light noise and hashes; decoded pixels of files."""
    rows = {}
    with workspace.catalog() as catalog:
        for frame in list_frames(catalog):
            rows[frame.setting] = replace(
                frame,
                id=None,
                run_id=0,
                attempt=0,
                light=Light(),
                commanded_at=None,
                captured_at=None,
                stored_at=None,
                camera_time="",
                camera_sha256="",
                sha256="",
                size_bytes=None,
                histogram=load_histogram(catalog, frame.id),
            )
    return rows


def agrees_with_journal(workspace, pictures):
    """Every frame's camera bytes are a picture that the room made with those very settings."""
    made = {picture["sha256"]: picture for picture in pictures}
    for frame in frames_of(workspace):
        picture = made[frame.camera_sha256]
        assert picture["iso"] == frame.requested.iso
        assert picture["shutter_s"] == pytest.approx(frame.requested.shutter_s, rel=0.02)
        assert picture["f_number"] == pytest.approx(frame.requested.f_number, rel=0.02)
        if frame.light.lux is not None:
            assert frame.light.lux == pytest.approx(picture["lux"], rel=0.02)


def check_killed_sweep(photo, tmp_path, environment, plan, seed):
    whole = tmp_path / "whole"
    with darkroom(photo, seed=3, clock=CLOCK) as room:
        uninterrupted = make_workspace(whole, room, plan)
        document = sweep(uninterrupted, environment, *run_arguments(uninterrupted))
        agrees_with_journal(uninterrupted, room.pictures())
    counts = [document[name] for name in ("accepted", "rejected_black", "rejected_white")]
    assert min(counts) > 0
    assert sum(counts) == document["planned"] == len(plan)
    assert document["failed"] == document["remaining"] == 0

    rng = random.Random(seed)  # noqa: S311 - places to kill at, not a secret
    kills = sorted(rng.sample(range(1, len(plan) - 5), 2))
    with darkroom(photo, seed=3, clock=CLOCK) as room:
        killed = make_workspace(tmp_path / "killed", room, plan)
        for arguments, wanted in zip(
            (run_arguments(killed), ("resume", "--no-reference")), kills, strict=True
        ):
            process = start(killed, environment, *arguments)
            assert wait_for_frames(killed, process, wanted), process.stderr.read()
            process.send_signal(signal.SIGKILL)
            assert finish(process)[0] == -signal.SIGKILL
        resumed = sweep(killed, environment, "resume", "--json", "--no-reference")
        agrees_with_journal(killed, room.pictures())
    assert resumed["planned"] == len(plan)
    with killed.catalog() as catalog:
        runs = list_runs(catalog)
    assert [run.status for run in runs] == [None, None, "done"]
    check_same(uninterrupted, killed)


def check_same(uninterrupted, killed):
    expected, found = content(uninterrupted), content(killed)
    assert found.keys() == expected.keys()
    for setting, frame in expected.items():
        assert found[setting] == frame, setting
        if frame.outcome is Outcome.ACCEPTED:
            assert np.array_equal(pixels(killed, frame.path), pixels(uninterrupted, frame.path))
    files = [sorted(map(w.relative, w.stored_files())) for w in (uninterrupted, killed)]
    assert files[0] == files[1]


def pixels(workspace, path):
    with Image.open(workspace.resolve(path)) as image:
        return np.asarray(image)


def test_sixty_shots_killed_twice_equal_an_uninterrupted_sweep(photo, tmp_path, environment):
    check_killed_sweep(photo, tmp_path, environment, SIXTY, seed=5)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_630_shots_killed_twice_equal_an_uninterrupted_sweep(photo, tmp_path, environment):
    check_killed_sweep(photo, tmp_path, environment, SweepPlan(), seed=8)


def test_ctrl_c_stops_after_the_frame_at_hand_and_puts_the_camera_back(
    photo, tmp_path, environment
):
    plan = SIXTY.subset(iso=(100, 400))
    with darkroom(photo, timescale=0.02) as room:
        found = room.state()["settings"]
        workspace = make_workspace(tmp_path / "lab", room, plan)
        process = start(workspace, environment, *run_arguments(workspace))
        assert wait_for_frames(workspace, process, 3)
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process)
        assert code == 3, err
        document = json.loads(out)
        assert (document["status"], document["reason"]) == ("stopped", "Ctrl-C")
        assert "capture resume --scene squares --lighting bright" in err
        assert document["remaining"] == len(plan) - len(frames_of(workspace))
        state = room.state()
        assert state["buffer"] == state["card"] == []
        assert state["settings"] == found
        assert sweep(workspace, environment, "resume", "--json", "--no-reference")["remaining"] == 0


@pytest.mark.parametrize(
    ("fault", "event"),
    [
        ({"name": "truncated_jpeg", "at": 4}, "undecodable"),
        ({"name": "set_ignored", "at": 4}, "wrong_exif"),
        ({"name": "connection_drop", "at": 4}, "reconnect"),
    ],
)
def test_a_fault_on_the_wire_costs_an_attempt_and_nothing_else(
    photo, tmp_path, environment, fault, event
):
    plan = SIXTY.subset(iso=(100,), f_number=(5.6,))
    with darkroom(photo, faults=[fault]) as room:
        workspace = make_workspace(tmp_path / "lab", room, plan)
        document = sweep(workspace, environment, *run_arguments(workspace))
        agrees_with_journal(workspace, room.pictures())
    assert document["failed"] == 0
    assert len(frames_of(workspace)) == len(plan)
    with workspace.catalog() as catalog:
        assert event in [row.kind for row in list_events(catalog)]
