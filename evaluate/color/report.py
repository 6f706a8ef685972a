"""Write a color report: the paper's figures and tables for what a catalog holds, and exposure."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from evaluate.color import color_figures, exposure_figures, figures, tables
from evaluate.color.by_color import color_rows
from evaluate.color.data import ColorData, gather
from evaluate.color.exposure import curves, exposure_rows, group_mix, within_rows
from evaluate.color.localization import localization
from evaluate.color.luma import measure_luma
from evaluate.color.pixels import decode_small
from evaluate.color.plots import Missing
from evaluate.color.reaction import reaction_rows, reaction_tests
from evaluate.color.scores import ALL, CORRUPTED, GRAY, LUMA, VEHICLES, group_rows, subsets
from evaluate.color.trend_tests import group_tests
from evaluate.errors import EvaluateError
from evaluate.report.figures import Drawing, FigureFiles, write_files
from evaluate.report.tables.table import Table, write_table
from evaluate.scoring import score_catalog
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import list_observers
from schemas.capture_store import list_runs
from schemas.catalog import Catalog
from schemas.color_store import ColorFrame
from schemas.records import utc_now
from schemas.workspace import Workspace, WorkspaceError, write_atomically

Item = Drawing | Table | Missing

_JPEG_QUALITY = 85


@dataclass(frozen=True)
class ColorReport:
    """What was written where, with its numbers.

    Attributes
    ----------
    unreadable : tuple of str
        Frames whose luma could not be measured.
    """

    page: Path
    figures: tuple[FigureFiles, ...]
    tables: tuple[Table, ...]
    missing: tuple[Missing, ...]
    unreadable: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As `snaprig color report --json` prints it; no number is NaN or infinite."""
        return {
            "report": str(self.page),
            "figures": [
                {"name": f.name, "svg": str(f.svg), "png": str(f.png), "csv": str(f.csv)}
                for f in self.figures
            ],
            "tables": {
                table.name: [{key: _plain(v) for key, v in row.items()} for row in table.rows]
                for table in self.tables
            },
            "left_out": [
                {"name": one.name, "title": one.title, "reason": one.reason} for one in self.missing
            ],
            "unreadable": list(self.unreadable),
        }


def write_report(
    catalog: Catalog,
    workspace: Workspace,
    page: Path,
    watch: Callable[[int, int], None],
    attended: str = "",
) -> ColorReport:
    """Write the page to `page`, figures and tables to folders beside it.

    Responses without a verdict are scored first, and the luma of imported pictures is measured.

    Parameters
    ----------
    watch : callable
        Called with frames whose luma was measured, and how many are to be.
    attended : str
        Model of the zoo whose attention Figure 11 shows; empty for none.

    Raises
    ------
    EvaluateError
        If the workspace's vocabulary cannot be read, or the model's attention cannot be shown.
    """
    picture = _attention(catalog, workspace, attended) if attended else picture_maker(workspace)
    vocabulary = load_vocabulary(workspace.root)
    score_catalog(catalog, vocabulary, only_new=True)
    unreadable = measure_luma(catalog, workspace, watch)
    data = gather(catalog, vocabulary)
    simulated = any(run.simulated for run in list_runs(catalog))
    items = all_items(catalog, data, picture, simulated, attended)
    html = render(items, data, workspace.root.resolve().name, simulated)
    files = tuple(
        write_files(one, page.parent / "figures") for one in items if isinstance(one, Drawing)
    )
    found = tuple(one for one in items if isinstance(one, Table))
    for table in found:
        write_table(table, page.parent / "tables")
    write_atomically(page, html.encode())
    left_out = tuple(one for one in items if isinstance(one, Missing))
    return ColorReport(page, files, found, left_out, tuple(unreadable))


