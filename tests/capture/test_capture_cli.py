"""`snaprig capture` and `snaprig scene` over devices in memory."""

import hashlib
import json
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

import rig.bench
from capture.cli import capture
from capture.scene_cli import scene
from rig.errors import Abort, AskOperator
from schemas.catalog import CatalogError
from schemas.frame_store import list_frames
from schemas.plan import SweepPlan
from schemas.stamp import read_stamp, unstamp
from schemas.workspace import WorkspaceError
from tests.capture.lab import SMALL
from tests.devices import HastyClock


@pytest.fixture
def invoke(lab, monkeypatch):
    """Run a command over the lab's in-memory devices; errors of ours are raised."""

    @contextmanager
    def bench(config):
        invoke_command.configs.append(config)
        found = lab.bench()
        try:
            yield found
        finally:
            found.camera.close()
            found.meter.close()

    # The light is watched by a thread that waits for real.
    lab.clock = lab.camera.clock = lab.meter.clock = HastyClock()
    monkeypatch.setattr(rig.bench, "open_bench", bench)

    def invoke_command(group, *arguments, root=lab.workspace.root):
        result = CliRunner().invoke(group, list(map(str, arguments)), obj=root)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    invoke_command.configs = []
    return invoke_command


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(SMALL.to_toml())
    return path


RUN = ("run", "--scene", "cups", "--lighting", "bright")


