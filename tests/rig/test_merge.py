"""Workspaces joined by digest: all of it, twice without harm, nothing half, conflicts named."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import Abort
from schemas.catalog import CatalogError
from schemas.check import check_files
from schemas.color_store import (
    SCENE,
    ColorLabel,
    list_color_frames,
    list_color_labels,
    put_color_labels,
)
from schemas.frame_store import add_frame
from schemas.merging import merge_workspaces
from schemas.plan import Lighting
from schemas.records import Outcome, Scene
from schemas.workspace import Workspace, WorkspaceError
from tests.made_workspace import BOTTLES, BRIGHT, CUPS, DIM, Made, content


@pytest.fixture
def labs(tmp_path):
    """Ours has cups under bright light and an answer; theirs bottles, and cups under dim light."""
    ours, theirs = Made(tmp_path / "ours"), Made(tmp_path / "theirs")
    ours.sweep(CUPS, BRIGHT)
    ours.answer("net")
    theirs.sweep(BOTTLES, BRIGHT, seed=1, outcomes=[Outcome.REJECTED_BLACK, Outcome.FAILED])
    theirs.sweep(CUPS, DIM, seed=2)
    theirs.sweep(CUPS, DIM, auto=True, seed=3)
    theirs.mark(CUPS)
    theirs.answer("net")
    theirs.answer("anna", "person", "bottle")
    rule(theirs)
    (theirs.root / "sessions/s1.jsonl").write_text('{"trial": 1}\n{"trial": 2}\n')
    yield ours, theirs
    ours.catalog.close()
    theirs.catalog.close()


def rule(made):
    """A person's ruling on the first answer, and a verdict of a parser."""
    with made.catalog.write() as connection:
        for protocol in ("ruling", "paper"):
            connection.exec_driver_sql(
                "INSERT INTO verdicts (response_id, protocol, parsed, soft, hard, error_kind) "
                "SELECT min(id), ?, '{\"by\": \"ben\"}', 1, 1, '' FROM responses",
                (protocol,),
            )


def both(*labs):
    """What the union of workspaces holds."""
    found = [content(one) for one in labs]
    return {name: sorted({r for one in found for r in one[name]}, key=repr) for name in found[0]}


def sound(made):
    result = check_files(made.workspace, made.catalog)
    assert result.problems == []
    return result


def snapshot_of(made):
    """All that a merge could change: rows and files."""
    files = {
        p.relative_to(made.root).as_posix(): p.read_bytes()
        for p in made.root.rglob("*")
        if p.is_file() and not p.name.startswith(("catalog.sqlite", "capture.lock"))
    }
    return content(made), files


def test_everything_arrives_and_the_other_is_only_read(labs):
    ours, theirs = labs
    expected, before = both(ours, theirs), snapshot_of(theirs)
    said = ours.json("merge", theirs.root)
    assert content(ours) == expected
    assert snapshot_of(theirs) == before
    assert sound(ours).orphans == []
    assert said["added"]["frames"] == 17
    assert said["added"]["rulings"] == 1
    assert ours.rows("SELECT protocol FROM verdicts") == [("ruling",)]
    assert (ours.root / "sessions/s1.jsonl").read_text().count("\n") == 2


def test_a_terminal_shows_how_far_it_is(labs, monkeypatch, tmp_path):
    ours, theirs = labs
    monkeypatch.setenv("FORCE_COLOR", "1")
    for arguments, shown in (
        (("merge", theirs.root), "16/16"),
        (("backup", tmp_path / "b"), "23/23"),
    ):
        result = ours.run(*arguments)
        assert result.exit_code == 0, result.exception
        assert shown in result.stderr


def test_the_same_twice_changes_nothing(labs):
    ours, theirs = labs
    ours.json("merge", theirs.root)
    before = snapshot_of(ours)
    said = ours.json("merge", theirs.root)
    assert {k: v for k, v in said["added"].items() if k != "responses_kept"} == {}
    assert said["files"] == 0
    assert snapshot_of(ours) == before


def test_either_way_gives_the_same(labs):
    ours, theirs = labs
    ours.json("merge", theirs.root)
    theirs.json("merge", ours.root)
    assert content(ours) == content(theirs)


