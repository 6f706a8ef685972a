"""Run models one after another with a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from evaluate.inference import Progress, ask, reader_count
from evaluate.timm_classifier import TimmClassifier, set_up_torch
from evaluate.zoo import find_model
from schemas.answer_store import delete_failed_responses, list_observers
from schemas.catalog import Catalog
from schemas.workspace import Workspace


@dataclass(frozen=True)
class ModelRun:
    """What one model did in this run; `duration_s` without loading it."""

    name: str
    device: str
    progress: Progress
    duration_s: float

    @property
    def images_per_s(self) -> float:
        """Responses and failures a second; 0 if there was nothing to ask."""
        return self.progress.done / self.duration_s if self.progress.done else 0.0

    def as_json(self) -> dict[str, Any]:
        """As `snaprig evaluate run --json` prints it."""
        return {
            "name": self.name,
            "device": self.device,
            "asked": self.progress.asked,
            "responses": self.progress.responses,
            "failed": self.progress.failed,
            "images_per_s": round(self.images_per_s, 2),
        }

    def sentence(self) -> str:
        """One line for a person."""
        done = self.progress
        if done.asked == 0:
            return f"{self.name}: nothing to ask, every accepted frame has its response"
        failed = f", {done.failed} failed" if done.failed else ""
        return (
            f"{self.name}: {done.responses} responses{failed} of {done.asked} asked, "
            f"{self.images_per_s:.1f} images/s on {self.device}"
        )


def run_models(
    catalog: Catalog,
    workspace: Workspace,
    names: tuple[str, ...],
    *,
    device: str = "auto",
    batch_size: int = 16,
    alias: str | None = None,
    retry_failed: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> list[ModelRun]:
    """Ask each model in turn; all names are checked before the first one loads.

    Raises
    ------
    EvaluateError
        For an unknown model, missing weights or an absent device.
    """
    rows = [find_model(name) for name in dict.fromkeys(names)]
    set_up_torch(reader_count())
    done: list[ModelRun] = []
    with _bars() as bars:
        for row in rows:
            if stop():
                break
            name = alias or row.name
            bar = bars.add_task(f"{name}: loading", total=None)
            model = TimmClassifier.load(row, device)
            if retry_failed:
                _forget_failures(catalog, name)
            started = monotonic()
            progress = Progress(0)
            for progress in ask(catalog, workspace, name, model, batch_size=batch_size, stop=stop):
                bars.update(bar, description=name, total=progress.asked, completed=progress.done)
            done.append(ModelRun(name, model.device, progress, monotonic() - started))
    return done


def _forget_failures(catalog: Catalog, name: str) -> None:
    for observer in list_observers(catalog):
        if observer.name == name and observer.id is not None:
            delete_failed_responses(catalog, observer.id)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.1f} images/s")


def _bars() -> Bars:
    console = Console(stderr=True)
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
