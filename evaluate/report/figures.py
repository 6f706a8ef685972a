"""A finished figure and its files. The same data give the same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from evaluate.report.style import DARK, RC
from schemas.workspace import write_atomically

PNG_DPI = 150


@dataclass(frozen=True)
class Drawing:
    """A figure as bytes, with the numbers it shows.

    Attributes
    ----------
    name : str
        File stem.
    alt : str
        What it shows, for those who cannot see it.
    svg : str
    png : bytes
    columns, rows
        Of the CSV file.
    """

    name: str
    alt: str
    svg: str
    png: bytes
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    @property
    def page_svg(self) -> str:
        """The SVG with ink that follows the reader's color scheme, for the page."""
        rules = "".join(
            f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
            for light, dark in DARK.items()
            for what in ("fill", "stroke")
        )
        style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
        start = self.svg.index("<svg")
        head_end = self.svg.index(">", start) + 1
        return self.svg[start:head_end] + style + self.svg[head_end:]


@dataclass(frozen=True)
class FigureFiles:
    """Where one figure lies."""

    name: str
    svg: Path
    png: Path
    csv: Path


def draw(
    name: str,
    alt: str,
    size_in: tuple[float, float],
    paint: Callable[[Figure], None],
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
) -> Drawing:
    """Paint a figure and render it as SVG and PNG."""
    # hashsalt: names of clip paths come from the content, not from a random number
    settings: Any = {**RC, "svg.hashsalt": name}  # the stubs list every key
    with mpl.rc_context(settings):
        figure = Figure(figsize=size_in, layout=ConstrainedLayoutEngine(hspace=0.05))
        FigureCanvasAgg(figure)
        paint(figure)
        # lay out once, not anew for each file: that is most of the work
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        svg, png = io.StringIO(), io.BytesIO()
        figure.savefig(svg, format="svg", dpi=PNG_DPI, metadata={"Date": None, "Title": alt})
        figure.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    table = tuple(tuple(row) for row in rows)
    return Drawing(name, alt, svg.getvalue(), png.getvalue(), tuple(columns), table)


def write_files(drawing: Drawing, folder: Path) -> FigureFiles:
    """Write NAME.svg, NAME.png and NAME.csv."""
    files = FigureFiles(
        drawing.name,
        *(folder / f"{drawing.name}{suffix}" for suffix in (".svg", ".png", ".csv")),
    )
    write_atomically(files.svg, drawing.svg.encode())
    write_atomically(files.png, drawing.png)
    write_atomically(files.csv, as_csv(drawing.columns, drawing.rows).encode())
    return files


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV text; missing values are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()
