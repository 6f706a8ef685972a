"""Rows from tables that others made: img2dataset, pictures in parquet, a photo service's data."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from evaluate.bias.header import Header, parse
from evaluate.bias.named import named_tags
from evaluate.bias.rows import Row, broken_row, make_row
from evaluate.bias.sources import Unit, stamp_of
from evaluate.bias.window import Window

#: Columns that name a picture, in order of preference.
_KEYS: Final = ("path", "file_name", "filename", "file", "key", "id", "photo_id", "url")
_IMAGES: Final = ("image", "jpg", "jpeg", "png", "webp", "img", "image_bytes", "bytes")
_BATCH: Final = 256


def parquet_rows(unit: Unit) -> Iterator[Row]:
    """Rows of a parquet file: from its `exif` column (img2dataset), or from pictures inside."""
    stamp = stamp_of(unit.path)
    try:
        with pq.ParquetFile(unit.path) as file:
            names = file.schema_arrow.names
            key = next((name for name in _KEYS if name in names), None)
            pictures = next((name for name in _IMAGES if name in names), None)
            content = "exif" if "exif" in names else pictures
            if content is None:
                yield broken_row(unit, stamp, "no_pictures_or_exif_in_table")
                return
            wanted = [name for name in (key, content, "status") if name and name in names]
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
                for entry in batch.to_pylist():
                    path = f"{unit.path}/{number if key is None else entry[key]}"
                    number += 1
                    if entry.get("status", "success") != "success":
                        header = Header("", {}, False, "not_downloaded")
                    elif content == "exif":
                        header = _from_exifread(entry[content])
                    else:
                        header = _from_bytes(entry[content])
                    yield make_row(unit, stamp, path, header)
    except (pa.ArrowException, OSError):
        yield broken_row(unit, stamp, "broken_shard" if os.path.exists(unit.path) else "unreadable")


def record_rows(unit: Unit) -> Iterator[Row]:
    """Rows of a photo service's metadata: JSON lines, a JSON array, or CSV.

    A record is flat (``{"id": …, "ExposureTime": "1/125", …}``) or the answer of Flickr's
    ``photos.getExif``.
    """
    stamp = stamp_of(unit.path)
    try:
        for number, record in enumerate(_records(unit.path)):
            fields, reason = (
                _flickr(record) if "stat" in record or "photo" in record else (record, "")
            )
            key = next(
                (fields[name] for name in _KEYS if fields.get(name) not in (None, "")), number
            )
            tags = named_tags(fields)
            header = Header("", tags, False, reason or ("" if tags else "no_exif"))
            yield make_row(unit, stamp, f"{unit.path}/{key}", header, "api")
    except OSError:
        yield broken_row(unit, stamp, "unreadable")
    except (ValueError, csv.Error):
        yield broken_row(unit, stamp, "broken_shard")


def _from_exifread(text: str | None) -> Header:
    """img2dataset's column: a JSON object of printed values, null where there was no Exif."""
    if not text:
        return Header("", {}, False, "no_exif")
    try:
        fields = json.loads(text)
    except ValueError:
        return Header("", {}, False, "bad_exif")
    if not isinstance(fields, dict) or not fields:
        return Header("", {}, False, "no_exif")
    return Header("", named_tags(fields), False, "")


def _from_bytes(value: Any) -> Header:  # noqa: ANN401 - bytes, or a struct with them
    data = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(data, bytes) or not data:
        return Header("", {}, False, "empty")
    return parse(Window(data))


def _records(path: str) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        if path.lower().endswith(".csv"):
            yield from csv.DictReader(file)
            return
        if path.lower().endswith(".jsonl"):
            for line in file:
                if line.strip():
                    yield _record(json.loads(line))
            return
        document = json.load(file)
        for entry in document if isinstance(document, list) else [document]:
            yield _record(entry)


def _record(entry: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    if not isinstance(entry, dict):
        raise ValueError("a record is not an object")
    return entry


def _flickr(record: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Fields of an answer of ``photos.getExif``, and why there are none."""
    photo = record.get("photo")
    if not isinstance(photo, dict):
        return {"id": record.get("id")}, "not_available"
    fields = {"id": photo.get("id"), "Camera": photo.get("camera") or None}
    for entry in photo.get("exif", []):
        # maker notes repeat the tags with other meanings
        if entry.get("tagspace") in ("ExifIFD", "IFD0", "EXIF", "TIFF"):
            raw = entry.get("raw")
            fields[entry["tag"]] = raw.get("_content") if isinstance(raw, dict) else raw
    return fields, ""
