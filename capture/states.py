"""The states of a run, the arrows between them, and the snapshot that watchers get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from schemas.exposure import Exposure
from schemas.records import Outcome


class RunState(StrEnum):
    """What a run is doing.

    ::

                    suspended ──────┐                   the light is wrong: the camera is idle
                      ^ │           │
                      │ v           │
        preparing ──> running ──────────────> done
                      │ ^  │        v
                      │ │  └──> stopping ──> stopped    the operator, Ctrl-C, a limit
                      v │           │ ^
                reconnecting        v │
                      │          failed │               shots or the program failed
                      └─────────────────┘

    Somebody may ask for a pause: ``running`` and ``suspended`` go to ``pausing``, where the frames
    in hand are stored, that to ``paused``, and both to ``running`` or ``stopping``.

    Where a person can be asked, ``running``, ``suspended``, ``reconnecting`` and ``pausing`` may go
    to ``asking``, and that to ``reconnecting`` or ``stopping``.

    A refusal while preparing raises before there is a run: no state follows. ``suspended`` ends
    by itself when the light has settled. ``stopping`` waits for the frames in hand to be stored.
    The last three are final.
    """

    PREPARING = "preparing"
    RUNNING = "running"
    SUSPENDED = "suspended"
    PAUSING = "pausing"
    PAUSED = "paused"
    ASKING = "asking"
    RECONNECTING = "reconnecting"
    STOPPING = "stopping"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


ARROWS: Mapping[RunState, frozenset[RunState]] = {
    RunState.PREPARING: frozenset({RunState.RUNNING}),
    RunState.RUNNING: frozenset(
        {
            RunState.SUSPENDED,
            RunState.RECONNECTING,
            RunState.PAUSING,
            RunState.ASKING,
            RunState.STOPPING,
            RunState.DONE,
        }
    ),
    RunState.SUSPENDED: frozenset(
        {RunState.RUNNING, RunState.PAUSING, RunState.STOPPING, RunState.ASKING}
    ),
    RunState.PAUSING: frozenset(
        {RunState.PAUSED, RunState.RUNNING, RunState.STOPPING, RunState.ASKING}
    ),
    RunState.PAUSED: frozenset({RunState.RUNNING, RunState.STOPPING}),
    RunState.RECONNECTING: frozenset({RunState.RUNNING, RunState.STOPPING, RunState.ASKING}),
    RunState.ASKING: frozenset({RunState.RECONNECTING, RunState.STOPPING}),
    RunState.STOPPING: frozenset({RunState.STOPPED, RunState.FAILED}),
    RunState.DONE: frozenset(),
    RunState.STOPPED: frozenset(),
    RunState.FAILED: frozenset(),
}


@dataclass(frozen=True)
class ShotEnded:
    """A shot of the plan got its row; `frame` is the row's id, None where it was given up."""

    exposure: Exposure
    outcome: Outcome
    frame: int | None = None


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment, for a progress bar or a page.

    Attributes
    ----------
    state : RunState
    planned : int
        Shots of the plan.
    counts : mapping
        Shots of the plan that have a row, by outcome, earlier runs included.
    shot : Exposure or None
        What is being exposed.
    lux : float or None
        The latest reading.
    shots_per_min, left_s : float or None
        None until there is evidence.
    message : str
        What happened last, for a person; empty if nothing did.
    ended : ShotEnded or None
        What this snapshot is about, if a shot got its row.
    """

    state: RunState
    planned: int
    counts: Mapping[Outcome, int] = field(default_factory=dict)
    shot: Exposure | None = None
    lux: float | None = None
    shots_per_min: float | None = None
    left_s: float | None = None
    message: str = ""
    ended: ShotEnded | None = None

    @property
    def finished(self) -> int:
        """Shots of the plan that have a row."""
        return sum(self.counts.values())


Watch = Callable[[Snapshot], None]


class Machine:
    """The state of one run. A forbidden arrow is a defect and raises RuntimeError."""

    def __init__(self) -> None:
        self._state = RunState.PREPARING

    @property
    def state(self) -> RunState:
        """The state now."""
        return self._state

    def to(self, state: RunState) -> None:
        """Follow an arrow of the diagram."""
        if state not in ARROWS[self._state]:
            raise RuntimeError(f"a run cannot go from {self._state} to {state}")
        self._state = state
