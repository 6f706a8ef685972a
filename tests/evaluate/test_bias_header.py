"""Headers of pictures: every value as ExifTool reads it, every damage a reason, nothing raised."""

import json
import math
import os
import random
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.bias import tiff
from evaluate.bias.header import parse, read_ahead, read_header
from evaluate.bias.settings import interpret, number
from evaluate.bias.window import BUDGET_BYTES, HEAD_BYTES, Window
from tests.evaluate import picture_headers as made

COMPARED = {
    "ExposureTime": tiff.EXPOSURE_TIME,
    "FNumber": tiff.F_NUMBER,
    "ISO": tiff.ISO,
    "ExposureMode": tiff.EXPOSURE_MODE,
    "ExposureProgram": tiff.EXPOSURE_PROGRAM,
    "DateTimeOriginal": tiff.DATE_TIME_ORIGINAL,
}

#: Where ExifTool says something else, and why.
DIFFERENT = {
    ("piexif/tests/images/tool1.webp", "ISO"): "two values; ours is the first, a speed",
}


def settings_of(data):
    return interpret(parse(Window(data)).tags)


def agrees(name, wanted, tags):
    raw = tags.get(COMPARED[name])
    if name == "DateTimeOriginal":
        return (raw or "").strip() == (wanted or "").strip()
    if raw is None or wanted is None:
        return raw is wanted
    value, reason = number(raw)
    if wanted in ("undef", "inf"):
        return reason == "zero_denominator"
    return value is not None and math.isclose(value, float(str(wanted).split()[0]), rel_tol=1e-5)


def test_real_files_agree_with_exiftool(snaprig_data):
    folder = snaprig_data / "exif"
    differences = set()
    for truth in json.loads((folder / "truth.json").read_text()):
        header = read_header(folder / truth["SourceFile"])
        tags = {} if header.from_xmp else header.tags
        for name in COMPARED:
            wanted = truth.get(f"ExifIFD:{name}", truth.get(f"IFD0:{name}"))
            several = isinstance(wanted, str) and name != "DateTimeOriginal" and " " in wanted
            if several or not agrees(name, wanted, tags):
                differences.add((truth["SourceFile"], name))
    assert differences == set(DIFFERENT)


SYNTHETIC = {
    "03_et_0_0.jpg": ("shutter", "zero_denominator"),
    "04_et_1_0.jpg": ("shutter", "zero_denominator"),
    "05_fn_0_0.jpg": ("f_number", "zero_denominator"),
    "06_fn_0_10.jpg": ("f_number", "zero"),
    "07_iso_two_values.jpg": ("iso", 400),
    "08_iso_long.jpg": ("iso", 102400),
    "09_iso_65535_rei.jpg": ("iso", 102400),
    "11_iso_missing_rei_only.jpg": ("iso", 800),
    "18_exif_ifd_loop.jpg": ("reason", "bad_exif"),
    "19_exif_ptr_oob.jpg": ("reason", "bad_exif"),
    "20_count_65535.jpg": ("reason", "bad_exif"),
    "23_two_exif.jpg": ("iso", 999),
    "24_truncated_in_app1.jpg": ("reason", "truncated"),
    "27_rational_denominator_max.jpg": ("shutter", "out_of_range"),
}


def test_made_files_are_right_or_have_the_right_reason(snaprig_data):
    folder = snaprig_data / "exif"
    seen = set()
    for truth in json.loads((folder / "truth_synthetic.json").read_text()):
        name = truth["SourceFile"].removeprefix("synthetic/")
        header = read_header(folder / truth["SourceFile"])
        found = interpret(header.tags)
        where, wanted = SYNTHETIC.get(name, ("", None))
        seen.add(name)
        if where == "reason":
            assert header.reason == wanted, name
            continue
        assert header.reason == "", name
        for setting, plain in (("shutter", 0.008), ("f_number", 2.8), ("iso", 200)):
            value = getattr(found, setting)
            expected = wanted if setting == where else plain
            if isinstance(expected, str):
                assert (value.value, value.reason) == (None, expected), name
            else:
                assert value.value == pytest.approx(expected, rel=1e-6), name
    assert set(SYNTHETIC) <= seen
    assert len(seen) == 33


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order):
    found = settings_of(made.jpeg(made.tiff(order=order)))
    assert (found.shutter.value, found.f_number.value, found.iso.value) == (0.008, 2.8, 200)
    assert (found.mode, found.mode_conflict) == ("manual", False)
    assert found.date is not None
    assert found.date.isoformat() == "2014-05-06T07:08:09"


PROFILE = zlib.compress(b"\nexif\n99\n" + made.tiff().hex().encode())
XMP = b'<x exif:ISOSpeedRatings="200" exif:FNumber="28/10" exif:ExposureTime="1/125"/>'


