"""`snaprig demo`: the whole chain once, as a newcomer would type it.

Every step is a `snaprig` command in a process of its own, shown before it runs; the demo only
plays the operator: it places the scene, sets the panels and turns the mode dial, through the
control endpoint of the virtual dark room.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rig.errors import Abort
from schemas.plan import SweepPlan

MODEL = "tf_efficientnet_lite2"

#: Lightings of the default `rig.toml`, with their illuminance in lux.
LIGHTINGS = {"bright": 1000, "dim": 10}

#: Shutter and ISO 3 stops apart, apertures 1 stop: every EV offset occurs, by several triplets.
COARSE = SweepPlan(
    shutter=("1/4000", "1/500", "1/60", "1/8", "1", "8"),
    iso=(100, 800, 6400),
    f_number=(5.6, 8, 11, 22),
)

#: The demo's own mark in a folder: only such a folder is deleted by `--fresh`.
MARK = ".snaprig-demo"

#: Outlines of what the two photographs show, as COCO polygons drawn by hand.
OBJECTS = Path(__file__).with_name("demo_objects.json")

PHOTO_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"}


@dataclass(frozen=True)
class DemoScene:
    """A photograph that stands in for a scene: what is in it, and how many."""

    name: str
    category: str
    count: int
    photo: Path


@click.command()
@click.option(
    "--lab",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-lab"),
    show_default=True,
    help="Workspace to make, or to go on with.",
)
@click.option("--full", is_flag=True, help="All 630 triplets a sweep instead of 72.")
@click.option(
    "--scenes",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Photographs to use as scenes: named like 2_laptop.jpg, or in a folder a class, or with "
    "a labels.csv (file,category,count).",
)
@click.option("--max-scenes", type=click.IntRange(1), help="Use the first N photographs only.")
@click.option("--fresh", is_flag=True, help="Delete an earlier demo's workspace first.")
@click.option("--open/--no-open", "open_report", default=None, help="Open the report at the end.")
def demo(
    lab: Path,
    full: bool,
    folder: Path | None,
    max_scenes: int | None,
    fresh: bool,
    open_report: bool | None,
) -> None:
    """Run the whole chain once, without any hardware.

    A virtual Canon and a virtual lux meter start; the real libgphoto2 and yoctopuce libraries
    drive them through a sweep of real photographs under two lightings; the frames land in a
    catalog; a real classifier answers; a report is written. Run again, it goes on where it
    was stopped.

    \b
    Examples:
      snaprig demo
      snaprig demo --full
      snaprig demo --scenes ~/photos --lab my-lab
    """  # noqa: D301
    _require_packages()
    scenes = _bundled_scenes() if folder is None else photo_scenes(folder)
    scenes = scenes[:max_scenes]
    plan = SweepPlan() if full else COARSE
    _prepare(lab, plan, fresh=fresh)
    with _dark_room(scenes[0].photo) as room:
        devices = ["--camera", room.camera, "--hub", room.hub]
        for number, scene in enumerate(scenes, start=1):
            click.secho(f"\nscene {number} of {len(scenes)}: {scene.name}", bold=True, err=True)
            count = str(scene.count)
            _run(lab, "scene", "add", scene.name, "--category", scene.category, "--count", count)
            room.place(scene.photo)
            for lighting, lux in LIGHTINGS.items():
                room.post("/lux", {"lux": lux})
                where = ["--scene", scene.name, "--lighting", lighting]
                if not (lab / "frames" / scene.name / lighting / "auto.jpg").exists():
                    room.post("/dial", {"mode": "P"})
                    _run(lab, "capture", "auto-frame", *where, "--no-wait", *devices)
                    room.post("/dial", {"mode": "M"})
                plan_file = str(lab / "plan.toml")
                shoot = ["capture", "run", *where, "--plan", plan_file, "--checklist-done"]
                _run(lab, *shoot, *devices)
            if folder is None:
                objects = ["--coco", str(OBJECTS), "--image", scene.photo.name]
                _run(lab, "scene", "annotate", scene.name, *objects)
    _run(lab, "evaluate", "run", "--model", MODEL)
    _run(lab, "evaluate", "report")
    _run(lab, "check")
    _run(lab, "status")
    _farewell(lab, folder, full=full, open_report=open_report)


def photo_scenes(folder: Path) -> list[DemoScene]:
    """The photographs of a folder as scenes.

    The class comes from `labels.csv` (file,category,count), else from the subfolder's name,
    else from the file's name without its numbers (``2_laptop_10_auto.jpg`` is a laptop).

    Raises
    ------
    Abort
        If there is no photograph, or `labels.csv` names a missing one.
    """
    labels = _read_labels(folder)
    photos = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PHOTO_SUFFIXES)
    if not photos:
        raise Abort(f"no photographs in {folder}", "name a folder with JPEG or PNG files")
    scenes: dict[str, DemoScene] = {}
    for photo in photos:
        relative = photo.relative_to(folder)
        words = [w for w in re.split(r"[^A-Za-z]+", photo.stem.lower()) if w not in {"", "auto"}]
        guess = relative.parts[0] if len(relative.parts) > 1 else "_".join(words)
        category, count = labels.get(relative.as_posix(), (guess or "unknown", 1))
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", relative.with_suffix("").as_posix()).lstrip("_-")
        if name in scenes or not name:
            raise Abort(f"{photo} has no scene name of its own", "rename the file")
        scenes[name] = DemoScene(name, category, count, photo.resolve())
    return list(scenes.values())


def _read_labels(folder: Path) -> dict[str, tuple[str, int]]:
    path = folder / "labels.csv"
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        labels = {row["file"]: (row["category"], int(row.get("count") or 1)) for row in rows}
    except (KeyError, ValueError) as error:
        raise Abort(f"{path}: {error}", "its columns are file,category,count") from error
    missing = sorted(name for name in labels if not (folder / name).exists())
    if missing:
        raise Abort(f"{path} names missing files: {', '.join(missing[:5])}")
    return labels


def _bundled_scenes() -> list[DemoScene]:
    # Photographs that scikit-image ships, both CC0: coffee by Rachel Michetti, chelsea by
    # Stefan van der Walt.
    spec = importlib.util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise Abort("scikit-image is not installed", "pip install 'snaprig[demo]'")
    photos = Path(spec.submodule_search_locations[0]) / "data"
    return [
        DemoScene("coffee", "coffee_cup", 1, photos / "coffee.png"),
        DemoScene("chelsea", "cat", 1, photos / "chelsea.png"),
    ]


def _require_packages() -> None:
    missing = [name for name in ("torch", "timm") if importlib.util.find_spec(name) is None]
    if missing:
        raise Abort(
            f"the demo needs {' and '.join(missing)}", "pip install 'snaprig[evaluate,demo]'"
        )


def _prepare(lab: Path, plan: SweepPlan, *, fresh: bool) -> None:
    if lab.exists() and any(lab.iterdir()):
        if not (lab / MARK).exists():
            raise Abort(f"{lab} is not a demo's workspace", "choose another with --lab")
        if fresh:
            shutil.rmtree(lab)
        else:
            click.echo(f"going on with {lab} (start anew with --fresh)", err=True)
    if not lab.exists():
        _run(None, "init", str(lab))
        (lab / MARK).touch()
    (lab / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")


@dataclass(frozen=True)
class _DarkRoom:
    """A running virtual dark room: its two devices and its control endpoint."""

    camera: str
    hub: str
    control: str

    def post(self, path: str, document: dict[str, Any]) -> None:
        """Do what an operator would do by hand."""
        request = urllib.request.Request(  # noqa: S310 - its own loopback address
            self.control + path,
            data=json.dumps(document).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30):  # noqa: S310
            pass

    def place(self, photo: Path) -> None:
        """Put a scene in front of the camera."""
        self.post("/scene", {"photo": str(photo)})


@contextmanager
def _dark_room(photo: Path) -> Iterator[_DarkRoom]:
    # A process of its own: no module of the rig imports the virtual devices.
    command = [sys.executable, "-m", "hardware_mocks", "--scene", str(photo)]
    command += ["--lux", "1000", "--timescale", "0", "--end-with-stdin"]
    click.secho("starting the virtual dark room", dim=True, err=True)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            ready = process.stdout.readline() if process.stdout else ""
            if not ready:
                raise Abort("the virtual dark room did not start", "its error is shown above")
            ports = json.loads(ready)
            yield _DarkRoom(ports["camera"], ports["hub"], ports["control"])
        finally:
            process.terminate()


def _run(lab: Path | None, *arguments: str) -> None:
    """Run a `snaprig` command, shown as one would type it; leave with its status if it fails."""
    typed = ["snaprig", *(["-w", str(lab)] if lab else []), *arguments]
    click.secho("$ " + shlex.join(typed), dim=True, err=True)
    status = subprocess.run([sys.executable, "-m", "rig", *typed[1:]], check=False).returncode
    if status != 0:
        raise click.exceptions.Exit(status)


def _farewell(lab: Path, folder: Path | None, *, full: bool, open_report: bool | None) -> None:
    report = lab / "reports" / "index.html"
    if open_report is None:
        screen = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
        open_report = sys.stdout.isatty() and (screen or sys.platform == "darwin")
    if open_report:
        click.launch(str(report))
    click.echo(f"\nThe report: {report.resolve()}")
    same = ["--lab", str(lab), *(["--scenes", str(folder)] if folder else [])]
    tries = {
        f"snaprig -w {lab} daemon": "the dashboard, on http://127.0.0.1:8417",
        f"snaprig -w {lab} export frames frames.csv": "every shot as a table",
        f"snaprig -w {lab} export croissant {lab}-croissant": "the data set, for others",
    }
    if not full:
        tries[shlex.join(["snaprig", "demo", "--full", *same])] = "all 630 triplets a sweep"
    if folder is None:
        tries["snaprig demo --scenes FOLDER --lab my-lab"] = "your own photographs"
    tries["snaprig init lab"] = "a workspace for a real rig"
    click.echo("Try next:")
    for command, what in tries.items():
        click.echo(f"  {command:<{max(map(len, tries))}}  {what}")
