"""What all exports promise: proof, resume, no mixture, no dots, no local paths, a datasheet."""

import hashlib
import json
import signal
import subprocess
import sys

import pytest
import yaml

from capture.exports.folder import MANIFEST, MARKER
from rig.errors import Abort
from schemas.records import Outcome
from tests.made_workspace import BOTTLES, BRIGHT, CUPS, DIM, Made

FORMS = ("snap", "coco", "vqa", "croissant", "parquet", "parquet --by-path")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Two scenes, two lights, 32 accepted frames but one; an auto frame; one scene marked."""
    made = Made(tmp_path_factory.mktemp("lab") / "my-lab")
    for light in (BRIGHT, DIM):
        made.sweep(CUPS, light, outcomes=[Outcome.REJECTED_BLACK] if light is DIM else [])
        made.sweep(BOTTLES, light)
    made.sweep(CUPS, BRIGHT, auto=True)
    made.mark(CUPS)
    made.run("questions", "make", "--seed", "1")
    yield made
    made.catalog.close()


def export(lab, form, out, *options):
    name, *rest = form.split()
    return lab.json("export", name, out, *rest, *options)


def manifest(out):
    lines = (out / MANIFEST).read_text().splitlines()
    return dict(reversed(line.split("  ", 1)) for line in lines)


def stems(out):
    return [path.stem for path in out.rglob("*.jpg")]


@pytest.mark.parametrize("form", FORMS)
def test_every_file_is_in_the_manifest_with_its_digest(lab, form, tmp_path):
    out = tmp_path / "out"
    said = export(lab, form, out)
    listed = manifest(out)
    there = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert there - listed.keys() == {MANIFEST, MARKER}
    assert listed.keys() <= there
    for name, digest in listed.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest, name
    assert said["frames"] == (32 if form == "snap" else 31)
    assert said["manifest_sha256"] == hashlib.sha256((out / MANIFEST).read_bytes()).hexdigest()
    assert json.loads((out / MARKER).read_text())["complete"] is True


@pytest.mark.parametrize("form", FORMS)
def test_pictures_are_the_stored_bytes_and_stems_have_no_dots(lab, form, tmp_path):
    export(lab, form, tmp_path / "out")
    stored = {row[0] for row in lab.rows("SELECT sha256 FROM frames WHERE path != ''")}
    pictures = {d for n, d in manifest(tmp_path / "out").items() if n.endswith(".jpg")}
    assert pictures <= stored
    assert not [stem for stem in stems(tmp_path / "out") if "." in stem]


@pytest.mark.parametrize("form", FORMS)
def test_a_second_export_writes_the_same_and_copies_nothing(lab, form, tmp_path):
    first = export(lab, form, tmp_path / "out")
    before = manifest(tmp_path / "out")
    second = export(lab, form, tmp_path / "out")
    assert (second["copied"], second["kept"]) == (0, first["copied"])
    assert manifest(tmp_path / "out") == before


@pytest.mark.parametrize("form", FORMS)
def test_nothing_leads_to_the_machine_it_was_made_on(lab, form, tmp_path):
    out = tmp_path / "out"
    export(lab, form, out)
    for path in out.rglob("*"):
        if path.is_file() and path.suffix != ".jpg":
            data = path.read_bytes()
            assert str(lab.root).encode() not in data, path
            assert str(tmp_path).encode() not in data, path
            assert b"SECRET-42" not in data, path


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_file_stops_the_export_and_says_what_to_do(form, tmp_path):
    made = Made(tmp_path / "lab")
    frames = made.sweep()
    made.run("questions", "make", "--seed", "1")
    path = made.workspace.resolve(frames[3].path)
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    result = made.run("export", *form.split()[:1], tmp_path / "out", *form.split()[1:])
    assert isinstance(result.exception, Abort)
    assert frames[3].path in str(result.exception)
    assert "snaprig check --repair" in result.exception.action
    assert not (tmp_path / "out" / MANIFEST).exists()
    made.catalog.close()


@pytest.mark.parametrize("form", ["snap", "coco", "parquet"])
def test_a_killed_export_goes_on(lab, form, tmp_path):
    out = tmp_path / "out"
    code = f"""
