"""Jobs: what the daemon is asked for, how each one went, and the book that survives a crash."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from schemas.plan import FrozenModel, SweepPlan
from schemas.records import utc_now
from schemas.workspace import Workspace, write_atomically

_log = logging.getLogger(__name__)

#: Jobs that the book remembers; the catalog remembers every run.
_KEPT = 200


class State(StrEnum):
    """What the daemon does, or how its last job ended. In-between states are real ones."""

    IDLE = "idle"
    PREPARING = "preparing"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    NEEDS_OPERATOR = "needs_operator"
    RESUMING = "resuming"
    STOPPING = "stopping"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


#: A job in one of these is over.
ENDED = frozenset({State.DONE, State.FAILED, State.INTERRUPTED})


class Cause(StrEnum):
    """Why a job or a run ended as it did."""

    COMPLETED = "completed"
    STOPPED = "stopped"  # somebody asked
    LIMIT = "limit"  # as many shots as were asked for
    OPERATOR = "needed_operator"  # and nobody did what was asked
    ERROR = "error"
    DAEMON_ENDED = "daemon_ended"  # on request, in good order
    KILLED = "killed"  # the process or the power was gone


_Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Manner(FrozenModel):
    """How any job treats its shots and its operator.

    Attributes
    ----------
    attempts : int
        Failed exposures of a shot after which it is given up.
    checklist_done, force : bool
        As the options of `capture run`.
    attended : bool
        Whether somebody answers questions; else the job ends where one comes up.
    """

    attempts: int = Field(default=3, ge=1, le=100)
    checklist_done: bool = False
    force: bool = False
    attended: bool = True


class SweepSpec(_Manner):
    """One sweep. `plan` is a plan file of the workspace by name, or a plan; None for the grid."""

    kind: Literal["sweep"] = "sweep"
    scene: _Name
    lighting: _Name
    plan: SweepPlan | _Name | None = None
    sweep: Literal["exhaustive", "guided"] = "exhaustive"
    audit: float = Field(default=0.0, ge=0, le=1)
    limit: int | None = Field(default=None, ge=1)
    references: bool = True


class BatchSpec(_Manner):
    """A batch file of the workspace, by name."""

    kind: Literal["batch"] = "batch"
    batch: _Name


class PreflightSpec(FrozenModel):
    """The checks before a sweep, alone."""

    kind: Literal["preflight"] = "preflight"
    scene: _Name | None = None
    lighting: _Name | None = None
    plan: SweepPlan | _Name | None = None
    burst: bool = True
    ask_again: bool = False
    checklist_done: bool = False
    attended: bool = True


Spec = Annotated[SweepSpec | BatchSpec | PreflightSpec, Field(discriminator="kind")]
_SPEC: TypeAdapter[SweepSpec | BatchSpec | PreflightSpec] = TypeAdapter(Spec)


def digest(spec: SweepSpec | BatchSpec | PreflightSpec) -> str:
    """sha256 of a spec: equal specs, equal digest."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class Fault:
    """What is wrong: a code for programs, a sentence and a next step for people."""

    code: str
    text: str
    action: str = ""


