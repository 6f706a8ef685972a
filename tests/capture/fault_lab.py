"""A workspace beside a dark room in which things go wrong, and the truth to compare it with."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rig.cli import main
from schemas.capture_store import add_scene, list_events, list_runs
from schemas.exposure import Exposure
from schemas.frame_store import list_frames
from schemas.jpeg import read_exif
from schemas.plan import SweepPlan
from schemas.records import Frame, Outcome, Scene
from schemas.stamp import unstamp
from schemas.workspace import Workspace
from tests.darkroom_process import DarkroomProcess

#: 20 shots from black to white, none near a threshold. Picture 1 of a sweep is the reference
#: frame, then these in the plan's order: 2 to 6 are 1/4000 s to 30 s at ISO 100 and f/4.5, 7 to 11
#: back at ISO 800, 12 to 16 the same at f/22.
PLAN = SweepPlan(shutter=("1/4000", "1/500", "1/60", "1", "30"), iso=(100, 800), f_number=(4.5, 22))
LUX, TOLERANCE = 1000.0, 0.10
SHOT = {Outcome.ACCEPTED, Outcome.REJECTED_BLACK, Outcome.REJECTED_WHITE}
#: Faults that leave the picture that they strike as it would have been.
HARMLESS = {
    *("double_event", "slow_long_exposure", "meter_unplugged", "meter_frozen", "hub_restart"),
    *("hub_hangs", "lux_drift", "lux_step_mid_exposure", "disk_full", "database_locked"),
}
_POWER_CYCLE = Path(__file__).with_name("power_cycle.py")


def squares(path: Path) -> Path:
    """Write a photograph of colored squares on a gradient, seeded."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[0:320, 0:480]
    picture = np.stack([x / 480, y / 320, 0.5 + 0 * x], axis=-1) * 160 + 40
    for _ in range(8):
        top, left = rng.integers(0, 270), rng.integers(0, 430)
        picture[top : top + 50, left : left + 50] = rng.integers(10, 245, 3)
    Image.fromarray(picture.astype(np.uint8)).save(path)
    return path


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    code: int
    document: dict[str, Any]
    said: str


@dataclass
class FaultLab:
    """One workspace on the devices of a dark room."""

    root: Path
    room: DarkroomProcess
    plan: SweepPlan = PLAN
    margin_s: float = 2.0
    target: str = "Internal RAM"
    power: bool = False
    patience_min: float = 1.0
    scenes: tuple[str, ...] = ("squares",)
    workspace: Workspace = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, str(_POWER_CYCLE), self.room.control] if self.power else []
        self.workspace = Workspace.create(
            self.root,
            f"[camera]\nport = {json.dumps(self.room.camera)}\ntarget = {json.dumps(self.target)}\n"
            f"margin_s = {self.margin_s}\nmains = true\npower_cycle = {json.dumps(command)}\n"
            f"boot_s = 0.2\n[meter]\nhub = {json.dumps(self.room.hub)}\n"
            f"[guard]\npatience_min = {self.patience_min}\n"
            f"[lighting.bright]\nlux = {LUX}\ntolerance = {TOLERANCE}\nev_reference = 11\n"
            f"settle_s = 0.5\n",
        )
        with self.workspace.catalog() as catalog:
            for name in self.scenes:
                add_scene(catalog, Scene(name, "square", 8))
        (self.root / "plan.toml").write_text(self.plan.to_toml())

    def run(self, scene: str = "squares") -> Ended:
        """`capture run` in this process, with the real libraries."""
        plan = str(self.root / "plan.toml")
        return self.command("run", "--scene", scene, "--lighting", "bright", "--plan", plan)

    def resume(self) -> Ended:
        """`capture resume`."""
        return self.command("resume")

    def command(self, *arguments: str) -> Ended:
        """A capture command with `--json`."""
        out, err = io.StringIO(), io.StringIO()
        line = ["-w", str(self.root), "capture", *arguments, "--checklist-done", "--json"]
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main(line)
        said = err.getvalue()
        document = json.loads(out.getvalue()) if out.getvalue().strip() else {}
        return Ended(int(ended.value.code or 0), document, said)

    def frames(self) -> list[Frame]:
        """Every row, reference frames included."""
        with self.workspace.catalog() as catalog:
            return list(list_frames(catalog, kind=None))

    def outcomes(self) -> dict[Exposure, Outcome]:
        """Outcome of each shot of the plan."""
        frames = [f for f in self.frames() if f.kind == "manual" and f.requested]
        outcomes = {f.requested: f.outcome for f in frames if f.requested}
        assert len(outcomes) == len(frames), "a shot has two rows"
        return outcomes

    def events(self) -> list[str]:
        """Kinds of the events of all runs, in order."""
        with self.workspace.catalog() as catalog:
            return [row.kind for row in list_events(catalog)]

    def statuses(self) -> list[str | None]:
        """How each run ended."""
        with self.workspace.catalog() as catalog:
            return [run.status for run in list_runs(catalog)]

    def failures(self) -> dict[str, str]:
        """Why shots were given up, by setting."""
        return {f.setting: f.reason for f in self.frames() if f.outcome is Outcome.FAILED}

    def struck(self) -> list[str]:
        """Faults that struck, by the dark room's journal."""
        return [entry["name"] for entry in self.room.log() if entry["kind"] == "fault"]

    def check_truth(self) -> None:
        """Every row is a picture that the room made for it, in its light, and each once.

        Raises AssertionError.
        """
        frames = self.frames()
        assert duplicates(frames) == []
        made = {picture["sha256"]: picture for picture in self.room.pictures()}
        wrong = {
            f.requested: untruths(self.workspace, f, made.get(f.camera_sha256)) for f in frames
        }
        assert {asked: why for asked, why in wrong.items() if why} == {}


