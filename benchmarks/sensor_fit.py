"""How well the sensor model's tone and glare agree with the public release.

Run: ``SNAPRIG_DATA=… python benchmarks/sensor_fit.py``

The release kept a frame where the integer mean of its gray picture lies between 3 and 253. For each
of its photographs and lightings the first and the last EV offset that it kept are compared with
those that the model would keep, for a few values of BLACK, CONTRAST and the share of veiling glare
that is added to what the photograph has already. ``mean`` and ``abs`` are of (model - release) in
stops; offsets are whole stops, so half a stop is as near as one scene can tell.
"""

from __future__ import annotations

import csv
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from hardware_mocks import optics, scene
from hardware_mocks.sensor import Sensor

LIGHTINGS = {1000: 11, 10: 5}  # lux: EV_ref
OFFSETS = range(-9, 12)
LUMA = (0.299, 0.587, 0.114)
#: Taken at ISO 125 under the bright lighting, though its name says 10 lux.
NOT_AS_NAMED = "61_mouse"
#: BLACK, CONTRAST, glare; the model's own first.
TRIED = [
    (optics.BLACK, optics.CONTRAST, scene.VEILING_GLARE),
    *((black, optics.CONTRAST, glare) for black in (0.001, 0.0025) for glare in (0.0, 0.01, 0.02)),
    *((optics.BLACK, optics.CONTRAST, glare) for glare in (0.03, 0.05)),
    *((optics.BLACK, 0.6, glare) for glare in (0.0, 0.004, 0.01, 0.02, 0.03, 0.05)),
]


def kept_by_the_release(snap: Path) -> dict[tuple[str, int], set[int]]:
    """EV offsets by scene and lux."""
    kept: dict[tuple[str, int], set[int]] = defaultdict(set)
    with (snap / "annotations" / "data.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            if line["EV_offset"] != "auto":
                name, lux, *_ = line["Path"].split("/")
                kept[name, int(lux)].add(int(line["EV_offset"]))
    return kept


def ends(photo: Path, lux: int, ev_reference: int) -> tuple[int, int]:
    """First and last offset that the release's rule would keep of the model's pictures."""
    placed = scene.load_scene(photo, scene_lux=10, size=(480, 320))
    sensor = Sensor(seed=1)
    kept = []
    for offset in OFFSETS:
        shutter_s = 2.0 ** (offset - ev_reference + 3)
        made = sensor.develop(placed, lux=lux, shutter_s=shutter_s, f_number=8, iso=800, nth=0)
        if 3 <= int((made.pixels @ LUMA).mean()) <= 253:
            kept.append(offset)
    return min(kept), max(kept)


def main() -> None:
    """Print a line for each setting of the model."""
    data = os.environ.get("SNAPRIG_DATA") or sys.exit("set SNAPRIG_DATA (`make data`)")
    snap = Path(data, "snap")
    photos = sorted((snap / "annotations" / "images_SNAP").glob("*.jpg"))
    photos = [photo for photo in photos if not photo.name.startswith(NOT_AS_NAMED)]
    kept = kept_by_the_release(snap)
    print(" black contrast  glare | turns black: mean   abs | turns white: mean   abs")
    for optics.BLACK, optics.CONTRAST, scene.VEILING_GLARE in TRIED:
        errors = []
        for photo in photos:
            name = photo.name.removesuffix("_10_auto.jpg")
            for lux, ev_reference in LIGHTINGS.items():
                first, last = ends(photo, lux, ev_reference)
                theirs = kept[name, lux]
                errors.append((first - min(theirs), last - max(theirs)))
        (black, white), off = np.mean(errors, axis=0), np.abs(errors).mean(axis=0)
        print(
            f"{optics.BLACK:6.4f} {optics.CONTRAST:8.1f} {scene.VEILING_GLARE:6.1%} | "
            f"{black:+17.2f} {off[0]:5.2f} | {white:+17.2f} {off[1]:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
