"""Whole sweeps through the real libraries while everything goes wrong, by seeded fault scripts.

    python benchmarks/soak.py --sweeps 10 --seed 1 [--shots 630] [--faults 16] [--minutes 60]

One dark room, one workspace, one process for all sweeps, exposure time zero. Each sweep has its
own script: faults drawn from all of them, each at a picture drawn from the sweep. Every other
sweep waits for its pictures on the memory card, and has a command that cycles the camera's power;
in the others a person does it. Where a run ends with a question, or with shots given up, the
operator puts right what is wrong in the room, and `capture resume` goes on.

Rows are compared with the dark room's journal of what really happened:

lost        shots of the plan without a final row
mislabelled rows that name a picture which the room did not make with these settings, in this
            light, on Manual, without flash and with an open shutter; or whose file is not it
duplicated  exposures that became two rows, or shots with two rows

disk_full is left out: it needs a small disk of its own (`pytest -k full_disk` has one).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hardware_mocks.named_faults import FAULTS  # noqa: E402
from schemas.capture_store import list_events, list_runs  # noqa: E402
from schemas.frame_store import FINAL, list_frames  # noqa: E402
from schemas.plan import SweepPlan  # noqa: E402
from schemas.records import Frame  # noqa: E402
from tests.capture.fault_lab import FaultLab, duplicates, squares, untruths  # noqa: E402
from tests.darkroom_process import DarkroomProcess, darkroom  # noqa: E402

#: Runs of one sweep, after which the soak gives it up as lost.
MOST_RUNS = 40
LEFT_OUT = {"disk_full"}
#: What some faults are told; the rest have their defaults.
KEYS: dict[str, dict[str, Any]] = {
    "lux_step_mid_exposure": {"lux": 600.0, "for_s": 2.0},
    "lux_drift": {"lux": 1250.0, "over_s": 2.0, "for_s": 1.0},
    "battery_dies": {},
}
#: Events of the catalog that are retries of some kind.
RETRIES = ("retry", "rebuild", "reconnect", "power_cycle")


@dataclass
class Tally:
    """What all sweeps came to."""

    frames: int = 0
    exposures: int = 0
    runs: int = 0
    asked: int = 0
    seconds: float = 0.0
    lost: int = 0
    mislabelled: int = 0
    duplicated: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            **{name: getattr(self, name) for name in ("frames", "exposures", "runs", "asked")},
            "faults": dict(self.faults.most_common()),
            "retries": {kind: self.events[kind] for kind in RETRIES},
            "refused": {k: n for k, n in self.events.most_common() if k not in RETRIES},
            "suspensions": self.events["suspended"],
            **{name: getattr(self, name) for name in ("lost", "mislabelled", "duplicated")},
            "frames_per_s": round(self.frames / self.seconds, 2) if self.seconds else None,
            "wrong": self.wrong,
        }


def resident_mb() -> float:
    """Memory that this process holds, without what it has freed and the C library keeps for it."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library has none
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def plan_of(shots: int) -> SweepPlan:
    """The default grid, or about so many shots of it, from its fastest to its slowest."""
    plan = SweepPlan()
    if shots >= len(plan):
        return plan
    wanted = max(2, round(shots / 6))
    last = len(plan.shutter) - 1
    shutters = dict.fromkeys(plan.shutter[round(i * last / (wanted - 1))] for i in range(wanted))
    return plan.subset(shutter=tuple(shutters), iso=(100, 800, 6400), f_number=(5.6, 22))


def script(seed: int, sweep: int, shots: int, faults: int, catalog: Path) -> list[dict[str, Any]]:
    """The faults of one sweep; `at` counts its pictures from 1."""
    rng = random.Random(seed * 1000 + sweep)  # noqa: S311 - what goes wrong when, not a secret
    names = sorted(set(FAULTS) - LEFT_OUT)
    drawn = []
    while len(drawn) < faults:
        drawn += rng.sample(names, min(len(names), faults - len(drawn)))
    entries = []
    for name in drawn:
        keys = dict(KEYS.get(name, {}))
        if name == "database_locked":
            keys["database"] = str(catalog)
        entries.append({"name": name, "at": rng.randint(3, max(4, shots - 2)), **keys})
    return entries


def put_right(room: DarkroomProcess) -> None:
    """What an operator does who comes in: look at everything, and set it as it should be."""
    for path, document in (
        ("/power", {"on": False}),
        ("/power", {"on": True}),
        ("/body", {"focus": 3, "format": 6}),
        ("/dial", {"mode": "M"}),
        ("/zoom", {"focal_mm": 35}),
        ("/card", {}),
        ("/lux", {"lux": 1000}),
        ("/meter", {"plugged": False}),
        ("/meter", {"plugged": True}),
    ):
        room.post(path, document)