@dataclass(frozen=True)
class Job:
    """One job; every change makes a new one.

    Attributes
    ----------
    key : str
        Given by whoever started it: a second start with the same key is the same job.
    rev : int
        Of the daemon's state when this job last changed its own.
    scene, lighting : str
        Of the sweep at hand; of a batch they change.
    plan : SweepPlan or None
        Of the sweep at hand.
    run : int or None
        The catalog's number of it.
    planned, done, counts
        Shots of that sweep, earlier runs included.
    work_s, paused_s : float
        Wall time since the start; while it waits for somebody or for the light it is paused.
    summary : dict or None
        How its last sweep ended, as `capture run --json` says it.
    """

    spec: SweepSpec | BatchSpec | PreflightSpec
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    key: str = ""
    state: State = State.PREPARING
    cause: Cause | None = None
    rev: int = 0
    scene: str = ""
    lighting: str = ""
    plan: SweepPlan | None = None
    run: int | None = None
    planned: int = 0
    done: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    work_s: float = 0.0
    paused_s: float = 0.0
    created_at: datetime = field(default_factory=utc_now)
    ended_at: datetime | None = None
    simulated: bool = False
    fault: Fault | None = None
    summary: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED

    @property
    def title(self) -> str:
        """What it is, for a sentence: ``the sweep of cups-3 under bright``."""
        if self.spec.kind == "preflight":
            return "the preflight" + (f" under {self.lighting}" if self.lighting else "")
        if self.spec.kind == "batch" and (self.over or not self.lighting):
            return f"the batch {self.spec.batch}"
        return f"the sweep of {self.scene} under {self.lighting}"

    def to_json(self) -> dict[str, Any]:
        """For the API and the book."""
        grid = self.plan and {
            "shutter": list(self.plan.shutter),
            "iso": list(self.plan.iso),
            "f_number": list(self.plan.f_number),
        }
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "kind": self.spec.kind,
            "spec": digest(self.spec),
            "asked": self.spec.model_dump(mode="json"),
            "state": self.state,
            "cause": self.cause,
            "title": self.title,
            "plan": grid,
            "work_s": round(self.work_s, 1),
            "paused_s": round(self.paused_s, 1),
            "created_at": self.created_at.isoformat(timespec="milliseconds"),
            "ended_at": self.ended_at and self.ended_at.isoformat(timespec="milliseconds"),
            "fault": self.fault and asdict(self.fault),
        }


#: Fields that JSON says as they are.
_PLAIN = (
    "id key rev scene lighting run planned done counts work_s paused_s simulated summary".split()
)


def _read(document: dict[str, Any]) -> Job:
    """A job of the book. Raises what a foreign document makes it raise."""
    ended = document["ended_at"]
    return Job(
        spec=_SPEC.validate_python(document["asked"]),
        state=State(document["state"]),
        cause=Cause(document["cause"]) if document["cause"] else None,
        created_at=datetime.fromisoformat(document["created_at"]),
        ended_at=datetime.fromisoformat(ended) if ended else None,
        fault=Fault(**document["fault"]) if document["fault"] else None,
        **{name: document[name] for name in _PLAIN},
    )


class JobBook:
    """The daemon's jobs, oldest first, kept in a file of the workspace.

    The file is written, whole or not at all, when a job starts, ends, or turns to another sweep.
    What it lacks after a crash the catalog knows: frames are counted there.
    """

    def __init__(self, path: Path, jobs: Iterable[Job] = ()) -> None:
        self._path = path
        self._jobs: dict[str, Job] = {job.id: job for job in jobs}

    @classmethod
    def open(cls, workspace: Workspace) -> JobBook:
        """Read the book; jobs that a crash cut off are interrupted from now on."""
        path = workspace.root / "daemon-jobs.json"
        jobs: list[Job] = []
        try:
            jobs = [_read(one) for one in json.loads(path.read_text(encoding="utf-8"))]
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            _log.warning("%s cannot be read; the catalog has every run all the same", path)
        return cls(path, [_cut_off(job) for job in jobs])

    def put(self, job: Job, *, keep: bool) -> None:
        """Take a job's newest state; `keep` writes the file."""
        self._jobs[job.id] = job
        for old in list(self._jobs)[:-_KEPT]:
            del self._jobs[old]
        if keep:
            document = [one.to_json() for one in self._jobs.values()]
            write_atomically(self._path, (json.dumps(document, indent=1) + "\n").encode())

    def get(self, job_id: str) -> Job | None:
        """The job of that id."""
        return self._jobs.get(job_id)

    def keyed(self, key: str) -> Job | None:
        """The job that was started with that key."""
        return next((job for job in self._jobs.values() if key and job.key == key), None)

    def newest_first(self) -> list[Job]:
        """All of them."""
        return list(self._jobs.values())[::-1]

    @property
    def last(self) -> Job | None:
        """The newest one."""
        return next(reversed(self._jobs.values()), None)


def _cut_off(job: Job) -> Job:
    if job.over:
        return job
    return replace(
        job,
        state=State.INTERRUPTED,
        cause=Cause.KILLED,
        fault=Fault("killed", f"the daemon was killed, or its power cut, during {job.title}"),
    )
