"""Write the report: measure, draw every figure, write every table, fill the pages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluate.report.accuracy_plot import accuracy_plot
from evaluate.report.contents import Contents, contents
from evaluate.report.data import ReportData, gather
from evaluate.report.figures import Drawing, FigureFiles, write_files
from evaluate.report.light_plot import light_plot
from evaluate.report.objects import marked_scenes
from evaluate.report.observer_page import ObserverPage, gather_observers, write_observer_pages
from evaluate.report.outcome_plot import outcome_plot
from evaluate.report.pairs import pairs_plot
from evaluate.report.render import Shown, render
from evaluate.report.results import Results, Tell, measure_catalog
from evaluate.report.sheet import sheet_plot
from evaluate.report.tables.table import TableFiles, write_table
from evaluate.report.thumbnails import Thumbnail, thumbnail_maker
from evaluate.scoring import PAPER, unknown_categories
from evaluate.vocabulary import load_vocabulary
from schemas.catalog import Catalog
from schemas.records import utc_now
from schemas.report_store import list_picture_frames
from schemas.workspace import Workspace, write_atomically


@dataclass(frozen=True)
class Report:
    """What was written where."""

    path: Path
    protocol: str
    figures: tuple[FigureFiles, ...]
    contents: Contents
    tables: tuple[TableFiles, ...]
    pages: tuple[ObserverPage, ...]
    entries: tuple[dict[str, Any], ...]
    unscorable: dict[str, str]
    simulated: bool

    def as_json(self) -> dict[str, Any]:
        """As `snaprig evaluate report --json` prints it."""
        numbered = {figure.name: figure for figure in self.contents.figures}
        return {
            "report": str(self.path),
            "protocol": self.protocol,
            "simulated": self.simulated,
            "figures": [
                {
                    "name": one.name,
                    "number": numbered[one.name].number if one.name in numbered else "",
                    **{kind: str(getattr(one, kind)) for kind in ("svg", "png", "csv")},
                }
                for one in self.figures
            ],
            "left_out": [
                {"number": one.number, "title": one.title, "reason": one.reason}
                for one in self.contents.left_out
            ],
            "tables": [
                {"name": one.name, **{k: str(getattr(one, k)) for k in ("csv", "tex", "md")}}
                for one in self.tables
            ],
            "pages": [{"name": one.name, "path": str(one.path)} for one in self.pages],
            "observers": [{**entry, **entry["metrics"]} for entry in self.entries],
            "unscorable": self.unscorable,
        }


def write_report(
    catalog: Catalog,
    workspace: Workspace,
    path: Path,
    protocol: str = PAPER,
    tell: Tell = lambda _words: None,
) -> Report:
    """Write the page to `path`, and figures, tables and observers' pages in folders beside it.

    Responses that have no verdict under today's vocabulary are scored first.

    Parameters
    ----------
    protocol : {"paper", "release"}
    tell : callable
        Gets a few words before each step.

    Raises
    ------
    EvaluateError
        If the workspace's vocabulary cannot be read.
    """
    vocabulary = load_vocabulary(workspace.root)
    results = measure_catalog(catalog, vocabulary, protocol, tell)
    tell("frames")
    pictures = list_picture_frames(catalog)
    swept = any(frame.kind == "manual" for frame in pictures)
    data = gather(catalog, protocol, pictures=swept)
    thumbnail = thumbnail_maker(workspace)
    shown = contents(results, pictures, thumbnail)
    drawings = _draw(shown, results, data, thumbnail, tell)
    tell("files")
    files = tuple(write_files(one, path.parent / "figures") for one in drawings.values())
    tables = tuple(write_table(table, path.parent / "tables") for table in shown.tables)
    pages = _observer_pages(catalog, results, data, path, tell)
    unscorable = unknown_categories(vocabulary, {scene.category for scene in data.scenes})
    tell("page")
    in_sheet = list(dict.fromkeys(strip.scene.name for strip in data.strips))
    html = render(
        Shown(
            results,
            data,
            shown,
            drawings,
            pages,
            unscorable,
            marked_scenes(catalog, workspace, in_sheet),
        ),
        thumbnail,
        path.parent,
        workspace.root.resolve().name,
        utc_now(),
    )
    write_atomically(path, html.encode())
    return Report(
        path=path,
        protocol=protocol,
        figures=files,
        contents=shown,
        tables=tables,
        pages=pages,
        entries=tuple(results.entries),
        unscorable=unscorable,
        simulated=data.simulated,
    )


def _observer_pages(
    catalog: Catalog, results: Results, data: ReportData, path: Path, tell: Tell
) -> tuple[ObserverPage, ...]:
    folder = path.parent / "observers"
    tell("observers' pages")

    def told() -> Any:  # noqa: ANN401 - an iterator of facts, each told of
        for facts in gather_observers(catalog, results.observers, results.conditions):
            tell(f"page of {facts.name}")
            yield facts

    return tuple(
        write_observer_pages(
            told(),
            folder,
            Path(os.path.relpath(path, folder)).as_posix(),
            protocol=results.protocol,
            simulated=data.simulated,
        )
    )


def _draw(
    shown: Contents, results: Results, data: ReportData, thumbnail: Thumbnail, tell: Tell
) -> dict[str, Drawing]:
    """The figures that the data allow, in the order of the page."""
    drawings: list[Drawing | None] = []
    for figure in shown.figures:
        tell(figure.heading)
        drawings.append(figure.draw(data.simulated))
    tell("figures of the capture")
    lightings = [light.name for light in data.lightings]
    drawings.append(accuracy_plot(results.entries, data.lightings, data.simulated))
    if data.cells:
        scenes = len({run.scene for run in data.runs})
        drawings.append(outcome_plot(data.cells, data.lightings, scenes, data.simulated))
    if data.strips:
        drawings.append(sheet_plot(data.strips, data.offsets, thumbnail, data.marks_by))
    if data.sets:
        drawings.append(pairs_plot(data.sets, thumbnail, data.simulated_runs))
    if any(found.readings for found in data.traces):
        drawings.append(light_plot(data.traces, lightings, data.simulated))
    return {drawing.name: drawing for drawing in drawings if drawing is not None}
