"""Outcomes of a full sweep by EV offset, and the time that a frame takes.

Run: ``python benchmarks/sensor_outcomes.py [PHOTOS...]``. Renders every triplet of the default grid
at 1000 and 10 lux (``--each N``: every N-th), decodes each JPEG, and applies both acceptance rules
to what was decoded.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from hardware_mocks.canon_jpeg import encode_jpeg
from hardware_mocks.scene import load_scene
from hardware_mocks.sensor import Sensor
from schemas.exposure import F_NUMBERS, ISO_SPEEDS, SHUTTER_SPEEDS, Exposure, parse_shutter_s

LIGHTINGS = {1000: 11, 10: 5}  # lux: EV_ref


def default_photos() -> list[Path]:
    """scikit-image's cup and cat where installed, and real SNAP scenes where the data is."""
    photos = []
    try:
        import skimage
    except ImportError:
        pass
    else:
        folder = Path(skimage.__file__).parent / "data"
        photos += [p for p in (folder / "coffee.png", folder / "chelsea.png") if p.exists()]
    if data := os.environ.get("SNAPRIG_DATA"):
        folder = Path(data) / "snap" / "annotations" / "images_SNAP"
        photos += [folder / "1_cup_10_auto.jpg", folder / "2_laptop_10_auto.jpg"]
    return photos


def outcomes(jpeg: bytes) -> dict[str, str]:
    """Outcome of one frame under each acceptance rule."""
    gray = np.asarray(Image.open(io.BytesIO(jpeg)).convert("L"))
    black, white, mean = (gray == 0).mean(), (gray == 255).mean(), int(gray.mean())
    return {
        "pixels95": "black" if black > 0.95 else "white" if white > 0.95 else "accepted",
        "mean": "black" if mean < 3 else "white" if mean > 253 else "accepted",
    }


def sweep(photo: Path, each: int) -> None:
    """Render the grid of one scene at both lightings and print its outcomes."""
    scene = load_scene(photo)
    sensor = Sensor(0)
    print(f"\n{photo.name}: {scene.assumption}")
    grid = [
        Exposure(parse_shutter_s(t), iso, n)
        for t, iso, n in product(SHUTTER_SPEEDS["1"], ISO_SPEEDS, F_NUMBERS["1"])
    ]
    sensor.develop(scene, lux=10, shutter_s=1, f_number=8, iso=100, nth=0)  # makes the noise field
    for lux, ev_reference in LIGHTINGS.items():
        table: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
        develop_s, encode_s, size = [], [], 0
        for number, shot in enumerate(grid[::each], 1):
            setting = {"shutter_s": shot.shutter_s, "f_number": shot.f_number, "iso": shot.iso}
            start = time.perf_counter()
            developed = sensor.develop(scene, lux=lux, nth=0, **setting)
            middle = time.perf_counter()
            jpeg = encode_jpeg(
                developed.pixels,
                **setting,
                taken_at=datetime(2025, 1, 1, tzinfo=UTC),
                image_number=number,
                serial="0",
                lens="EF-S18-55mm f/3.5-5.6 III",
                manual=True,
            )
            develop_s.append(middle - start)
            encode_s.append(time.perf_counter() - middle)
            size += len(jpeg)
            table[shot.ev_offset(ev_reference)].update(outcomes(jpeg).items())
        print(f"{lux} lux     |       pixels95        |         mean")
        print("offset shots | accepted black white  | accepted black white")
        total: Counter[tuple[str, str]] = Counter()
        for offset in sorted(table):
            total += table[offset]
            print(row(f"{offset:+d}", table[offset]))
        print(row("all", total))
        print(
            f"ms per frame, median: {1e3 * np.median(develop_s):.1f} develop"
            f" + {1e3 * np.median(encode_s):.1f} encode;"
            f" 95th percentile {1e3 * np.percentile(np.add(develop_s, encode_s), 95):.1f};"
            f" mean file {size / len(develop_s) / 1e3:.0f} kB"
        )


def row(name: str, counts: Counter[tuple[str, str]]) -> str:
    """One line of the table."""
    cells = [
        [counts[rule, outcome] for outcome in ("accepted", "black", "white")]
        for rule in ("pixels95", "mean")
    ]
    left, right = (f"{a:8d} {b:5d} {w:5d}" for a, b, w in cells)
    return f"{name:>6} {sum(cells[0]):5d} | {left}  | {right}"


def main() -> None:
    """Read the command line and sweep each photograph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", nargs="*", type=Path, help="photographs to use as scenes")
    parser.add_argument("--each", type=int, default=1, help="render every N-th triplet only")
    options = parser.parse_args()
    photos = options.photos or default_photos()
    if not photos:
        parser.error("no photographs: name some, or install scikit-image, or set SNAPRIG_DATA")
    for photo in photos:
        sweep(photo, options.each)


if __name__ == "__main__":
    main()