def test_run_shoots_and_a_second_run_has_nothing_to_do(lab, invoke, small):
    result = invoke(capture, *RUN, "--plan", small, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["planned"] == 8 == document["attempts"]
    assert (document["status"], document["reason"], document["remaining"]) == ("done", "", 0)
    assert document["accepted"] + document["rejected_white"] + document["rejected_black"] == 8
    assert "8 planned" in result.stderr
    again = invoke(capture, *RUN, "--plan", small, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["reason"] == "complete already"
    assert len(invoke.configs) == 1


def test_run_stops_resumably_and_resume_goes_on_with_the_stored_plan(lab, invoke, small):
    lab.camera.faults.add("shoot", AskOperator("the card is full", "put in an empty card"))
    result = invoke(capture, *RUN, "--plan", small)
    assert result.exit_code == 3
    assert "the card is full" in result.stderr
    assert "put in an empty card" in result.stderr
    small.unlink()
    resumed = invoke(capture, "resume", "--json")
    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["plan_digest"] == SMALL.digest
    assert "resuming cups under bright: 8 of 8 shots left, run 1 stopped" in resumed.stderr
    assert len(list(list_frames(lab.catalog))) == 8
    nothing = invoke(capture, "resume", "--json")
    assert nothing.exit_code == 0
    assert json.loads(nothing.stdout)["reason"] == "nothing to resume"


def test_a_failed_run_leaves_with_one_and_resume_shoots_again(lab, invoke, small):
    lab.spoil(2, 1, lambda _data: b"")
    failed = invoke(capture, *RUN, "--plan", small, "--attempts", 1)
    assert failed.exit_code == 1
    assert "capture resume --scene cups --lighting bright" in failed.stderr
    assert invoke(capture, "resume").exit_code == 0


def test_resume_names_the_other_unfinished_sweeps(lab, invoke, small):
    invoke(capture, *RUN, "--plan", small, "--limit", 2)
    lab.meter.lux = lab.camera.lux = 10
    invoke(capture, "run", "--scene", "cups", "--lighting", "dim", "--plan", small, "--limit", 3)
    result = invoke(capture, "resume")
    assert "resuming cups under dim: 5 of 8" in result.stderr
    assert "also unfinished: cups under bright: 6 of 8" in result.stderr
    lab.meter.lux = lab.camera.lux = 1000
    chosen = invoke(capture, "resume", "--lighting", "bright")
    assert "resuming cups under bright" in chosen.stderr


def test_devices_can_be_named_on_the_command_line(invoke, small):
    ports = ("--camera", "ptpip:10.0.0.5:1:1", "--hub", "10.0.0.6:4444")
    invoke(capture, *RUN, "--plan", small, *ports)
    (config,) = invoke.configs
    assert config.camera.port == "ptpip:10.0.0.5:1:1"
    assert config.meter.hub == "10.0.0.6:4444"


@pytest.mark.parametrize(
    ("arguments", "known", "action"),
    [
        (("--scene", "mugs", "--lighting", "bright"), "known: cups", "scene add mugs"),
        (("--scene", "cups", "--lighting", "brihgt"), "bright, dim", r"[lighting.brihgt]"),
    ],
)
def test_unknown_names_list_the_known_ones(invoke, arguments, known, action):
    for command in ("run", "auto-frame"):
        with pytest.raises(Abort) as error:
            invoke(capture, command, *arguments)
        assert known in str(error.value)
        assert action in error.value.action


def test_a_bad_plan_is_wrong_usage(invoke, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("iso = []\nshuter = 3\n")
    result = invoke(capture, *RUN, "--plan", path)
    assert result.exit_code == 2
    assert "shuter: unknown key" in result.stderr


def test_without_a_workspace_the_way_to_one_is_named(invoke, tmp_path):
    with pytest.raises(WorkspaceError, match="snaprig init"):
        invoke(capture, *RUN, root=tmp_path)


# ---- plan


def test_plan_describes_the_full_grid_without_a_workspace(invoke, tmp_path):
    document = json.loads(invoke(capture, "plan", "--json", root=tmp_path).stdout)
    assert document["shots"] == 630
    assert document["open_shutter_s"] == 2135.26
    assert document["duration_s"] == 2765.26
    assert document["digest"] == SweepPlan().digest
    assert (document["acceptance"], document["order"]) == ("pixels95", "fewest_changes")
    assert len(document["shutter"]) * len(document["iso"]) * len(document["f_number"]) == 630
    assert "by_ev_offset" not in document


def test_plan_counts_by_ev_offset_and_what_is_left(lab, invoke, small, tmp_path):
    invoke(capture, *RUN, "--plan", small, "--limit", 3)
    arguments = ("plan", "--plan", small, "--lighting", "bright", "--json", "--list")
    document = json.loads(invoke(capture, *arguments, "--scene", "cups").stdout)
    assert sum(document["by_ev_offset"].values()) == document["shots"] == 8
    assert document["remaining"] == 5
    assert [shot["index"] for shot in document["list"]] == list(range(8))
    elsewhere = json.loads(invoke(capture, *arguments, root=tmp_path).stdout)
    assert elsewhere["by_ev_offset"] == document["by_ev_offset"]


def test_plan_is_readable(invoke, small):
    text = invoke(capture, "plan", "--plan", small, "--lighting", "dim", "--list").stdout
    assert "shots" in text
    assert "by EV offset" in text
    assert text.count(" s, ISO 100, f/") == 8


def test_plan_needs_the_lighting_to_say_what_is_left(invoke):
    result = invoke(capture, "plan", "--scene", "cups")
    assert result.exit_code == 2
    assert "--scene needs --lighting" in result.stderr


# ---- auto frame


def test_the_auto_frame_is_the_cameras_own_choice(lab, invoke, small):
    with pytest.raises(AskOperator, match="dial is on Manual") as error:
        invoke(capture, "auto-frame", "--scene", "cups", "--lighting", "bright")
    assert "turn it back to M" in error.value.action
    lab.camera.dial = "P"
    arguments = ("auto-frame", "--scene", "cups", "--lighting", "bright", "--json")
    document = json.loads(invoke(capture, *arguments).stdout)
    assert document["path"] == "frames/cups/bright/auto.jpg"
    assert document["iso"] == 100
    (frame,) = list_frames(lab.catalog, kind="auto")
    assert (frame.requested, frame.kind, frame.outcome) == (None, "auto", "accepted")
    assert frame.ev_offset == document["ev_offset"]
    stored = (lab.workspace.root / document["path"]).read_bytes()
    assert read_stamp(stored)["kind"] == "auto"
    assert hashlib.sha256(unstamp(stored)).hexdigest() == frame.camera_sha256
    with pytest.raises(Abort, match="has its auto frame already") as again:
        invoke(capture, *arguments)
    assert "--replace" in again.value.action
    invoke(capture, *arguments, "--replace")
    assert len(list(list_frames(lab.catalog, kind="auto"))) == 1
    lab.camera.dial = "Manual"
    done = json.loads(invoke(capture, *RUN, "--plan", small, "--json").stdout)
    assert done["planned"] == 8
    assert (lab.workspace.root / document["path"]).exists()


# ---- scenes


def test_scenes_are_added_and_listed(invoke):
    added = invoke(scene, "add", "mugs-2", "--category", "coffee mug", "--count", 2)
    assert "mugs-2: 2 x coffee mug" in added.stdout
    document = json.loads(invoke(scene, "list", "--json").stdout)
    assert document[-1] == {"name": "mugs-2", "category": "coffee mug", "count": 2}
    assert "coffee mug" in invoke(scene, "list").stdout


def test_a_scene_keeps_its_meaning(invoke):
    invoke(scene, "add", "cups", "--category", "cup", "--count", 3)
    with pytest.raises(CatalogError, match="exists already"):
        invoke(scene, "add", "cups", "--category", "cup", "--count", 4)


@pytest.mark.parametrize("name", ["../up", "a/b", "a.b", ""])
def test_a_scene_name_must_be_a_folder_name(invoke, name):
    with pytest.raises(WorkspaceError, match="cannot be a folder name"):
        invoke(scene, "add", name, "--category", "cup", "--count", 1)
