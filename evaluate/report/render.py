"""The page as HTML: one file without outside requests, its pictures inside."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from evaluate.metrics.accuracy import MIN_SCENES
from evaluate.report import style
from evaluate.report.contents import Contents
from evaluate.report.data import ReportData
from evaluate.report.figures import Drawing
from evaluate.report.light_plot import MAX_PANELS
from evaluate.report.objects import MarkedScene
from evaluate.report.observer_page import ObserverPage
from evaluate.report.pairs import THUMB_PX as PAIR_PX
from evaluate.report.pairs import spell_answer
from evaluate.report.provenance import flatten, group_setups
from evaluate.report.results import Results
from evaluate.report.sheet import THUMB_PX as SHEET_PX
from evaluate.report.thumbnails import JPEG_QUALITY, HasPath, Thumbnail, data_uri
from evaluate.report.tiles import tiles

#: Sections of the paper's figures and tables: name, title, and what each is about.
SECTIONS = (
    ("data set", "Data set", "Frames and their settings."),
    (
        "people",
        "People",
        "Persons are pooled; intervals resample persons. Their lines and boxes stand in the "
        "figures of the questions.",
    ),
    ("classification", "Classification", "Top-1 of classifiers on every evaluated frame."),
    ("detection", "Detection", "Boxes of detectors against the objects of each scene."),
    ("vqa", "Questions", "Answers to Q1 to Q4 by vision-language models and people."),
    (
        "sensitivity",
        "Sensitivity",
        "Frames of one scene and one EV offset form a set, both lightings together: the same "
        "picture by exposure, from different triplets. Parameter sensitivity (PS) is the share of "
        "sets whose score has a coefficient of variation (sample standard deviation over mean) "
        "above 1. For right and wrong answers that counts only sets that are mostly wrong, hence "
        "beside it the share of sets with both right and wrong answers (mixed).",
    ),
    (
        "published",
        "Against the published values",
        "What the paper states, and what comes out of its release here.",
    ),
)

#: Figures that show photographs: on the page they are JPEG, which is smaller.
_PHOTOGRAPHS = ("fig-b1", "fig-b2", "fig-b3")


@dataclass(frozen=True)
class Shown:
    """All that the page shows."""

    results: Results
    data: ReportData
    contents: Contents
    drawings: Mapping[str, Drawing]
    pages: tuple[ObserverPage, ...]
    unscorable: Mapping[str, str]
    objects: tuple[MarkedScene, ...] = ()


def render(shown: Shown, thumbnail: Thumbnail, folder: Path, title: str, made_at: datetime) -> str:
    """The page as HTML text, to lie in `folder`. Every name from the catalog is escaped."""

    def picture(frame: HasPath, width_px: int) -> str | None:
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
    environment.filters["percent"] = _percent
    environment.filters["when"] = lambda at: "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
    data = shown.data
    models = [
        observer
        for observed in shown.results.observers
        if observed.kind == "model"
        for observer in observed.members
    ]
    return environment.get_template("page.html").render(
        data=data,
        protocol=shown.results.protocol,
        sections=SECTIONS,
        contents=shown.contents,
        disputes=shown.results.disputes,
        objects=shown.objects,
        tiles=tiles(data.counts, shown.results),
        pages=[
            (page.label, page.kind, Path(os.path.relpath(page.path, folder)).as_posix())
            for page in shown.pages
        ],
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        svg={name: _address(drawing) for name, drawing in shown.drawings.items()},
        alt={name: drawing.alt for name, drawing in shown.drawings.items()},
        picture=picture,
        say=spell_answer,
        simulated_runs=data.simulated_runs,
        setups=group_setups(data.captured),
        models=models,
        facts=flatten,
        unscorable=shown.unscorable,
        title=title,
        made_at=made_at,
        snaprig_version=version("snaprig"),
        simulated_words=style.SIMULATED,
        min_scenes=MIN_SCENES,
        max_panels=MAX_PANELS,
        sheet_px=SHEET_PX,
        pair_px=PAIR_PX,
    )


def _address(drawing: Drawing) -> str:
    if not drawing.name.startswith(_PHOTOGRAPHS):
        return data_uri(drawing.page_svg.encode(), "image/svg+xml")
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(drawing.png)) as picture:
        picture.convert("RGB").save(buffer, "JPEG", quality=JPEG_QUALITY)
    return data_uri(buffer.getvalue(), "image/jpeg")


def _percent(value: float) -> str:
    return "\N{EN DASH}" if math.isnan(value) else f"{100 * value:.1f}\u202f%"
