"""Scans: one row a picture whatever the source, nothing read twice, nothing lost by a kill."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from evaluate.bias import scan as scanning
from evaluate.bias import shards
from evaluate.bias.engines import run_processes, run_serial
from evaluate.bias.rows import SCHEMA
from evaluate.bias.scan import Collection, scan
from evaluate.bias.scan_cli import scan as command
from evaluate.bias.sources import SourceError, find_units
from tests.evaluate import picture_headers as made

ROOT = Path(__file__).parents[2]


def picture(iso):
    entries = tuple(
        (tag, kind, iso if tag == made.ISO else value) for tag, kind, value in made.PLAIN
    )
    return made.photo(made.tiff(entries))


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    for number in range(12):
        path = folder / f"{number % 3}" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(100 + number))
    (folder / "0" / "none.png").write_bytes(made.png())
    (folder / "0" / "notes.json").write_text("{}")
    return folder


def note_reads(monkeypatch, read):
    """Add the path of each unit that is read from now on."""
    real = shards.make_row

    def noted(unit, *rest):
        read.append(unit.path)
        return real(unit, *rest)

    monkeypatch.setattr(shards, "make_row", noted)


def run(source, out, engine=run_serial, **about):
    return scan(find_units([source]), out, Collection("c", **about), engine)


def table(out):
    return pq.read_table(out).to_pylist()


def by_path(out):
    return {row["path"]: row for row in table(out)}


def test_one_row_a_picture_with_settings_or_reason(photos, tmp_path):
    out = tmp_path / "s.parquet"
    tally = run(photos, out)
    assert (tally.images, tally.readable, tally.with_all_three) == (13, 13, 12)
    rows = by_path(out)
    row = rows[f"{photos}/1/04.jpg"]
    assert (row["exposure_time_s"], row["f_number"], row["iso"]) == (0.008, 2.8, 104)
    assert (row["exposure_time_numerator"], row["exposure_time_denominator"]) == (1, 125)
    # EV = log2(2.8^2 * 125) - log2(1.04)
    assert row["ev"] == pytest.approx(9.8801, abs=1e-4)
    assert (row["source"], row["reason"], row["mode"]) == ("exif", None, "manual")
    assert (row["exposure_mode"], row["exposure_program"]) == (1, 1)
    assert row["date"].isoformat() == "2014-05-06T07:08:09"
    assert rows[f"{photos}/0/none.png"]["reason"] == "no_exif"
    assert not (tmp_path / "s.parquet.parts").exists()


def test_the_file_says_which_collection_it_is_of(photos, tmp_path):
    run(photos, tmp_path / "s.parquet", year=2009, nominal=20)
    metadata = pq.read_schema(tmp_path / "s.parquet").metadata
    assert json.loads(metadata[scanning.METADATA_KEY]) == {"name": "c", "year": 2009, "nominal": 20}


def test_only_changed_files_are_read_again(photos, tmp_path, monkeypatch):
    out = tmp_path / "s.parquet"
    run(photos, out)
    first = table(out)
    (photos / "1" / "04.jpg").write_bytes(picture(3200))
    (photos / "1" / "new.jpg").write_bytes(picture(6400))
    (photos / "2" / "05.jpg").unlink()
    read = []
    note_reads(monkeypatch, read)
    tally = run(photos, out)
    assert sorted(read) == [f"{photos}/1/04.jpg", f"{photos}/1/new.jpg"]
    assert (tally.images, tally.reused) == (13, 11)
    rows = by_path(out)
    assert rows[f"{photos}/1/04.jpg"]["iso"] == 3200
    assert f"{photos}/2/05.jpg" not in rows
    same = [row for row in first if row["path"] in rows and "04.jpg" not in row["path"]]
    assert all(rows[row["path"]] == row for row in same)


@pytest.mark.parametrize("task_pictures", [4, 2000])
def test_workers_give_the_same_table(photos, tmp_path, monkeypatch, task_pictures):
    run(photos, tmp_path / "one.parquet")
    monkeypatch.setattr(scanning, "TASK_PICTURES", task_pictures)
    run(photos, tmp_path / "two.parquet", partial(run_processes, workers=2))
    assert table(tmp_path / "one.parquet") == table(tmp_path / "two.parquet")


def kill_after(count):
    """An engine that dies like a killed process after `count` tasks."""

    def engine(function, tasks):
        for number, task in enumerate(tasks):
            if number == count:
                os.kill(os.getpid(), signal.SIGKILL)
            yield function(task)

    return engine


@pytest.mark.parametrize("tasks", [0, 1, 3, 6])
def test_a_killed_scan_goes_on(photos, tmp_path, monkeypatch, tasks):
    out = tmp_path / "s.parquet"
    monkeypatch.setattr(scanning, "TASK_PICTURES", 2)
    monkeypatch.setattr(scanning, "PART_ROWS", 4)
    pid = os.fork()
    if pid == 0:
        run(photos, out, kill_after(tasks))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert not out.exists()
    read = []
    note_reads(monkeypatch, read)
    tally = run(photos, out)
    assert tally.images == 13
    assert len(read) == len(set(read)) == 13 - tally.reused
    assert tally.reused == tasks * 2 // 4 * 4
    run(photos, tmp_path / "whole.parquet")
    assert sorted(by_path(out).items()) == sorted(by_path(tmp_path / "whole.parquet").items())


def test_the_parts_are_joined_in_order(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "TASK_PICTURES", 2)
    monkeypatch.setattr(scanning, "PART_ROWS", 4)
    run(photos, tmp_path / "s.parquet")
    paths = [row["path"] for row in table(tmp_path / "s.parquet")]
    assert paths == sorted(paths)
    assert pq.read_schema(tmp_path / "s.parquet").names == SCHEMA.names


def tar_of(path, pictures, kind=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=kind) as archive:
        for name, data in pictures.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


LONG = "a" * 90 + "/" + "b" * 120 + "/ünï.jpg"
PICTURES = {
    "0001.jpg": picture(100),
    "0001.json": b"{}",
    "deep/0002.jpg": picture(200),
    LONG: picture(400),
    "0003.jpg": made.jpeg(made.segment(0xE2, bytes(60_000)), made.tiff()),
    "cut.jpg": picture(800)[:24],
}
ISO_OF = {"0001.jpg": 100, "deep/0002.jpg": 200, LONG: 400, "0003.jpg": 200, "cut.jpg": None}


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_shard_is_read_without_unpacking(tmp_path, kind):
    tar_of(tmp_path / "s.tar", PICTURES, kind)
    run(tmp_path / "s.tar", tmp_path / "s.parquet")
    rows = by_path(tmp_path / "s.parquet")
    prefix = f"{tmp_path}/s.tar/"
    assert {path.removeprefix(prefix): row["iso"] for path, row in rows.items()} == ISO_OF
    assert rows[prefix + "cut.jpg"]["reason"] == "truncated"
    assert run(tmp_path / "s.tar", tmp_path / "s.parquet").reused == 5


def test_the_end_of_one_member_is_not_the_start_of_the_next(tmp_path):
    # a header that is cut at the end of its member must not read on in the next one
    tar_of(tmp_path / "s.tar", {"cut.tif": made.tiff()[:30], "b.jpg": picture(100)})
    run(tmp_path / "s.tar", tmp_path / "s.parquet")
    rows = by_path(tmp_path / "s.parquet")
    assert rows[f"{tmp_path}/s.tar/cut.tif"]["reason"] == "bad_exif"


def test_a_cut_tar_file_is_a_row(tmp_path):
    tar_of(tmp_path / "s.tar", PICTURES, tarfile.GNU_FORMAT)
    data = (tmp_path / "s.tar").read_bytes()
    (tmp_path / "s.tar").write_bytes(data[:2500])
    tally = run(tmp_path / "s.tar", tmp_path / "s.parquet")
    assert tally.by_reason["broken_shard"] == 1
    assert tally.with_all_three >= 1


def test_zip_members(tmp_path):
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in PICTURES.items():
            archive.writestr(name, data)
        late = made.png((b"IDAT", random.Random(1).randbytes(200_000)), (b"eXIf", made.tiff()))  # noqa: S311 - does not compress
        archive.writestr("late.png", late)
    run(tmp_path / "s.zip", tmp_path / "s.parquet")
    found = {
        path.removeprefix(f"{tmp_path}/s.zip/"): row["iso"]
        for path, row in by_path(tmp_path / "s.parquet").items()
    }
    assert found == ISO_OF | {"late.png": 200}


def test_of_a_zip_member_no_more_is_unpacked_than_the_budget(tmp_path):
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        pixels = made.pixels(2_000_000)
        archive.writestr("large.png", made.png(*pixels, (b"eXIf", made.tiff())))
        archive.writestr("cut.png", made.png(*pixels[:3])[:-12])
    tally = run(tmp_path / "s.zip", tmp_path / "s.parquet")
    assert tally.by_reason == {"budget": 1, "truncated": 1}


def test_a_broken_zip_is_a_row(tmp_path):
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    assert run(tmp_path / "bad.zip", tmp_path / "b.parquet").by_reason == {"broken_shard": 1}


def test_img2dataset(tmp_path):
    exif = {
        "EXIF ExposureTime": "1/125",
        "EXIF FNumber": "14/5",
        "EXIF ISOSpeedRatings": "200",
        "EXIF ExposureMode": "Manual Exposure",
        "EXIF ExposureProgram": "Aperture Priority",
        "EXIF DateTimeOriginal": "2014:05:06 07:08:09",
        "Image Make": "Canon",
    }
    zero = exif | {"EXIF ExposureTime": "0/0"}
    pq.write_table(
        pa.table(
            {
                "key": ["a", "b", "c", "d"],
                "status": ["success", "success", "failed_to_download", "success"],
                "exif": [json.dumps(exif), None, None, json.dumps(zero)],
            }
        ),
        tmp_path / "00000.parquet",
    )
    run(tmp_path / "00000.parquet", tmp_path / "s.parquet")
    first, second, third, fourth = table(tmp_path / "s.parquet")
    assert (first["exposure_time_s"], first["f_number"], first["iso"]) == (0.008, 2.8, 200)
    assert (first["mode"], first["mode_conflict"], first["make"]) == ("manual", True, "Canon")
    assert [r["reason"] for r in (second, third)] == ["no_exif", "not_downloaded"]
    assert fourth["reason"] == "exposure_time_zero_denominator"


def test_pictures_inside_parquet(tmp_path):
    struct = {"bytes": picture(320), "path": "x.jpg"}
    pq.write_table(
        pa.table({"image": [struct, {"bytes": None, "path": None}]}), tmp_path / "p.parquet"
    )
    run(tmp_path / "p.parquet", tmp_path / "s.parquet")
    assert [(r["iso"], r["reason"]) for r in table(tmp_path / "s.parquet")] == [
        (320, None),
        (None, "empty"),
    ]


FLICKR = {
    "stat": "ok",
    "photo": {
        "id": "5",
        "camera": "Canon EOS 5D",
        "exif": [
            {
                "tagspace": "ExifIFD",
                "tag": "ExposureTime",
                "raw": {"_content": "0.008 sec (1/125)"},
            },
            {"tagspace": "ExifIFD", "tag": "FNumber", "raw": {"_content": "2.8"}},
            {"tagspace": "ExifIFD", "tag": "ISO", "raw": {"_content": "200"}},
            {
                "tagspace": "ExifIFD",
                "tag": "ExposureProgram",
                "raw": {"_content": "Aperture-priority AE"},
            },
            {"tagspace": "Canon", "tag": "ISO", "raw": {"_content": "9"}},
        ],
    },
}


def test_the_answers_of_a_photo_service(tmp_path):
    lines = [
        FLICKR,
        {"stat": "fail", "code": 2, "id": "6"},
        {"id": "7", "shutter_speed": "1/60", "aperture": "f/4", "iso": 100},
    ]
    path = tmp_path / "api.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    run(path, tmp_path / "s.parquet")
    first, second, third = table(tmp_path / "s.parquet")
    assert (first["exposure_time_s"], first["f_number"], first["iso"]) == (0.008, 2.8, 200)
    assert (first["source"], first["mode"]) == ("api", "auto")
    assert (second["path"], second["reason"]) == (f"{path}/6", "not_available")
    assert (third["exposure_time_s"], third["f_number"]) == (1 / 60, 4)


def test_a_table_of_settings(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text(
        "id,exposure_time,f_number,iso,date_taken\n1,1/250,8,100,2011-02-03 04:05:06\n2,,,,\n"
    )
    run(path, tmp_path / "s.parquet")
    first, second = table(tmp_path / "s.parquet")
    assert (first["exposure_time_s"], first["date"].year) == (0.004, 2011)
    assert second["reason"] == "no_exif"


def test_a_list_of_paths_keeps_its_order_and_names_what_is_gone(photos, tmp_path):
    names = ["photos/2/05.jpg", "photos/0/00.jpg", "photos/gone.jpg"]
    (tmp_path / "list.txt").write_text("\n".join(names))
    run(tmp_path / "list.txt", tmp_path / "s.parquet")
    rows = table(tmp_path / "s.parquet")
    assert [Path(row["path"]).name for row in rows] == ["05.jpg", "00.jpg", "gone.jpg"]
    assert rows[2]["reason"] == "unreadable"


def test_names_of_another_encoding_are_stored(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.jpg")).write_bytes(picture(100))
    assert run(folder, tmp_path / "s.parquet").with_all_three == 1
    assert run(folder, tmp_path / "s.parquet").images == 1


def test_a_scan_does_not_read_what_it_writes(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "TASK_PICTURES", 4)
    monkeypatch.setattr(scanning, "PART_ROWS", 4)
    out = photos / "1" / "inside.parquet"
    assert run(photos, out).images == 13
    assert run(photos, out).images == 13
    run(photos, tmp_path / "elsewhere.parquet")
    found = by_path(tmp_path / "elsewhere.parquet")[str(out)]
    assert found["reason"] == "no_pictures_or_exif_in_table"


def test_a_scan_that_cannot_begin_leaves_nothing(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        run(tmp_path / "nowhere", tmp_path / "s.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_source_of_no_kind_is_refused(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        list(find_units([tmp_path / "none"]))
    (tmp_path / "a.doc").touch()
    with pytest.raises(SourceError, match="give a folder"):
        list(find_units([tmp_path / "a.doc"]))


def test_the_command(photos, tmp_path):
    out = str(tmp_path / "s.parquet")
    result = CliRunner().invoke(
        command, [str(photos), "--out", out, "--workers", "1", "--verify", "1", "--json"]
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["images"], document["with_all_three"]) == (13, 12)
    assert document["by_source"] == {"exif": 12}
    assert document["by_reason"] == {"no_exif": 1}
    assert document["files_per_s"] > 0
    assert document["verified"]["pictures"] == 13
    assert document["verified"]["differing"]["pillow"] == 0


def test_verify_finds_a_reader_that_is_wrong(photos, tmp_path, monkeypatch):
    from evaluate.bias import verify

    run(photos, tmp_path / "s.parquet")
    monkeypatch.setattr(verify, "_ours", lambda _path: dict.fromkeys(verify._COMPARED))
    found = verify.verify(tmp_path / "s.parquet", 1.0)
    assert found["differing"]["pillow"] == 12
    assert {entry["setting"] for entry in found["differences"]} >= {"ISO", "FNumber"}


@pytest.mark.soak
def test_a_ray_cluster_gives_the_same_table(photos, tmp_path):
    out = tmp_path / "ray.parquet"
    options = "--engine ray --address local --workers 2".split()
    subprocess.run(
        [sys.executable, "-m", "rig", "bias", "scan", str(photos), "--out", str(out), *options],
        check=True,
        cwd=ROOT,
    )
    run(photos, tmp_path / "s.parquet")
    assert table(out) == table(tmp_path / "s.parquet")
