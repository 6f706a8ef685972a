"""A table: raw numbers for programs, spelled ones for readers, from the same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluate.report.figures import as_csv
from schemas.workspace import write_atomically

Row = Mapping[str, object]

MISSING = "\N{EN DASH}"

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": r"$-$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
}


@dataclass(frozen=True)
class Column:
    """A column for readers.

    Attributes
    ----------
    key : str
        In the rows.
    header : str
    form : {"text", "count", "percent", "number", "signed"}
        `percent` takes a share, `signed` a whole number with its sign.
    low, high : str
        Keys of an interval's ends, shown behind the value.
    decimals : int
    """

    key: str
    header: str
    form: str = "text"
    low: str = ""
    high: str = ""
    decimals: int = 1

    @property
    def is_number(self) -> bool:
        """Whether it stands to the right."""
        return self.form != "text"

    def spell(self, row: Row) -> str:
        """The cell of a row; a dash for what is unknown."""
        value = row[self.key]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return MISSING
        if isinstance(value, str) or self.form == "text":
            return str(value)
        text = self._number(float(value))  # type: ignore[arg-type]  # a number, by the form
        ends = [row[end] for end in (self.low, self.high) if end]
        if len(ends) == 2 and all(isinstance(e, float) and not math.isnan(e) for e in ends):
            low, high = (self._number(float(end)) for end in ends)  # type: ignore[arg-type]
            return f"{text} [{low}, {high}]"
        return text

    def _number(self, value: float) -> str:
        match self.form:
            case "count":
                return f"{value:,.0f}"
            case "percent":
                return f"{100 * value:.{self.decimals}f}"
            case "signed":
                return f"{value:+.0f}".replace("-", "\N{MINUS SIGN}").replace("+0", "0")
            case _:
                return f"{value:,.{self.decimals}f}"


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes
    ----------
    name : str
        File stem.
    section : str
        Section of the page that shows it.
    columns : tuple of Column
        For readers; the CSV file has every key of the rows.
    """

    name: str
    section: str
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]

    def cells(self) -> list[list[str]]:
        """Spelled rows."""
        return [[column.spell(row) for column in self.columns] for row in self.rows]

    def csv(self) -> str:
        """Every number in full (six decimals), missing ones as empty cells."""
        keys = list(self.rows[0])
        return as_csv(keys, [[_raw(row[key]) for key in keys] for row in self.rows])

    def markdown(self) -> str:
        """A pipe table under its title."""
        head = [_pipe(column.header) for column in self.columns]
        rule = ["---:" if column.is_number else "---" for column in self.columns]
        rows = [head, rule, *([_pipe(cell) for cell in row] for row in self.cells())]
        body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        return f"**{_pipe(self.title)}**\n\n{body}\n\n{self.note}\n"

    def latex(self) -> str:
        """A `table` with rules of the package booktabs."""
        spec = "".join("r" if column.is_number else "l" for column in self.columns)
        head = " & ".join(escape_latex(column.header) for column in self.columns)
        body = "\n".join(
            "    " + " & ".join(escape_latex(cell) for cell in row) + r" \\" for row in self.cells()
        )
        return (
            "% needs \\usepackage{booktabs}\n"
            "\\begin{table}\n  \\centering\n"
            f"  \\caption{{{escape_latex(self.title)}. {escape_latex(self.note)}}}\n"
            f"  \\label{{tab:{self.name}}}\n"
            f"  \\begin{{tabular}}{{{spec}}}\n    \\toprule\n    {head} \\\\\n    \\midrule\n"
            f"{body}\n    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n"
        )


@dataclass(frozen=True)
class TableFiles:
    """Where one table lies."""

    name: str
    title: str
    csv: Path
    tex: Path
    md: Path


def write_table(table: Table, folder: Path) -> TableFiles:
    """Write NAME.csv, NAME.tex and NAME.md."""
    files = TableFiles(
        table.name,
        table.title,
        *(folder / f"{table.name}{suffix}" for suffix in (".csv", ".tex", ".md")),
    )
    write_atomically(files.csv, table.csv().encode())
    write_atomically(files.tex, table.latex().encode())
    write_atomically(files.md, table.markdown().encode())
    return files


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it: every character of its own is escaped."""
    return "".join(_LATEX.get(character, character) for character in text)


def _pipe(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _raw(value: object) -> object:
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 6)
    return value
