"""The commands as people type them; the interrupted one as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

import evaluate.cli
import evaluate.run_cli
from evaluate.cli import evaluate as command
from schemas.answer_store import list_observers, list_responses
from schemas.catalog import Catalog

NAME = "tf_efficientnet_lite2"


def call(lab, *args, code=0):
    done = CliRunner().invoke(command, args, obj=lab.workspace.root)
    assert done.exit_code == code, done.output
    return done


def call_json(lab, *args):
    return json.loads(call(lab, *args, "--json").stdout)


def test_models_lists_what_runs_here(lab):
    rows = call_json(lab, "models", "--zoo", "all")["models"]
    (row,) = (row for row in rows if row["status"] == "runnable")
    assert (row["name"], row["reason"], row["license"]) == (NAME, "", "Apache-2.0")
    assert len(call_json(lab, "models")["models"]) == 52


def test_the_chain_of_commands(lab):
    for lighting in ("bright", "dim"):
        lab.fill("mugs", lighting)
    ran = call_json(lab, "run", "--model", NAME, "--device", "cpu", "--batch-size", "6")
    assert (ran["responses"], ran["failed"]) == (16, 0)
    (observer,) = ran["observers"]
    assert (observer["name"], observer["asked"]) == (NAME, 16)
    assert observer["images_per_s"] > 0
    again = call_json(lab, "run", "--model", NAME, "--device", "cpu")
    assert again["observers"][0]["asked"] == 0
    assert again["observers"][0]["images_per_s"] == 0
    scored = call_json(lab, "score")
    assert (scored["protocol"], scored["scored"]) == ("paper", 16)
    assert {"top1", "top5", "ps"} <= set(scored["observers"][0]["metrics"])
    reported = call_json(lab, "report")
    assert reported["observers"][0]["top1"] == scored["observers"][0]["metrics"]["top1"]
    assert {f["name"] for f in reported["figures"]} >= {"top1-by-ev-offset", "outcome-grid"}
    said = call(lab, "report", "--out", str(lab.workspace.root / "elsewhere.html")).output
    assert "elsewhere.html" in said
    assert (lab.workspace.root / "figures" / "outcome-grid.svg").is_file()


def test_report_scores_by_itself(lab):
    lab.fill("mugs", "bright")
    call(lab, "run", "--model", NAME, "--device", "cpu")
    assert call_json(lab, "report")["observers"][0]["n"] == 8


def test_failures_are_counted_and_asked_again_on_request(lab):
    lab.fill("mugs", "bright")
    path = next(lab.workspace.frames.rglob("*.jpg"))
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    run = ("run", "--model", NAME, "--device", "cpu")
    assert call_json(lab, *run)["failed"] == 1
    path.write_bytes(whole)
    assert call_json(lab, *run)["responses"] == 0
    assert call_json(lab, *run, "--retry-failed")["responses"] == 1
    (observer,) = list_observers(lab.catalog)
    assert all(r.error == "" for r in list_responses(lab.catalog, observer.id))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "--model", "resnet9000"], "no model called 'resnet9000'"),
        (["run", "--model", NAME, "--device", "cuda:7"], "--device cpu"),
    ],
)
def test_wrong_names_say_what_to_do(lab, args, says):
    assert says in call(lab, *args, code=1).output


def test_one_name_for_two_models_is_wrong_usage(lab):
    args = ["run", "--model", NAME, "--model", NAME, "--as", "mine"]
    assert "--as names one observer" in call(lab, *args, code=2).output


@pytest.mark.parametrize(
    ("args", "missing"), [(["run", "--model", NAME], "torch"), (["report"], "matplotlib")]
)
def test_without_the_extra(lab, monkeypatch, args, missing):
    for module in (evaluate.cli, evaluate.run_cli):
        monkeypatch.setattr(
            module, "find_spec", lambda name: None if name == missing else find_spec(name)
        )
    said = call(lab, *args, code=1).output
    assert f"{missing} not installed" in said
    assert "pip install 'snaprig[evaluate]'" in said


def test_a_broken_vocabulary_is_one_line(lab):
    (lab.workspace.root / "vocabulary.toml").write_text("[category")
    assert "not valid TOML" in call(lab, "score", code=1).output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run"], "--model or --zoo"),
        (["run", "--model", NAME, "--shard", "5/4"], "no part such as 1/4"),
        (["run", "--model", NAME, "--shard", "0/4"], "no part such as 1/4"),
        (["run", "--model", NAME, "--dtype", "int8"], "bfloat16"),
    ],
)
def test_wrong_usage(lab, args, says):
    assert says in call(lab, *args, code=2).output


def test_one_model_fails_and_the_other_goes_on(lab, tmp_path):
    lab.fill("mugs", "bright")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text('{"architecture": "test_resnet", "num_classes": 1000}')
    done = call(lab, "run", "--model", str(broken), "--model", NAME, "--device", "cpu", code=1)
    assert "1 of 2 models did not finish: broken: " in done.output
    assert f"{NAME}: 8 responses of 8 asked" in done.output


def test_parts_and_a_cache(lab, tmp_path):
    lab.fill("mugs", "bright")
    run = ("run", "--model", NAME, "--device", "cpu", "--cache", str(tmp_path / "c"))
    first = call_json(lab, *run, "--shard", "1/2")["responses"]
    second = call_json(lab, *run, "--shard", "2/2")["responses"]
    assert first + second == 8
    assert len([path for path in (tmp_path / "c").rglob("*") if path.is_file()]) == 8
    assert "cannot be asked detection" in call(lab, *run, "--task", "detection", code=1).output


def test_ctrl_c_twice_loses_and_repeats_nothing(lab):
    for scene in ("a", "b"):
        for lighting in ("bright", "dim"):
            lab.fill(scene, lighting)
    args = [sys.executable, "-c", "from rig.cli import main; main()", "-w", str(lab.workspace.root)]
    args += ["evaluate", "run", "--model", NAME, "--device", "cpu", "--batch-size", "1"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(args, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        while process.poll() is None and count_responses(lab.catalog) < 2:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode != 0
    stopped_at = count_responses(lab.catalog)
    assert call_json(lab, "run", "--model", NAME, "--device", "cpu")["responses"] == 32 - stopped_at
    (observer,) = list_observers(lab.catalog)
    given = list(list_responses(lab.catalog, observer.id))
    assert len({r.stimulus_id for r in given}) == len(given) == 32
    assert all(r.error == "" for r in given)


def test_ctrl_c_finishes_the_batch_and_goes_on_later(lab):
    for scene in ("a", "b"):
        for lighting in ("bright", "dim"):
            lab.fill(scene, lighting)
    args = [sys.executable, "-c", "from rig.cli import main; main()", "-w", str(lab.workspace.root)]
    args += ["evaluate", "run", "--model", NAME, "--device", "cpu", "--batch-size", "1"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(args, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        while process.poll() is None and count_responses(lab.catalog) < 2:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3, said.decode()
    assert b"run the same command again to go on" in said
    stopped_at = count_responses(lab.catalog)
    assert 2 <= stopped_at < 32
    again = call_json(lab, "run", "--model", NAME, "--device", "cpu")
    assert again["responses"] == 32 - stopped_at


def count_responses(catalog: Catalog) -> int:
    return sum(1 for o in list_observers(catalog) for _ in list_responses(catalog, o.id))