def test_a_dry_run_counts_and_writes_nothing(labs):
    ours, theirs = labs
    before = snapshot_of(ours)
    said = ours.json("merge", theirs.root, "--dry-run")
    assert said["files"] == 6 + 9 + 1  # bottles without two, cups and auto, a session
    assert said["bytes"] > 0
    assert said["conflicts"] == []
    assert snapshot_of(ours) == before


def test_two_laptops_come_to_one_box(tmp_path, labs):
    first, second = labs
    box = Made(tmp_path / "box")
    box.json("merge", first.root)
    box.json("merge", second.root)
    assert content(box) == both(first, second)
    sound(box)
    box.catalog.close()


def test_a_sweep_that_went_on_since_is_brought_up_to_date(tmp_path):
    ours, theirs, retaken = (Made(tmp_path / name) for name in ("ours", "theirs", "retaken"))
    theirs.sweep(CUPS, outcomes=[Outcome.FAILED, Outcome.ACCEPTED, Outcome.SKIPPED])
    with theirs.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE runs SET status = NULL, ended_at = NULL")
    ours.json("merge", theirs.root)
    assert ours.rows("SELECT status FROM runs") == [(None,)]
    ours.answer("net")
    missing = {
        row[0]
        for row in theirs.rows("SELECT setting FROM frames WHERE outcome IN ('failed', 'skipped')")
    }
    for frame in retaken.sweep(CUPS):
        if frame.setting in missing:
            target = theirs.root / frame.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(retaken.root / frame.path, target)
            add_frame(theirs.catalog, replace(frame, run_id=1, id=None))
    with theirs.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE runs SET status = 'done'")
    said = ours.json("merge", theirs.root)
    assert said["added"]["frames_replaced"] == len(missing) == 2
    assert ours.rows("SELECT DISTINCT outcome FROM frames") == [("accepted",)]
    assert ours.rows("SELECT status FROM runs") == [("done",)]
    assert content(ours)["frames"] == content(theirs)["frames"]
    for made in (ours, theirs, retaken):
        made.catalog.close()


def test_files_join_frames_that_were_imported_without_them(tmp_path):
    ours, theirs = Made(tmp_path / "ours"), Made(tmp_path / "theirs")
    theirs.sweep(CUPS)
    ours.json("merge", theirs.root)
    with ours.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET path = '', sha256 = '', camera_sha256 = ''")
    shutil.rmtree(ours.workspace.frames)
    assert ours.json("merge", theirs.root)["added"] == {"frames_replaced": 8}
    assert content(ours)["frames"] == content(theirs)["frames"]
    sound(ours)
    ours.catalog.close()
    theirs.catalog.close()


