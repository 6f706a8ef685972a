"""`snaprig capture preflight`, the gate before a run, white balance: in memory and on the wire."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import capture.preflight_cli
import capture.preflight_gate
import rig.bench
from capture.cli import capture as command
from capture.preflight import Manner, Preflight, answers_path, record, refuse
from capture.preflight_gate import Gate
from rig.checklist import ROOM, Answers
from rig.config import RigConfig, default_rig_toml
from rig.errors import Abort, AskOperator, Reconnect
from rig.preflight import Finding, Status, Task
from schemas.capture_store import add_scene, list_events, list_runs
from schemas.frame_store import list_frames
from schemas.records import Scene
from schemas.workspace import Workspace
from tests.capture.lab import BRIGHT, SMALL
from tests.darkroom_process import ROOT, darkroom
from tests.devices import HastyClock

SHOTS = tuple(SMALL)
KEYS = ["check", "status", "found", "wanted", "action"]


@pytest.fixture
def invoke(lab, monkeypatch):
    """Run a command of the group over the lab's devices; errors of ours are raised."""
    lab.clock = lab.camera.clock = lab.meter.clock = HastyClock()
    monkeypatch.setattr(rig.bench, "camera_of", lambda _config: lab.camera)
    monkeypatch.setattr(rig.bench, "meter_of", lambda _config: lab.meter)
    for module in (capture.preflight_cli, capture.preflight_gate):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lab.clock.sleep))

    def invoke_command(*arguments, **options):
        arguments = list(map(str, arguments))
        result = CliRunner().invoke(command, arguments, obj=lab.workspace.root, **options)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke_command


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(SMALL.to_toml())
    return path


def statuses(result):
    return {item["check"]: item["status"] for item in json.loads(result.stdout)}


def gate(lab, **options):
    said = []
    lab.clock.started_at = datetime.now(UTC)  # the body's clock is right
    bench = lab.bench()
    config = RigConfig.load(lab.workspace.rig_toml)
    chosen = Gate(**{"say": said.append, "sleep": lab.clock.sleep, **options})
    try:
        ready = chosen.check(lab.workspace, lab.catalog, config, bench, SHOTS, BRIGHT)
        return ready, said
    finally:
        bench.camera.close()
        bench.meter.close()


# ---- the command


def test_everything_is_checked_and_told_worst_first(lab, invoke, small):
    arguments = ("preflight", "--scene", "cups", "--lighting", "bright", "--plan", small)
    result = invoke(*arguments, "--json", "--checklist-done")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert all(list(item) == KEYS for item in document)
    names = [item["check"] for item in document]
    assert len(names) == len(set(names))
    assert set(statuses(result).values()) == {"ok"}
    assert {"workspace", "camera", "meter", "disk", "plan", "flicker", "light"} - set(names) == {
        "workspace"
    }
    lab.camera.body["focusmode"] = "One Shot"
    lab.camera.body["autopoweroff"] = "240"
    worse = invoke(*arguments, "--json", "--checklist-done")
    assert worse.exit_code == 1
    first, second, *rest = json.loads(worse.stdout)
    assert (first["check"], first["status"]) == ("autofocus", "fail")
    assert "MF" in first["action"]
    assert (second["check"], second["status"]) == ("auto_power_off", "warn")
    assert {item["status"] for item in rest} == {"ok"}


def test_the_burst_is_shot_and_forgotten_and_remembered_for_the_run(lab, invoke, small):
    arguments = ("preflight", "--lighting", "bright", "--plan", small, "--json")
    without = statuses(invoke(*arguments, "--no-burst"))
    assert (without["flicker"], without["focal_length"]) == ("warn", "warn")
    assert lab.camera.taken == []
    with_burst = statuses(invoke(*arguments))
    assert (with_burst["flicker"], with_burst["focal_length"]) == ("ok", "ok")
    assert len(lab.camera.taken) == 6
    assert not list(lab.workspace.stored_files())
    assert not list(list_frames(lab.catalog))
    assert lab.camera.settings["shutter"] == "1/125"  # as it was found
    later = statuses(invoke(*arguments, "--no-burst"))
    assert (later["flicker"], later["focal_length"]) == ("ok", "ok")
    assert len(lab.camera.taken) == 6


