"""Files against rows: what is damaged, what it says, and what putting it right does."""

import io
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import piexif
import pytest
from PIL import Image

from schemas import answer_store, capture_store, frame_store
from schemas.check import check_files
from schemas.copying import sha256_of
from schemas.exposure import Exposure
from schemas.jpeg import read_exif
from schemas.plan import Lighting, SweepPlan
from schemas.records import ExifSettings, Frame, Observer, Outcome, Response, Scene
from schemas.repair import repair
from schemas.stamp import stamp_frame
from schemas.workspace import PARTIAL, Workspace, WorkspaceError, write_atomically

PLAN = SweepPlan(shutter=("1/60", "1/30", "1/15"), iso=(100,), f_number=(8,))
SCENE = Scene("mugs", "cup", 2)


def camera_file(exposure: Exposure) -> bytes:
    buffer = io.BytesIO()
    exif = {
        piexif.ExifIFD.ExposureTime: (1, round(1 / exposure.shutter_s)),
        piexif.ExifIFD.ISOSpeedRatings: exposure.iso,
        piexif.ExifIFD.FNumber: (round(exposure.f_number * 10), 10),
    }
    Image.new("L", (32, 16), round(exposure.shutter_s * 1000)).save(
        buffer, "JPEG", exif=piexif.dump({"Exif": exif})
    )
    return buffer.getvalue()


def store(workspace, catalog, run, exposure, *, stamped=True, kind="manual") -> Frame:
    data = camera_file(exposure)
    path = workspace.frame_path("mugs", "bright", exposure, 11)
    if kind == "reference":
        path = workspace.reference_path("mugs", "bright", 0)
    if kind == "auto":
        path = workspace.auto_frame_path("mugs", "bright")
    exif = read_exif(data)
    write_atomically(path, data)
    frame = Frame(
        scene="mugs",
        lighting="bright",
        run_id=run.id,
        kind=kind,
        requested=None if kind == "auto" else exposure,
        number=0 if kind == "reference" else None,
        outcome=Outcome.ACCEPTED,
        attempt=1,
        exif=ExifSettings(exif.shutter_s, exif.iso, exif.f_number),
        ev=exposure.ev,
        ev_index=exposure.ev_index,
        ev_offset=exposure.ev_offset(11),
        path=workspace.relative(path),
        size_bytes=len(data),
        camera_sha256=sha256_of(path),
        sha256=sha256_of(path),
    )
    if stamped:
        frame, data = stamp_frame(frame, data, SCENE, run)
        write_atomically(path, data)
    return replace(frame, id=frame_store.add_frame(catalog, frame))


@pytest.fixture
def lab(tmp_path):
    """Three frames of mugs under bright light, all whole."""
    workspace = Workspace.create(tmp_path / "lab", "# rig\n")
    with workspace.catalog() as catalog:
        capture_store.add_scene(catalog, SCENE)
        capture_store.put_lighting(catalog, Lighting(name="bright", lux=9, ev_reference=11))
        capture_store.start_run(
            catalog,
            scene="mugs",
            lighting="bright",
            plan=PLAN,
            simulated=True,
            devices={},
            versions={"snaprig": "0.1.0"},
        )
        (run,) = capture_store.list_runs(catalog)
        frames = [store(workspace, catalog, run, shot.exposure) for shot in PLAN]
        yield workspace, catalog, frames


def alter(catalog, frame: Frame, change: str) -> None:
    with catalog.write() as connection:
        connection.exec_driver_sql(f"UPDATE frames SET {change} WHERE id = {frame.id}")  # noqa: S608


def flip(path: Path, at: int = -100) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_an_intact_workspace_checks_out(lab):
    workspace, catalog, _ = lab
    seen = []
    result = check_files(workspace, catalog, lambda *done: seen.append(done))
    assert result.to_json() == {"ok": True, "checked": 3, "problems": [], "orphans": []}
    assert seen == [(1, 3), (2, 3), (3, 3)]