@pytest.mark.parametrize(
    "picture",
    [
        made.png((b"eXIf", made.tiff())),
        made.png((b"IDAT", bytes(9)), (b"eXIf", made.tiff())),
        made.png(
            (
                b"zTXt",
                b"Raw profile type exif\0\0"
                + zlib.compress(b"\nexif\n%8d\n" % 6 + (b"Exif\0\0" + made.tiff()).hex().encode()),
            )
        ),
        made.png(
            (
                b"tEXt",
                b"Raw profile type exif\0\nExif\n99\n" + made.tiff().hex().encode() + b'\n$"\xff',
            )
        ),
        made.png(*made.pixels(400_000), (b"eXIf", made.tiff())),
        made.png((b"eXIf", made.tiff()), *made.pixels(400_000)),
        made.png(*made.pixels(400_000), (b"zTXt", b"Raw profile type exif\0\0" + PROFILE)),
        made.png(*made.pixels(400_000), (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP)),
        made.webp((b"VP8X", bytes(10)), (b"EXIF", made.tiff())),
        made.webp((b"VP8 ", bytes(7)), (b"EXIF", b"Exif\0\0" + made.tiff())),
        made.tiff(),
    ],
    ids=[
        "png",
        "png-late",
        "png-raw-profile",
        "png-raw-profile-of-another-length",
        "png-behind-many-chunks",
        "png-before-them",
        "png-profile-behind-them",
        "png-xmp-behind-them",
        "webp",
        "webp-with-header",
        "tiff",
    ],
)
def test_other_containers(picture):
    assert settings_of(picture).iso.value == 200


def test_the_settings_of_xmp_are_used_only_without_exif():
    packet = made.xmp(("ExposureTime", "1/30"), ("FNumber", "8/1"), ("ISOSpeedRatings", "400"))
    alone = parse(Window(made.jpeg(packet)))
    assert alone.from_xmp
    assert interpret(alone.tags).iso.value == 400
    both = parse(Window(made.jpeg(packet, made.tiff())))
    assert not both.from_xmp
    assert interpret(both.tags).iso.value == 200


def test_apex_values_stand_in_for_missing_ones():
    entries = ((0x9201, made.RATIONAL, (7, 1)), (0x9202, made.RATIONAL, (3, 1)))
    found = settings_of(made.jpeg(made.tiff(entries)))
    assert found.shutter == (2.0**-7, "apex", "")
    assert found.f_number == (2.0**1.5, "apex", "")
    assert found.iso == (None, "", "missing")


def test_iso_at_its_limit_without_another_tag_is_no_speed():
    entries = ((made.ISO, made.SHORT, 65535),)
    assert settings_of(made.jpeg(made.tiff(entries))).iso == (None, "", "saturated")


@pytest.mark.parametrize(
    ("mode", "program", "expected"),
    [
        (0, 1, ("auto", True)),
        (1, 3, ("manual", True)),
        (2, None, ("auto", False)),
        (None, 1, ("manual", False)),
        (None, 3, ("auto", False)),
        (None, 0, ("unknown", False)),
        (7, 2, ("auto", False)),
        (None, None, ("unknown", False)),
    ],
)
def test_mode_is_exposure_mode_else_program(mode, program, expected):
    entries = [
        (tag, made.SHORT, value)
        for tag, value in ((made.EXPOSURE_PROGRAM, program), (made.EXPOSURE_MODE, mode))
        if value is not None
    ]
    found = settings_of(made.jpeg(made.tiff(entries)))
    assert (found.mode, found.mode_conflict) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"hello", "unknown_format"),
        (b"\xff\xd8\xff\xe1", "truncated"),
        (made.jpeg(), "no_exif"),
        (made.jpeg(made.tiff())[:40], "truncated"),
        (made.jpeg(made.tiff(exif_at=8)), "bad_exif"),
        (made.jpeg(made.tiff(exif_at=2**31)), "bad_exif"),
        (made.png(), "no_exif"),
    ],
)
def test_reasons(data, reason):
    assert parse(Window(data)).reason == reason


def test_a_large_png_without_exif_is_no_fault_and_costs_little(disk):
    picture = made.png(*made.pixels(10_000_000))
    disk.data = picture
    assert parse(Window(picture[:HEAD_BYTES], descriptor=-1)).reason == "no_exif"
    assert disk.bytes_read < 256 * 1024
    disk.data = picture[:-100]
    assert parse(Window(picture[:HEAD_BYTES], descriptor=-1)).reason == "truncated"


def test_bytes_among_the_pixels_are_no_exif_block():
    forged = b"eXIf" + made.tiff() + bytes(4)
    data = made.png(*made.pixels(400_000), (b"IDAT", struct.pack(">I", len(forged) - 8) + forged))
    assert parse(Window(data)).reason == "no_exif"


def test_an_xmp_packet_is_not_read_where_exif_says_it_all(disk):
    packet = made.xmp(("FNumber", "8/1"), ("Padding", "x" * 50_000))
    picture = made.jpeg(made.tiff(), packet)
    disk.read(picture)
    assert disk.bytes_read < 8 * 1024
    assert parse(Window(picture)).reason == ""