def test_no_picture_is_taken_with_the_dial_off_manual(lab, invoke, small):
    lab.camera.dial = "P"
    result = invoke("preflight", "--lighting", "bright", "--plan", small, "--json")
    assert result.exit_code == 1
    assert statuses(result)["mode_dial"] == "fail"
    assert statuses(result)["plan"] == "warn"
    assert lab.camera.taken == []


def test_a_device_that_is_not_there_does_not_hide_the_other(lab, invoke):
    lab.camera.faults.add("open", AskOperator("held by gvfs (process 7)", "close it"))
    found = invoke("preflight", "--json")
    document = {item["check"]: item for item in json.loads(found.stdout)}
    assert found.exit_code == 1
    assert document["camera"]["found"] == "held by gvfs (process 7)"
    assert document["camera"]["action"] == "close it"
    assert document["meter"]["status"] == "ok"
    lab.meter.faults.add("open", Reconnect("no hub", "plug it in"))
    lab.camera.faults.add("read_settings", Reconnect("gone", "check the cable"))
    other = {item["check"]: item for item in json.loads(invoke("preflight", "--json").stdout)}
    assert (other["meter"]["found"], other["camera"]["found"]) == ("no hub", "gone")


def test_a_run_that_is_going_on_is_named(lab, invoke):
    with (lab.workspace.root / "capture.lock").open("a+") as file:
        flock(file, LOCK_EX)
        file.write("process 42 (since long ago)")
        file.flush()
        result = invoke("preflight", "--json")
    assert result.exit_code == 1
    first = json.loads(result.stdout)[0]
    assert (first["check"], first["status"]) == ("workspace", "fail")
    assert "process 42" in first["found"]
    assert not lab.camera.is_open


