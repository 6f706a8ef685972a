"""Export a catalog of the size of the SNAP release in every format: frames a second, peak memory.

    python benchmarks/exports.py FOLDER [--frames N ...] [--forms FORM ...] [--picture FILE]

FOLDER is a checkout of the release: its list of 37,357 frames and its masks are imported, and
every frame gets the same small picture (hard links, so that the disk holds one). What is measured
is the work on rows; real pictures cost their copying on top. Each export is a process of its own,
and runs twice: the second finds everything there. Peak memory at the whole list and at a tenth of
it shows whether it grows with the rows. Each measurement is shown on stderr as it comes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from PIL import Image

from evaluate.questions import make_questions
from evaluate.release.importer import import_snap
from schemas.workspace import Workspace

FORMS = ("snap", "coco", "vqa", "croissant", "parquet", "parquet --by-path")

#: ru_maxrss of a child begins with what its parent held: the kernel's own mark does not.
_CHILD = """
import re, sys
from pathlib import Path
from rig.cli import main
try:
    main(sys.argv[2:])
finally:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
    Path(sys.argv[1]).write_text(peak)
"""


def make_lab(root: Path, folder: Path, frames: int, picture: bytes) -> Workspace:
    """A workspace with `frames` frames of the release's list, each with a file."""
    listed = root / "listed/annotations"
    listed.mkdir(parents=True)
    (listed / "masks_SNAP").symlink_to(folder / "annotations/masks_SNAP")
    lines = (folder / "annotations/data.csv").read_text().splitlines(keepends=True)
    kept, manual = [], 0
    for line in lines[1:]:
        auto = ",auto," in line
        manual += not auto
        if manual <= frames and not auto:
            kept.append(line)
    (listed / "data.csv").write_text("".join([lines[0], *kept]))
    workspace = Workspace.create(root / "lab", "")
    one = root / "one.jpg"
    one.write_bytes(picture)
    digest = hashlib.sha256(picture).hexdigest()
    with workspace.catalog() as catalog:
        import_snap(catalog, workspace, root / "listed")
        make_questions(catalog, 1)
        with catalog.read() as connection:
            found = connection.exec_driver_sql(
                "SELECT f.id, s.name, l.name, f.ev_offset, f.setting FROM frames f "
                "JOIN scenes s ON s.id = f.scene_id JOIN lightings l ON l.id = f.lighting_id"
            ).fetchall()
        rows = []
        for key, scene, light, offset, setting in found:
            path = workspace.frames / scene / light / str(offset) / f"{setting}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(one, path)
            rows.append((workspace.relative(path), digest, len(picture), key))
        with catalog.write() as connection:
            connection.exec_driver_sql(
                "UPDATE frames SET path = ?, sha256 = ?, size_bytes = ? WHERE id = ?", rows
            )
    return workspace


def measure(workspace: Workspace, form: str, out: Path) -> dict[str, Any]:
    """One export in a process of its own: seconds, and its highest resident memory."""
    name, *rest = form.split()
    command = ["-w", str(workspace.root), "export", name, str(out), *rest]
    peak = out.parent / "peak"
    out.parent.mkdir(exist_ok=True)
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", _CHILD, str(peak), *command],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{form} failed: run `snaprig {' '.join(command)}`")
    return {
        "seconds": round(seconds, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(int(peak.read_text()) / 1024, 1),
    }


def run(root: Path, folder: Path, frames: int, picture: bytes, forms: list[str]) -> dict[str, Any]:
    """Every format once, and once more with everything there."""
    workspace = make_lab(root, folder, frames, picture)
    found: dict[str, Any] = {}
    for form in forms:
        out = root / "out" / form.replace(" ", "")
        first, again = measure(workspace, form, out), measure(workspace, form, out)
        summary = json.loads((out / "export.json").read_text())["summary"]
        found[form] = {
            "frames": summary["frames"],
            "frames_per_s": round(summary["frames"] / first["seconds"]),
            **first,
            "again_s": again["seconds"],
        }
        print(frames, form, found[form], file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=int, nargs="+", default=[3_735, 37_357])
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--picture", type=Path, help="JPEG of every frame (default: a gray one)")
    options = parser.parse_args()
    small = io.BytesIO()
    Image.new("L", (96, 64), 120).save(small, "JPEG")
    picture = options.picture.read_bytes() if options.picture else small.getvalue()
    document: dict[str, Any] = {"picture_bytes": len(picture)}
    for frames in options.frames:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder.resolve()
            document[str(frames)] = run(Path(temporary), folder, frames, picture, options.forms)
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
