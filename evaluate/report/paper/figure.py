"""A figure of the paper: a table of numbers, and a function that paints exactly that table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as Canvas

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import mark_simulated

Row = Mapping[str, object]


@dataclass(frozen=True)
class PaperFigure:
    """A figure, not yet drawn.

    Attributes
    ----------
    number : str
        In the paper, such as ``3`` or ``F.1``; empty for one that the paper does not have.
    name : str
        File stem.
    section : str
        Section of the page that shows it.
    caption : str
        What it shows, and how the paper's own words were read where they leave it open.
    rows : sequence of mapping
        The table: all that is painted, one mapping a row, equal keys in equal order.
    size_in : tuple of float
        Width and height in inches.
    paint : callable
        Draws on an empty canvas.
    """

    number: str
    name: str
    section: str
    title: str
    caption: str
    rows: Sequence[Row]
    size_in: tuple[float, float]
    paint: Callable[[Canvas], None]

    @property
    def heading(self) -> str:
        """Number and title."""
        return f"Figure {self.number}: {self.title}" if self.number else self.title

    def draw(self, simulated: bool) -> Drawing:
        """Paint it; `simulated` frames say so on the figure and in each row of its table."""

        def paint(canvas: Canvas) -> None:
            self.paint(canvas)
            mark_simulated(canvas, simulated)

        columns = [*self.rows[0], "simulated"]
        rows = [[_cell(value) for value in row.values()] + [int(simulated)] for row in self.rows]
        return draw(self.name, self.heading, self.size_in, paint, columns, rows)


@dataclass(frozen=True)
class LeftOut:
    """A figure that the catalog has no data for, with the reason in one line."""

    number: str
    section: str
    title: str
    reason: str


def _cell(value: object) -> object:
    """Numbers to six decimals, nothing for NaN."""
    if isinstance(value, float):
        return None if value != value else round(value, 6)  # noqa: PLR0124 - NaN
    return value