def all_items(
    catalog: Catalog,
    data: ColorData,
    picture: color_figures.Picture,
    simulated: bool,
    attended: str = "",
) -> list[Item]:
    """Figures and tables in the order of the page; `Missing` stands for what has no data."""
    rows = group_rows(data, subsets(data))
    tested = [ALL, VEHICLES, GRAY, *LUMA, CORRUPTED]
    people = reaction_rows(data)
    tests = group_tests(data, tested) + reaction_tests(people)
    boxes = localization(catalog, data)
    apart = curves(data)
    return [
        tables.accuracy_table(rows),
        figures.figure_3(data),
        tables.tests_table(tests),
        tables.table_1(data),
        figures.figure_4(data),
        figures.figure_5(data),
        tables.table_2(rows),
        figures.figure_6(data),
        figures.figure_6_noise(data),
        figures.figure_7(data),
        figures.figure_8(data),
        tables.robustness_table(data),
        figures.figure_9_gaps(data),
        figures.figure_9(data),
        tables.table_3(data),
        tables.table_4(rows),
        tables.subset_table(rows),
        color_figures.localization_figure(
            boxes, "figure-10-localization", "Figure 10, left: localization, IoU 0.3", 0.3
        ),
        tables.table_5(boxes),
        color_figures.figure_10_colors(data),
        color_figures.figure_11(data, picture, attended),
        figures.figure_12(data),
        color_figures.figure_13(data, "background"),
        color_figures.figure_13(data, "foreground"),
        tables.color_table(color_rows(data)),
        color_figures.figure_14(people),
        tables.reaction_table(people),
        color_figures.localization_figure(
            boxes, "figure-15a-localization", "Figure 15a: localization, IoU 0.7", 0.7
        ),
        color_figures.localization_figure(
            boxes, "figure-15b-localization", "Figure 15b: localization, IoU 0.5", 0.5
        ),
        exposure_figures.mix_figure(group_mix(data.frames), simulated),
        exposure_figures.standardized_figure(apart, simulated),
        exposure_figures.within_figure(within_rows(data), simulated),
        tables.exposure_table(exposure_rows(apart)),
        tables.table_6(data),
        tables.table_7(),
    ]


def picture_maker(workspace: Workspace) -> color_figures.Picture:
    """A function that gives a frame as a small JPEG, None where its file cannot be read."""

    def make(frame: ColorFrame, width_px: int) -> bytes | None:
        if not frame.path:
            return None
        try:
            pixels = decode_small(workspace.resolve(frame.path), frame.sha256)
        except (EvaluateError, WorkspaceError):
            return None  # `snaprig check` says why
        picture = Image.fromarray(pixels)
        picture.thumbnail((width_px, width_px), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=_JPEG_QUALITY)
        return buffer.getvalue()

    return make


def _attention(catalog: Catalog, workspace: Workspace, name: str) -> color_figures.Picture:
    if name not in {one.name for one in list_observers(catalog) if one.kind == "model"}:
        raise EvaluateError(
            f"{name} has no answers in this catalog: `snaprig evaluate run --model {name}` first"
        )
    from evaluate.color.attention import attention_maker, load_watched

    return attention_maker(workspace, load_watched(name))


def render(items: Sequence[Item], data: ColorData, title: str, simulated: bool) -> str:
    """The page as HTML text. Every name from the catalog is escaped."""
    environment = Environment(
        loader=PackageLoader("evaluate.color", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (Path(__file__).parents[1] / "report" / "page.css").read_text("utf-8")
    return environment.get_template("report.html").render(
        style=Markup(style),  # noqa: S704 - our own file
        title=title,
        shown=[one for one in items if not isinstance(one, Missing)],
        missing=[one for one in items if isinstance(one, Missing)],
        is_table=lambda item: isinstance(item, Table),
        svg=lambda drawing: Markup(drawing.page_svg),  # noqa: S704 - drawn here
        labeled=sum(data.frames.kinds.values()),
        frames=len(data.frames.rows),
        models=len({one.name for one in data.models}),
        people=len({one.name for one in data.people}),
        kinds=data.frames.kinds,
        covered=exposure_figures.covered_words(),
        simulated=simulated,
        made_at=f"{utc_now():%Y-%m-%d %H:%M}",
        snaprig_version=version("snaprig"),
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - a cell of any type
    return None if isinstance(value, float) and not math.isfinite(value) else value
