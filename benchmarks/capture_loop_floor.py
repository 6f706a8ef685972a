"""Seconds per shot of the camera alone, three ways over the same shots on one virtual camera.

    python benchmarks/capture_loop_floor.py [--shots 40] [--rounds 3] [--camera PORT] [--photo FILE]

loop     the ordinary loop over the PyPI library: set three, capture(), get, delete
driver   rig.gphoto_camera: apply and shoot, the same shots in the same order
cli      the gphoto2 command, one process a shot (skipped where it is not installed)

Exposure time is zero, so what is left is the price of the sequence. Nothing is verified or
stored here; `capture_overhead.py` measures the whole.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import gphoto2 as gp
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rig.gphoto_camera import GphotoCamera  # noqa: E402
from rig.gphoto_names import complete_port  # noqa: E402
from schemas.exposure import Exposure, spell_f_number, spell_shutter  # noqa: E402
from schemas.plan import SweepPlan  # noqa: E402


def minimal_loop(port: str, shots: Sequence[Exposure]) -> float:
    """Seconds per shot of what a short script over the library does."""
    camera = _plain_camera(port)
    try:
        _set(camera, "capturetarget", "Internal RAM")
        started_s = time.perf_counter()
        for exposure in shots:
            _set(camera, "shutterspeed", spell_shutter(exposure.shutter_s))
            _set(camera, "iso", str(exposure.iso))
            _set(camera, "aperture", spell_f_number(exposure.f_number))
            path = camera.capture(gp.GP_CAPTURE_IMAGE)
            file = camera.file_get(path.folder, path.name, gp.GP_FILE_TYPE_NORMAL)
            data = memoryview(file.get_data_and_size()).tobytes()
            camera.file_delete(path.folder, path.name)
            assert data.startswith(b"\xff\xd8")
        return (time.perf_counter() - started_s) / len(shots)
    finally:
        camera.exit()


def driver_loop(port: str, shots: Sequence[Exposure]) -> float:
    """Seconds per shot of `rig.gphoto_camera`."""
    camera = GphotoCamera(port)
    camera.open()
    try:
        started_s = time.perf_counter()
        for exposure in shots:
            camera.apply(exposure)
            assert camera.shoot(30).data.startswith(b"\xff\xd8")
        return (time.perf_counter() - started_s) / len(shots)
    finally:
        camera.close()


def cli_loop(port: str, shots: Sequence[Exposure]) -> float:
    """Seconds per shot of the command line, a process for each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shot.jpg"
        started_s = time.perf_counter()
        for exposure in shots:
            command = ["gphoto2", "--port", port, "--camera", "PTP/IP Camera"]
            for name, value in (
                ("capturetarget", "Internal RAM"),
                ("shutterspeed", spell_shutter(exposure.shutter_s)),
                ("iso", str(exposure.iso)),
                ("aperture", spell_f_number(exposure.f_number)),
            ):
                command += ["--set-config-value", f"{name}={value}"]
            command += ["--capture-image-and-download", "--filename", str(file)]
            subprocess.run([*command, "--force-overwrite"], check=True, capture_output=True)
            assert file.read_bytes().startswith(b"\xff\xd8")
        return (time.perf_counter() - started_s) / len(shots)


def _plain_camera(port: str) -> gp.Camera:
    ports, models = gp.PortInfoList(), gp.CameraAbilitiesList()
    ports.load()
    models.load()
    camera = gp.Camera()
    camera.set_port_info(ports[ports.lookup_path(port)])
    camera.set_abilities(models[models.lookup_model("PTP/IP Camera")])
    camera.init()
    return camera


def _set(camera: gp.Camera, name: str, value: str) -> None:
    widget = camera.get_single_config(name)
    widget.set_value(value)
    camera.set_single_config(name, widget)


@contextmanager
def _virtual_camera(photo: Path | None) -> Iterator[str]:
    """Port of a virtual camera with zero exposure time, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if photo is None:
            photo = Path(folder) / "stripes.png"
            stripes = np.repeat(np.linspace(5, 250, 16).astype(np.uint8), 120)
            Image.fromarray(np.tile(stripes, (1280, 1))).convert("RGB").save(photo)
        command = [sys.executable, "-m", "hardware_mocks", "--scene", str(photo)]
        with subprocess.Popen(
            [*command, "--timescale", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as room:
            try:
                assert room.stdout is not None
                yield str(json.loads(room.stdout.readline())["camera"])
            finally:
                room.terminate()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shots", type=int, default=40, help="shots a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--camera", help="ptpip: port of a running virtual camera")
    parser.add_argument("--photo", type=Path, help="what stands before the virtual camera")
    arguments = parser.parse_args()
    plan = SweepPlan()
    shots = [shot.exposure for shot in itertools.islice(plan, arguments.shots)]
    ways: dict[str, Callable[[str, Sequence[Exposure]], float]] = {
        "loop": minimal_loop,
        "driver": driver_loop,
    }
    if shutil.which("gphoto2"):
        ways["cli"] = cli_loop
    with ExitStack() as stack:
        port = arguments.camera or stack.enter_context(_virtual_camera(arguments.photo))
        port = complete_port(port)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, run in ways.items():
                seconds[name].append(run(port, shots))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"{len(shots)} shots x {arguments.rounds} rounds, seconds per shot (median of rounds)")
    for name, median in medians.items():
        spread = f"{min(seconds[name]):.4f} to {max(seconds[name]):.4f}"
        print(f"  {name:8s} {median:.4f}  ({spread})  {median / medians['loop']:.2f} x loop")


if __name__ == "__main__":
    main()
