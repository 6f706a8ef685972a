"""Whole sessions by the command line: PsychoPy, a virtual screen, real keys and clicks, SIGKILL."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiment.trial_log import End, Header, LogWriter, TrialRecord, read_log
from schemas.workspace import Workspace
from tests.experiment.picture_lab import make_design, make_lab, snaprig, virtual_screen

pytestmark = pytest.mark.timeout(400)  # PsychoPy starts slowly on a busy machine

RUN = ("experiment", "run", "--participant", "T1", "--robot", "0.9", "--fixation-s", "0.05")


def log_of(root):
    return root / "sessions" / "T1" / "questions.jsonl"


def trials_in(path):
    return [record for record in read_log(path) if isinstance(record, TrialRecord)]


def kill_after(root, env, trials, *more):
    """Start a session, kill it by SIGKILL once so many trials are on the disk."""
    command = [sys.executable, "-m", "rig", "-w", str(root), *RUN, *more]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as session:
        while len(trials_in(log_of(root))) < trials:
            assert session.poll() is None, session.stderr.read().decode()
            time.sleep(0.05)
        os.kill(session.pid, signal.SIGKILL)


def check_session(root, document, planned):
    """Every trial once, as the robot really answered, scored by the common path."""
    log = log_of(root)
    shown = trials_in(log)
    assert sorted(record.index for record in shown) == list(range(planned))
    assert (document["trials"], document["lost"], document["finished"]) == (planned, 0, True)
    journal = [json.loads(line) for line in log.with_suffix(".robot").read_text().splitlines()]
    said = {entry["trial"]: entry for entry in journal}  # of a killed trial, the last answer
    assert {record.index: record.answer for record in shown} == {
        index: entry["said"] for index, entry in said.items()
    }
    right = sum(said[record.index]["right"] for record in shown)
    assert document["scored"] == planned
    assert document["accuracy"] == pytest.approx(right / planned, abs=1e-4)
    assert document["timing"]["modes"] == ["clock"]
    assert document["timing"]["status"] == {"unproven": planned}
    for record in shown:
        assert record.image_s >= 0.2
        assert record.mask_s >= 0.2
        assert record.latency_s > 0
    assert isinstance(read_log(log)[-1], End)


@pytest.fixture(scope="module")
def display():
    with virtual_screen() as env:
        yield env


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A workspace of 4 scenes with a design, to be copied."""
    root = tmp_path_factory.mktemp("template") / "lab"
    make_lab(root, scenes=4)
    make_design(root, per_question=4)
    return root


@pytest.fixture
def root(template, tmp_path):
    return Path(shutil.copytree(template, tmp_path / "lab"))


def test_a_session_killed_and_resumed_gives_every_trial_once(tmp_path, display):
    root = tmp_path / "lab"
    make_lab(root)
    make_design(root)
    kill_after(root, display, 6)
    refused = snaprig(root, *RUN, "--json", env=display, check=False)
    assert refused.returncode == 3
    assert "--resume" in refused.stderr
    document = json.loads(snaprig(root, *RUN, "--resume", "--json", env=display))
    check_session(root, document, 20)
    assert document["starts"] == 2
    headers = [record for record in read_log(log_of(root)) if isinstance(record, Header)]
    assert all(header.robot and header.settings["fixation_s"] == 0.05 for header in headers)
    # once more changes nothing, and what is in the catalog is there once
    again = json.loads(snaprig(root, *RUN, "--resume", "--json", env=display))
    assert again == document


def test_without_a_proven_refresh_a_person_is_refused(root, display):
    refused = snaprig(root, "experiment", "run", "--participant", "P1", env=display, check=False)
    assert refused.returncode == 1
    assert "do not wait for the screen" in refused.stderr
    assert "width_cm" in refused.stderr
    assert not trials_in(root / "sessions" / "P1" / "questions.jsonl")


def test_a_picture_that_is_not_as_the_catalog_knows_it_stops_the_session_before_it_begins(
    root, display
):
    changed = next(Workspace(root).stored_files())
    changed.write_bytes(changed.read_bytes() + b"x")
    refused = snaprig(root, *RUN, env=display, check=False)
    assert refused.returncode == 1
    assert changed.name in refused.stderr
    assert "snaprig check" in refused.stderr


def test_without_a_display_the_reason_is_one_line(root, display):
    env = {key: value for key, value in display.items() if key != "DISPLAY"}
    refused = snaprig(root, *RUN, env=env, check=False)
    assert refused.returncode == 1
    assert "no window can be opened" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_burn_in_reports_durations_and_stamps(root, display):
    words = ("experiment", "timing", "--trials", "4", "--keys", "20", "--fixation-s", "0.05")
    document = json.loads(snaprig(root, *words, "--json", env=display))
    assert document["verdict"].startswith("Unproven: flips do not wait")
    assert (document["mode"], document["status"]["unproven"]) == ("clock", 4)
    assert (document["image_ms"]["n"], document["key_stamping_ms"]["n"]) == (4, 20)
    assert document["key_stamping_ms"]["min"] > 0
    page = (root / "reports" / "timing.html").read_text(encoding="utf-8")
    assert document["verdict"] in page
    assert page.count("<svg") == 3


def test_practice_by_a_robot_records_nothing(root, display):
    (root / "experiment.toml").write_text("[experiment]\npractice_trials = 2\n")
    words = ("experiment", "practice", "--group", "2", "--robot", "1", "--fixation-s", "0.05")
    said = snaprig(root, *words, env=display)
    assert "2 practice trials shown, none recorded" in said
    assert not list((root / "sessions").glob("*/*.jsonl"))


def test_a_robot_does_not_go_on_with_a_persons_session(root, display):
    digest = json.loads((root / "sessions" / "design.json").read_text())["digest"]
    with LogWriter(log_of(root)) as log:
        log.append(Header("T1", "questions", 1, digest, 1, {}, {}, "frames"))
    refused = snaprig(root, *RUN, "--resume", env=display, check=False)
    assert refused.returncode == 1
    assert "T1's session is a person's" in refused.stderr


def test_ctrl_c_leaves_a_session_that_can_be_resumed(root, display):
    command = [sys.executable, "-m", "rig", "-w", str(root), *RUN]
    with subprocess.Popen(command, env=display, stderr=subprocess.PIPE, text=True) as session:
        while len(trials_in(log_of(root))) < 2:
            assert session.poll() is None, session.stderr.read()
            time.sleep(0.05)
        session.send_signal(signal.SIGINT)
        said = session.stderr.read()
    assert session.returncode == 3
    assert "Traceback" not in said
    shown = [record.index for record in trials_in(log_of(root))]
    assert shown == list(range(len(shown)))


@pytest.mark.soak
def test_200_trials_killed_five_times_give_every_trial_once(tmp_path, display):
    root = tmp_path / "lab"
    make_lab(root, scenes=100)
    make_design(root, participants=1, per_question=100)
    for number, trials in enumerate((10, 45, 90, 130, 180)):
        kill_after(root, display, trials, *(["--resume"] if number else []))
    document = json.loads(snaprig(root, *RUN, "--resume", "--json", env=display))
    check_session(root, document, 200)
    assert document["starts"] == 6
    assert document["accuracy"] == pytest.approx(0.9, abs=0.08)
