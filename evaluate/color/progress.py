"""A bar with rate and time left, where someone watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


@contextmanager
def progress(words: str) -> Iterator[Callable[[int, int], None]]:
    """A function to tell how many frames are done of how many; it shows them on a terminal."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _done, _total: None
        return
    columns = (
        *Progress.get_default_columns()[:3],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[said]}"),
    )
    started = monotonic()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(words, total=None, said="")

        def watch(done: int, total: int) -> None:
            rate = done / max(monotonic() - started, 1e-9)
            bar.update(task, completed=done, total=total, said=f"{rate:,.0f} frames/s")

        yield watch