DAMAGE = {
    "flipped": (flip, "its bytes changed: sha256 differs from the row"),
    "cut": (lambda p: p.write_bytes(p.read_bytes()[:40]), "40 bytes, the row says "),
    "gone": (Path.unlink, "missing"),
    "a folder": (lambda p: (p.unlink(), p.mkdir()), "unreadable: Is a directory"),
}


@pytest.mark.parametrize(("damage", "complaint"), DAMAGE.values(), ids=DAMAGE)
def test_one_damaged_file_is_one_problem(lab, damage, complaint):
    workspace, catalog, frames = lab
    damage(workspace.root / frames[1].path)
    (problem,) = check_files(workspace, catalog).problems
    assert problem.file == frames[1].path
    assert problem.problem.startswith(complaint)
    assert problem.frame.id == frames[1].id


def test_quick_sees_sizes_only(lab):
    workspace, catalog, frames = lab
    flip(workspace.root / frames[0].path)
    (workspace.root / frames[1].path).unlink()
    (workspace.root / frames[2].path).write_bytes(b"x")
    found = check_files(workspace, catalog, quick=True)
    assert [(p.file, p.problem[:7]) for p in found.problems] == [
        (frames[1].path, "missing"),
        (frames[2].path, "1 bytes"),
    ]


def test_a_swapped_file_is_told_by_its_xmp(lab):
    workspace, catalog, frames = lab
    first, second = (workspace.root / frame.path for frame in frames[:2])
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    found = check_files(workspace, catalog)
    assert [p.file for p in found.problems] == [frames[0].path, frames[1].path]
    assert "its XMP names another frame: mugs/bright/1-30_100_f8" in found.problems[0].problem


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("exif_iso = 200", "its Exif says iso 100, the row 200"),
        ("exif_f_number = NULL", "its Exif says f_number 8.0, the row None"),
        ("shutter_s = 0.5", "its XMP says requestedShutterSeconds 0.01666"),
        ("lux = 7.5", "its XMP says lux nothing, the row 7.5"),
        ("ev_offset = 3", "its XMP says evOffset"),
        ("camera_sha256 = 'abc'", "it is not what the camera gave"),
    ],
)
def test_a_row_that_was_changed_contradicts_its_file(lab, change, complaint):
    workspace, catalog, frames = lab
    alter(catalog, frames[0], change)
    (problem,) = check_files(workspace, catalog).problems
    assert problem.file == frames[0].path
    assert complaint in problem.problem


def test_the_scene_and_the_run_are_compared_too_but_not_the_runs_number(lab):
    workspace, catalog, _ = lab
    with catalog.write() as connection:
        connection.exec_driver_sql("UPDATE scenes SET count = 9")
    assert {p.problem for p in check_files(workspace, catalog).problems} == {
        "its XMP says count 2, the row 9"
    }
    with catalog.write() as connection:
        connection.exec_driver_sql("UPDATE scenes SET count = 2")
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        connection.exec_driver_sql("UPDATE runs SET id = 8")
        connection.exec_driver_sql("UPDATE frames SET run_id = 8")
    assert check_files(workspace, catalog).ok
    with catalog.write() as connection:
        connection.exec_driver_sql("UPDATE runs SET started_at = '2020-01-01 00:00:00.000000'")
    assert len(check_files(workspace, catalog).problems) == 3


def test_a_frame_stored_before_files_carried_xmp_is_good(lab):
    workspace, catalog, frames = lab
    (run,) = capture_store.list_runs(catalog)
    old = store(workspace, catalog, run, Exposure(1 / 8, 100, 8), stamped=False)
    assert old.sha256 == old.camera_sha256
    assert check_files(workspace, catalog).ok
    flip(workspace.root / old.path)
    (problem,) = check_files(workspace, catalog).problems
    assert problem.file == old.path
    assert frames


