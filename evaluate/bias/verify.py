"""Read a share of a scan again with other readers, and name what differs.

Pillow always, ExifTool where it is installed. A difference is a value that two readers give
differently; that one gives none where the other has one counts as well.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from PIL import ExifTags, Image

from evaluate.bias import tiff
from evaluate.bias.header import read_header
from evaluate.bias.settings import number
from evaluate.bias.tiff import Value

#: Settings that are compared: the tag's name with ExifTool and Pillow.
_COMPARED: Final = {
    "ExposureTime": tiff.EXPOSURE_TIME,
    "FNumber": tiff.F_NUMBER,
    "ISO": tiff.ISO,
    "ExposureMode": tiff.EXPOSURE_MODE,
    "ExposureProgram": tiff.EXPOSURE_PROGRAM,
}
#: Differences that are listed; all are counted.
_LISTED: Final = 100
_BATCH: Final = 500

Read = dict[str, float | None]


def verify(scan: Path, share: float) -> dict[str, Any]:
    """Compare a share of a scan's picture files, drawn by a hash of their path.

    Returns
    -------
    dict
        ``pictures`` compared, ``differing`` by reader, and the first ``differences``: path,
        reader, setting, ours, theirs.
    """
    paths = list(_drawn(scan, share))
    readers = {"pillow": _by_pillow(paths)}
    if shutil.which("exiftool"):
        readers["exiftool"] = _by_exiftool(paths)
    ours = [_ours(path) for path in paths]
    differences = []
    counts = dict.fromkeys(readers, 0)
    for reader, read in readers.items():
        for path, own, other in zip(paths, ours, read, strict=True):
            if other is None:
                continue
            wrong = [name for name in _COMPARED if not _same(own[name], other.get(name))]
            counts[reader] += bool(wrong)
            differences += [
                {
                    "path": path,
                    "reader": reader,
                    "setting": name,
                    "ours": own[name],
                    "theirs": other.get(name),
                }
                for name in wrong
            ]
    return {
        "pictures": len(paths),
        "differing": counts,
        "differences": differences[:_LISTED],
    }


def _drawn(scan: Path, share: float) -> Iterator[str]:
    limit = share * 2**64
    with pq.ParquetFile(scan) as file:
        for rows in file.iter_batches(columns=["path", "unit"]):
            for path, unit in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                digest = hashlib.blake2b(path.encode(), digest_size=8).digest()
                # members of shards have no file of their own that another reader could open
                if path == unit and int.from_bytes(digest, "big") < limit:
                    yield path


def _ours(path: str) -> Read:
    header = read_header(path)
    if header.from_xmp:
        return dict.fromkeys(_COMPARED)
    return {name: _value(header.tags.get(tag)) for name, tag in _COMPARED.items()}


def _value(raw: Value | None) -> float | None:
    return None if raw is None else number(raw)[0]


def _by_pillow(paths: list[str]) -> list[Read | None]:
    """What Pillow reads; None where it cannot open the picture."""
    return [_pillow(path) for path in paths]


def _pillow(path: str) -> Read | None:
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(path) as picture:
            exif = picture.getexif()
            tags = dict(exif) | exif.get_ifd(ExifTags.IFD.Exif)
    except (OSError, ValueError, SyntaxError, KeyError, TypeError):
        return None  # what Pillow raises for a broken header; it is the other reader's limit
    return {name: _pillow_value(tags.get(tag)) for name, tag in _COMPARED.items()}


def _pillow_value(value: Any) -> float | None:  # noqa: ANN401 - a number, a fraction, a tuple or a text
    if isinstance(value, tuple):
        value = value[0] if value else None
    if value is None:
        return None
    if hasattr(value, "denominator") and not isinstance(value, int):
        return number((int(value.numerator), int(value.denominator)))[0]
    return number(value)[0] if isinstance(value, int | float | str) else None


def _by_exiftool(paths: list[str]) -> list[Read | None]:
    """What ExifTool reads from the Exif block alone, without maker notes."""
    names = [f"-{group}:{name}" for group in ("ExifIFD", "IFD0") for name in _COMPARED]
    found: dict[str, Read] = {}
    for start in range(0, len(paths), _BATCH):
        result = subprocess.run(
            [
                "exiftool",
                "-json",
                "-n",
                "-G1",
                "-fast2",
                *names,
                "--",
                *paths[start : start + _BATCH],
            ],
            capture_output=True,
            check=False,
        )
        for entry in json.loads(result.stdout or b"[]"):
            found[entry["SourceFile"]] = {
                name: _exiftool_value(entry.get(f"ExifIFD:{name}", entry.get(f"IFD0:{name}")))
                for name in _COMPARED
            }
    return [found.get(path) for path in paths]


def _exiftool_value(value: Any) -> float | None:  # noqa: ANN401 - JSON
    if value is None or value in ("undef", "inf"):
        return None
    return number(value)[0] if isinstance(value, int | float | str) else None


def _same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-6)
