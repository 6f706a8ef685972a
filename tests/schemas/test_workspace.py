"""Workspace layout, atomic files, and the summary of a catalog."""

import dataclasses
import os

import pytest

from schemas import capture_store, frame_store
from schemas.exposure import Exposure
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, Outcome, RunStatus, Scene
from schemas.summary import summarize
from schemas.workspace import Workspace, WorkspaceError, safe_name, write_atomically

PLAN = SweepPlan(shutter=("1/60", "1/30"), iso=(100,), f_number=(8,))


@pytest.fixture
def workspace(tmp_path):
    return Workspace.create(tmp_path / "lab", "# rig\n")


@pytest.fixture
def swept(workspace):
    """A workspace with one accepted and one rejected frame of two planned, and one of three."""
    with workspace.catalog() as catalog:
        capture_store.add_scene(catalog, Scene("mugs", "cup", 2))
        for lighting in ("bright", "dim"):
            capture_store.put_lighting(catalog, Lighting(name=lighting, lux=9, ev_reference=5))
        run = {
            lighting: capture_store.start_run(
                catalog,
                scene="mugs",
                lighting=lighting,
                plan=PLAN,
                simulated=lighting == "dim",
                devices={},
                versions={},
            )
            for lighting in ("bright", "dim")
        }
        capture_store.end_run(catalog, run["bright"], RunStatus.DONE, "")
        exposure = Exposure(1 / 60, 100, 8)
        path = workspace.frame_path("mugs", "bright", exposure, 11)
        write_atomically(path, b"picture")
        accepted = Frame(
            scene="mugs",
            lighting="bright",
            run_id=run["bright"],
            kind="manual",
            requested=exposure,
            outcome=Outcome.ACCEPTED,
            attempt=1,
            path=workspace.relative(path),
            size_bytes=7,
        )
        rejected = dataclasses.replace(
            accepted,
            requested=Exposure(1 / 30, 100, 8),
            outcome=Outcome.REJECTED_WHITE,
            path="",
        )
        for frame in (accepted, rejected):
            frame_store.add_frame(catalog, frame)
    return workspace


def test_what_is_set_aside_never_overwrites(workspace):
    path = workspace.frames / "a" / "b.jpg"
    for text in (b"1", b"2", b"3"):
        write_atomically(path, text)
        workspace.set_aside(path, "frames")
    kept = sorted((workspace.root / "quarantine/frames/a").iterdir())
    assert [p.name for p in kept] == ["b-2.jpg", "b-3.jpg", "b.jpg"]
    assert [p.read_bytes() for p in kept] == [b"2", b"3", b"1"]
    assert list(workspace.stored_files()) == []


@pytest.mark.parametrize(
    ("path", "held"),
    [("a/b.jpg", True), ("../catalog.sqlite", False), (".", False), ("link/b.jpg", False)],
)
def test_only_files_among_the_frames_are_ours_to_move(workspace, tmp_path, path, held):
    (workspace.frames / "link").symlink_to(tmp_path)
    assert workspace.holds(workspace.frames / path) is held


def test_layout(workspace):
    assert {p.name for p in workspace.root.iterdir()} >= {"rig.toml", "catalog.sqlite", "frames"}
    path = workspace.frame_path("mugs", "bright", Exposure(1 / 250, 400, 5.6), 11)
    # EV of 1/250 s, ISO 400, f/5.6 is 10.94: offset 0 under a reference of 11
    assert workspace.relative(path) == "frames/mugs/bright/0/1-250_400_f5-6.jpg"


def test_a_folder_in_use_is_not_made_a_workspace(workspace):
    with pytest.raises(WorkspaceError, match="not empty"):
        Workspace.create(workspace.root, "")


def test_no_workspace_says_how_to_make_one(tmp_path):
    with pytest.raises(WorkspaceError, match="snaprig init"):
        Workspace.open(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a.b", "/etc", "-x", "a b", "a\x00", "ä"])
def test_names_that_would_leave_the_folder_are_refused(name):
    with pytest.raises(WorkspaceError):
        safe_name(name)


@pytest.mark.parametrize("path", ["../x", "frames/../../x", "/etc/passwd"])
def test_catalog_paths_stay_inside(workspace, path):
    with pytest.raises(WorkspaceError, match="leads out"):
        workspace.resolve(path)


def test_a_symlink_out_of_the_workspace_is_refused(workspace, tmp_path):
    (workspace.frames / "link").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match="leads out"):
        workspace.resolve("frames/link/x.jpg")


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "frame.jpg"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"


def test_summary_counts_planned_and_what_became_of_it(swept):
    with swept.catalog() as catalog:
        summary = summarize(catalog)
    assert dataclasses.asdict(summary.frames) == {
        "planned": 4,
        "accepted": 1,
        "rejected_black": 0,
        "rejected_white": 1,
        "failed": 0,
        "skipped": 0,
        "remaining": 2,
    }
    assert [(s.lighting, s.frames.remaining, s.simulated) for s in summary.sweeps] == [
        ("bright", 0, False),
        ("dim", 2, True),
    ]
    assert (summary.runs, summary.runs_unfinished, summary.simulated) == (2, 1, True)
