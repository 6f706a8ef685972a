"""Workspaces for the capture engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rig.config import default_rig_toml
from schemas.capture_store import add_scene
from schemas.records import Scene
from schemas.workspace import Workspace
from tests.capture.lab import Lab


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
