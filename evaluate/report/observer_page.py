"""A page for each observer: who it is, its scores by every condition, mistakes, likeness."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluate.metrics.bootstrap import MIN_CLUSTERS
from evaluate.report.detector_facts import gather_detector, load_detected
from evaluate.report.observed import Conditions, Observed, load_words
from evaluate.report.observer_facts import ObserverFacts, gather_observer, label_of
from evaluate.report.style import signed
from evaluate.scoring import PAPER
from schemas.answer_store import DETECTION, list_observers
from schemas.catalog import Catalog
from schemas.import_store import list_instances
from schemas.report_store import count_responses
from schemas.workspace import write_atomically

#: Longest name of a page's file, without its ending.
_LONGEST = 80


@dataclass(frozen=True)
class ObserverPage:
    """A page that was written, and what a list of pages says about it."""

    name: str
    label: str
    kind: str
    path: Path
    facts: ObserverFacts


def gather_observers(
    catalog: Catalog, observers: Sequence[Observed], conditions: Conditions
) -> Iterator[ObserverFacts]:
    """One observer's page after another: those that answered, then the detectors.

    Parameters
    ----------
    observers : sequence of Observed
        As `load_observed` gives them, all of one protocol.
    """
    for observed in observers:
        if set(observed.tasks) - {DETECTION}:
            yield gather_observer(observed, load_words(catalog, observed), observers)
    objects = list_instances(catalog)
    counts = count_responses(catalog)
    for observer in list_observers(catalog):
        if objects and observer.id is not None and counts.get(observer.id, {}).get(DETECTION):
            detected = load_detected(catalog, observer, objects, conditions)
            if detected is not None:
                yield gather_detector(detected, conditions)


def write_observer_pages(
    facts: Iterable[ObserverFacts],
    folder: Path,
    back: str,
    *,
    protocol: str = PAPER,
    simulated: bool = False,
) -> list[ObserverPage]:
    """Write the pages into a folder, one file an observer.

    Parameters
    ----------
    back : str
        Address of the report, seen from the folder.
    simulated : bool
        Whether frames come from a virtual dark room: the pages say so.
    """
    taken: set[str] = set()
    pages = []
    for one in facts:
        path = folder / f"{_file_name(one.name, taken)}.html"
        text = render_observer(one, back, protocol=protocol, simulated=simulated)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
        pages.append(ObserverPage(one.name, one.label, one.kind, path, one))
    return pages


def render_observer(
    facts: ObserverFacts, back: str, *, protocol: str = PAPER, simulated: bool = False
) -> str:
    """An observer's page as HTML text. Every name and answer is escaped."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = signed
    environment.filters["percent"] = lambda value: f"{100 * value:.1f}\u202f%"
    return environment.get_template("observer.html").render(
        facts=facts,
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        back=back,
        protocol=protocol,
        simulated=simulated,
        min_clusters=MIN_CLUSTERS,
        named=lambda names, scores: zip(names, scores, strict=True),
        label=lambda name: label_of(name, "model"),
    )


def _file_name(name: str, taken: set[str]) -> str:
    """A name without anything that a path or an address could trip over; no two alike."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:_LONGEST] or "observer"
    found, number = plain, 2
    while found.casefold() in taken:
        found, number = f"{plain}-{number}", number + 1
    taken.add(found.casefold())
    return found