def test_files_without_a_row_are_listed_and_harmless(lab):
    workspace, catalog, frames = lab
    path = workspace.root / frames[0].path
    path.with_name("stray.jpg").touch()
    path.with_name("half.jpg" + PARTIAL).touch()
    result = check_files(workspace, catalog)
    assert result.ok
    assert [Path(name).name for name in result.orphans] == ["half.jpg.partial", "stray.jpg"]


def test_a_broken_reference_is_damage_that_no_repair_touches(lab):
    workspace, catalog, _ = lab
    raw = sqlite3.connect(workspace.catalog_path)
    raw.execute("UPDATE frames SET run_id = 99")
    raw.commit()
    raw.close()
    result = check_files(workspace, catalog)
    assert "runs" in result.problems[0].problem
    assert "its run 99 is missing" in result.problems[-1].problem
    with pytest.raises(WorkspaceError, match="nothing was repaired"):
        repair(workspace, catalog, result)
    assert len(list(workspace.stored_files())) == 3


def test_an_unreadable_database_is_named(lab):
    workspace, catalog, _ = lab
    with catalog.write() as connection:
        connection.exec_driver_sql("ALTER TABLE frames RENAME COLUMN setting TO gone")
    result = check_files(workspace, catalog)
    assert [p.file for p in result.problems] == ["catalog.sqlite"]
    assert "unreadable" in result.problems[0].problem


# ---- repair


def repaired(workspace, catalog):
    return repair(workspace, catalog, check_files(workspace, catalog))


def test_a_damaged_frame_waits_to_be_shot_again_and_its_file_is_kept(lab):
    workspace, catalog, frames = lab
    path = workspace.root / frames[0].path
    flip(path)
    damaged = path.read_bytes()
    result = repaired(workspace, catalog)
    assert result.left.ok
    (one,) = result.repaired
    aside = f"quarantine/{frames[0].path}"
    assert one.action == f"moved to {aside}, to be shot again"
    assert result.next == ["snaprig capture resume --scene mugs --lighting bright"]
    assert not path.exists()
    assert (workspace.root / aside).read_bytes() == damaged
    row = next(frame_store.list_frames(catalog))
    assert (row.id, row.outcome, row.path, row.sha256) == (frames[0].id, "failed", "", "")
    assert row.reason.startswith("damaged: its bytes changed")
    assert aside in row.reason
    assert row.camera_sha256 == frames[0].camera_sha256
    (event,) = capture_store.list_events(catalog)
    assert (event.kind, event.setting) == ("damaged", frames[0].setting)
    again = check_files(workspace, catalog)
    assert (again.ok, again.checked) == (True, 2)


def test_missing_files_and_auto_frames_are_queued_too(lab):
    workspace, catalog, frames = lab
    (run,) = capture_store.list_runs(catalog)
    auto = store(workspace, catalog, run, Exposure(1 / 8, 100, 8), kind="auto")
    for frame in (frames[2], auto):
        (workspace.root / frame.path).unlink()
    result = repaired(workspace, catalog)
    assert [r.action for r in result.repaired] == ["to be shot again"] * 2
    assert result.next == [
        "snaprig capture resume --scene mugs --lighting bright",
        "snaprig capture auto-frame --scene mugs --lighting bright",
    ]


def test_a_damaged_reference_frame_is_set_aside_for_good(lab):
    workspace, catalog, _ = lab
    (run,) = capture_store.list_runs(catalog)
    store(workspace, catalog, run, Exposure(1 / 30, 100, 8), kind="reference")
    assert check_files(workspace, catalog).ok
    flip(workspace.root / "frames/mugs/bright/ref-000.jpg")
    result = repaired(workspace, catalog)
    assert [r.action for r in result.repaired] == [
        "moved to quarantine/frames/mugs/bright/ref-000.jpg, not needed again"
    ]
    assert result.next == []
    assert check_files(workspace, catalog).ok


