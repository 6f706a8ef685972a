"""What passes between the one writer of the catalog and those who ask the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from evaluate.model import Model
from evaluate.providers import LoadOptions
from evaluate.zoo import ModelRow
from schemas.ask_store import FrameAsks

Load = Callable[[ModelRow, LoadOptions], Model]


@dataclass(frozen=True)
class Settings:
    """How a worker works.

    Attributes
    ----------
    workspace : Path
        Frames are read below it; on several machines, a folder that all of them see.
    batch_size : int or None
        None: found by the worker.
    cpus : int
        Threads that this worker may keep busy.
    cache : Path or None
        Folder of prepared frames.
    cache_bytes : int
        Bound of that folder.
    load : callable or None
        Builds a model; None: `evaluate.engine.worker.load_with_torch`.
    """

    workspace: Path
    options: LoadOptions = field(default_factory=LoadOptions)
    batch_size: int | None = None
    cpus: int = 1
    cache: Path | None = None
    cache_bytes: int = 0
    load: Load | None = None


class Loaded(NamedTuple):
    """A model that stands ready."""

    spec: dict[str, Any]
    tasks: tuple[str, ...]
    device: str


class Refused(NamedTuple):
    """A model that does not. `for_want_of_memory`: it may fit without the others."""

    reason: str
    for_want_of_memory: bool = False


Report = Loaded | Refused


class Row(NamedTuple):
    """One answer on its way to the catalog; `who` is the model's place in the pass."""

    who: int
    stimulus_id: int
    text: str | None
    payload: dict[str, Any]
    error: str
    frame_sha256: str
    batch: int


@dataclass
class Done:
    """What a worker has finished.

    Attributes
    ----------
    rows : list of Row
    broken : dict
        Models that broke down, by place, with the reason; what they were asked stays pending.
    memory_bytes, gpu_memory_bytes : int
        Peaks of the worker's process so far.
    """

    rows: list[Row]
    broken: dict[int, str] = field(default_factory=dict)
    memory_bytes: int = 0
    gpu_memory_bytes: int = 0


class Crew(Protocol):
    """Whoever asks the models: this process, several, or a cluster."""

    @property
    def reports(self) -> list[Report]:
        """How loading went, one for each model of the pass."""
        ...

    def work(self, frames: Iterable[FrameAsks], stop: Callable[[], bool]) -> Iterator[Done]:
        """Answers as they come, in any order. After `stop`, what is at hand is finished."""
        ...

    def close(self) -> None:
        """Let go of models and processes, at once."""
        ...