class TestConflicts:
    """Named, all of them, and nothing is written."""

    def refused(self, ours, theirs, *words):
        before = snapshot_of(ours)
        result = ours.run("merge", theirs.root, "--json")
        assert isinstance(result.exception, Abort), result.output
        conflicts = json.loads(result.stdout)["conflicts"]
        for word in words:
            assert any(word in one for one in conflicts), conflicts
            assert word in str(result.exception)
        assert snapshot_of(ours) == before
        dry = ours.run("merge", theirs.root, "--dry-run")
        assert dry.exit_code == 1
        assert words[0] in dry.output
        assert snapshot_of(ours) == before

    def test_one_shot_with_two_pictures(self, labs):
        ours, theirs = labs
        theirs.sweep(CUPS, BRIGHT, seed=9)
        self.refused(ours, theirs, "frame cups-3/bright/1-60_100_f5-6: ours is accepted")

    def test_one_shot_with_two_outcomes(self, labs):
        ours, theirs = labs
        theirs.sweep(CUPS, BRIGHT, outcomes=[Outcome.REJECTED_WHITE])
        self.refused(ours, theirs, "theirs rejected_white")

    def test_one_scene_with_two_categories_or_counts(self, labs):
        ours, theirs = labs
        ours.sweep(replace(BOTTLES, category="cup"), DIM)
        self.refused(ours, theirs, "scene 7_water_bottle: ours is 2 x cup, theirs 2 x water_bottle")

    def test_one_lighting_with_two_definitions(self, labs):
        ours, theirs = labs
        ours.sweep(BOTTLES, Lighting(name="dim", lux=12, ev_reference=5))
        self.refused(ours, theirs, "lighting dim: ours has 12.0 lux")

    def test_one_observer_with_two_specifications(self, labs):
        ours, theirs = labs
        with ours.catalog.write() as connection:
            connection.exec_driver_sql('UPDATE observers SET spec = \'{"weights": "other"}\'')
        self.refused(ours, theirs, "observer net: the two have other specifications")

    def test_objects_marked_differently(self, labs):
        ours, theirs = labs
        ours.mark(CUPS)
        with ours.catalog.write() as connection:
            connection.exec_driver_sql("UPDATE instances SET x_px = 3 WHERE number = 1")
        self.refused(ours, theirs, "scene cups-3: its objects were marked differently")

    def test_one_import_of_two_files(self, labs):
        ours, theirs = labs
        for made, digest in ((ours, "aa"), (theirs, "bb")):
            with made.catalog.write() as connection:
                connection.exec_driver_sql(
                    "INSERT INTO imports (kind, source, sha256, report, imported_at) "
                    "VALUES ('snap', 'data.csv', ?, '{}', '2026-01-01 00:00:00.000000')",
                    (digest,),
                )
        self.refused(ours, theirs, "import data.csv")

    def test_two_people_under_one_pseudonym(self, labs):
        ours, theirs = labs
        ours.json("merge", theirs.root)
        with theirs.catalog.write() as connection:
            connection.exec_driver_sql("UPDATE responses SET text = 'cat' WHERE observer_id = 2")
        self.refused(ours, theirs, "person anna answered q1")

    def test_one_question_with_two_orders_of_options(self, labs):
        ours, theirs = labs
        ours.json("merge", theirs.root)
        ours.run("questions", "make", "--seed", "1")
        theirs.run("questions", "make", "--seed", "2")
        self.refused(ours, theirs, "the options differ")

    def test_session_files_that_differ(self, labs):
        ours, theirs = labs
        (ours.root / "sessions/s1.jsonl").write_text('{"trial": 9}\n')
        self.refused(ours, theirs, "session file sessions/s1.jsonl")

    def test_files_that_are_missing_or_cut_off(self, labs):
        ours, theirs = labs
        frames = theirs.rows("SELECT path FROM frames WHERE path != '' ORDER BY id")
        (theirs.root / frames[0][0]).unlink()
        (theirs.root / frames[1][0]).write_bytes(b"cut")
        self.refused(ours, theirs, frames[0][0], frames[1][0])

    @pytest.mark.parametrize("path", ["../escape.jpg", "rig.toml", "sessions/s1.jsonl"])
    def test_paths_that_are_none_among_the_frames(self, labs, path):
        ours, theirs = labs
        (theirs.root.parent / "escape.jpg").write_bytes(b"x")
        with theirs.catalog.write() as connection:
            connection.exec_driver_sql("UPDATE frames SET path = ? WHERE id = 5", (path,))
        self.refused(ours, theirs, path)

    def test_a_model_s_other_answer_is_kept_out_quietly(self, labs):
        ours, theirs = labs
        ours.json("merge", theirs.root)
        with theirs.catalog.write() as connection:
            connection.exec_driver_sql("UPDATE responses SET text = 'cat' WHERE observer_id = 1")
        assert ours.json("merge", theirs.root)["added"]["responses_kept"] > 0
        assert ours.rows("SELECT count(*) FROM responses WHERE text = 'cat'") == [(0,)]


def test_session_files_grow_at_their_end(labs):
    ours, theirs = labs
    ours.json("merge", theirs.root)
    mine, their = (one.root / "sessions/s1.jsonl" for one in labs)
    with their.open("a") as file:
        file.write('{"trial": 3}\n')
    ours.json("merge", theirs.root)
    assert mine.read_bytes() == their.read_bytes()
    with mine.open("a") as file:
        file.write('{"trial": 4}\n')
    grown = mine.read_bytes()
    ours.json("merge", theirs.root)  # ours is further: it stays
    assert mine.read_bytes() == grown


def test_a_file_that_changed_its_bytes_stops_the_merge_and_it_goes_on(labs):
    ours, theirs = labs
    path = theirs.root / theirs.rows("SELECT path FROM frames WHERE path != ''")[-1][0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"\x00")
    result = ours.run("merge", theirs.root)
    assert isinstance(result.exception, Abort)
    assert "sha256 differs" in str(result.exception)
    sound(ours)
    path.write_bytes(whole)
    ours.json("merge", theirs.root)
    assert sound(ours).orphans == []
    assert len(content(ours)["frames"]) == 25


