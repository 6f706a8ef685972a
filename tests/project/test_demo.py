"""The whole chain once, as `make demo` runs it: one scene, both lightings, 144 shots."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.wire, pytest.mark.timeout(600)]


def snaprig(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rig", *words], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_the_demo_ends_with_a_catalog_that_adds_up(tmp_path):
    lab = str(tmp_path / "lab")
    done = snaprig("demo", "--lab", lab, "--max-scenes", "1", "--no-open")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "lab/reports/index.html").stat().st_size > 100_000
    assert "lab/reports/index.html" in done.stdout

    status = json.loads(snaprig("-w", lab, "status", "--json").stdout)
    frames = status["frames"]
    outcomes = {name: frames[name] for name in frames if name not in ("planned", "remaining")}
    assert frames["planned"] == sum(outcomes.values()) == 144
    assert frames["failed"] == frames["remaining"] == 0
    assert frames["rejected_black"] > 0
    assert frames["rejected_white"] > 0
    assert status["responses"] == frames["accepted"] > 0
    assert status["observers"] == 1
    assert status["light_readings"] > 0
    assert status["simulated"]

    colors = json.loads(snaprig("-w", lab, "color", "label", "--measure", "--json").stdout)
    assert colors["measured"]["frames"] == frames["accepted"]

    table = tmp_path / "frames.csv"
    assert snaprig("-w", lab, "export", "frames", str(table)).returncode == 0
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 144
    assert all(row["camera_sha256"] for row in rows)

    stored = next(row["path"] for row in rows if row["path"])
    path = tmp_path / "lab" / stored
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    checked = snaprig("-w", lab, "check", "--json")
    verdict = json.loads(checked.stdout)
    assert (checked.returncode, verdict["ok"]) == (1, False)
    assert [problem["file"] for problem in verdict["problems"]] == [stored]
