"""Workspace layout, atomic files, and the verification of files against rows."""

import dataclasses
import os
import sqlite3
from pathlib import Path

import pytest

from schemas import capture_store, frame_store
from schemas.exposure import Exposure
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, Outcome, RunStatus, Scene
from schemas.summary import check_files, sha256_of, summarize
from schemas.workspace import PARTIAL, Workspace, WorkspaceError, safe_name, write_atomically

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
            sha256=sha256_of(path),
            camera_sha256=sha256_of(path),
        )
        rejected = dataclasses.replace(
            accepted,
            requested=Exposure(1 / 30, 100, 8),
            outcome=Outcome.REJECTED_WHITE,
            path="",
        )
        for frame in (accepted, rejected):
            frame_store.add_frame(catalog, frame)
    return workspace, path


def check(workspace):
    with workspace.catalog() as catalog:
        return check_files(workspace, catalog)


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
    workspace, _ = swept
    with workspace.catalog() as catalog:
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


def test_an_intact_workspace_checks_out(swept):
    workspace, _ = swept
    result = check(workspace)
    assert (result.ok, result.checked, result.orphans) == (True, 1, [])


def test_one_flipped_byte_is_found_and_named(swept):
    workspace, path = swept
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)
    result = check(workspace)
    assert not result.ok
    assert [p.file for p in result.problems] == [workspace.relative(path)]
    assert "sha256" in result.problems[0].problem


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [(Path.unlink, "missing"), (lambda p: p.write_bytes(b"pict"), "4 bytes, the row says 7")],
)
def test_missing_and_short_files_are_named(swept, damage, complaint):
    workspace, path = swept
    damage(path)
    (problem,) = check(workspace).problems
    assert problem.problem == complaint


def test_files_without_a_row_are_listed_and_harmless(swept):
    workspace, path = swept
    path.with_name("stray.jpg").touch()
    path.with_name("half.jpg" + PARTIAL).touch()
    result = check(workspace)
    assert result.ok
    assert [Path(name).name for name in result.orphans] == ["half.jpg.partial", "stray.jpg"]


def test_a_broken_database_is_damage(swept):
    workspace, _ = swept

    raw = sqlite3.connect(workspace.catalog_path)
    raw.execute("UPDATE frames SET run_id = 99")
    raw.commit()
    raw.close()
    result = check(workspace)
    assert not result.ok
    assert "runs" in result.problems[0].problem