def shoot(lab: FaultLab, scene: str, tally: Tally) -> None:
    """One sweep to its end, with the operator's answers."""
    ended = lab.run(scene)
    for _ in range(MOST_RUNS):
        tally.runs += 1
        tally.exposures += ended.document.get("attempts", 0)
        if ended.code == 0:
            return
        tally.asked += ended.code == 3
        why = ended.document.get("reason") or ended.said.strip().splitlines()[-2:]
        if ended.code == 1 and lab.failures():
            why = f"{why} {lab.failures()}"
        sys.stderr.write(f"  {scene}: status {ended.code}: {why}\n")
        put_right(lab.room)
        ended = lab.command("resume", "--scene", scene)


def examine(lab: FaultLab, scene: str, tally: Tally) -> None:
    """Compare the rows of a sweep with the journal, and count."""
    with lab.workspace.catalog() as catalog:
        frames: list[Frame] = list(list_frames(catalog, scene=scene, kind=None))
        runs = {run.id for run in list_runs(catalog, scene=scene)}
        tally.events.update(row.kind for row in list_events(catalog) if row.run_id in runs)
    made = {picture["sha256"]: picture for picture in lab.room.pictures()}
    shots = [f for f in frames if f.kind == "manual"]
    final = [f.requested for f in shots if f.outcome in FINAL]
    tally.frames += len(final)
    tally.lost += len(lab.plan) - len(set(final))
    tally.duplicated += len(duplicates(frames)) + len(final) - len(set(final))
    for frame in frames:
        if wrong := untruths(lab.workspace, frame, made.get(frame.camera_sha256)):
            tally.mislabelled += 1
            tally.wrong.append(f"{scene} {frame.requested}: {', '.join(wrong)}")
    tally.faults.update(lab.struck())


def main() -> None:
    """Soak, print, and fail if a row was lost, mislabelled or duplicated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shots", type=int, default=630)
    parser.add_argument("--faults", type=int, default=16, help="a sweep")
    parser.add_argument("--minutes", type=float, help="begin no sweep after so long")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    plan, tally = plan_of(options.shots), Tally()
    resident: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "xdg" / "gphoto").mkdir(parents=True)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "xdg")
        with darkroom(squares(folder / "squares.png"), timescale=0, seed=options.seed) as room:
            started_s = time.monotonic()
            for sweep in range(options.sweeps):
                if options.minutes and time.monotonic() - started_s > 60 * options.minutes:
                    break
                lab = FaultLab(
                    folder / f"lab{sweep}",
                    room.afresh(),
                    plan,
                    target="Memory card" if sweep % 2 else "Internal RAM",
                    power=bool(sweep % 2),
                )
                catalog = lab.root / "catalog.sqlite"
                for entry in script(options.seed, sweep, len(plan), options.faults, catalog):
                    lab.room.script(**entry)
                begun_s = time.monotonic()
                shoot(lab, "squares", tally)
                tally.seconds += time.monotonic() - begun_s
                # before the comparison, which reads the whole journal into this process
                resident.append(resident_mb())
                examine(lab, "squares", tally)
                sys.stderr.write(
                    f"sweep {sweep + 1}: {time.monotonic() - begun_s:.0f} s, so far "
                    f"{tally.frames} frames, {sum(tally.faults.values())} faults, "
                    f"{tally.lost} lost, {tally.mislabelled} mislabelled, "
                    f"{tally.duplicated} duplicated, {resident[-1]:.0f} MB\n"
                )
    document = {
        "sweeps": len(resident),
        "shots": len(plan),
        "seed": options.seed,
        **tally.to_json(),
        "resident_mb": {"after_first_sweep": round(resident[0]), "at_end": round(resident[-1])},
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n" if options.json else table(document))
    sys.exit(bool(tally.lost or tally.mislabelled or tally.duplicated))


def table(document: dict[str, Any]) -> str:
    """The document for a person."""
    lines = []
    for key, value in document.items():
        said = str(value)
        if isinstance(value, dict):
            said = ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
        elif isinstance(value, list):
            said = "; ".join(map(str, value)) or "none"
        lines.append(f"{key.replace('_', ' '):<14} {said}\n")
    return "".join(lines)


if __name__ == "__main__":
    main()
