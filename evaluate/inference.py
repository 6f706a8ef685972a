"""Ask a model about every frame that it has not seen: resumable, batched, never holed.

Resume is subtraction: stimuli minus responses. Pictures are read and prepared ahead in
threads, at most `AHEAD` batches, so memory is bounded. Each batch is one transaction; a
picture that cannot be read becomes a response with an error.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from evaluate.errors import EvaluateError
from evaluate.images import read_pixels
from evaluate.model import Asked, Given, Model
from schemas.answer_store import (
    CLASSIFICATION,
    PendingStimulus,
    add_responses,
    ensure_stimuli,
    pending_stimuli,
    put_observer,
)
from schemas.catalog import Catalog
from schemas.records import Observer, Response
from schemas.workspace import Workspace, WorkspaceError

#: Batches that are read before the model asks for them.
AHEAD = 2


@dataclass(frozen=True)
class Progress:
    """How far one model is. `asked` is what was pending at the start."""

    asked: int
    responses: int = 0
    failed: int = 0
    interrupted: bool = False

    @property
    def done(self) -> int:
        """Stimuli that have their response now, failures included."""
        return self.responses + self.failed


def reader_count() -> int:
    """Threads that decode: half of the CPUs, at least one."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def ask(
    catalog: Catalog,
    workspace: Workspace,
    name: str,
    model: Model,
    *,
    batch_size: int = 16,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Progress]:
    """Ask a model about all accepted manual frames that it has not answered.

    Parameters
    ----------
    name : str
        Of the observer in the catalog.
    stop : callable
        Asked before each batch; True ends the work with `interrupted` set.

    Yields
    ------
    Progress
        At the start and after each committed batch.

    Raises
    ------
    CatalogError
        If the name stands for another model.
    """
    observer_id = put_observer(catalog, Observer(name, "model", model.spec))
    ensure_stimuli(catalog, CLASSIFICATION)
    pending = pending_stimuli(catalog, observer_id, CLASSIFICATION)
    progress = Progress(asked=len(pending))
    yield progress
    batches = [pending[at : at + batch_size] for at in range(0, len(pending), batch_size)]
    with ThreadPoolExecutor(reader_count(), thread_name_prefix="reader") as readers:
        for batch, inputs in _read_ahead(readers, workspace, model, batches):
            if stop():
                readers.shutdown(wait=False, cancel_futures=True)
                yield replace(progress, interrupted=True)
                return
            answers = _answer(model, observer_id, batch, inputs)
            add_responses(catalog, answers)
            failed = sum(answer.error != "" for answer in answers)
            progress = replace(
                progress,
                responses=progress.responses + len(answers) - failed,
                failed=progress.failed + failed,
            )
            yield progress


_Inputs = Sequence[Asked | EvaluateError]


def _read_ahead(
    readers: ThreadPoolExecutor,
    workspace: Workspace,
    model: Model,
    batches: list[list[PendingStimulus]],
) -> Iterator[tuple[list[PendingStimulus], _Inputs]]:
    waiting: deque[tuple[list[PendingStimulus], list[Future[Asked | EvaluateError]]]] = deque()
    for batch in batches:
        waiting.append((batch, [readers.submit(_read, workspace, model, item) for item in batch]))
        if len(waiting) > AHEAD:
            ready, futures = waiting.popleft()
            yield ready, [future.result() for future in futures]
    while waiting:
        ready, futures = waiting.popleft()
        yield ready, [future.result() for future in futures]


def _read(workspace: Workspace, model: Model, item: PendingStimulus) -> Asked | EvaluateError:
    # Any other exception is a defect of ours and must end the run.
    try:
        pixels = read_pixels(workspace.resolve(item.path), item.sha256)
        height, width, _ = pixels.shape
        return Asked(model.prepare(pixels), item.task, item.options, (width, height))
    except EvaluateError as error:
        return error
    except WorkspaceError as error:
        return EvaluateError(str(error))


def _answer(
    model: Model, observer_id: int, batch: list[PendingStimulus], inputs: _Inputs
) -> list[Response]:
    readable = [item for item in inputs if not isinstance(item, EvaluateError)]
    given_back = iter(model.answer(readable) if readable else [])
    return [
        Response(
            stimulus_id=item.stimulus_id,
            observer_id=observer_id,
            error=str(given),  # no digest: nothing was seen
        )
        if isinstance(given, EvaluateError)
        else _response(item, observer_id, next(given_back))
        for item, given in zip(batch, inputs, strict=True)
    ]


def _response(item: PendingStimulus, observer_id: int, given: Given) -> Response:
    return Response(
        stimulus_id=item.stimulus_id,
        observer_id=observer_id,
        frame_sha256=item.sha256,
        text=given.text,
        payload=given.payload,
    )
