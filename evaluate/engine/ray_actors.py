"""Workers as actors of a Ray cluster.

Actors hold the models, take shares of frames and hand the answers back to the one process that
writes the catalog. Another takes the place of a lost actor, and its share is asked again. Paths
travel, not pixels: every machine of the cluster sees the workspace at the same place.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from evaluate.engine.chunks import ATTEMPTS, Chunk, answer_chunk, chunks, same_reports
from evaluate.engine.work import Done, Report, Settings
from evaluate.engine.worker import Worker
from evaluate.errors import EvaluateError
from evaluate.zoo import ModelRow
from schemas.ask_store import FrameAsks


class _Actor:
    """A worker, on whatever machine Ray puts it."""

    def __init__(self, rows: list[ModelRow], settings: Settings) -> None:
        self._worker = Worker(rows, settings)

    def reports(self) -> list[Report]:
        return self._worker.reports

    def answer(self, share: Chunk) -> Done:
        return answer_chunk(self._worker, share)


class Actors:
    """A crew of actors.

    Parameters
    ----------
    ray : module
        Connected (`evaluate.ray_cluster.connect`).
    workers : int
        How many.
    gpu : bool
        Whether each holds a GPU of its own.
    """

    def __init__(
        self,
        ray: ModuleType,
        rows: Sequence[ModelRow],
        settings: Settings,
        workers: int,
        *,
        gpu: bool,
    ) -> None:
        self._ray = ray
        self._rows = list(rows)
        self._settings = replace(settings, workspace=settings.workspace.resolve())
        # replaced below if it dies: a call to one that Ray restarts would fail once more
        self._kind = ray.remote(num_cpus=settings.cpus, num_gpus=1 if gpu else 0)(_Actor)
        self._actors: list[Any] = []
        for _ in range(workers):
            self._hire()
        try:
            self.reports = same_reports(rows, self._first_reports())
        except BaseException:
            self.close()
            raise

    def work(
        self, frames: Iterable[FrameAsks], stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Done]:
        """Answers share by share, as they are finished."""
        fresh = chunks(frames)
        again: deque[Chunk] = deque()
        deaths: Counter[str] = Counter()
        idle = list(self._actors)
        busy: dict[Any, tuple[Any, Chunk]] = {}
        while True:
            while idle and not stop():
                share = again.popleft() if again else next(fresh, None)
                if share is None:
                    break
                actor = idle.pop()
                busy[actor.answer.remote(share)] = (actor, share)
            if not busy:
                return
            ready, _ = self._ray.wait(list(busy), timeout=1)
            for reference in ready:
                actor, share = busy.pop(reference)
                try:
                    done: Done = self._ray.get(reference)
                except self._ray.exceptions.RayActorError as error:
                    again.append(_asked_again(share, deaths, error))
                    self._actors.remove(actor)
                    idle.append(self._hire())
                    continue
                idle.append(actor)
                yield done

    def close(self) -> None:
        """End the actors, whatever they are at: what they did not hand over is asked again."""
        for actor in self._actors:
            self._ray.kill(actor)

    def _hire(self) -> Any:  # noqa: ANN401 - an actor's handle
        actor = self._kind.remote(self._rows, self._settings)
        self._actors.append(actor)
        return actor

    def _first_reports(self) -> list[list[Report]]:
        try:
            reports: list[list[Report]] = self._ray.get(
                [actor.reports.remote() for actor in self._actors]
            )
        except self._ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines()
            raise EvaluateError(f"a Ray worker could not load its models: {lines[-1]}") from error
        return reports


def _asked_again(share: Chunk, deaths: Counter[str], error: Exception) -> Chunk:
    deaths[share[0].sha256] += 1
    if deaths[share[0].sha256] >= ATTEMPTS:
        raise EvaluateError(
            f"{ATTEMPTS} Ray workers died over the frames {share[0].path} to {share[-1].path}: "
            f"{str(error).strip().splitlines()[0]}"
        ) from error
    return share