def test_what_a_crash_left_is_cleared_and_what_is_not_ours_stays(lab):
    workspace, catalog, frames = lab
    folder = (workspace.root / frames[0].path).parent
    (folder / "stray.jpg").write_bytes(b"whole")
    (folder / ("half.jpg" + PARTIAL)).write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    result = repaired(workspace, catalog)
    assert {Path(r.file).name: r.action.partition(" ")[0] for r in result.repaired} == {
        "stray.jpg": "moved",
        "half.jpg.partial": "unfinished,",
    }
    assert [Path(name).name for name in result.left.orphans] == ["notes.txt"]
    (kept,) = (workspace.root / "quarantine/orphans").rglob("stray.jpg")
    assert kept.read_bytes() == b"whole"


def test_a_row_that_names_the_file_of_another_does_not_drag_it_along(lab):
    workspace, catalog, frames = lab
    alter(catalog, frames[1], f"path = '{frames[0].path}'")
    before = (workspace.root / frames[0].path).stat()
    result = repaired(workspace, catalog)
    assert [r.file for r in result.repaired] == [frames[0].path, frames[1].path]
    assert (workspace.root / frames[0].path).stat() == before
    (kept,) = (workspace.root / "quarantine/orphans").rglob("*.jpg")
    assert kept.name == Path(frames[1].path).name


@pytest.mark.parametrize("path", ["../outside.jpg", "catalog.sqlite"])
def test_a_row_that_leads_out_of_the_frames_moves_nothing(lab, path):
    workspace, catalog, frames = lab
    (workspace.root.parent / "outside.jpg").write_bytes(b"not ours")
    alter(catalog, frames[1], f"path = '{path}'")
    result = repaired(workspace, catalog)
    assert result.repaired[0].action == "to be shot again"
    assert (workspace.root.parent / "outside.jpg").exists()
    assert workspace.catalog_path.exists()


def test_a_file_that_may_not_be_read_is_left_alone(lab, monkeypatch):
    workspace, catalog, frames = lab
    whole = Path.read_bytes

    def guarded(path):
        if path.name == Path(frames[0].path).name:
            raise PermissionError(13, os.strerror(13))
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", guarded)
    result = repaired(workspace, catalog)
    assert not result.left.ok
    assert result.repaired == []
    assert "change its permissions" in result.left.problems[0].problem


def test_answers_follow_the_picture(lab):
    """Until the shot is taken again they stay; then models are asked again, people are kept."""
    workspace, catalog, frames = lab
    answer_store.ensure_stimuli(catalog, "classification")
    observers = {
        kind: answer_store.put_observer(catalog, Observer(kind, kind))
        for kind in ("model", "person")
    }
    for observer in observers.values():
        pending = answer_store.pending_stimuli(catalog, observer, "classification")
        answer_store.add_responses(
            catalog,
            [Response(p.stimulus_id, observer, "cup", frame_sha256=p.sha256) for p in pending],
        )
    flip(workspace.root / frames[0].path)
    repaired(workspace, catalog)
    newcomer = answer_store.put_observer(catalog, Observer("late", "model"))

    def counts():
        return [
            len(list(answer_store.list_responses(catalog, observer)))
            for observer in observers.values()
        ]

    def pending(observer):
        return answer_store.pending_stimuli(catalog, observer, "classification")

    assert counts() == [3, 3]
    assert len(pending(newcomer)) == 2  # the third has no picture now
    failed = replace(frames[0], outcome=Outcome.FAILED, path="", sha256="", reason="no luck")
    frame_store.add_frame(catalog, failed)
    assert counts() == [3, 3]
    again = replace(frames[0], sha256="f" * 64)
    assert frame_store.add_frame(catalog, again) == frames[0].id
    assert counts() == [2, 3]
    assert [p.sha256 for p in pending(observers["model"])] == ["f" * 64]
    assert pending(observers["person"]) == []
    assert len(pending(newcomer)) == 3
