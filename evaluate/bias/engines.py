"""Run a function over many tasks: here, in processes, or on a Ray cluster. Results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from evaluate.ray_cluster import connect

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_serial(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """One task after the other in this process."""
    return map(function, tasks)


def run_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Iterator[Result]:
    """Tasks in `workers` processes, no more than a few ahead of what is consumed.

    A single one is done here: there is nothing to share.
    """
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if len(first) < 2:
        yield from run_serial(function, first)
        return
    tasks = chain(first, tasks)
    # spawn: a forked child would inherit open database connections and threads' locks
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from _windowed(
            lambda task: pool.submit(function, task), lambda future: future.result(), tasks, workers
        )


def run_ray(
    function: Callable[[Task], Result], tasks: Iterable[Task], address: str, workers: int
) -> Iterator[Result]:
    """Tasks on a Ray cluster; a task whose worker dies is run again elsewhere.

    Parameters
    ----------
    address : str
        ``auto`` for the cluster of this machine, ``local`` to start one here, or its address.
    """
    ray = connect(address, workers)
    # tasks are idempotent, so a lost worker costs its task's time and nothing else
    remote = ray.remote(max_retries=5)(function)
    try:
        fetch: Callable[[Any], Result] = ray.get
        yield from _windowed(remote.remote, fetch, tasks, workers)
    finally:
        ray.shutdown()


def _windowed(
    submit: Callable[[Task], Any],
    result: Callable[[Any], Result],
    tasks: Iterable[Task],
    workers: int,
) -> Iterator[Result]:
    waiting: deque[Any] = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) > 2 * workers:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())
