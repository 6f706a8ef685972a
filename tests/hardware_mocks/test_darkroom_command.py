from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from hardware_mocks.cli import darkroom as command
from tests.darkroom_process import ROOT, darkroom


@pytest.mark.wire
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_cleanly(photo, number):
    with darkroom(photo) as room:
        room.proc.send_signal(number)
        assert room.proc.wait(20) == 0


@pytest.mark.wire
def test_it_ends_with_its_parent_even_a_killed_one(photo):
    """Nothing of a killed test or demo stays behind."""
    starts_a_room = (
        "import subprocess, sys, time\n"
        f"command = [sys.executable, '-m', 'hardware_mocks', '--scene', {str(photo)!r}]\n"
        "room = subprocess.Popen([*command, '--end-with-stdin'], stdin=subprocess.PIPE)\n"
        "time.sleep(100)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starts_a_room], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert "camera" in json.loads(parent.stdout.readline())
        parent.kill()
        # The room holds the other end of this pipe: at its end nobody is left.
        assert parent.stdout.read() == ""


@pytest.mark.wire
def test_ports_can_be_chosen_and_a_taken_one_is_named(photo):
    with darkroom(photo) as room:
        taken = str(room.ready["hub_port"])
        result = subprocess.run(
            [sys.executable, "-m", "hardware_mocks", "--scene", str(photo), "--hub-port", taken],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert "Address already in use" in result.stderr


def test_missing_scene_says_what_to_do():
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 2
    assert "--scene PHOTO" in result.output


def test_unknown_fault_is_refused_with_the_list(photo, tmp_path):
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\nname = "gremlin"\nat = 1\n')
    result = CliRunner().invoke(command, ["--scene", str(photo), "--faults", str(script)])
    assert result.exit_code == 2
    assert "corrupt_jpeg" in result.output


def test_bad_clock_is_refused(photo):
    result = CliRunner().invoke(command, ["--scene", str(photo), "--clock", "yesterday"])
    assert result.exit_code == 2
    assert "ISO 8601" in result.output


def test_faults_are_listed_with_their_reports():
    listed = json.loads(CliRunner().invoke(command, ["--list-faults", "--json"]).output)
    names = {entry["name"] for entry in listed}
    assert {"busy_on_set", "silent_black", "meter_frozen", "disk_full"} <= names
    assert all(entry["description"] and entry["report"] for entry in listed)
    text = CliRunner().invoke(command, ["--list-faults"]).output
    assert all(name in text for name in names)
