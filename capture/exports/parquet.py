"""`export parquet`: frames as a table with their pictures in it, or beside it.

The only module that imports pyarrow.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from capture.exports.coco import note_unmarked
from capture.exports.columns import FRAME_COLUMNS, Kind
from capture.exports.job import Job, Picture, image_name, shown_size
from capture.exports.objects import ObjectInFrame, Objects
from schemas.copying import sha256_of
from schemas.export_store import ExportRow
from schemas.workspace import PARTIAL

#: Name that the datasets library looks for beside a folder of pictures.
BESIDE = "metadata.parquet"

#: Bytes of pictures in one file: what one has to download to see some.
_SHARD_BYTES = 400_000_000
#: Frames in one group of rows: what a reader decodes at once, and a writer holds.
_GROUP = {True: 16, False: 1024}

_TYPES: dict[Kind, tuple[pa.DataType, str]] = {
    "text": (pa.string(), "string"),
    "integer": (pa.int32(), "int32"),
    "real": (pa.float64(), "float64"),
    "boolean": (pa.bool_(), "bool"),
    "moment": (pa.timestamp("us", "UTC"), "timestamp[us, tz=UTC]"),
}

_OBJECT = pa.struct(
    [
        ("category", pa.string()),
        ("bbox", pa.list_(pa.float64())),  # x, y, width, height in pixels
        ("area", pa.float64()),
        ("iscrowd", pa.bool_()),
        ("counts", pa.string()),  # COCO's compressed run lengths; null without a mask
    ]
)


def write_embedded(job: Job) -> None:
    """Write files of some hundred megabytes with the pictures in them.

    A stopped export keeps the files that are whole: their digest and the digest of the rows they
    were made of are noted. Names in the column `image` lead nowhere on this machine.
    """
    objects = Objects(job.facts.instances)
    total = job.extent.real + job.extent.simulated
    shards = max(1, math.ceil(job.extent.size_bytes / _SHARD_BYTES))
    noted: dict[str, list[str]] = job.folder.noted("shards") or {}
    rows = job.rows()
    for number in range(shards):
        name = f"data/train-{number:05d}-of-{shards:05d}.parquet"
        mine = list(islice(rows, (number + 1) * total // shards - number * total // shards))
        made_of = _fingerprint(job, mine)
        path = job.folder.root / name
        if path.exists() and noted.get(name) == [made_of, digest := sha256_of(path)]:
            job.folder.register(name, digest, path.stat().st_size)
            job.folder.kept += len(mine)
            for row in mine:
                job.count(row)
            continue
        partial = path.with_name(path.name + PARTIAL)
        path.parent.mkdir(parents=True, exist_ok=True)
        # JPEG does not get smaller: packing it would only cost time and memory
        with pq.ParquetWriter(partial, _schema(embedded=True), compression="none") as writer:
            _write(writer, _embedded(job, mine), objects, embedded=True)
        noted[name] = [made_of, job.folder.take(partial, name)]
        job.folder.copied += len(mine)
        job.folder.note("shards", noted)
    note_unmarked(job.facts)


def write_by_path(job: Job) -> None:
    """Write the pictures, and a table that names them by their path in the export."""
    objects = Objects(job.facts.instances)
    pictures = job.pictures((row, image_name(row)) for row in job.rows())
    partial = job.folder.root / (BESIDE + PARTIAL)
    with pq.ParquetWriter(partial, _schema(embedded=False), compression="zstd") as writer:
        _write(writer, pictures, objects, embedded=False)
    job.folder.take(partial, BESIDE)
    note_unmarked(job.facts)


def _embedded(job: Job, rows: Iterable[ExportRow]) -> Iterator[tuple[ExportRow, Picture]]:
    for row in rows:
        data = job.read(row)
        yield row, Picture(image_name(row), data, shown_size(data))
        job.count(row)


def _write(
    writer: pq.ParquetWriter,
    pictures: Iterator[tuple[ExportRow, Picture]],
    objects: Objects,
    *,
    embedded: bool,
) -> None:
    schema = _schema(embedded=embedded)
    while group := list(islice(pictures, _GROUP[embedded])):
        rows = [_row(row, picture, objects, embedded=embedded) for row, picture in group]
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _row(row: ExportRow, picture: Picture, objects: Objects, *, embedded: bool) -> dict[str, Any]:
    first: dict[str, Any] = (
        {"image": {"bytes": picture.data, "path": picture.name}}
        if embedded
        else {"file_name": picture.name}
    )
    plain = {column.name: column.of(row, picture) for column in FRAME_COLUMNS}
    return {**first, **plain, "objects": list(map(_object, objects.of(row.scene, picture.size_px)))}


def _object(one: ObjectInFrame) -> dict[str, Any]:
    return {
        "category": one.category,
        "bbox": list(one.box_xywh_px),
        "area": one.area_px,
        "iscrowd": one.crowd,
        "counts": one.counts,
    }


def _schema(*, embedded: bool) -> pa.Schema:
    """Columns, with what makes the datasets library decode the pictures."""
    plain = [(column.name, _TYPES[column.kind][0]) for column in FRAME_COLUMNS]
    if not embedded:
        return pa.schema([("file_name", pa.string()), *plain, ("objects", pa.list_(_OBJECT))])
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema([("image", image), *plain, ("objects", pa.list_(_OBJECT))])
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": _features()}})})


def _features() -> dict[str, Any]:
    def value(name: str) -> dict[str, str]:
        return {"dtype": name, "_type": "Value"}

    return {
        "image": {"_type": "Image"},
        **{column.name: value(_TYPES[column.kind][1]) for column in FRAME_COLUMNS},
        "objects": {
            "_type": "List",
            "feature": {
                "category": value("string"),
                "bbox": {"_type": "List", "feature": value("float64")},
                "area": value("float64"),
                "iscrowd": value("bool"),
                "counts": value("string"),
            },
        },
    }


def _fingerprint(job: Job, rows: Iterable[ExportRow]) -> str:
    """Digest of everything that a file is made of: frames, and the objects of their scenes."""
    digest = hashlib.sha256()
    for row in rows:
        # run and row numbers are the catalog's own
        digest.update(repr((row[2:], job.facts.instances.get(row.scene, []))).encode())
    return digest.hexdigest()
