"""A picture as a row of a scan, and the columns of the table."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from evaluate.bias import tiff
from evaluate.bias.header import Header
from evaluate.bias.settings import Setting, exposure_value, interpret
from evaluate.bias.sources import Unit
from evaluate.bias.tiff import Value

#: One row a picture. `unit` is the file that is read (a picture, or a shard of many) and `stamp`
#: its size and time of change: a unit with the same stamp is not read again.
SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("unit", pa.string()),
        ("stamp", pa.string()),
        ("format", pa.dictionary(pa.int32(), pa.string())),
        ("exposure_time_s", pa.float64()),
        ("f_number", pa.float64()),
        ("iso", pa.float64()),
        ("ev", pa.float64()),
        ("source", pa.dictionary(pa.int32(), pa.string())),
        ("reason", pa.dictionary(pa.int32(), pa.string())),
        ("exposure_time_source", pa.dictionary(pa.int32(), pa.string())),
        ("f_number_source", pa.dictionary(pa.int32(), pa.string())),
        ("iso_source", pa.dictionary(pa.int32(), pa.string())),
        ("exposure_time_reason", pa.dictionary(pa.int32(), pa.string())),
        ("f_number_reason", pa.dictionary(pa.int32(), pa.string())),
        ("iso_reason", pa.dictionary(pa.int32(), pa.string())),
        ("exposure_time_numerator", pa.int64()),
        ("exposure_time_denominator", pa.int64()),
        ("f_number_numerator", pa.int64()),
        ("f_number_denominator", pa.int64()),
        ("iso_raw", pa.int64()),
        ("exposure_mode", pa.int32()),
        ("exposure_program", pa.int32()),
        ("mode", pa.dictionary(pa.int32(), pa.string())),
        ("mode_conflict", pa.bool_()),
        ("date", pa.timestamp("s")),
        ("date_source", pa.dictionary(pa.int32(), pa.string())),
        ("date_raw", pa.string()),
        ("make", pa.string()),
        ("model", pa.string()),
    ]
)

#: Sources of a value from the plainest to the most indirect; a triple has that of its worst.
SOURCES: Final = ("exif", "rei", "apex", "xmp", "api")
_INDIRECTNESS: Final = {source: index for index, source in enumerate(SOURCES)}.__getitem__

#: Reasons why a picture's header gave nothing: there is no readable picture.
UNREADABLE: Final = frozenset(
    (
        "unreadable empty unknown_format broken_shard not_downloaded not_available "
        "no_pictures_or_exif_in_table"
    ).split()
)

Row = tuple[Any, ...]


def make_row(unit: Unit, stamp: str, path: str, header: Header, origin: str = "") -> Row:
    """One row in the order of `SCHEMA`: of the picture `path` in a unit with a stamp.

    `origin` names where values come from that were read elsewhere (``api``).
    """
    tags = header.tags
    found = interpret(tags)
    shutter, f_number, iso = found.shutter, found.f_number, found.iso
    shutter_source, f_number_source, iso_source = shutter.source, f_number.source, iso.source
    if other := "xmp" if header.from_xmp else origin:
        shutter_source, f_number_source, iso_source = (
            other if source else "" for source in (shutter_source, f_number_source, iso_source)
        )
    ev = worst = reason = None
    if shutter.value is not None and f_number.value is not None and iso.value is not None:
        ev = exposure_value(shutter.value, f_number.value, iso.value)
        worst = max(shutter_source, f_number_source, iso_source, key=_INDIRECTNESS)
    else:
        reason = header.reason or _first_reason(shutter, f_number, iso)
    shutter_raw, f_number_raw = tags.get(tiff.EXPOSURE_TIME), tags.get(tiff.F_NUMBER)
    iso_raw = tags.get(tiff.ISO)
    return (
        _storable(path),
        _storable(unit.path),
        stamp,
        header.format or None,
        shutter.value,
        f_number.value,
        iso.value,
        ev,
        worst,
        reason,
        shutter_source or None,
        f_number_source or None,
        iso_source or None,
        shutter.reason or None,
        f_number.reason or None,
        iso.reason or None,
        *(shutter_raw if isinstance(shutter_raw, tuple) else _raw(shutter_raw)),
        *(f_number_raw if isinstance(f_number_raw, tuple) else _raw(f_number_raw)),
        iso_raw if isinstance(iso_raw, int) else None,
        found.exposure_mode,
        found.exposure_program,
        found.mode,
        found.mode_conflict,
        found.date,
        found.date_source or None,
        _text(tags.get(tiff.DATE_TIME_ORIGINAL)),
        _text(tags.get(tiff.MAKE)),
        _text(tags.get(tiff.MODEL)),
    )


def broken_row(unit: Unit, stamp: str, reason: str) -> Row:
    """A row for a unit that cannot be read."""
    return make_row(unit, stamp, unit.path, Header("", {}, False, reason))


def batch(rows: list[Row]) -> pa.RecordBatch:
    """Rows as a record batch of `SCHEMA`."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in SCHEMA)
    arrays = [
        pa.array(column, _plain(field.type)) for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        [
            array.dictionary_encode() if pa.types.is_dictionary(field.type) else array
            for array, field in zip(arrays, SCHEMA, strict=True)
        ],
        schema=SCHEMA,
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _first_reason(shutter: Setting, f_number: Setting, iso: Setting) -> str:
    """The reason of the first missing setting, by name; ``no_settings`` if none is there."""
    named = (("exposure_time", shutter), ("f_number", f_number), ("iso", iso))
    if all(setting.reason == "missing" for _, setting in named):
        return "no_settings"
    return next(f"{name}_{s.reason}" for name, s in named if s.value is None)


def _raw(value: Value | None) -> tuple[int | None, int | None]:
    """Numerator and denominator of what is no fraction in the file; a whole number is over 1."""
    return (value, 1) if isinstance(value, int) else (None, None)


def _storable(path: str) -> str:
    """The path as valid Unicode: file names of other encodings have bytes that are not."""
    return path if path.isascii() else path.encode("utf-8", "replace").decode()


def _text(value: Value | None) -> str | None:
    return value if isinstance(value, str) else None