def test_a_person_reads_a_table(invoke, small, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    text = invoke("preflight", "--lighting", "dim", "--plan", small, "--no-burst").stdout
    lines = text.splitlines()
    assert lines[0].split() == ["check", "found", "wanted", "what", "to", "do"]
    assert lines[1].split()[:2] == ["fail", "light"]  # 1000 lux are not 10
    assert "turn the panels down" in text
    assert "1 fail" in lines[-1]


def test_questions_are_asked_once_and_the_answers_kept(lab, invoke, small, monkeypatch):
    asked = []

    def ask(question, _stopped):
        asked.append(question.check)
        return question.check != "peripheral_correction"

    monkeypatch.setattr(capture.preflight_cli, "asker", lambda **_options: ask)
    arguments = ("preflight", "--lighting", "bright", "--plan", small, "--no-burst", "--json")
    found = statuses(invoke(*arguments))
    assert asked == [
        *("flash", "auto_lighting_optimizer", "peripheral_correction"),
        *("eyepiece", "meter_led", "lamps"),
    ]
    assert found["peripheral_correction"] == "fail"
    assert found["eyepiece"] == "ok"
    again = statuses(invoke(*arguments))
    assert asked[6:] == ["peripheral_correction"]  # a "no" is asked again
    assert again == found
    invoke(*arguments, "--ask")
    assert len(asked) == 7 + 6


def test_nobody_is_asked_without_a_terminal_or_with_the_checklist_done(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert capture.preflight_gate.asker(checklist_done=False) is None
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert capture.preflight_gate.asker(checklist_done=True) is None
    assert capture.preflight_gate.asker(checklist_done=False) is not None


def test_answers_are_yes_no_or_none():
    reader, writer = os.pipe()
    with os.fdopen(reader) as source, os.fdopen(writer, "w") as person:
        ask = capture.preflight_gate.asker(checklist_done=False, answers=source)
        for typed, answer in (("y\n", True), ("No\n", False)):
            person.write(typed)
            person.flush()
            assert ask(ROOM[0], lambda: False) is answer
        assert ask(ROOM[0], lambda: True) is None  # asked to stop
        person.close()
        assert ask(ROOM[0], lambda: False) is None  # nobody is there any more


def test_what_is_no_answer_is_asked_again(capsys):
    reader, writer = os.pipe()
    with os.fdopen(reader) as source, os.fdopen(writer, "w") as person:
        ask = capture.preflight_gate.asker(checklist_done=False, answers=source)
        person.write("what?\n")
        person.flush()
        looks = iter([False, True])
        assert ask(ROOM[0], lambda: next(looks)) is None
    assert "y for yes" in capsys.readouterr().err


def test_a_claimed_checklist_is_not_kept_as_an_answer(lab, invoke, small):
    invoke("preflight", "--plan", small, "--checklist-done", "--json")
    assert not answers_path(lab.workspace).exists()


def test_a_custom_white_balance_is_recorded_for_body_and_lighting(lab, invoke, small):
    arguments = ("preflight", "--lighting", "bright", "--plan", small, "--no-burst", "--json")
    lab.camera.body["whitebalance"] = "Manual"
    assert statuses(invoke(*arguments))["gray_card"] == "warn"
    done = invoke("white-balance", "--lighting", "bright", "--done", "--json")
    assert json.loads(done.stdout)["lighting"] == "bright"
    assert statuses(invoke(*arguments))["gray_card"] == "ok"
    lab.meter.lux = 10
    assert statuses(invoke(*(arguments[:2]), "dim", *arguments[3:]))["gray_card"] == "warn"
    with pytest.raises(AskOperator, match="nobody is at the terminal"):
        invoke("white-balance", "--lighting", "dim")
    lab.camera.body["whitebalance"] = "Daylight"
    with pytest.raises(AskOperator, match="Daylight"):
        invoke("white-balance", "--lighting", "dim", "--done")


# ---- the gate before a run


def test_a_ready_rig_passes_and_the_result_is_recorded(lab):
    ready, said = gate(lab, checklist_done=True)
    assert not ready.forced
    ((kind, detail),) = ready.events
    assert kind == "preflight"
    assert {item["check"]: item["status"] for item in json.loads(detail)}["flicker"] == "warn"
    assert [line.split(":")[:2] for line in said] == [
        ["warn", " flicker"],
        ["warn", " focal length"],
    ]
    assert lab.camera.taken == []


def test_what_says_the_same_is_told_in_one_line(lab):
    _ready, said = gate(lab)
    assert len(said) == 3
    unanswered = said[-1]
    assert unanswered.startswith("warn: flash, auto lighting optimizer, peripheral correction")
    assert unanswered.count("--checklist-done") == 1


def test_a_failure_refuses_and_force_overrules_it(lab):
    lab.camera.body["focusmode"] = "AI Servo"
    with pytest.raises(AskOperator, match="autofocus: AI Servo") as error:
        gate(lab)
    assert "MF" in error.value.action
    ready, _said = gate(lab, force=True)
    assert ready.forced
    assert [kind for kind, _detail in ready.events] == ["preflight", "preflight_forced"]
    assert "AI Servo" in ready.events[1][1]


def test_light_outside_the_band_at_the_start_refuses_and_says_what_to_turn(lab):
    """Once a run goes on, it waits for its light by itself; at the start somebody is there."""
    lab.meter.lux = 700
    with pytest.raises(AskOperator, match=r"700 lux \(wanted: bright: 900 to 1100 lux\)") as error:
        gate(lab)
    assert error.value.action.startswith("turn the panels up")


def test_force_without_a_failure_is_not_forced(lab):
    assert not gate(lab, force=True)[0].forced


def test_a_plan_that_does_not_fit_is_for_another_plan(lab):
    lab.camera.f_numbers = ("8", "11", "22")
    with pytest.raises(Abort, match=r"f/5\.6"):
        gate(lab)
    lab.camera.body["focusmode"] = "AI Servo"
    with pytest.raises(AskOperator):
        gate(lab)


def test_run_passes_through_the_gate(lab, invoke, small):
    run = ("run", "--scene", "cups", "--lighting", "bright", "--plan", small)
    lab.camera.body["whitebalance"] = "Auto"
    with pytest.raises(AskOperator, match="white balance: Auto"):
        invoke(*run)
    assert list_runs(lab.catalog) == []
    assert not lab.camera.is_open
    invoke(*run, "--limit", 2, "--force", "--json")
    (first,) = list_runs(lab.catalog)
    assert first.devices["preflight"] == "forced"
    assert "preflight_forced" in [event.kind for event in list_events(lab.catalog, first.id)]
    lab.camera.body["whitebalance"] = "Daylight"
    invoke("resume", "--checklist-done", "--json")
    _, second = list_runs(lab.catalog)
    assert "preflight" not in second.devices
    kept = [event for event in list_events(lab.catalog, second.id) if event.kind == "preflight"]
    result = {item["check"]: item["found"] for item in json.loads(kept[0].detail)}
    assert result["eyepiece"] == "yes by --checklist-done, nobody was asked"


def test_a_refusal_asks_for_all_that_failed():
    findings = [
        Finding("mode_dial", Status.FAIL, "P", "Manual", "turn the dial"),
        Finding("autofocus", Status.FAIL, "One Shot", "Manual", "use MF"),
        Finding("clock", Status.WARN, "1999", "now", "set it"),
    ]
    with pytest.raises(AskOperator) as error:
        refuse(findings)
    assert "mode dial: P" in str(error.value)
    assert "autofocus: One Shot" in str(error.value)
    assert error.value.action.startswith("turn the dial; use MF")
    assert "set it" not in error.value.action
    refuse(findings[2:])
    assert [kind for kind, _ in record(findings[2:], forced=True)] == ["preflight"]


def test_the_size_of_stored_frames_is_measured(lab):
    config = RigConfig.load(lab.workspace.rig_toml)

    def disk():
        flight = Preflight(lab.workspace, lab.catalog, config, Task(()), Manner())
        flight.host()
        return flight.findings[0].wanted

    assert "estimated" in disk()
    lab.sweep()
    assert "measured" in disk()


# ---- once over the wire


@pytest.mark.wire
def test_the_virtual_rig_is_ready_and_each_wrong_setting_is_found(tmp_path):
    scene = tmp_path / "gray.png"
    ramp = np.tile(np.linspace(20, 230, 480).astype(np.uint8), (320, 1))
    Image.fromarray(ramp).convert("RGB").save(scene)
    (tmp_path / "xdg" / "gphoto").mkdir(parents=True)
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    plan = tmp_path / "plan.toml"
    plan.write_text(SMALL.to_toml())
    with darkroom(scene, timescale=0) as room:
        workspace = Workspace.create(tmp_path / "lab", default_rig_toml(room.camera, room.hub))
        with workspace.catalog() as catalog:
            add_scene(catalog, Scene("gray", "gray", 1))

        def preflight(*more):
            checked = ("capture", "preflight", "--json")
            arguments = ("--scene", "gray", "--lighting", "bright", "--plan", str(plan), *more)
            done = subprocess.run(
                [sys.executable, "-m", "rig", "-w", str(workspace.root), *checked, *arguments],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            assert done.returncode in (0, 1), done.stderr
            return done.returncode, {item["check"]: item for item in json.loads(done.stdout)}

        code, found = preflight("--checklist-done")
        assert code == 0
        assert {item["status"] for item in found.values()} == {"ok"}
        assert "35 mm (Exif" in found["focal_length"]["found"]
        state = room.state()
        assert (state["pictures"], state["buffer"], state["card"]) == (6, [], [])
        burst = {(p["shutter_s"], p["iso"], p["f_number"]) for p in room.pictures()}
        assert burst == {(1 / 4000, 6400, 4.5)}
        serial = "VIRTUAL00001"
        assert Answers.load(answers_path(workspace)).burst(serial, "bright")["status"] == "ok"

        room.post("/body", {"focus": 0, "battery": 0, "picture_style": 0x87, "white_balance": 0})
        room.post("/body", {"auto_power_off": 240, "utc_time": 1_000_000_000})
        room.post("/lux", {"lux": 500})
        room.post("/zoom", {"focal_mm": 55})
        room.post("/meter", {"plugged": True})
        code, found = preflight("--checklist-done")
        assert code == 1
        wrong = {name: item["status"] for name, item in found.items() if item["status"] != "ok"}
        assert wrong == {
            "autofocus": "fail",
            "battery": "fail",
            "light": "fail",
            "focal_length": "fail",
            "auto_power_off": "warn",
            "clock": "warn",
        }
        # An automatic white balance and style are replaced for the session, and put back.
        assert found["white_balance"]["found"] == "Daylight"
        assert found["picture_style"]["found"] == "Standard"
        room.post("/dial", {"mode": "P"})
        room.post("/meter", {"plugged": False})
        code, found = preflight("--no-burst")
        assert (code, found["mode_dial"]["found"]) == (1, "P")
        assert found["meter"]["status"] == "fail"
        # The library of this release cannot read the custom functions: they are asked.
        assert found["long_exposure_noise_reduction"]["found"] in ("nobody has said", "off")