def test_reading_ahead_gives_the_same_headers_and_leaves_no_file_open(tmp_path):
    paths = [str(tmp_path / f"{nth:03}.jpg") for nth in range(100)]
    for nth, path in enumerate(paths):
        if nth % 7:
            entries = ((made.ISO, made.SHORT, 100 + nth),)
            Path(path).write_bytes(made.jpeg(made.tiff(entries)))
    os.mkfifo(paths[7])
    Path(paths[14]).mkdir()
    before = len(os.listdir("/proc/self/fd"))
    assert [header for _, header in read_ahead(paths)] == [read_header(path) for path in paths]
    started = read_ahead(paths)
    next(started)
    assert len(os.listdir("/proc/self/fd")) > before
    started.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_missing_file_and_a_folder_are_unreadable(tmp_path):
    assert read_header(tmp_path / "none.jpg").reason == "unreadable"
    assert read_header(tmp_path).reason == "unreadable"


def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert read_header(tmp_path / "pipe.jpg").reason in ("empty", "unreadable")


def test_late_exif_costs_a_seek_not_the_file(tmp_path, monkeypatch):
    other = made.segment(0xE2, bytes(60_000))
    path = tmp_path / "late.jpg"
    path.write_bytes(made.jpeg(other, other, made.tiff()) + bytes(5_000_000))
    read = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *a: read.append(a[1]) or pread(*a))
    assert interpret(read_header(path).tags).iso.value == 200
    assert sum(read) < 32 * 1024


class Disk:
    """Data in memory that is read as a file is, and counted."""

    def __init__(self, monkeypatch):
        self.data, self.bytes_read = b"", 0
        monkeypatch.setattr(os, "pread", self.pread)
        monkeypatch.setattr(
            os, "fstat", lambda _descriptor: SimpleNamespace(st_size=len(self.data))
        )

    def pread(self, _descriptor, count, at):
        found = self.data[at : at + count]
        self.bytes_read += len(found)
        return found

    def read(self, data):
        self.data, self.bytes_read = data, 0
        interpret(parse(Window(data[:HEAD_BYTES], descriptor=-1)).tags)
        assert self.bytes_read <= BUDGET_BYTES


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


SEEDS = [
    made.jpeg(made.tiff()),
    made.jpeg(
        made.segment(0xE2, bytes(30_000)), made.xmp(("FNumber", "8/1")), made.tiff(order=">")
    ),
    made.png((b"eXIf", made.tiff()), (b"IDAT", bytes(20_000))),
    made.webp((b"VP8 ", bytes(20_000)), (b"EXIF", made.tiff())),
    made.tiff() + bytes(20_000),
]


def mutant(source, seed):
    """The seed with some bytes of its first 2,000 changed, and perhaps cut."""
    data = bytearray(seed)
    for _ in range(source.randint(1, 8)):
        at = source.randrange(min(len(data), 2000))
        data[at] = source.choice((0, 1, 2, 127, 128, 254, 255, source.randrange(256)))
    if source.random() < 0.3:
        del data[source.randrange(len(data) + 1) :]
    return bytes(data)


def fuzz(disk, seeds, count):
    source = random.Random(20251)  # noqa: S311 - repeatable
    for number_of_mutant in range(count):
        seed = source.choice(seeds)
        data = mutant(source, seed)
        try:
            disk.read(data)
        except Exception as error:
            raise AssertionError(f"mutant {number_of_mutant}: {data[:200].hex()}") from error


def test_no_damage_raises_or_reads_beyond_the_budget(disk):
    fuzz(disk, SEEDS, 600_000)


def real_headers(folder):
    files = sorted(p for p in (folder / "exif").rglob("*") if p.is_file())
    return [data for p in files if (data := p.read_bytes())]


def test_damaged_real_headers_do_no_harm(disk, snaprig_data):
    fuzz(disk, real_headers(snaprig_data), 500_000)


@pytest.mark.soak
def test_ten_minutes_of_damaged_real_headers(disk, snaprig_data):
    fuzz(disk, real_headers(snaprig_data), 12_000_000)


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(
        [
            b"",
            b"\xff\xd8",
            b"II*\0",
            b"\x89PNG\r\n\x1a\n",
            b"RIFF\xff\xff\xff\xffWEBP",
            b"\0\0\0\x18ftypavif",
        ]
    ),
    st.binary(max_size=400),
)
def test_noise_behind_a_magic_number_raises_nothing(magic, noise):
    interpret(parse(Window(magic + noise)).tags)


def test_many_blocks_share_one_budget(disk):
    # each points to where no window has read yet
    blocks = [
        made.segment(0xE1, b"Exif\0\0" + made.tiff(exif_at=60_000).ljust(64_000, b"\1"))
        for _ in range(400)
    ]
    disk.read(made.jpeg(*blocks))
