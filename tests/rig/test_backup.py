"""A backup: incremental, proven, nothing deleted, a workspace that opens."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from schemas.backup import MARKER, back_up, open_backup
from schemas.catalog import CatalogError
from schemas.check import check_files
from schemas.frame_store import add_frame
from schemas.workspace import Workspace, WorkspaceError
from tests.made_workspace import BOTTLES, BRIGHT, CUPS, DIM, Made, content


@pytest.fixture
def lab(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep(CUPS, BRIGHT)
    made.answer("net")
    (made.root / "plan.toml").write_text("iso = [100]\n")
    (made.root / "sessions/s1.jsonl").write_text('{"trial": 1}\n')
    yield made
    made.catalog.close()


def opened(folder):
    """The backup as a workspace: what it holds, its files checked."""
    made = Made.__new__(Made)
    made.root, made.workspace = folder, Workspace.open(folder)
    made.catalog = made.workspace.catalog()
    found = content(made)
    result = check_files(made.workspace, made.catalog)
    made.catalog.close()
    return found, result


def files_of(folder):
    """All files but those that SQLite keeps beside an open database."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and not p.name.endswith(("-shm", "-wal"))
    }


def test_it_is_a_workspace_with_all_that_is_in_this_one(lab, tmp_path):
    said = lab.json("backup", tmp_path / "b")
    found, result = opened(tmp_path / "b")
    assert found == content(lab)
    assert result.ok
    assert result.orphans == []
    assert said["copied"] == 8 + 3  # rig.toml, plan.toml, a session
    for name in ("rig.toml", "plan.toml", "sessions/s1.jsonl"):
        assert (tmp_path / "b" / name).read_bytes() == (lab.root / name).read_bytes()


