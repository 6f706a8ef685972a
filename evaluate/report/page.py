"""Write the report: score what is new, draw the figures, fill the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluate.metrics.accuracy import MIN_SCENES
from evaluate.report import style
from evaluate.report.accuracy_plot import accuracy_plot
from evaluate.report.data import ReportData, gather
from evaluate.report.figures import Drawing, FigureFiles, write_files
from evaluate.report.light_plot import MAX_PANELS, light_plot
from evaluate.report.outcome_plot import outcome_plot
from evaluate.report.pairs import THUMB_PX as PAIR_PX
from evaluate.report.pairs import pairs_plot, spell_answer
from evaluate.report.provenance import flatten, group_setups
from evaluate.report.sheet import THUMB_PX as SHEET_PX
from evaluate.report.sheet import sheet_plot
from evaluate.report.thumbnails import Thumbnail, data_uri, thumbnail_maker
from evaluate.scoring import score_catalog, unknown_categories
from evaluate.summary import Summary, metrics_json, observer_json
from evaluate.vocabulary import load_vocabulary
from schemas.catalog import Catalog
from schemas.records import Frame, utc_now
from schemas.workspace import Workspace, write_atomically


@dataclass(frozen=True)
class Report:
    """What was written where."""

    path: Path
    figures: tuple[FigureFiles, ...]
    summaries: tuple[Summary, ...]
    unscorable: dict[str, str]
    simulated: bool

    def as_json(self) -> dict[str, Any]:
        """As `snaprig evaluate report --json` prints it."""
        return {
            "report": str(self.path),
            "simulated": self.simulated,
            "figures": [
                {"name": f.name, "svg": str(f.svg), "png": str(f.png), "csv": str(f.csv)}
                for f in self.figures
            ],
            "observers": [{**observer_json(s), **metrics_json(s)} for s in self.summaries],
            "unscorable": self.unscorable,
        }


def write_report(catalog: Catalog, workspace: Workspace, path: Path) -> Report:
    """Write the page to `path` and the figures to `figures/` beside it.

    Responses that have no verdict under today's vocabulary are scored first.

    Raises
    ------
    EvaluateError
        If the workspace's vocabulary cannot be read.
    """
    vocabulary = load_vocabulary(workspace.root)
    score_catalog(catalog, vocabulary, only_new=True)
    data = gather(catalog)
    unscorable = unknown_categories(vocabulary, {scene.category for scene in data.scenes})
    thumbnail = thumbnail_maker(workspace)
    drawings = _draw(data, thumbnail)
    title = workspace.root.resolve().name
    html = render(data, drawings, thumbnail, unscorable, title, utc_now())
    files = tuple(write_files(drawing, path.parent / "figures") for drawing in drawings.values())
    write_atomically(path, html.encode())
    return Report(path, files, data.summaries, unscorable, data.simulated)


def render(
    data: ReportData,
    drawings: dict[str, Drawing],
    thumbnail: Thumbnail,
    unscorable: dict[str, str],
    title: str,
    made_at: datetime,
) -> str:
    """The page as HTML text. Every name from the catalog is escaped."""

    def picture(frame: Frame, width_px: int) -> str | None:
        small = thumbnail(frame, width_px)
        return None if small is None else data_uri(small, "image/jpeg")

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = style.signed
    environment.filters["percent"] = lambda value: f"{100 * value:.1f}\u202f%"
    environment.filters["when"] = lambda at: "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
    return environment.get_template("page.html").render(
        data=data,
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        svg={
            name: data_uri(drawing.page_svg.encode(), "image/svg+xml")
            for name, drawing in drawings.items()
        },
        alt={name: drawing.alt for name, drawing in drawings.items()},
        picture=picture,
        say=spell_answer,
        simulated_runs=data.simulated_runs,
        setups=group_setups(data.runs),
        facts=flatten,
        unscorable=unscorable,
        title=title,
        made_at=made_at,
        snaprig_version=version("snaprig"),
        simulated_words=style.SIMULATED,
        min_scenes=MIN_SCENES,
        max_panels=MAX_PANELS,
        sheet_px=SHEET_PX,
        pair_px=PAIR_PX,
    )


def _draw(data: ReportData, thumbnail: Thumbnail) -> dict[str, Drawing]:
    """The figures that the data allow, in the order of the page."""
    lightings = [light.name for light in data.lightings]
    drawings: list[Drawing] = []
    if any(summary.by_ev_offset for summary in data.summaries):
        drawings.append(accuracy_plot(data.summaries, data.lightings, data.simulated))
    if data.cells:
        scenes = len({run.scene for run in data.runs})
        drawings.append(outcome_plot(data.cells, data.lightings, scenes, data.simulated))
    if data.strips:
        drawings.append(sheet_plot(data.strips, data.offsets, thumbnail, data.marks_by))
    if data.sets:
        drawings.append(pairs_plot(data.sets, thumbnail, data.simulated_runs))
    if any(found.readings for found in data.traces):
        drawings.append(light_plot(data.traces, lightings, data.simulated))
    return {drawing.name: drawing for drawing in drawings}
