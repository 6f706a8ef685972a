"""SIGKILL at every step boundary of a shot, through the real libraries: nothing is lost.

The process is killed, not asked; the body goes on without it, and the next one finds what was
left: a set body, a running exposure, a picture in memory, a file without a row. In memory and at
every count `test_interruptions.py` has the same.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.fault_lab import FaultLab
from tests.capture.kill_at import BOUNDARIES
from tests.capture.test_fault_sweeps import SURVIVED
from tests.capture.test_light_fault_sweeps import SUSPENDED
from tests.darkroom_process import ROOT

pytestmark = pytest.mark.wire

_SCRIPT = Path(__file__).with_name("kill_at.py")
TROUBLES = [entry[:3] for entry in SURVIVED + SUSPENDED]
#: What some leave behind that the preflight of the next run refuses: its words, and the answer.
LEFT_BEHIND = {"autofocus_hunt": ("autofocus: One Shot", ("/body", {"focus": 3}))}
#: None that `pytest -k fault` would take for its own: these 150 belong to `make soak`.
_IDS = [name.replace("_with_defaults", "") for name, *_ in TROUBLES]


def kill_at(boundary: str, count: int, lab: FaultLab, *arguments: str) -> int:
    """Run a capture command in a process that is killed there; its exit status."""
    snaprig = ["-w", str(lab.root), "capture", *arguments, "--checklist-done", "--json"]
    return subprocess.run(
        [sys.executable, str(_SCRIPT), boundary, str(count), *snaprig],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=100,
        check=False,
    ).returncode


def first_run(lab: FaultLab) -> tuple[str, ...]:
    plan = str(lab.root / "plan.toml")
    return ("run", "--scene", "squares", "--lighting", "bright", "--plan", plan)


def rows(lab: FaultLab) -> dict:
    return {f.requested: f.camera_sha256 for f in lab.frames() if f.kind == "manual"}


def test_a_kill_at_every_boundary_of_a_shot(make_fault_lab, fault_free):
    """One sweep, killed once at each boundary and resumed each time."""
    lab: FaultLab = make_fault_lab()
    arguments, before = first_run(lab), {}
    for boundary in BOUNDARIES:
        assert kill_at(boundary, 3, lab, *arguments) == -signal.SIGKILL, boundary
        lab.check_truth()
        after = rows(lab)
        assert before.items() <= after.items(), f"{boundary}: a row was lost or shot again"
        stored = {lab.workspace.relative(path) for path in lab.workspace.stored_files()}
        orphans = stored - {frame.path for frame in lab.frames()}
        assert len(orphans) <= 1
        assert bool(orphans) == (boundary == "rowless"), boundary
        arguments, before = ("resume",), after
    ended = lab.resume()
    assert ended.code == 0, ended.said
    lab.check_truth()
    assert before.items() <= rows(lab).items()
    assert lab.outcomes() == fault_free
    assert lab.statuses() == [None] * len(BOUNDARIES) + ["done"]
    state = lab.room.state()
    assert state["buffer"] == state["card"] == []


@pytest.mark.soak
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("nth", range(len(TROUBLES)), ids=_IDS)
def test_a_kill_amid_trouble(make_fault_lab, fault_free, nth, boundary):
    """The process dies at a boundary near the fault; the next one meets what is left of it."""
    fault, at, keys = TROUBLES[nth]
    lab: FaultLab = make_fault_lab()
    lab.room.script(fault, at, **keys)
    code = kill_at(boundary, at - 1, lab, *first_run(lab))
    assert code in (-signal.SIGKILL, 0), "killed, or a boundary that it did not reach so often"
    lab.check_truth()
    ended = lab.resume()
    if ended.code == 3 and fault in LEFT_BEHIND:
        sentence, answer = LEFT_BEHIND[fault]
        assert sentence in ended.said
        lab.room.post(*answer)
        ended = lab.resume()
    assert ended.code == 0, ended.said
    lab.check_truth()
    assert lab.outcomes() == fault_free