def test_a_copy_of_it_is_the_restored_workspace(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    before = content(lab)
    lab.catalog.close()
    shutil.rmtree(lab.root)
    shutil.copytree(tmp_path / "b", lab.root)
    assert opened(lab.root)[0] == before
    assert opened(lab.root)[1].ok


def test_only_what_is_new_or_changed_is_copied(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    again = lab.json("backup", tmp_path / "b")
    assert (again["copied"], again["unchanged"], again["generation"]) == (0, 11, "")
    lab.sweep(BOTTLES, DIM)
    (lab.root / "plan.toml").write_text("iso = [200]\n")
    third = lab.json("backup", tmp_path / "b")
    assert (third["copied"], third["unchanged"]) == (8 + 1, 10)
    assert opened(tmp_path / "b")[0] == content(lab)


def test_former_catalogs_and_replaced_files_are_kept(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    first, plan = content(lab), (lab.root / "plan.toml").read_bytes()
    lab.sweep(BOTTLES, DIM)
    (lab.root / "plan.toml").write_text("iso = [200]\n")
    generation = tmp_path / "b" / lab.json("backup", tmp_path / "b")["generation"]
    assert (generation / "plan.toml").read_bytes() == plan
    (generation / "rig.toml").write_text("")
    assert opened(generation)[0] == first


def test_nothing_is_ever_deleted(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    path = lab.rows("SELECT path FROM frames WHERE path != ''")[0][0]
    picture = (lab.root / path).read_bytes()
    with lab.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET outcome = 'failed', path = '' WHERE id = 1")
    (lab.root / path).unlink()
    (lab.root / "plan.toml").unlink()
    lab.json("backup", tmp_path / "b")
    assert (tmp_path / "b" / path).read_bytes() == picture
    assert (tmp_path / "b/plan.toml").exists()


def test_a_frame_shot_again_moves_the_former_one_aside(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    path = lab.rows("SELECT path FROM frames WHERE id = 1")[0][0]
    former = (lab.root / path).read_bytes()
    with lab.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET outcome = 'failed', path = '' WHERE id = 1")
    shot = Made(tmp_path / "other")
    again = shot.sweep(CUPS, BRIGHT, seed=5)[0]
    shutil.copyfile(shot.root / path, lab.root / path)
    add_frame(lab.catalog, replace(again, run_id=1, id=None))
    said = lab.json("backup", tmp_path / "b")
    assert (tmp_path / "b" / said["generation"] / path).read_bytes() == former
    assert (tmp_path / "b" / path).read_bytes() == (lab.root / path).read_bytes() != former
    shot.catalog.close()


def test_a_damaged_file_never_replaces_its_good_copy(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    first, second = (row[0] for row in lab.rows("SELECT path FROM frames ORDER BY id LIMIT 2"))
    good = (tmp_path / "b" / first).read_bytes()
    (lab.root / first).write_bytes(good[:-1] + b"\x00")
    (lab.root / second).unlink()
    result = lab.run("backup", tmp_path / "b")
    assert result.exit_code == 1
    assert first in result.output
    assert second in result.output
    assert "snaprig check --repair" in result.output
    assert (tmp_path / "b" / first).read_bytes() == good
    assert opened(tmp_path / "b")[1].ok


def test_a_file_damaged_before_the_first_backup_is_named_and_the_rest_is_safe(lab, tmp_path):
    path = lab.rows("SELECT path FROM frames")[0][0]
    (lab.root / path).write_bytes(b"rot")
    result = lab.run("backup", tmp_path / "b")
    assert result.exit_code == 1
    assert len(files_of(tmp_path / "b" / "frames")) == 7


class TestVerify:
    def test_a_good_one_passes_and_nothing_is_written(self, lab, tmp_path):
        lab.json("backup", tmp_path / "b")
        before = files_of(tmp_path / "b")
        said = lab.json("backup", tmp_path / "b", "--verify")
        assert said == {"ok": True, "checked": 11, "problems": [], "orphans": []}
        assert files_of(tmp_path / "b") == before

    def test_rot_is_found_and_the_next_backup_puts_it_right(self, lab, tmp_path):
        lab.json("backup", tmp_path / "b")
        path = tmp_path / "b" / lab.rows("SELECT path FROM frames")[3][0]
        session = tmp_path / "b/sessions/s1.jsonl"
        for one in (path, session):
            stat, data = one.stat(), one.read_bytes()
            one.write_bytes(data[:-1] + b"?")  # same size
            os.utime(one, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same time
        result = lab.run("backup", tmp_path / "b", "--verify")
        assert result.exit_code == 1
        assert path.name in result.output
        assert "s1.jsonl" in result.output
        assert lab.json("backup", tmp_path / "b")["copied"] == 2
        assert lab.json("backup", tmp_path / "b", "--verify")["ok"]

    def test_what_is_missing_is_found(self, lab, tmp_path):
        lab.json("backup", tmp_path / "b")
        (tmp_path / "b/rig.toml").unlink()
        (tmp_path / "b" / lab.rows("SELECT path FROM frames")[0][0]).unlink()
        assert lab.run("backup", tmp_path / "b", "--verify").output.count("missing") == 2

    def test_another_folder_is_no_backup(self, lab, tmp_path):
        result = lab.run("backup", tmp_path, "--verify")
        assert isinstance(result.exception, WorkspaceError)


class TestWhere:
    def test_only_into_a_new_folder_or_its_own(self, lab, tmp_path):
        (tmp_path / "other").mkdir()
        (tmp_path / "other/thesis.txt").write_text("x")
        for folder in (tmp_path / "other", lab.root, lab.root / "frames" / "b", tmp_path):
            assert isinstance(lab.run("backup", folder).exception, WorkspaceError), folder

    def test_one_that_was_used_as_a_workspace_is_not_overwritten(self, lab, tmp_path):
        lab.json("backup", tmp_path / "b")
        used = Made.__new__(Made)
        used.root, used.workspace = tmp_path / "b", Workspace.open(tmp_path / "b")
        used.catalog = used.workspace.catalog()
        used.sweep(BOTTLES, DIM)
        used.catalog.close()
        result = lab.run("backup", tmp_path / "b")
        assert isinstance(result.exception, WorkspaceError)
        assert "snaprig merge" in str(result.exception)
        lab.json("merge", tmp_path / "b")
        lab.json("backup", tmp_path / "b", "--force")
        assert opened(tmp_path / "b")[0] == content(lab)
        assert len(content(lab)["frames"]) == 16


def test_reading_it_as_a_workspace_is_no_change(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    opened(tmp_path / "b")
    assert lab.json("backup", tmp_path / "b")["copied"] == 0


def test_it_works_while_another_process_writes(lab, tmp_path):
    with lab.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE scenes SET count = 4")
        target = open_backup(lab.workspace, tmp_path / "b")
        back_up(lab.workspace, target)
    assert opened(tmp_path / "b")[0]["scenes"] == [("cups-3", "cup", 3)]
    lab.json("backup", tmp_path / "b")
    assert opened(tmp_path / "b")[0]["scenes"] == [("cups-3", "cup", 4)]


def test_a_damaged_catalog_does_not_replace_the_good_one(lab, tmp_path):
    lab.json("backup", tmp_path / "b")
    good = (tmp_path / "b/catalog.sqlite").read_bytes()
    lab.catalog.close()
    data = bytearray(lab.workspace.catalog_path.read_bytes())
    for page in range(4, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    lab.workspace.catalog_path.write_bytes(data)
    result = lab.run("backup", tmp_path / "b")
    assert result.exit_code == 1
    assert result.exception is not None
    assert (tmp_path / "b/catalog.sqlite").read_bytes() == good
    with pytest.raises(CatalogError):
        raise result.exception


_DYING = """
import os, signal
import schemas.backup as backup
left = [{number}]
def around(step, before):
    def stepped(*a, **k):
        if before:
            left[0] -= 1
            if left[0] == 0: os.kill(os.getpid(), signal.SIGKILL)
            return step(*a, **k)
        done = step(*a, **k)
        left[0] -= 1
        if left[0] == 0: os.kill(os.getpid(), signal.SIGKILL)
        return done
    return stepped
backup.{name} = around(backup.{name}, {before})
from rig.cli import main
main(["-w", {lab!r}, "backup", {out!r}])
"""


@pytest.mark.parametrize(
    ("name", "number", "before"),
    [
        ("snapshot", 1, False),
        ("copy_verified", 2, False),
        ("_second_name", 1, False),  # the former catalog has its second name
        ("_write_marker", 1, False),  # both digests are known, the name is not changed
        ("sync_folder", 1, True),  # the new catalog is in its place, the marker is not
    ],
)
def test_killed_anywhere_the_backup_opens_and_the_next_one_completes_it(
    lab, tmp_path, name, number, before
):
    lab.json("backup", tmp_path / "b")
    first = content(lab)
    lab.sweep(BOTTLES, DIM)
    code = _DYING.format(
        name=name, number=number, before=before, lab=str(lab.root), out=str(tmp_path / "b")
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    found, result = opened(tmp_path / "b")
    assert found in (first, content(lab))
    assert result.ok
    lab.json("backup", tmp_path / "b")
    assert opened(tmp_path / "b")[0] == content(lab)
    assert opened(tmp_path / "b")[1].orphans == []
    assert (tmp_path / "b" / MARKER).exists()
    assert not list((tmp_path / "b").glob("*.partial*"))
