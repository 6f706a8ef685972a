"""Ask loaded models about frames, in this process: every frame is decoded once for all of them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from evaluate.engine.batching import BatchSize, answer_batch
from evaluate.engine.cache import Cached, PreparedCache
from evaluate.engine.memory import (
    free_memory,
    is_out_of_memory,
    peak_gpu_memory_bytes,
    peak_memory_bytes,
)
from evaluate.engine.work import Done, Loaded, Refused, Report, Row, Settings
from evaluate.errors import EvaluateError
from evaluate.images import read_pixels
from evaluate.model import Asked, Model
from evaluate.providers import LoadOptions, load_model
from evaluate.views import find_view
from evaluate.zoo import ModelRow
from schemas.ask_store import Ask, FrameAsks
from schemas.workspace import Workspace, WorkspaceError

_log = logging.getLogger(__name__)

#: Frames that are prepared ahead of the models at most, beyond those being read.
AHEAD = 16


class _Defect(NamedTuple):
    """A model broke down on something that is no fault of the frame."""

    reason: str


class _Seen(NamedTuple):
    """A frame as its models see it: prepared once for each transform."""

    frame: FrameAsks
    size_px: tuple[int, int]
    prepared: dict[int, Any]


class Worker:
    """A crew of one: this process. `reports` tells how loading went."""

    def __init__(self, rows: Sequence[ModelRow], settings: Settings) -> None:
        self._workspace = Workspace(settings.workspace)
        self._readers = max(1, settings.cpus // 2)
        self._cache = (
            None if settings.cache is None else PreparedCache(settings.cache, settings.cache_bytes)
        )
        self._models: dict[int, Model] = {}
        self._broken: dict[int, str] = {}
        load = settings.load or _with_torch(settings.cpus, self._readers)
        self.reports = [self._load(who, row, settings, load) for who, row in enumerate(rows)]
        self._keys = {who: model.transform_key for who, model in self._models.items()}
        self._sizes = {
            who: BatchSize.of(settings.batch_size, model.device)
            for who, model in self._models.items()
        }

    def work(
        self, frames: Iterable[FrameAsks], stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Done]:
        """Answers batch by batch; between batches `stop` is asked."""
        waiting: dict[int, deque[tuple[Ask, Asked, str]]] = {who: deque() for who in self._models}
        with ThreadPoolExecutor(self._readers, thread_name_prefix="reader") as pool:
            for seen in self._read_ahead(pool, frames):
                if stop():
                    pool.shutdown(wait=False, cancel_futures=True)
                    return
                failures = self._sort(seen, waiting)
                if failures:
                    yield self._done(failures)
                for who, queue in waiting.items():
                    while len(queue) >= self._sizes[who].size and not stop():
                        yield self._done(self._answer(who, queue))
        for who, queue in waiting.items():
            while queue and not stop():
                yield self._done(self._answer(who, queue))
        # what broke down over its last frames has no rows to come with
        yield self._done([])

    def close(self) -> None:
        """Let go of the models and their memory."""
        self._models.clear()
        free_memory()

    def _load(
        self,
        who: int,
        row: ModelRow,
        settings: Settings,
        load: Callable[[ModelRow, LoadOptions], Model],
    ) -> Report:
        try:
            model = load(row, settings.options)
            report = Loaded(model.spec, tuple(model.tasks), model.device)
        except EvaluateError as error:
            return Refused(str(error))
        except Exception as error:  # third-party code: named, and the others go on
            return Refused(_named(error), is_out_of_memory(error))
        self._models[who] = model
        return report

    def _read_ahead(self, pool: ThreadPoolExecutor, frames: Iterable[FrameAsks]) -> Iterator[_Seen]:
        ready: deque[Future[_Seen]] = deque()
        for frame in frames:
            ready.append(pool.submit(self._see, frame))
            if len(ready) > AHEAD + self._readers:
                yield ready.popleft().result()
        while ready:
            yield ready.popleft().result()

    def _see(self, frame: FrameAsks) -> _Seen:
        """Read and prepare one frame; runs in a reader's thread."""
        by_key: dict[str, Any] = {}
        prepared: dict[int, Any] = {}
        size_px, pixels = (0, 0), None
        view = find_view(frame.view)
        for who in dict.fromkeys(ask.who for ask in frame.asks):
            if who in self._broken or who not in self._models:
                continue
            key = self._keys[who]
            if key is not None and view.key:
                key = f"{view.key} | {key}"
            if key is not None and key not in by_key and self._cache is not None:
                cached = self._cache.get(frame.sha256, key)
                if cached is not None:
                    by_key[key], size_px = cached
            if key is None or key not in by_key:
                if pixels is None:
                    try:
                        path = self._workspace.resolve(frame.path)
                        pixels = view.apply(read_pixels(path, frame.sha256))
                    except (EvaluateError, WorkspaceError) as error:
                        return _Seen(frame, size_px, dict.fromkeys(self._models, str_error(error)))
                    size_px = (pixels.shape[1], pixels.shape[0])
                made = _prepare(self._models[who], pixels)
                if key is None:
                    prepared[who] = made
                    continue
                by_key[key] = made
                self._keep(frame.sha256, key, made, size_px)
            prepared[who] = by_key[key]
        return _Seen(frame, size_px, prepared)

    def _keep(self, sha256: str, key: str, made: Any, size_px: tuple[int, int]) -> None:  # noqa: ANN401 - the provider's own
        if self._cache is None or not isinstance(made, np.ndarray) or made.dtype != np.uint8:
            return
        try:
            self._cache.put(sha256, key, Cached(made, size_px))
        except OSError as error:
            _log.warning("no more frames go to the cache: %s", error)
            self._cache = None

    def _sort(self, seen: _Seen, waiting: dict[int, deque[tuple[Ask, Asked, str]]]) -> list[Row]:
        """Hand a frame's stimuli to their models; rows of those that cannot be asked."""
        failures = []
        for ask in seen.frame.asks:
            made = seen.prepared.get(ask.who)
            if made is None or ask.who in self._broken:
                continue
            if isinstance(made, _Defect):
                self._broken[ask.who] = made.reason
                waiting[ask.who].clear()
            elif isinstance(made, EvaluateError):
                # no digest: nothing was seen
                failures.append(Row(ask.who, ask.stimulus_id, None, {}, str(made), "", 0))
            else:
                asked = Asked(made, ask.task, ask.options, seen.size_px)
                waiting[ask.who].append((ask, asked, seen.frame.sha256))
        return failures

    def _answer(self, who: int, queue: deque[tuple[Ask, Asked, str]]) -> list[Row]:
        batch = [queue.popleft() for _ in range(min(self._sizes[who].size, len(queue)))]
        try:
            answers = answer_batch(
                self._models[who], [asked for _, asked, _ in batch], self._sizes[who]
            )
        except Exception as error:  # a defect of one model: the others go on
            self._broken[who] = _named(error)
            queue.clear()
            return []
        rows = []
        for (ask, _, sha256), (given, size) in zip(batch, answers, strict=True):
            if isinstance(given, EvaluateError):
                rows.append(Row(who, ask.stimulus_id, None, {}, str(given), "", size))
            else:
                rows.append(Row(who, ask.stimulus_id, given.text, given.payload, "", sha256, size))
        return rows

    def _done(self, rows: list[Row]) -> Done:
        return Done(rows, dict(self._broken), peak_memory_bytes(), peak_gpu_memory_bytes())


def _prepare(model: Model, pixels: Any) -> Any:  # noqa: ANN401 - the provider's own
    try:
        return model.prepare(pixels)
    except EvaluateError as error:
        return error
    except Exception as error:  # told to the main thread as a defect of the model
        return _Defect(_named(error))


def str_error(error: Exception) -> EvaluateError:
    """An error as one of ours."""
    return error if isinstance(error, EvaluateError) else EvaluateError(str(error))


def _named(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def _with_torch(cpus: int, readers: int) -> Callable[[ModelRow, LoadOptions], Model]:
    """Loads with the providers; torch gets the threads that the readers leave."""

    def load(row: ModelRow, options: LoadOptions) -> Model:
        if row.provider != "external":
            from evaluate.providers.devices import set_up_torch

            set_up_torch(cpus - readers)
        return load_model(row, options)

    return load