def test_a_file_without_a_row_in_the_way_is_set_aside(labs):
    ours, theirs = labs
    name = theirs.rows("SELECT path FROM frames WHERE path != ''")[0][0]
    (ours.root / name).parent.mkdir(parents=True)
    (ours.root / name).write_bytes(b"left by a crash")
    said = ours.json("merge", theirs.root)
    (aside,) = said["set_aside"]
    assert (ours.root / aside).read_bytes() == b"left by a crash"
    sound(ours)


def test_a_workspace_is_not_merged_into_itself(labs, tmp_path):
    ours, _ = labs
    with pytest.raises(WorkspaceError, match="itself"):
        merge_workspaces(ours.workspace, Workspace(ours.root / ".." / "ours"))
    assert isinstance(ours.run("merge", tmp_path / "nowhere").exception, WorkspaceError)


def test_a_foreign_or_newer_catalog_is_refused(labs):
    ours, theirs = labs
    with theirs.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    before = snapshot_of(ours)
    with pytest.raises(CatalogError, match="newer release"):
        merge_workspaces(ours.workspace, theirs.workspace)
    assert snapshot_of(ours) == before


def test_a_read_only_workspace_can_be_read(labs):
    ours, theirs = labs
    theirs.catalog.close()
    theirs.root.chmod(0o555)
    try:
        ours.json("merge", theirs.root)
    finally:
        theirs.root.chmod(0o755)
    assert len(content(ours)["frames"]) == 25


KILLS = [("copy", 1), ("copy", 9), ("names", 1), ("sweep", 1), ("sweep", 2), ("rest", 1)]
KILLS += [("answers", 1)]

_DYING = """
import os, signal, sys
import schemas.merging as merging
left = [{number}]
def after(step):
    def stepped(*a, **k):
        done = step(*a, **k)
        left[0] -= 1
        if left[0] == 0: os.kill(os.getpid(), signal.SIGKILL)
        return done
    return stepped
merging.{name} = after(merging.{name})
from rig.cli import main
main(["-w", {ours!r}, "merge", {theirs!r}])
"""
_STEPS = {
    "copy": "copy_verified",
    "names": "put_names",
    "sweep": "put_sweep",
    "rest": "put_objects_and_questions",
    "answers": "put_answers",
}


@pytest.mark.parametrize(("step", "number"), KILLS)
def test_killed_anywhere_it_goes_on(labs, step, number):
    """Within a unit its rows are not there yet; its files may be, and harm nobody."""
    ours, theirs = labs
    expected = both(ours, theirs)
    code = _DYING.format(
        name=_STEPS[step], number=number, ours=str(ours.root), theirs=str(theirs.root)
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    result = sound(ours)  # every row has its file
    assert all(name.startswith("frames/") for name in result.orphans)
    ours.json("merge", theirs.root)
    assert content(ours) == expected
    assert sound(ours).orphans == []
    assert not list(ours.root.rglob("*.partial"))


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a-1", "b-2"]), st.sampled_from([BRIGHT, DIM]), st.booleans()),
        unique_by=lambda one: one[:2],
        max_size=4,
    )
)
def test_any_two_disjoint_workspaces_become_their_union(tmp_path_factory, shot):
    root = tmp_path_factory.mktemp("any")
    pair = Made(root / "a"), Made(root / "b")
    for name, light, first in shot:
        pair[first].sweep(Scene(name, "cup", 2), light, seed=len(name))
    expected = both(*pair)
    pair[0].json("merge", pair[1].root)
    assert content(pair[0]) == expected
    for made in pair:
        made.catalog.close()


def test_color_labels_follow_their_frames(labs):
    ours, theirs = labs
    frame = list_color_frames(theirs.catalog)[0]
    put_color_labels(
        theirs.catalog,
        [ColorLabel(frame.frame_id, SCENE, "human", "blue", "gray", "L1")],
    )
    for added in (1, 0):
        done = merge_workspaces(ours.workspace, theirs.workspace)
        assert done.added["color_labels"] == added
    (label,) = list_color_labels(ours.catalog)
    (here,) = [f for f in list_color_frames(ours.catalog) if f.frame_id == label.frame_id]
    assert (here.scene, here.path) == (frame.scene, frame.path)
    assert (label.foreground, label.background, label.labeler) == ("blue", "gray", "L1")
