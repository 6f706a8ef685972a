"""Progress of a run, a bar for each model, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from evaluate.engine.run import ModelRun


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        rate = task.fields.get("images_per_s", 0.0)
        return Text(f"{rate:.1f} images/s" if rate else "")


@contextmanager
def bars() -> Iterator[Callable[[ModelRun], None]]:
    """Show on stderr what the function that this gives is told; nothing where nobody looks."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as shown:
        # by identity: a model that is postponed comes again as a run of its own
        known: dict[int, TaskID] = {}

        def watch(run: ModelRun) -> None:
            if id(run) not in known:
                known[id(run)] = shown.add_task(f"{run.name}: loading", total=None)
            shown.update(
                known[id(run)],
                description=f"{run.name}: stopped" if run.problem else run.name,
                total=run.asked,
                completed=run.done,
                images_per_s=run.images_per_s,
            )

        yield watch
