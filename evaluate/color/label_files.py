"""Color labels that others made: CSV, JSON, and the pickled tables of CIFAR-B."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluate.color.groups import Color
from evaluate.color.restricted_pickle import read_table
from evaluate.errors import EvaluateError

#: Columns, or keys, that name the picture, in order of preference.
IMAGE_KEYS: Final = ("image", "file", "file_name", "filename", "path", "name")
CLASS_KEYS: Final = ("class", "category", "label", "wnid")

#: Spellings, and colors that have no place among the eight (third labeling rule).
_SPELLED: Final = {
    "grey": Color.GRAY,
    "other": Color.OTHERS,
    **dict.fromkeys(
        ("yellow", "orange", "pink", "purple", "violet", "cyan", "magenta", "multicolor"),
        Color.OTHERS,
    ),
}
_CODES: Final = tuple(Color)

#: Examples of each reason that a report keeps.
_EXAMPLES: Final = 5


@dataclass(frozen=True)
class FileLabel:
    """One row: colors of a picture, None where the file says nothing of that side."""

    picture_class: str
    image: str
    foreground: Color | None
    background: Color | None

    @property
    def name(self) -> str:
        """``class/image``, or the image alone."""
        return f"{self.picture_class}/{self.image}" if self.picture_class else self.image


@dataclass
class LabelFile:
    """What a file holds, and the rows that could not be used."""

    labels: list[FileLabel] = field(default_factory=list)
    rejected: dict[str, list[str]] = field(default_factory=dict)
    rejected_rows: Counter[str] = field(default_factory=Counter)

    def reject(self, reason: str, example: str) -> None:
        """Count a row that is not used, and keep some as examples."""
        self.rejected_rows[reason] += 1
        kept = self.rejected.setdefault(reason, [])
        if len(kept) < _EXAMPLES:
            kept.append(example[:200])

    def counts(self) -> dict[str, dict[str, int]]:
        """Rows by color for foreground and background; all eight colors, also those without."""
        sides = {
            "foreground": Counter(one.foreground for one in self.labels),
            "background": Counter(one.background for one in self.labels),
        }
        return {
            side: {str(color): found[color] for color in Color}
            for side, found in sides.items()
            if any(found[color] for color in Color)
        }


def read_labels(path: Path) -> LabelFile:
    """Labels of a file, by its suffix: ``.csv``, ``.json``, ``.npy`` or ``.pkl``.

    CSV and lists of JSON: one row a picture with ``image`` and ``foreground`` and/or
    ``background``, and ``class`` where images of several classes share names. JSON objects and
    pickles: class → image → color of the background, or both colors by name. A color is its
    name, or its number from 0 to 7 in the order of the published table.

    Raises
    ------
    EvaluateError
        If the file cannot be read, or names no picture and color.
    """
    found = LabelFile()
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise EvaluateError(f"{path.name}: labels come as {', '.join(_READERS)}")
    for row in _READERS[suffix](path):
        _add(found, row)
    if not found.labels:
        raise EvaluateError(
            f"{path.name} holds no color label: it needs `image` and `foreground` or `background`"
        )
    return found


def _add(found: LabelFile, row: Mapping[str, Any]) -> None:
    plain = {str(key).strip().lower(): value for key, value in row.items() if key is not None}
    image = next((_text(plain[key]) for key in IMAGE_KEYS if _text(plain.get(key))), "")
    group = next((_text(plain[key]) for key in CLASS_KEYS if _text(plain.get(key))), "")
    if not image:
        found.reject("a row without a picture", json.dumps(plain, default=str))
        return
    try:
        sides = [_color(plain.get(side)) for side in ("foreground", "background")]
    except ValueError as error:
        found.reject(str(error), f"{group}/{image}")
        return
    if sides == [None, None]:
        found.reject("a row without a color", f"{group}/{image}")
    else:
        found.labels.append(FileLabel(group, image, *sides))


def _color(value: object) -> Color | None:
    """A color by name or number; None where nothing is said."""
    text = _text(value).lower()
    if not text:
        return None
    if text.isdecimal():
        if int(text) >= len(_CODES):
            raise ValueError(f"{text} is no color: numbers are 0 to {len(_CODES) - 1}")
        return _CODES[int(text)]
    if text in _SPELLED:
        return _SPELLED[text]
    if text not in set(Color):
        raise ValueError(f"{text[:40]!r} is no color: {', '.join(Color)}")
    return Color(text)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _csv_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.DictReader(file, strict=True)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EvaluateError(f"{path.name} cannot be read as CSV: {error}") from error


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise EvaluateError(f"{path.name} cannot be read as JSON: {error}") from error
    if isinstance(document, list):
        yield from (row if isinstance(row, dict) else {} for row in document)
    elif isinstance(document, dict):
        yield from _nested(document)
    else:
        raise EvaluateError(f"{path.name} holds neither a list nor an object")


def _pickle_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    return _nested(read_table(path))


def _nested(table: Mapping[Any, Any]) -> Iterator[Mapping[str, Any]]:
    """Rows of class → image → colors."""
    for group, images in table.items():
        if not isinstance(images, Mapping):
            yield {"class": group}
            continue
        for image, colors in images.items():
            sides = colors if isinstance(colors, Mapping) else {"background": colors}
            yield {**sides, "class": group, "image": image}


_READERS: Final = {
    ".csv": _csv_rows,
    ".json": _json_rows,
    ".npy": _pickle_rows,
    ".pkl": _pickle_rows,
}
