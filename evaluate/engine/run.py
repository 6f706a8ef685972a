"""Pass after pass of models over the catalog: who is asked what, and the one who writes it down.

Resume is subtraction: stimuli minus responses. Answers are committed as they come, a batch or a
share at a time; a run that is killed loses what was not handed over yet, and asks it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from evaluate.engine.stimuli import VIEWED, ensure_asked
from evaluate.engine.work import Crew, Done, Loaded, Refused, Report, Row
from evaluate.errors import EvaluateError
from evaluate.zoo import ModelRow
from schemas.answer_store import ORIGINAL, delete_failed_responses, put_observer
from schemas.ask_store import ALL, Shard, Wanted, count_pending, iter_pending, store_answers
from schemas.catalog import Catalog, CatalogError
from schemas.records import Observer, Response


@dataclass
class ModelRun:
    """What one model did in this run.

    Attributes
    ----------
    asked : int
        Stimuli that were pending when its pass began.
    problem : str
        Why it did nothing, or stopped; empty if all went well.
    duration_s : float
        Of its pass so far, without loading; the models of a pass share the time.
    """

    name: str
    device: str = ""
    tasks: tuple[str, ...] = ()
    view: str = ORIGINAL
    asked: int = 0
    responses: int = 0
    failed: int = 0
    problem: str = ""
    interrupted: bool = False
    duration_s: float = 0.0

    @property
    def done(self) -> int:
        """Stimuli that have their response now, failures included."""
        return self.responses + self.failed

    @property
    def images_per_s(self) -> float:
        """Frames with all their answers, a second."""
        if not self.done or not self.duration_s:
            return 0.0
        return self.done / len(self.tasks) / self.duration_s

    def as_json(self) -> dict[str, Any]:
        """As `snaprig evaluate run --json` prints it."""
        return {
            "name": self.name,
            "device": self.device,
            "tasks": list(self.tasks),
            "view": self.view,
            "asked": self.asked,
            "responses": self.responses,
            "failed": self.failed,
            "images_per_s": round(self.images_per_s, 2),
            "problem": self.problem,
        }

    def sentence(self) -> str:
        """One line for a person."""
        named = self.name if self.view == ORIGINAL else f"{self.name}, {self.view}"
        if self.problem and not self.done:
            return f"{named}: {self.problem}"
        if self.asked == 0:
            return f"{named}: nothing to ask, every accepted frame has its response"
        failed = f", {self.failed} failed" if self.failed else ""
        problem = f"; then {self.problem}" if self.problem else ""
        return (
            f"{named}: {self.responses} responses{failed} of {self.asked} asked, "
            f"{self.images_per_s:.1f} images/s on {self.device}{problem}"
        )


@dataclass
class Totals:
    """What a whole run did, with the peaks of any one of its processes."""

    models: list[ModelRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    memory_bytes: int = 0
    gpu_memory_bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        """As `snaprig evaluate run --json` prints it."""
        return {
            "observers": [one.as_json() for one in self.models],
            "responses": sum(one.responses for one in self.models),
            "failed": sum(one.failed for one in self.models),
            "peak_memory_mb": round(self.memory_bytes / 1e6),
            "peak_gpu_memory_mb": round(self.gpu_memory_bytes / 1e6),
        }


@dataclass(frozen=True)
class Orders:
    """What to ask.

    Attributes
    ----------
    tasks : tuple of str or None
        None: whatever each model can be asked.
    shard : Shard
        Part of the frames that this run is for.
    views : tuple of str
        How frames are seen (`evaluate.views`), a pass each; questions are asked of the original
        only.
    together : int
        Models that are loaded at once and share the decoded frames.
    alias : str or None
        Name of the only model's observer.
    retry_failed : bool
        Ask again what failed before.
    """

    tasks: tuple[str, ...] | None = None
    shard: Shard = ALL
    views: tuple[str, ...] = (ORIGINAL,)
    together: int = 4
    alias: str | None = None
    retry_failed: bool = False


Hire = Callable[[Sequence[ModelRow]], Crew]


def run_models(
    catalog: Catalog,
    rows: Iterable[ModelRow],
    orders: Orders,
    hire: Hire,
    *,
    stop: Callable[[], bool] = lambda: False,
    watch: Callable[[ModelRun], None] = lambda _run: None,
) -> Totals:
    """Ask each model about all frames that it has not answered.

    Parameters
    ----------
    hire : callable
        Loads the models of a pass, here or elsewhere.
    stop : callable
        Asked between batches; True ends the run.
    watch : callable
        Is told of each model's progress.

    Returns
    -------
    Totals
        Models as they were loaded together, view by view; those with a `problem` did not do all
        their work.
    """
    totals = Totals()
    left = deque(rows)
    while left and not stop():
        group = [left.popleft() for _ in range(min(orders.together, len(left)))]
        passes = [
            [ModelRun(orders.alias or row.name, view=view) for row in group]
            for view in orders.views
        ]
        for run in passes[0]:
            watch(run)
        try:
            crew = hire(group)
        except EvaluateError as error:
            for runs in passes:
                for run in runs:
                    run.problem = str(error)
                totals.models += runs
            continue
        try:
            again = _postponed(crew.reports) if len(group) > 1 else []
            left.extendleft(reversed([group[who] for who in again]))
            # the models stay loaded from view to view
            for view, runs in zip(orders.views, passes, strict=True):
                if stop():
                    break
                _pass(catalog, crew, runs, view, set(again), orders, totals, stop, watch)
                totals.models += [run for who, run in enumerate(runs) if who not in again]
        finally:
            crew.close()
    return totals


def _postponed(reports: Sequence[Report]) -> list[int]:
    """Models that found no memory beside the others: their turn comes with fewer."""
    loaded = any(isinstance(report, Loaded) for report in reports)
    return [
        who
        for who, report in enumerate(reports)
        if loaded and isinstance(report, Refused) and report.for_want_of_memory
    ]


def _pass(
    catalog: Catalog,
    crew: Crew,
    runs: list[ModelRun],
    view: str,
    skipped: set[int],
    orders: Orders,
    totals: Totals,
    stop: Callable[[], bool],
    watch: Callable[[ModelRun], None],
) -> None:
    """One pass over the frames with the models that a crew holds."""
    observers: dict[int, int] = {}
    for who, (run, report) in enumerate(zip(runs, crew.reports, strict=True)):
        if who not in skipped:
            observer_id = _introduce(catalog, run, report, orders)
            if observer_id is not None:
                observers[who] = observer_id
    asked = {task for who in observers for task in runs[who].tasks}
    for note in ensure_asked(catalog, asked, view):
        if note not in totals.notes:
            totals.notes.append(note)
    # places in the pass stay those of the crew: who is not asked wants no tasks
    wanted = [Wanted(observers.get(who, 0), runs[who].tasks) for who in range(len(runs))]
    for who in observers:
        runs[who].asked = count_pending(catalog, wanted[who], orders.shard, view)
        watch(runs[who])
    started = monotonic()
    pending = iter_pending(catalog, wanted, orders.shard, view)
    for done in crew.work(pending, stop):
        store_answers(catalog, (_response(row, observers[row.who]) for row in done.rows))
        _count(runs, done, totals, monotonic() - started)
        for who in {row.who for row in done.rows} | done.broken.keys():
            watch(runs[who])
    for who in observers:
        run = runs[who]
        run.interrupted = stop() and not run.problem and run.done < run.asked


def _introduce(catalog: Catalog, run: ModelRun, report: Report, orders: Orders) -> int | None:
    """The observer of a loaded model; None if it cannot be asked, with the problem noted."""
    if isinstance(report, Refused):
        run.problem = report.reason
        return None
    run.device = report.device
    tasks = report.tasks
    if orders.tasks is not None:
        tasks = tuple(task for task in tasks if task in orders.tasks)
    if run.view != ORIGINAL:
        tasks = tuple(task for task in tasks if task in VIEWED)
    if not tasks and run.view != ORIGINAL:
        run.problem = f"is asked nothing about frames seen as {run.view}"
        return None
    if not tasks:
        run.problem = f"cannot be asked {', '.join(orders.tasks or ())}: it does " + ", ".join(
            report.tasks
        )
        return None
    try:
        observer_id = put_observer(catalog, Observer(run.name, "model", report.spec))
    except CatalogError as error:
        run.problem = f"{error}: `--as NAME`"
        return None
    run.tasks = tasks
    if orders.retry_failed and run.view == orders.views[0]:
        # once, or each view would forget the others'
        delete_failed_responses(catalog, observer_id)
    return observer_id


def _count(runs: list[ModelRun], done: Done, totals: Totals, elapsed_s: float) -> None:
    for row in done.rows:
        if row.error:
            runs[row.who].failed += 1
        else:
            runs[row.who].responses += 1
    for who, reason in done.broken.items():
        runs[who].problem = reason
    for who in {row.who for row in done.rows}:
        runs[who].duration_s = elapsed_s
    totals.memory_bytes = max(totals.memory_bytes, done.memory_bytes)
    totals.gpu_memory_bytes = max(totals.gpu_memory_bytes, done.gpu_memory_bytes)


def _response(row: Row, observer_id: int) -> Response:
    return Response(
        stimulus_id=row.stimulus_id,
        observer_id=observer_id,
        text=row.text,
        payload=row.payload,
        error=row.error,
        # with bfloat16, answers can depend on how many were asked together
        timing={"batch": row.batch} if row.batch else {},
        frame_sha256=row.frame_sha256,
    )
