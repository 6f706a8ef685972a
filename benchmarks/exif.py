"""How fast a collection's Exif is read, beside ExifTool, Pillow, piexif and merely reading.

    SNAPRIG_DATA=data python benchmarks/exif.py [--files 2000] [--repeat 3]

Same files for all, in one run, the page cache warm unless said otherwise; the best of the repeats.
The files are the JPEGs of data/exif that have exposure settings, copied under other names. Needs
`exiftool` for its rows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import piexif
from PIL import ExifTags, Image

from evaluate.bias.engines import run_processes, run_serial
from evaluate.bias.header import read_ahead, read_header
from evaluate.bias.scan import Collection, Engine, scan
from evaluate.bias.sources import find_units
from evaluate.bias.tiff import EXPOSURE_TIME, F_NUMBER, ISO
from evaluate.bias.window import HEAD_BYTES

IMAGES_OF_THE_PAPER = 980_100_000
#: Folders of all files for the scaling, so that the start of processes is a small part.
COPIES = 100


def make_files(source: Path, folder: Path, count: int) -> list[str]:
    """Copies of the JPEGs that have all three tags."""
    rich = [
        path
        for path in sorted(source.rglob("*.jpg"))
        if {EXPOSURE_TIME, F_NUMBER, ISO} <= read_header(path).tags.keys()
    ]
    paths = []
    for number in range(count):
        path = folder / f"{number:05}.jpg"
        shutil.copyfile(rich[number % len(rich)], path)
        paths.append(str(path))
    return paths


def best(function: Callable[[], object], repeat: int) -> float:
    """Shortest duration in seconds."""
    durations = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        durations.append(time.perf_counter() - start)
    return min(durations)


TAGS = "ExposureTime FNumber ISO ExposureMode ExposureProgram DateTimeOriginal Make Model".split()


def by_exiftool(paths: list[str], tags: Sequence[str] = ()) -> None:
    """These tags, or all, in one process."""
    subprocess.run(
        ["exiftool", "-json", "-n", "-fast2", *(f"-{tag}" for tag in tags), "-@", "-"],
        input="\n".join(paths).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def by_pillow(paths: list[str]) -> None:
    """Open and read the Exif directory."""
    for path in paths:
        with Image.open(path) as picture:
            picture.getexif().get_ifd(ExifTags.IFD.Exif)


def by_piexif(paths: list[str]) -> None:
    """Load every tag."""
    for path in paths:
        # piexif raises whatever its struct calls raise
        with contextlib.suppress(Exception):
            piexif.load(path)


def by_reader(paths: list[str]) -> None:
    """Our header reader."""
    for path in paths:
        read_header(path)


def by_reading_ahead(paths: list[str]) -> None:
    """Our header reader as a scan uses it."""
    for _ in read_ahead(paths):
        pass


#: A file, and where it is read behind its head: (bytes, offset).
Reads = tuple[str, list[tuple[int, int]]]


def reads_of(paths: list[str]) -> list[Reads]:
    """What our reader reads of each file."""
    found: list[Reads] = []
    pread = os.pread

    def noted(descriptor: int, size: int, offset: int) -> bytes:
        found[-1][1].append((size, offset))
        return pread(descriptor, size, offset)

    with mock.patch("evaluate.bias.window.os.pread", noted):
        for path in paths:
            found.append((path, []))
            read_header(path)
    return found


def read_only(reads: Reads) -> None:
    """Open, read the same bytes as our reader, close: no reader can be faster."""
    path, more = reads
    descriptor = os.open(path, os.O_RDONLY)
    os.read(descriptor, HEAD_BYTES)
    for size, offset in more:
        os.pread(descriptor, size, offset)
    os.close(descriptor)


def by_reading_only(reads: list[Reads]) -> None:
    """The same for all files."""
    for entry in reads:
        read_only(entry)


def drop_cache(paths: list[str]) -> None:
    """Let the kernel forget the files' pages."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def cold(function: Callable[[], object], paths: list[str], repeat: int) -> float:
    """Shortest duration in seconds, the page cache dropped before each repeat."""
    durations = []
    for _ in range(repeat):
        drop_cache(paths)
        start = time.perf_counter()
        function()
        durations.append(time.perf_counter() - start)
    return min(durations)


def threaded(function: Callable[[Any], object], items: Sequence[Any], threads: int) -> None:
    """Call a function for all items in threads."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(function, items, chunksize=16))


def scanned(source: Path, out: Path, engine: Engine = run_serial) -> None:
    """A whole scan to parquet."""
    out.unlink(missing_ok=True)
    scan(find_units([source]), out, Collection("benchmark"), engine)


def by_tarfile(path: Path) -> None:
    """Heads of all members through Python's tarfile."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)):
                file.read(HEAD_BYTES)


