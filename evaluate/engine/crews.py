"""Who asks the models: this process, processes of this machine, or a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from evaluate.engine.processes import Processes
from evaluate.engine.ray_actors import Actors
from evaluate.engine.work import Crew, Settings
from evaluate.engine.worker import Worker
from evaluate.zoo import ModelRow

Hire = Callable[[Sequence[ModelRow]], Crew]


@contextmanager
def local_crews(settings: Settings, workers: int | None) -> Iterator[Hire]:
    """Crews on this machine.

    Parameters
    ----------
    workers : int or None
        Processes; None: one for each GPU, or this process where there is at most one.
    """
    devices = _devices(settings.options.device, workers)
    cpus = len(os.sched_getaffinity(0))
    if len(devices) == 1:
        alone = replace(settings, cpus=cpus)
        yield lambda rows: Worker(rows, alone)
        return
    shared = replace(settings, cpus=max(1, cpus // len(devices)))
    yield lambda rows: Processes(rows, shared, devices)


@contextmanager
def ray_crews(settings: Settings, address: str, workers: int | None) -> Iterator[Hire]:
    """Crews on a Ray cluster that is joined, or started here, for the time of the context.

    Parameters
    ----------
    workers : int or None
        Actors; None: one for each GPU of the cluster, or for two CPUs where there is none.
    """
    from evaluate.ray_cluster import connect, resources

    ray = connect(address, max(len(os.sched_getaffinity(0)), workers or 1))
    try:
        cpus, gpus = resources(ray)
        gpu = gpus > 0 and settings.options.device != "cpu"
        count = workers or (gpus if gpu else max(1, cpus // 2))
        shared = replace(settings, cpus=max(1, cpus // count))
        # a GPU that two actors are to share is for Ray to refuse, not for us to guess
        yield lambda rows: Actors(ray, rows, shared, count, gpu=gpu)
    finally:
        ray.shutdown()


def _devices(device: str, workers: int | None) -> list[str]:
    """A device for each process; ``auto`` and ``cuda`` are spread over all GPUs."""
    gpus = 0
    if device in ("auto", "cuda") and workers != 1:
        import torch

        gpus = torch.cuda.device_count()
    if gpus > 1:
        return [f"cuda:{place % gpus}" for place in range(workers or gpus)]
    return [device] * (workers or 1)
