"""Time of a sweep with the daemon and a dashboard that follows it, against `capture run` alone.

    python benchmarks/daemon_overhead.py [--rounds 5] [--full] [--json]

alone    `snaprig capture run` in a process of its own
daemon   the same sweep by `snaprig daemon`, with one page: its stream, the grid every second, the
         light, the thumbnail and the overlay of each new frame

Both are the `seconds` of the run's own summary, from the checks before the first shot to the last
row, on one virtual camera without exposure time; rounds interleaved, medians. A real sweep has
exposures, so that the share here is an upper bound. Target: less than 2 % more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from schemas.plan import SweepPlan  # noqa: E402

SNAPRIG = (sys.executable, "-m", "rig")
PLAN = SweepPlan(
    shutter=("1/15", "1/30", "1/60", "1/125", "1/250"),
    iso=(100, 200, 400, 800),
    f_number=(5.6, 8, 11, 16, 22),
)
MOST = 1.02
WHERE = {"scene": "bench", "lighting": "bright"}


def _snaprig(lab: Path, *arguments: str) -> str:
    command = [*SNAPRIG, "-w", str(lab), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _workspace(room: dict[str, Any], plan: SweepPlan, folder: Path) -> Path:
    lab = folder / "lab"
    _snaprig(lab, "init", str(lab), "--camera", room["camera"], "--hub", room["hub"])
    _snaprig(lab, "scene", "add", "bench", "--category", "stripe", "--count", "1")
    (lab / "plan.toml").write_text(plan.to_toml())
    return lab


def alone(room: dict[str, Any], plan: SweepPlan, folder: Path) -> float:
    """Seconds of the sweep without a daemon."""
    lab = _workspace(room, plan, folder)
    where = ("--scene", "bench", "--lighting", "bright", "--plan", str(lab / "plan.toml"))
    told = _snaprig(lab, "capture", "run", *where, "--checklist-done", "--json")
    return float(json.loads(told)["seconds"])


def daemon(room: dict[str, Any], plan: SweepPlan, folder: Path) -> float:
    """Seconds of the sweep by a daemon that is looked at."""
    lab = _workspace(room, plan, folder)
    command = [*SNAPRIG, "-w", str(lab), "daemon", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            while not (lab / "daemon.json").exists():
                assert process.poll() is None
                time.sleep(0.05)
            address = json.loads((lab / "daemon.json").read_text())["address"]
            return _followed(address)
        finally:
            process.terminate()


def _followed(address: str) -> float:
    over = threading.Event()
    with httpx.Client(base_url=address, headers={"X-Snaprig": "1"}, timeout=30) as http:
        rev = http.get("/api/state").json()["rev"]
        body = {"kind": "sweep", **WHERE, "plan": "plan.toml", "checklist_done": True, "rev": rev}
        page = threading.Thread(target=_page, args=(address, over))
        page.start()
        try:
            job = http.post("/api/start", json=body).json()["job"]["id"]
            while (state := http.get(f"/api/jobs/{job}").json())["ended_at"] is None:
                time.sleep(0.5)
        finally:
            over.set()
            page.join()
        assert state["state"] == "done", state
        return float(state["summary"]["seconds"])


def _page(address: str, over: threading.Event) -> None:
    """What an open dashboard asks for."""
    looking = threading.Thread(target=_look, args=(address, over))
    looking.start()
    with httpx.Client(base_url=address, timeout=30) as http, http.stream("GET", "/api/events") as s:
        for _line in s.iter_lines():
            if over.is_set():
                break
    looking.join()


def _look(address: str, over: threading.Event) -> None:
    shown = None
    with httpx.Client(base_url=address, timeout=30) as http:
        while not over.wait(1.0):
            http.get("/api/grid")
            http.get("/api/light", params={"seconds": 600})
            newest = http.get("/api/frames", params={"limit": 1}).json()
            if newest and newest[0]["id"] != shown and newest[0]["has_file"]:
                shown = newest[0]["id"]
                http.get(f"/api/frames/{shown}")
                http.get(f"/api/frames/{shown}/thumbnail")
                http.get(f"/api/frames/{shown}/clipping")


def measure(rounds: int, plan: SweepPlan, photo: Path, timescale: float) -> dict[str, list[float]]:
    """Seconds of the sweep by way, a number a round."""
    seconds: dict[str, list[float]] = {"alone": [], "daemon": []}
    ways = [alone, daemon]
    command = [sys.executable, "-m", "hardware_mocks", "--scene", str(photo)]
    command += ["--timescale", str(timescale)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            room = json.loads(process.stdout.readline())
            for number in range(rounds):
                for way in ways if number % 2 == 0 else ways[::-1]:
                    with tempfile.TemporaryDirectory() as folder:
                        seconds[way.__name__].append(way(room, plan, Path(folder)))
        finally:
            process.terminate()
    return seconds


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="What daemon and dashboard cost a sweep.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timescale", type=float, default=0.0, help="1: exposures last as marked")
    parser.add_argument("--full", action="store_true", help="all 630 shots")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    plan = SweepPlan() if arguments.full else PLAN
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder  # libgphoto2 keeps the capture target there
        (Path(folder) / "gphoto").mkdir()
        photo = Path(folder) / "stripes.png"
        stripes = np.repeat(np.linspace(5, 250, 16).astype(np.uint8), 120)
        Image.fromarray(np.tile(stripes, (1280, 1))).convert("RGB").save(photo)
        seconds = measure(arguments.rounds, plan, photo, arguments.timescale)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["daemon"] / medians["alone"]
    if arguments.json:
        document = {"shots": len(plan), "seconds": seconds, "medians": medians, "ratio": ratio}
        print(json.dumps({**document, "at_most": MOST}, indent=2))
        return
    print(f"{len(plan)} shots a round, {arguments.rounds} rounds, {os.cpu_count()} cores")
    for name, values in seconds.items():
        print(f"{name:8s} {medians[name]:.2f} s  ({min(values):.2f} to {max(values):.2f})")
    print(f"daemon / alone {ratio:.4f}  target < {MOST}  {'within' if ratio < MOST else 'OVER'}")


if __name__ == "__main__":
    main()