def by_our_tar(path: Path) -> None:
    """Heads of all members by stepping from header to header."""
    from evaluate.bias.tarball import members

    descriptor = os.open(path, os.O_RDONLY)
    for _name, start, size in members(descriptor):
        os.pread(descriptor, min(size, HEAD_BYTES), start)
    os.close(descriptor)


def main() -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    data = Path(os.environ["SNAPRIG_DATA"])
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        measure(data / "exif", Path(folder), options.files, options.repeat)


def measure(source: Path, folder: Path, count: int, repeat: int) -> None:
    """Every rate, then the ratios."""
    pictures = folder / "pictures"
    pictures.mkdir()
    paths = make_files(source, pictures, count)
    out = folder / "scan.parquet"
    scanned(pictures, out)  # imports, page cache
    rates: dict[str, float] = {}

    def note(name: str, seconds: float) -> None:
        rates[name] = count / seconds
        print(f"{name:44} {rates[name]:12,.0f} files/s", flush=True)

    reads = reads_of(paths)
    note("read only, the same bytes", best(partial(by_reading_only, reads), repeat))
    note("our reader", best(partial(by_reader, paths), repeat))
    note("our scan to parquet, one worker", best(partial(scanned, pictures, out), repeat))
    note("Pillow", best(partial(by_pillow, paths), repeat))
    note("piexif", best(partial(by_piexif, paths), repeat))
    if shutil.which("exiftool"):
        note("exiftool -fast2, 8 tags", best(partial(by_exiftool, paths, TAGS), 2))
        note("exiftool -fast2, all tags", best(partial(by_exiftool, paths), 1))

    archive = folder / "shard.tar"
    with tarfile.open(archive, "w") as tar:
        for path in paths:
            tar.add(path, Path(path).name)
    note("tar: Python's tarfile, read only", best(partial(by_tarfile, archive), repeat))
    note("tar: our steps, read only", best(partial(by_our_tar, archive), repeat))
    note("tar: our scan to parquet", best(partial(scanned, archive, out), repeat))

    for threads in (1, 8):
        name = f"cold: read only, {threads} threads"
        note(name, cold(partial(threaded, read_only, reads, threads), paths, repeat))
    note(
        "cold: our reader, 8 threads", cold(partial(threaded, read_header, paths, 8), paths, repeat)
    )
    note("cold: our reader, ahead, 1 thread", cold(partial(by_reading_ahead, paths), paths, repeat))
    note("cold: our scan, one worker", cold(partial(scanned, pictures, out), paths, repeat))

    larger = folder / "larger"
    for number in range(COPIES):
        shutil.copytree(pictures, larger / str(number), copy_function=os.link)
    print(f"\nscaling over {COPIES * count:,} files (process start included)")
    for workers in (1, 2, 4):
        if workers <= 2 * (os.cpu_count() or 1):
            engine = run_serial if workers == 1 else partial(run_processes, workers=workers)
            seconds = best(partial(scanned, larger, out, engine), 1)
            print(f"  {workers} workers {COPIES * count / seconds:12,.0f} files/s")

    print("\nratios (wanted)")
    ratio(rates, "our scan to parquet, one worker", "exiftool -fast2, 8 tags", 80)
    ratio(rates, "our reader", "exiftool -fast2, 8 tags", 120)
    ratio(rates, "our reader", "Pillow", 10)
    ratio(rates, "our reader", "piexif", 4)
    ratio(rates, "cold: our reader, ahead, 1 thread", "cold: read only, 1 threads", 0.55)
    ratio(rates, "cold: our reader, ahead, 1 thread", "cold: read only, 8 threads", 0.55)
    ratio(rates, "tar: our steps, read only", "tar: Python's tarfile, read only", 2.5)
    hours = IMAGES_OF_THE_PAPER / rates["our scan to parquet, one worker"] / 3600
    print(f"\n{IMAGES_OF_THE_PAPER:,} images: {hours:.1f} core-hours")
    if theirs := rates.get("exiftool -fast2, 8 tags"):
        print(f"with exiftool: {IMAGES_OF_THE_PAPER / theirs / 3600:.0f} core-hours")


def ratio(rates: dict[str, float], ours: str, theirs: str, wanted: float) -> None:
    """Print a ratio beside what is wanted."""
    if theirs in rates:
        found = rates[ours] / rates[theirs]
        verdict = "ok" if found >= wanted else "BELOW"
        print(f"  {ours} / {theirs}: {found:.2f} ({wanted}) {verdict}")


if __name__ == "__main__":
    main()
