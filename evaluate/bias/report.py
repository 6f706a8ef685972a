"""Write a bias report: Table 1, the figures and the scores of several collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evaluate.bias.distribution import Distribution, bias_interval, bias_score
from evaluate.bias.figures import all_figures
from evaluate.bias.scan import Collection
from evaluate.report.figures import FigureFiles, write_files
from evaluate.report.tables.table import Column, Table, write_table
from schemas.records import utc_now
from schemas.workspace import write_atomically

#: What a score is over: the bins of a whole stop.
_SCORED: Final = {
    "ev": "exposure value",
    "exposure_time_s": "shutter speed",
    "f_number": "F-number",
    "iso": "ISO",
}


@dataclass(frozen=True)
class BiasReport:
    """What was written where, with its numbers."""

    page: Path
    figures: tuple[FigureFiles, ...]
    tables: tuple[Table, ...]

    def as_json(self) -> dict[str, Any]:
        """As `snaprig bias report --json` prints it."""
        return {
            "report": str(self.page),
            "figures": [
                {"name": f.name, "svg": str(f.svg), "png": str(f.png), "csv": str(f.csv)}
                for f in self.figures
            ],
            **{table.name: [dict(row) for row in table.rows] for table in self.tables},
        }


def write_report(
    collections: Sequence[Distribution], reference: Distribution | None, page: Path
) -> BiasReport:
    """Write the page to `page`, figures and tables to folders beside it.

    Parameters
    ----------
    collections : sequence of Distribution
        In any order; shown oldest first.
    reference : Distribution or None
        Frames that were taken over the whole grid of settings, shown last.
    """
    ordered = sorted(collections, key=lambda one: (one.collection.year or 0, one.collection.name))
    shown = [*ordered, *([reference] if reference is not None else [])]
    drawings = all_figures(shown)
    tables = (availability_table(ordered), mode_table(shown), score_table(shown))
    html = _page(drawings, tables, ordered)
    figures = tuple(write_files(drawing, page.parent / "figures") for drawing in drawings)
    for table in tables:
        write_table(table, page.parent / "tables")
    write_atomically(page, html.encode())
    return BiasReport(page, figures, tables)


def availability_table(collections: Sequence[Distribution]) -> Table:
    """Table 1: images, readable ones, those with all three tags. The last row is their sum."""
    total = Distribution(Collection("Total"))
    total.images = sum(one.nominal for one in collections)
    total.readable = sum(one.readable for one in collections)
    total.with_all_three = sum(one.with_all_three for one in collections)
    rows = [_availability(one) for one in [*collections, total]]
    columns = (
        Column("collection", "Collection"),
        Column("year", "Year"),
        Column("images", "# images", "count"),
        Column("readable", "# readable", "count"),
        Column("readable_share", "% of images", "percent"),
        Column("with_all_three", "# w/ Exif", "count"),
        Column("share_of_images", "% of images", "percent"),
        Column("share_of_readable", "% of readable", "percent"),
    )
    note = (
        "Images: as many as the collection is said to have, else those found. With Exif: "
        "shutter speed, F-number and ISO are all there and possible."
    )
    return Table(
        "availability", "availability", "Table 1: images and metadata", note, columns, rows
    )


def _availability(one: Distribution) -> dict[str, object]:
    return {
        "collection": one.collection.name,
        "year": one.collection.year,
        "images": one.nominal,
        "found": one.images,
        "readable": one.readable,
        "readable_share": _share(one.readable, one.nominal),
        "with_all_three": one.with_all_three,
        "share_of_images": _share(one.with_all_three, one.nominal),
        "share_of_readable": _share(one.with_all_three, one.readable),
    }


def mode_table(collections: Sequence[Distribution]) -> Table:
    """Automatic and manual exposure among the pictures with all three tags."""
    rows: list[dict[str, object]] = [
        {
            "collection": one.collection.name,
            "pictures": one.with_all_three,
            **{mode: _share(one.modes[mode], one.with_all_three) for mode in _MODES},
            "conflicts": one.mode_conflicts,
        }
        for one in collections
    ]
    columns = (
        Column("collection", "Collection"),
        Column("pictures", "# w/ Exif", "count"),
        *(Column(mode, f"% {mode}", "percent") for mode in _MODES),
        Column("conflicts", "# conflicts", "count"),
    )
    note = (
        "By ExposureMode, else by ExposureProgram. Conflicts: pictures whose two tags disagree "
        "on manual."
    )
    return Table("modes", "modes", "Exposure mode", note, columns, rows)


def score_table(collections: Sequence[Distribution]) -> Table:
    """Bias scores with bootstrap intervals."""
    rows = []
    for one in collections:
        row: dict[str, object] = {"collection": one.collection.name}
        for key in _SCORED:
            counts = one.ev if key == "ev" else one.stops[key]
            low, high = bias_interval(counts)
            row |= {key: bias_score(counts), f"{key}_low": low, f"{key}_high": high}
        rows.append(row)
    columns = (
        Column("collection", "Collection"),
        *(
            Column(key, f"by {words}", "number", f"{key}_low", f"{key}_high", decimals=3)
            for key, words in _SCORED.items()
        ),
    )
    note = (
        "0: every stop is equally frequent; 1: all pictures have the same. Kullback-Leibler "
        "divergence from the uniform distribution over bins of one stop, divided by its largest "
        "value; 95 % bootstrap interval over pictures."
    )
    return Table("bias", "bias", "Bias score", note, columns, rows)


def reference_settings(rows: Sequence[tuple[float, float, int]]) -> Distribution | None:
    """The accepted frames of a catalog as the balanced reference; None without frames."""
    if not rows:
        return None
    from evaluate.bias.distribution import of_settings

    return of_settings("this catalog", np.array(rows, float))


_MODES: Final = ("auto", "manual", "unknown")


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _page(drawings: Sequence[Any], tables: Sequence[Table], ordered: Sequence[Distribution]) -> str:
    environment = Environment(
        loader=PackageLoader("evaluate.bias", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (Path(__file__).parents[1] / "report" / "page.css").read_text("utf-8")
    return environment.get_template("report.html").render(
        style=Markup(style),  # noqa: S704 - our own file
        drawings=[(d.name, d.alt, Markup(d.page_svg)) for d in drawings],  # noqa: S704 - drawn here
        tables=tables,
        reasons=[
            (one.collection.name, one.reasons.most_common(), one.sources.most_common())
            for one in ordered
        ],
        made_at=f"{utc_now():%Y-%m-%d %H:%M}",
        snaprig_version=version("snaprig"),
    )