import os, signal, sys
import capture.exports.facts as facts
add = facts.Facts.add
def dying(self, row):
    add(self, row)
    if self.frames == 20: os.kill(os.getpid(), signal.SIGKILL)
facts.Facts.add = dying
from rig.cli import main
main({["-w", str(lab.root), "export", form.split()[0], str(out), *form.split()[1:]]!r})
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (out / MANIFEST).exists()
    there = len(stems(out))
    said = export(lab, form, out)
    assert said["kept"] >= min(there, 20)
    assert not list(out.rglob("*.partial"))
    whole = export(lab, form, tmp_path / "whole")
    assert manifest(out) == manifest(tmp_path / "whole")
    assert whole["kept"] == 0


def test_a_half_written_picture_is_written_again(lab, tmp_path):
    out = tmp_path / "out"
    export(lab, "coco", out)
    picture = next(out.rglob("*.jpg"))
    whole = picture.read_bytes()
    picture.write_bytes(whole[: len(whole) // 2])
    assert export(lab, "coco", out)["copied"] == 1
    assert picture.read_bytes() == whole


def test_simulated_and_real_frames_do_not_mix_unasked(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep(CUPS)
    made.sweep(BOTTLES, simulated=True)
    result = made.run("export", "croissant", tmp_path / "out")
    assert isinstance(result.exception, Abort)
    assert "8 frames come from virtual devices, 8 do not" in str(result.exception)
    assert "--include" in result.exception.action
    assert not (tmp_path / "out").exists()
    for include, frames, simulated in (("real", 8, 0), ("simulated", 8, 8), ("both", 16, 8)):
        out = tmp_path / include
        said = made.json("export", "croissant", out, "--include", include)
        assert (said["frames"], said["simulated_frames"]) == (frames, simulated)
        assert ("virtual" in (out / "README.md").read_text().split("## Composition")[0]) == (
            simulated > 0 or "None of them" in (out / "README.md").read_text()
        )
    made.catalog.close()


def test_only_simulated_frames_need_no_question(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep(simulated=True)
    assert made.json("export", "coco", tmp_path / "out")["simulated_frames"] == 8
    assert "**Every picture comes from a virtual camera" in (tmp_path / "out/README.md").read_text()
    made.catalog.close()


def test_another_export_or_other_files_are_never_touched(lab, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    result = lab.run("export", "coco", tmp_path / "mine")
    assert "is not empty" in str(result.exception)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    export(lab, "coco", tmp_path / "out")
    before = manifest(tmp_path / "out")
    for arguments in (("croissant",), ("coco", "--scene", "cups-3")):
        result = lab.run("export", arguments[0], tmp_path / "out", *arguments[1:])
        assert "holds another export" in str(result.exception)
    assert manifest(tmp_path / "out") == before


def test_what_a_former_export_left_is_removed_and_nothing_else(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep()
    out = tmp_path / "out"
    made.json("export", "coco", out)
    (out / "notes.txt").write_text("mine")
    with made.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET outcome='failed', path='' WHERE iso=400")
    assert made.json("export", "coco", out)["frames"] == 4
    assert len(stems(out)) == 4
    assert (out / "notes.txt").read_text() == "mine"
    made.catalog.close()


def test_frames_without_files_stay_behind_and_are_counted(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep()
    with made.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET path='' WHERE iso=400")
    said = made.json("export", "coco", tmp_path / "out")
    assert said["frames"] == 4
    assert said["left_out"] == {"imported without its picture": 4}
    with made.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET path=''")
    result = made.run("export", "coco", tmp_path / "none")
    assert "imported without their pictures" in str(result.exception)
    made.catalog.close()


def test_an_empty_workspace_has_nothing_to_export(tmp_path):
    made = Made(tmp_path / "lab")
    result = made.run("export", "coco", tmp_path / "out")
    assert "no accepted frame" in str(result.exception)
    made.catalog.close()


class TestDatasheet:
    """README.md: a card that hubs read, with the numbers of the manifest."""

    def head(self, out):
        return yaml.safe_load((out / "README.md").read_text().split("---\n")[1])

    @pytest.mark.parametrize("form", FORMS)
    def test_its_head_is_yaml_and_names_files_of_the_manifest(self, lab, form, tmp_path):
        out = tmp_path / "out"
        export(lab, form, out, "--name", 'Cups: "a" study', "--license", "CC-BY-4.0")
        head = self.head(out)
        assert head["pretty_name"] == 'Cups: "a" study'
        assert head["license"] == "cc-by-4.0"
        assert head["size_categories"] == ["n<1K"]
        for config in head.get("configs", []):
            for entry in config["data_files"]:
                assert set(entry["path"]) <= manifest(out).keys()
        assert ("configs" in head) == (form == "parquet")

    def test_its_numbers_are_those_of_the_export(self, lab, tmp_path):
        said = export(lab, "croissant", tmp_path / "out")
        text = (tmp_path / "out/README.md").read_text()
        assert f"| frames | {said['frames']} |" in text
        assert "| scenes | 2, of 1 the objects are marked |" in text
        assert "| lighting dim | 10 lux, EV reference 5: 15 frames |" in text
        assert "| category water_bottle | 1 scenes, 16 frames |" in text
        assert "Canon EOS 2000D" in text
        assert text.count("TO BE FILLED IN BY THE LAB") == 4

    def test_an_edited_one_stays(self, lab, tmp_path):
        out = tmp_path / "out"
        export(lab, "coco", out)
        (out / "README.md").write_text("our own words")
        said = export(lab, "coco", out)
        assert (out / "README.md").read_text() == "our own words"
        assert any("edited" in note for note in said["notes"])
        assert manifest(out)["README.md"] == hashlib.sha256(b"our own words").hexdigest()
        export(lab, "coco", out)
        assert (out / "README.md").read_text() == "our own words"


def test_a_terminal_shows_how_far_it_is_and_the_rate(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = lab.run("export", "coco", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    assert "31/31" in result.stderr
    assert "frames/s" in result.stderr


def test_ctrl_c_is_a_stop_that_goes_on(lab, tmp_path):
    code = f"""
import os, signal
import capture.exports.facts as facts
add = facts.Facts.add
def stopped(self, row):
    add(self, row)
    if self.frames == 9: os.kill(os.getpid(), signal.SIGINT)
facts.Facts.add = stopped
from rig.cli import main
main({["-w", str(lab.root), "export", "coco", str(tmp_path / "out")]!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert ended.returncode == 3, ended.stderr
    assert export(lab, "coco", tmp_path / "out")["kept"] >= 9


def test_a_broken_marker_is_named(lab, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).write_text("{")
    assert "is broken" in str(lab.run("export", "coco", tmp_path / "out").exception)


def test_a_stored_path_that_leaves_the_workspace_is_no_frame(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep()
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    with made.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET path='../secret.jpg' WHERE id=1")
    result = made.run("export", "coco", tmp_path / "out")
    assert "leads out of the workspace" in str(result.exception)
    made.catalog.close()


def test_frames_come_by_scene_light_offset_and_setting(lab, tmp_path):
    export(lab, "croissant", tmp_path / "out")
    names = [n for n in manifest(tmp_path / "out") if n.endswith(".jpg")]
    offsets = [int(name.split("/")[3]) for name in names if "/cups-3/bright/" in name]
    assert offsets == sorted(offsets)
    assert [n.split("/")[1] for n in names] == ["cups-3"] * 15 + ["7_water_bottle"] * 16
