"""A workspace with photographs of 1920 x 1280 px, and a design to show them by."""

import hashlib
import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from schemas.capture_store import add_scene, put_lighting, start_run
from schemas.exposure import Exposure, parse_shutter_s
from schemas.frame_store import add_frame
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, Outcome, Scene
from schemas.workspace import Workspace

CATEGORIES = ("cup", "water_bottle", "comic_book", "keyboard", "backpack")
BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
SHUTTERS = ("1/1000", "1/30")  # 5 stops apart


def photograph(seed):
    """A JPEG of its own: a smooth random picture, quick to make and small."""
    small = np.random.default_rng(seed).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(small).resize((1920, 1280), Image.Resampling.BILINEAR).save(buffer, "JPEG")
    return buffer.getvalue()


def make_lab(root: Path, scenes=10) -> Workspace:
    """Two pictures of each scene; 2 to 5 objects of five categories."""
    workspace = Workspace.create(root, "")
    with workspace.catalog() as catalog:
        put_lighting(catalog, BRIGHT)
        for number in range(scenes):
            name = f"scene-{number}"
            category = CATEGORIES[number % len(CATEGORIES)]
            add_scene(catalog, Scene(name, category, 2 + number % 4))
            run_id = start_run(
                catalog, scene=name, lighting="bright", plan=SweepPlan(), simulated=True,
                devices={}, versions={},
            )  # fmt: skip
            for shutter in SHUTTERS:
                exposure = Exposure(parse_shutter_s(shutter), 400, 5.6)
                data = photograph(number * 10 + SHUTTERS.index(shutter))
                path = workspace.frame_path(name, "bright", exposure, BRIGHT.ev_reference)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                offset = exposure.ev_offset(BRIGHT.ev_reference)
                add_frame(
                    catalog,
                    Frame(
                        scene=name, lighting="bright", run_id=run_id, kind="manual",
                        requested=exposure, outcome=Outcome.ACCEPTED, attempt=1,
                        ev=exposure.ev, ev_index=exposure.ev_index, ev_offset=offset,
                        path=workspace.relative(path), size_bytes=len(data),
                        width_px=1920, height_px=1280, sha256=hashlib.sha256(data).hexdigest(),
                    ),
                )  # fmt: skip
    return workspace


def snaprig(root, *arguments, env=None, check=True):
    """A command as one types it; its standard output."""
    command = [sys.executable, "-m", "rig", "-w", str(root), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if check and done.returncode:
        raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done if not check else done.stdout


def make_design(root, participants=2, per_question=10):
    """A design by the command; its report."""
    return json.loads(
        snaprig(root, "experiment", "design", "--participants", participants, "--seed", 1,
                "--trials-per-question", per_question, "--json")
    )  # fmt: skip


@contextmanager
def virtual_screen(size="1680x1050x24"):
    """Xvfb on a display of its own; the environment that leads to it."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        os.close(write)
        try:
            with os.fdopen(read) as pipe:
                number = pipe.readline().strip()
            assert number, "Xvfb did not start: apt install xvfb"
            env = {**os.environ, "DISPLAY": f":{number}"}
            env.pop("WAYLAND_DISPLAY", None)
            yield env
        finally:
            server.terminate()
