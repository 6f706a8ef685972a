"""KilledError anywhere, resumed: nothing lost, nothing doubled.

A kill is an image of the workspace as it lies on disk at a step boundary: the run goes on from a
copy, as a new process would.
"""

import hashlib
import shutil
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capture.storing
from rig.errors import Reconnect, Retry
from schemas.frame_store import load_histogram
from schemas.records import Light, Outcome
from schemas.workspace import PARTIAL
from tests.capture.lab import SMALL

#: Boundaries of a stored shot: half a file, a whole file without a row, the row.
STEPS = ("partial", "file", "row")


class KilledError(Exception):
    """The run that is cut off ends with this; its image was taken before."""


class Killer:
    """Takes an image of the workspace at the n-th boundary, then cuts the run off."""

    def __init__(self, lab, image, at):
        self.lab, self.image, self.left = lab, image, at

    def boundary(self):
        self.left -= 1
        if self.left == 0:
            shutil.copytree(self.lab.workspace.root, self.image)
            raise KilledError

    def write(self, path, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + PARTIAL)
        partial.write_bytes(data[: len(data) // 2])
        self.boundary()
        WRITE(path, data)
        self.boundary()

    def add(self, catalog, frame):
        number = ADD(catalog, frame)
        self.boundary()
        return number


WRITE, ADD = capture.storing.write_atomically, capture.storing.add_frame


def run_killed(make_lab, image, at, tmp, faults=()):
    """Run a copy of `image` up to its `at`-th boundary; the image there, None if it ended."""
    lab = make_lab(image)
    for verb, error in faults:
        lab.camera.faults.add(verb, error("scripted"))
    killer = Killer(lab, tmp, at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capture.storing, "write_atomically", killer.write)
        patch.setattr(capture.storing, "add_frame", killer.add)
        try:
            lab.sweep()
        except KilledError:
            return tmp
    return None


def content(lab):
    """Every column of every frame, but for times, attempts, run and light; and the files."""
    rows = {
        frame.setting: replace(
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
            histogram=load_histogram(lab.catalog, frame.id),
        )
        for frame in lab.frames()
    }
    files = {lab.workspace.relative(path) for path in lab.workspace.stored_files()}
    return rows, files


@pytest.fixture(scope="module")
def uninterrupted(make_lab):
    lab = make_lab()
    lab.sweep()
    return content(lab)


def check(lab, uninterrupted):
    assert lab.sweep().status == "done"
    assert content(lab) == uninterrupted
    assert len(lab.frames()) == len(SMALL)
    for frame in lab.frames():
        if frame.outcome is Outcome.ACCEPTED:
            data = lab.workspace.resolve(frame.path).read_bytes()
            assert hashlib.sha256(data).hexdigest() == frame.sha256


@pytest.mark.parametrize("at", range(1, 2 * len(STEPS) + 1))
def test_a_kill_at_every_boundary_of_a_shot(make_lab, uninterrupted, tmp_path, at):
    image = run_killed(make_lab, None, at, tmp_path / "image")
    assert image is not None
    lab = make_lab(image)
    rows_before = len(lab.frames())
    check(lab, uninterrupted)
    assert len(lab.camera.taken) == len(SMALL) - rows_before


faults = st.lists(
    st.tuples(st.sampled_from(("apply", "shoot")), st.sampled_from((Retry, Reconnect))), max_size=2
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(kills=st.lists(st.tuples(st.integers(1, 20), faults), min_size=1, max_size=3))
def test_any_sequence_of_kills_and_faults(make_lab, uninterrupted, tmp_path_factory, kills):
    image = None
    for at, scripted in kills:
        tmp = tmp_path_factory.mktemp("kill") / "image"
        image = run_killed(make_lab, image, at, tmp, scripted) or image
    check(make_lab(image), uninterrupted)
