"""Milliseconds per frame of measuring colors against decoding alone and a loop over pixels.

    python benchmarks/color_labels.py [--frames 200] [--rounds 3] [--json]

measure  what `snaprig color label --measure` does for a frame: read, check the digest, decode
         small, fit the mask, count colors
decode   libjpeg alone, the whole picture of 960 x 640
loop     the same labels by a Python loop over the pixels, one color looked up at a time

CPU seconds of this process, rounds interleaved, medians. Targets: at most 2 times decoding alone,
and at least 10 times as fast as the loop.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import simplejpeg
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evaluate.color.groups import Color  # noqa: E402
from evaluate.color.measure import name_color  # noqa: E402
from evaluate.color.measuring import measure_frame  # noqa: E402
from schemas.color_store import ColorFrame  # noqa: E402
from schemas.workspace import Workspace  # noqa: E402

MAX_OF_DECODING, MIN_OF_LOOP = 2.0, 10.0
WIDTH_PX, HEIGHT_PX = 960, 640


def pictures(folder: Path, count: int) -> tuple[list[ColorFrame], list[bytes]]:
    """Blurred noise in many colors: about as many bytes as a photograph."""
    random = np.random.default_rng(0)
    frames, contents = [], []
    for number in range(count):
        small = random.integers(0, 256, (40, 60, 3), np.uint8)
        large = np.asarray(Image.fromarray(small).resize((WIDTH_PX, HEIGHT_PX), 3), np.int16)
        noisy = np.clip(large + random.normal(0, 6, large.shape), 0, 255).astype(np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(noisy).save(buffer, "JPEG", quality=85)
        data = buffer.getvalue()
        path = folder / f"{number}.jpg"
        path.write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        frames.append(ColorFrame(number, 1, "s", "cup", "bright", "manual", -2, path.name, digest))
        contents.append(data)
    return frames, contents


def loop(data: bytes, mask: list[list[bool]], names: dict[tuple[int, int, int], Color]) -> Color:
    """The most frequent color of the object, pixel by pixel; `names` remembers colors."""
    counts: Counter[Color] = Counter()
    pixels = simplejpeg.decode_jpeg(data, "RGB").tolist()
    for row, inside in zip(pixels, mask, strict=True):
        for pixel, is_object in zip(row, inside, strict=True):
            key = (pixel[0] & 0xFC, pixel[1] & 0xFC, pixel[2] & 0xFC)
            if key not in names:
                names[key] = name_color(key)
            if is_object:
                counts[names[key]] += 1
    return counts.most_common(1)[0][0]


def milliseconds(work: Callable[[], object], items: int) -> float:
    """CPU milliseconds of this process for each item."""
    started = time.process_time()
    work()
    return (time.process_time() - started) / items * 1e3


def main() -> None:
    """Measure, print, and exit with 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    y, x = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    mask = ((x - 480) / 220) ** 2 + ((y - 320) / 190) ** 2 < 1
    times: dict[str, list[float]] = {"measure": [], "decode": [], "loop": []}
    with tempfile.TemporaryDirectory() as folder:
        frames, contents = pictures(Path(folder), options.frames)
        workspace = Workspace(Path(folder))
        few = contents[: max(1, options.frames // 50)]
        rows = mask.tolist()
        names: dict[tuple[int, int, int], Color] = {}
        for data in few:
            loop(data, rows, names)  # names known before: the loop alone is timed
        for _ in range(options.rounds):
            times["measure"].append(
                milliseconds(
                    lambda: [measure_frame(workspace, f, mask, [0]) for f in frames],
                    len(frames),
                )
            )
            times["decode"].append(
                milliseconds(
                    lambda: [simplejpeg.decode_jpeg(d, "RGB") for d in contents], len(contents)
                )
            )
            times["loop"].append(
                milliseconds(lambda: [loop(d, rows, names) for d in few], len(few))
            )
    found = {name: statistics.median(values) for name, values in times.items()}
    of_decoding, of_loop = found["measure"] / found["decode"], found["loop"] / found["measure"]
    if options.json:
        print(json.dumps(found | {"of_decoding": of_decoding, "of_loop": of_loop}, indent=2))
    else:
        for name, value in found.items():
            print(f"{name:<8} {value:8.2f} ms a frame")
        print(f"{of_decoding:.2f} times decoding (at most {MAX_OF_DECODING})")
        print(f"{of_loop:.0f} times as fast as the loop (at least {MIN_OF_LOOP:.0f})")
    sys.exit(0 if of_decoding <= MAX_OF_DECODING and of_loop >= MIN_OF_LOOP else 1)


if __name__ == "__main__":
    main()
