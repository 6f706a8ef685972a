"""Progress of a report on the terminal: what is done now, how far, how much longer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evaluate.report.results import Tell
from schemas.answer_store import DETECTION, list_observers
from schemas.catalog import Catalog
from schemas.report_store import count_responses

#: Steps besides those of single observers: reading, scoring, figures, files.
_ALWAYS = 30


@contextmanager
def report_steps(catalog: Catalog) -> Iterator[Tell]:
    """A bar on a terminal, nothing elsewhere; the function takes the name of the next step."""
    answered = count_responses(catalog)
    models = sum(observer.kind == "model" for observer in list_observers(catalog))
    detectors = sum(DETECTION in tasks for tasks in answered.values())
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bars:
        # an observer is a step of its own twice: its EV offsets and its page
        bar = bars.add_task("report", total=_ALWAYS + 2 * (models + detectors + 1))

        def tell(words: str) -> None:
            bars.update(bar, description=words, advance=1)

        yield tell
        total = bars.tasks[bar].total or 0
        bars.update(bar, description="report", completed=total)