def duplicates(frames: list[Frame]) -> list[str]:
    """Exposures that became two rows, by the digest of the camera's bytes."""
    used = Counter(f.camera_sha256 for f in frames if f.outcome in SHOT)
    return [digest for digest, rows in used.items() if rows > 1]


def untruths(workspace: Workspace, frame: Frame, picture: dict[str, Any] | None) -> list[str]:
    """What is not true of a row: against the exposure that it names, and against its file."""
    wrong = []
    if frame.outcome in SHOT:
        wrong += ["no such picture was made"] if picture is None else _against(frame, picture)
    if frame.path:
        wrong += _against_file(frame, workspace.resolve(frame.path).read_bytes())
    return wrong


def _against(frame: Frame, picture: dict[str, Any]) -> list[str]:
    asked = frame.requested
    if asked is None:
        return ["nothing was requested"]
    true = {
        "mode": picture["mode"] == "M",
        "iso": picture["iso"] == asked.iso,
        "shutter": isclose(picture["shutter_s"], asked.shutter_s, rel_tol=0.02),
        "f_number": isclose(picture["f_number"], asked.f_number, rel_tol=0.02),
        "least light": picture["lux_min"] >= LUX * (1 - TOLERANCE),
        "most light": picture["lux_max"] <= LUX * (1 + TOLERANCE),
        "lux": isclose(frame.light.lux or 0.0, picture["lux"], rel_tol=0.05),
        "flash": not picture["flash_fired"],
        "harmless faults": set(picture["faults"]) <= HARMLESS,
        "size": (frame.width_px, frame.height_px) == (1920, 1280),
    }
    return [name for name, is_true in true.items() if not is_true]


def _against_file(frame: Frame, data: bytes) -> list[str]:
    exif, asked = read_exif(data), frame.requested
    true = {
        "file": hashlib.sha256(data).hexdigest() == frame.sha256,
        "camera's bytes": hashlib.sha256(unstamp(data)).hexdigest() == frame.camera_sha256,
        "file's iso": asked is not None and exif.iso == asked.iso,
        "file's flash": not exif.flash_fired,
        "file's focal length": exif.focal_length_mm == 35,
    }
    return [name for name, is_true in true.items() if not is_true]


def finish(lab: FaultLab, fault_free) -> None:
    """After the answer, `capture resume` brings the sweep to the fault-free end."""
    ended = lab.resume()
    assert ended.code == 0, ended.said
    lab.check_truth()
    assert lab.outcomes() == fault_free
    assert lab.statuses() == ["stopped", "done"]
