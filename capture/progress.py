"""A run's progress for a person: a live bar on a terminal, plain lines elsewhere. On stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from capture.states import RunState, Snapshot, Watch
from schemas.records import Outcome

#: Without a terminal: a line at most this often.
_LINE_EVERY_S = 10.0

_SHORT = {
    Outcome.ACCEPTED: "accepted",
    Outcome.REJECTED_BLACK: "black",
    Outcome.REJECTED_WHITE: "white",
    Outcome.FAILED: "failed",
    Outcome.SKIPPED: "skipped",
}


@contextmanager
def shown(
    title: str,
    clock: Callable[[], float] = time.monotonic,
    more: Callable[[Snapshot], str] = lambda _snapshot: "",
) -> Iterator[Watch]:
    """Within: the yielded watcher shows its snapshots, with `more` behind the time left."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(title, lambda text: click.echo(text, err=True), clock, more)
        return
    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        # Three short lines: 80 columns hold them beside the bar.
        TextColumn("{task.fields[what]}\n{task.fields[outcomes]}\n{task.fields[pace]}"),
    )
    with Progress(*columns, console=console, refresh_per_second=4) as bar:
        task = bar.add_task("sweep", total=None, what=title, outcomes="", pace="")

        def show(snapshot: Snapshot) -> None:
            if snapshot.message:
                bar.console.print(snapshot.message, highlight=False, markup=False)
            what = title if snapshot.shot is None else f"{title}: {snapshot.shot}"
            bar.update(
                task,
                total=snapshot.planned,
                completed=snapshot.finished,
                what=what if snapshot.state is RunState.RUNNING else f"{title}: {snapshot.state}",
                outcomes=outcomes(snapshot),
                pace=_joined(pace(snapshot), more(snapshot)),
            )

        yield show


class Lines:
    """Plain lines: every message, and where the run stands now and then."""

    def __init__(
        self,
        title: str,
        say: Callable[[str], None],
        clock: Callable[[], float],
        more: Callable[[Snapshot], str] = lambda _snapshot: "",
    ) -> None:
        self._title = title
        self._say = say
        self._clock = clock
        self._more = more
        self._last: tuple[RunState | None, float] = (None, 0.0)

    def __call__(self, snapshot: Snapshot) -> None:
        """Say what is new."""
        if snapshot.message:
            self._say(f"{self._title}: {snapshot.message}")
        state, at_s = self._last
        now_s = self._clock()
        if snapshot.state is state and now_s - at_s < _LINE_EVERY_S:
            return
        self._last = (snapshot.state, now_s)
        self._say(
            _joined(
                f"{self._title}: {snapshot.state}",
                f"{snapshot.finished} of {snapshot.planned} shots",
                outcomes(snapshot),
                pace(snapshot),
                self._more(snapshot),
            )
        )


def outcomes(snapshot: Snapshot) -> str:
    """How many shots became what; empty before the first."""
    counts = snapshot.counts
    return ", ".join(f"{_SHORT[o]} {counts[o]}" for o in Outcome if counts.get(o))


def pace(snapshot: Snapshot) -> str:
    """Light, rate and time left, as far as they are known."""
    parts = [] if snapshot.lux is None else [f"{snapshot.lux:.4g} lux"]
    if snapshot.shots_per_min is not None and snapshot.left_s is not None:
        parts.append(f"{snapshot.shots_per_min:.1f} shots/min, {duration(snapshot.left_s)} left")
    return ", ".join(parts)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """``2 h 05 min``, ``35 min``, ``40 s``."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 120:
        return f"{round(whole / 60)} min"
    return f"{whole} s"
