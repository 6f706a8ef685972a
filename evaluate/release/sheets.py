"""Read the release's tables: xlsx through calamine, csv through the standard library."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluate.errors import EvaluateError

#: Text, a number, or what calamine makes of a date: `text_of` reads them all.
Cell = object


@dataclass(frozen=True)
class Table:
    """A header and its rows; every row has a cell for each column."""

    name: str
    header: tuple[str, ...]
    rows: list[list[Cell]]

    def column(self, name: str) -> int:
        """Position of a column. Raises EvaluateError, naming those there are."""
        if name not in self.header:
            raise EvaluateError(
                f"{self.name} has no column {name!r} (it has {', '.join(self.header)}): "
                "it is not the file that the SNAP release has under this name"
            )
        return self.header.index(name)

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.header


def read_xlsx(path: Path, name: str, sheet: str | None = None) -> Table:
    """One sheet of a workbook, the first one by default.

    Raises
    ------
    EvaluateError
        If it is no workbook, lacks the sheet, or calamine is not installed.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise EvaluateError(
            "python-calamine is not installed; the import of workbooks needs the extra "
            "`evaluate`: pip install 'snaprig[evaluate]'"
        ) from error
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            wanted = book.sheet_names[0] if sheet is None else sheet
            if wanted not in book.sheet_names:
                raise EvaluateError(
                    f"{name} has no sheet {wanted!r} (it has {', '.join(book.sheet_names)})"
                )
            rows = book.get_sheet_by_name(wanted).to_python(skip_empty_area=False)
    except (CalamineError, OSError) as error:
        raise EvaluateError(f"{name} cannot be read as a workbook: {error}") from error
    return _table(name, rows)


def read_csv(path: Path, name: str) -> Table:
    """A comma-separated table with a header; every cell is text."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _table(name, list(csv.reader(file, strict=True)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EvaluateError(f"{name} cannot be read as CSV: {error}") from error


def text_of(cell: object) -> str:
    """A cell as the text that a person sees: 3.0 in a workbook is the answer ``3``.

    An empty cell is the empty text; the word ``None`` stays what it is.
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _table(name: str, rows: Sequence[Sequence[object]]) -> Table:
    if not rows:
        raise EvaluateError(f"{name} is empty")
    header = tuple(text_of(cell) for cell in rows[0])
    width = len(header)
    padding = [""] * width
    body = [list(row) if len(row) == width else [*row, *padding][:width] for row in rows[1:]]
    return Table(name, header, body)
