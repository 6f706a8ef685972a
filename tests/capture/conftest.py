"""Workspaces for the capture engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import capture.rescue
import rig.gphoto_camera
from rig.config import default_rig_toml
from schemas.capture_store import add_scene
from schemas.exposure import Exposure
from schemas.records import Outcome, Scene
from schemas.workspace import Workspace
from tests.capture.fault_lab import FaultLab, squares
from tests.capture.lab import Lab
from tests.darkroom_process import DarkroomProcess, darkroom


@pytest.fixture(scope="session")
def empty_workspace(tmp_path_factory) -> Path:
    """A workspace with the scene `cups`, to be copied: migrations run once."""
    root = tmp_path_factory.mktemp("template") / "lab"
    workspace = Workspace.create(root, default_rig_toml())
    with workspace.catalog() as catalog:
        add_scene(catalog, Scene("cups", "cup", 3))
    return root


@pytest.fixture(scope="session")
def make_lab(empty_workspace, tmp_path_factory) -> Iterator[Callable[..., Lab]]:
    """Open a fresh workspace, or a copy of the one at `image`."""
    opened: list[Lab] = []

    def make(image: Path | None = None) -> Lab:
        root = tmp_path_factory.mktemp("lab") / "lab"
        shutil.copytree(image or empty_workspace, root)
        workspace = Workspace.open(root)
        opened.append(Lab(workspace, workspace.catalog()))
        return opened[-1]

    yield make
    for lab in opened:
        lab.catalog.close()


@pytest.fixture
def lab(make_lab) -> Lab:
    """A fresh workspace."""
    return make_lab()


@pytest.fixture(scope="module")
def fault_room(tmp_path_factory) -> Iterator[DarkroomProcess]:
    """A dark room for a module of fault sweeps; exposures take a 250th of their time."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "xdg" / "gphoto").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        # libgphoto2 keeps settings in the user's folder: none of it here.
        patch.setenv("XDG_CONFIG_HOME", str(folder / "xdg"))
        with darkroom(squares(folder / "squares.png"), timescale=0.004, seed=3) as running:
            yield running


@pytest.fixture
def make_fault_lab(fault_room, tmp_path, monkeypatch) -> Callable[..., FaultLab]:
    """Make a workspace on the devices of the dark room, which is put right before.

    A body that hangs is asked for ten seconds whether it is ready; here for one. The ladders have
    all their steps, and a tenth of the waits between them: the lengths of those are held by
    `test_recovery`, and here no body needs them.
    """
    monkeypatch.setattr(capture.rescue, "_PROBES", 4)
    monkeypatch.setattr(rig.gphoto_camera, "_READY_S", 1.0)
    for name in ("CAMERA_LADDER", "PICTURE_LADDER"):
        steps = getattr(capture.rescue, name)
        hurried = tuple(replace(step, wait_s=step.wait_s / 10) for step in steps)
        monkeypatch.setattr(capture.rescue, name, hurried)
    return lambda **keys: FaultLab(tmp_path / "lab", fault_room.afresh(), **keys)


@pytest.fixture(scope="module")
def fault_free(fault_room, tmp_path_factory) -> dict[Exposure, Outcome]:
    """What a sweep without faults comes to."""
    lab = FaultLab(tmp_path_factory.mktemp("fault-free") / "lab", fault_room.afresh())
    ended = lab.run()
    assert ended.code == 0, ended.said
    lab.check_truth()
    outcomes = lab.outcomes()
    assert len(set(outcomes.values())) == 3, "both rejections occur"
    assert len(outcomes) == len(lab.plan)
    return outcomes
