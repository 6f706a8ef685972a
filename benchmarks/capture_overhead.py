"""Seconds per frame of a whole sweep against the least that could be done, on one virtual camera.

    python benchmarks/capture_overhead.py [--rounds 5] [--photo FILE] [--full] [--json]

snaprig  `snaprig capture run`: set, fire, download, check Exif, decode, judge, store file and
         row, poll the light; its own `seconds`, from the checks before the first shot to the
         last row
driver   `rig.gphoto_camera` alone: apply and shoot, nothing verified or stored
loop     a minimal loop over the PyPI library: set three, capture(), get, write the file, delete
cli      the gphoto2 command, one process a shot (skipped where it is not installed)

The same settings in the same order, exposure time zero, rounds interleaved, medians. Most frames
of the default plan are accepted, so that nearly every one is written and fsynced. `--full` takes
all 630 shots. Targets: snaprig at most 1.10 of the loop, and at most 1/1.3 of the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gphoto2 as gp
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rig.gphoto_camera import GphotoCamera  # noqa: E402
from schemas.exposure import Exposure, spell_f_number, spell_shutter  # noqa: E402
from schemas.plan import SweepPlan  # noqa: E402

SNAPRIG = (sys.executable, "-c", "from rig.cli import main; main()")
PLAN = SweepPlan(
    shutter=("1/15", "1/30", "1/60", "1/125", "1/250"), iso=(100, 200, 400), f_number=(8, 11, 16)
)
MAX_OF_LOOP, MAX_OF_CLI = 1.10, 1 / 1.3


def snaprig(room: dict[str, Any], plan: SweepPlan, folder: Path) -> float:
    """Seconds per frame of the engine in a fresh workspace."""
    lab = folder / "lab"
    _snaprig(lab, "init", str(lab), "--camera", room["camera"], "--hub", room["hub"])
    _snaprig(lab, "scene", "add", "bench", "--category", "stripe", "--count", "1")
    (lab / "plan.toml").write_text(plan.to_toml())
    arguments = ("--scene", "bench", "--lighting", "bright", "--plan", str(lab / "plan.toml"))
    summary = json.loads(_snaprig(lab, "capture", "run", *arguments, "--json"))
    assert summary["attempts"] == summary["planned"] == len(plan), summary
    return float(summary["seconds"]) / len(plan)


def driver(room: dict[str, Any], plan: SweepPlan, folder: Path) -> float:
    """Seconds per frame of the camera side alone: what the engine builds on."""
    del folder  # nothing is stored
    camera = GphotoCamera(room["camera"])
    camera.open()
    try:
        started_s = time.perf_counter()
        for shot in plan:
            camera.apply(shot.exposure)
            assert camera.shoot(30).data.startswith(b"\xff\xd8")
        return (time.perf_counter() - started_s) / len(plan)
    finally:
        camera.close()


def loop(room: dict[str, Any], plan: SweepPlan, folder: Path) -> float:
    """Seconds per frame of a short script over the library."""
    ports, models = gp.PortInfoList(), gp.CameraAbilitiesList()
    ports.load()
    models.load()
    camera = gp.Camera()
    camera.set_port_info(ports[ports.lookup_path(room["camera"])])
    camera.set_abilities(models[models.lookup_model("PTP/IP Camera")])
    camera.init()
    try:
        _set(camera, "capturetarget", "Internal RAM")
        _set(camera, "imageformat", "S2")
        started_s = time.perf_counter()
        for shot in plan:
            for name, value in _spelled(shot.exposure):
                _set(camera, name, value)
            path = camera.capture(gp.GP_CAPTURE_IMAGE)
            file = camera.file_get(path.folder, path.name, gp.GP_FILE_TYPE_NORMAL)
            file.save(str(folder / f"{shot.index}.jpg"))
            camera.file_delete(path.folder, path.name)
        return (time.perf_counter() - started_s) / len(plan)
    finally:
        camera.exit()


def cli(room: dict[str, Any], plan: SweepPlan, folder: Path) -> float:
    """Seconds per frame of the command line, a process for each."""
    # The wheel, once imported, points these at its own drivers: the peer must use the system's.
    own = {k: v for k, v in os.environ.items() if k not in {"CAMLIBS", "IOLIBS"}}
    environment = {**own, "HOME": str(folder)}  # where older versions keep the capture target
    started_s = time.perf_counter()
    for shot in plan:
        command = ["gphoto2", "--port", room["camera"], "--camera", "PTP/IP Camera"]
        for name, value in (("capturetarget", "Internal RAM"), *_spelled(shot.exposure)):
            command += ["--set-config-value", f"{name}={value}"]
        command += ["--capture-image-and-download", "--force-overwrite"]
        command += ["--filename", str(folder / f"{shot.index}.jpg")]
        subprocess.run(command, check=True, capture_output=True, env=environment)
    return (time.perf_counter() - started_s) / len(plan)


def _spelled(exposure: Exposure) -> list[tuple[str, str]]:
    return [
        ("shutterspeed", spell_shutter(exposure.shutter_s)),
        ("iso", str(exposure.iso)),
        ("aperture", spell_f_number(exposure.f_number)),
    ]


def _set(camera: gp.Camera, name: str, value: str) -> None:
    widget = camera.get_single_config(name)
    widget.set_value(value)
    camera.set_single_config(name, widget)


def _snaprig(lab: Path, *arguments: str) -> str:
    command = [*SNAPRIG, "-w", str(lab), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measure(rounds: int, plan: SweepPlan, photo: Path) -> dict[str, list[float]]:
    """Seconds per frame by way, a number a round."""
    ways: list[Callable[[dict[str, Any], SweepPlan, Path], float]] = [snaprig, driver, loop]
    ways += [cli] if shutil.which("gphoto2") else []
    seconds: dict[str, list[float]] = {way.__name__: [] for way in ways}
    command = [sys.executable, "-m", "hardware_mocks", "--scene", str(photo), "--timescale", "0"]
    command += ["--end-with-stdin"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            room = json.loads(process.stdout.readline())
            for number in range(rounds):
                turn = number % len(ways)  # nobody always goes first
                for way in ways[turn:] + ways[:turn]:
                    with tempfile.TemporaryDirectory() as folder:
                        seconds[way.__name__].append(way(room, plan, Path(folder)))
        finally:
            process.terminate()
    return seconds


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Overhead of a sweep over the minimal loop.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--photo", type=Path, help="what stands before the virtual camera")
    parser.add_argument("--full", action="store_true", help="all 630 shots")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    plan = SweepPlan() if arguments.full else PLAN
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder  # libgphoto2 keeps the capture target there
        (Path(folder) / "gphoto").mkdir()
        photo = arguments.photo or Path(folder) / "stripes.png"
        if arguments.photo is None:
            stripes = np.repeat(np.linspace(5, 250, 16).astype(np.uint8), 120)
            Image.fromarray(np.tile(stripes, (1280, 1))).convert("RGB").save(photo)
        seconds = measure(arguments.rounds, plan, photo)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = {"loop": (medians["snaprig"] / medians["loop"], MAX_OF_LOOP)}
    if "cli" in medians:
        ratios["cli"] = (medians["snaprig"] / medians["cli"], MAX_OF_CLI)
    if arguments.json:
        document = {"shots": len(plan), "seconds_per_frame": medians, "rounds": seconds}
        document["ratios"] = {name: {"is": r, "at_most": m} for name, (r, m) in ratios.items()}
        print(json.dumps(document, indent=2))
        return
    print(f"{len(plan)} shots a round, {arguments.rounds} rounds, {os.cpu_count()} cores")
    for name, values in seconds.items():
        spread = f"{min(values):.4f} to {max(values):.4f}"
        print(f"{name:8s} {medians[name]:.4f} s a frame  ({spread})")
    for name, (ratio, most) in ratios.items():
        verdict = "within" if ratio <= most else "OVER"
        print(f"snaprig / {name:4s} {ratio:.3f}  target <= {most:.3f}  {verdict} the target")


if __name__ == "__main__":
    main()
