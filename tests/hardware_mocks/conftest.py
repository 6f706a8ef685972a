"""A photograph, a dark room and a gPhoto2 session for the tests of the dark room."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.darkroom_process import DarkroomProcess, darkroom
from tests.gphoto_session import GphotoSession


@pytest.fixture(scope="session")
def photo(tmp_path_factory) -> Path:
    """A photograph of colored squares on a gradient, seeded."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:640, 0:960]
    picture = np.stack([x / 960, y / 640, 0.5 + 0 * x], axis=-1) * 160 + 40
    for _ in range(12):
        top, left = rng.integers(0, 540), rng.integers(0, 860)
        picture[top : top + 100, left : left + 100] = rng.integers(10, 245, 3)
    path = tmp_path_factory.mktemp("photo") / "squares.png"
    Image.fromarray(picture.astype(np.uint8)).save(path)
    return path


@pytest.fixture(scope="session", autouse=True)
def private_settings(tmp_path_factory) -> Path:
    """libgphoto2 keeps the last capture target in this folder: none of the user's."""
    folder = tmp_path_factory.mktemp("xdg")
    (folder / "gphoto").mkdir()
    os.environ["XDG_CONFIG_HOME"] = str(folder)
    return folder


@pytest.fixture
def room(photo) -> Iterator[DarkroomProcess]:
    """A dark room without exposure times."""
    with darkroom(photo, seed=1) as running:
        yield running


@pytest.fixture
def connect() -> Iterator[Callable[[DarkroomProcess], GphotoSession]]:
    """Open sessions of the real libgphoto2; each is closed at the end."""
    sessions: list[GphotoSession] = []

    def open_session(target: DarkroomProcess) -> GphotoSession:
        sessions.append(GphotoSession(target.camera))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()
