"""The daemon's API: state, events and commands. What the catalog knows is in `reading`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from capture.daemon.jobs import BatchSpec, PreflightSpec, State, SweepSpec
from capture.daemon.problems import NotFoundError, RefusedError
from capture.daemon.reading import make_reading
from capture.daemon.service import Service
from rig.errors import RigError
from schemas.catalog import CatalogError
from schemas.plan import FrozenModel
from schemas.workspace import WorkspaceError

#: A snapshot goes out at most this often, unless the state is another one.
_COALESCE_S = 0.25

_Key = Annotated[str, Field(max_length=100)]
_Id = Annotated[str, Field(min_length=1, max_length=100)]


class StartSweep(SweepSpec):
    """A sweep to start, with the revision that somebody saw and a key against doubles."""

    rev: int
    key: _Key = ""


class StartBatch(BatchSpec):
    """A batch to start."""

    rev: int
    key: _Key = ""


class StartPreflight(PreflightSpec):
    """A preflight to run."""

    key: _Key = ""


class Resume(FrozenModel):
    """What to go on with; nothing named: what is paused, else what was interrupted last.

    The other fields are those of a sweep, and hold for one that is begun anew.
    """

    scene: _Id | None = None
    lighting: _Id | None = None
    sweep: str | None = Field(default=None, pattern="^(exhaustive|guided)$")
    audit: float | None = Field(default=None, ge=0, le=1)
    attempts: int | None = Field(default=None, ge=1, le=100)
    references: bool | None = None
    checklist_done: bool | None = None
    force: bool | None = None
    attended: bool | None = None
    rev: int | None = None
    key: _Key = ""


class Nothing(FrozenModel):
    """A command without arguments: ``{}``."""


class Stop(FrozenModel):
    """The job that somebody saw named in `confirm`."""

    confirm: _Id | None = None


class Answer(FrozenModel):
    """An answer to the question of that id."""

    question: _Id
    answer: _Id


class Acknowledge(FrozenModel):
    """Somebody has seen the alert of that id."""

    alert: _Id


class Problem(FrozenModel):
    """What every error says."""

    detail: Any
    state: str
    reason: str


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "There is no such thing."},
    409: {"model": Problem, "description": "The state does not allow it; `reason` says why."},
    422: {"model": Problem, "description": "The request cannot be understood."},
}


def make_api(service: Service) -> FastAPI:
    """The application: everything but the guard around it and the page."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        service.hub.attach(loop)
        telling = asyncio.create_task(_tell(service, loop))
        yield
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling

    app = FastAPI(
        title="snaprig daemon",
        version=service.version,
        description="Shoots sweeps, and tells how they go. See docs/daemon.md.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # their scripts come from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=_PROBLEMS,
    )
    _tell_problems(app, service)

    @app.get("/api/state")
    async def state() -> dict[str, Any]:
        """Everything a page needs at first; the stream goes on from its `seq`."""
        return service.snapshot()

    @app.get("/api/events", response_class=StreamingResponse)
    async def events(
        last_event_id: Annotated[str | None, Header(max_length=100)] = None,
        after: Annotated[str | None, Query(max_length=100)] = None,
    ) -> StreamingResponse:
        """Server-sent events behind an id; from now on where there is none."""
        return StreamingResponse(
            service.hub.follow(last_event_id or after),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
        )

    # Plain functions from here on: they read rig.toml and catalog, and run beside the loop.

    @app.post("/api/start", status_code=201, responses={200: {"description": "Started before."}})
    def start(
        body: Annotated[StartSweep | StartBatch, Field(discriminator="kind")], response: Response
    ) -> dict[str, Any]:
        """Start a sweep or a batch."""
        values = body.model_dump(exclude={"rev", "key"}, mode="json")
        kind = SweepSpec if isinstance(body, StartSweep) else BatchSpec
        job, begun = service.begin(kind.model_validate(values), key=body.key, rev=body.rev)
        response.status_code = 201 if begun else 200
        return {"job": job.to_json(), "state": service.snapshot()}

    @app.post("/api/preflight", status_code=201)
    def preflight(body: StartPreflight, response: Response) -> dict[str, Any]:
        """Run the checks before a sweep, alone."""
        values = body.model_dump(exclude={"key"}, mode="json")
        job, begun = service.begin(PreflightSpec.model_validate(values), key=body.key)
        response.status_code = 201 if begun else 200
        return {"job": job.to_json(), "state": service.snapshot()}

    @app.post("/api/pause")
    def pause(body: Nothing) -> dict[str, Any]:
        """Pause after the frame at hand."""
        del body
        service.pause()
        return service.snapshot()

    @app.post("/api/resume")
    def resume(body: Resume) -> dict[str, Any]:
        """Go on with what is paused, or begin what is unfinished."""
        service.resume(**body.model_dump(exclude_none=True))
        return service.snapshot()

    @app.post("/api/stop")
    def stop(body: Stop) -> dict[str, Any]:
        """End the job after the frame at hand."""
        service.stop(body.confirm)
        return service.snapshot()

    @app.post("/api/answer")
    def answer(body: Answer) -> dict[str, Any]:
        """Answer the open question."""
        service.answer(body.question, body.answer)
        return service.snapshot()

    @app.post("/api/acknowledge")
    def acknowledge(body: Acknowledge) -> dict[str, Any]:
        """Stop repeating an alert."""
        service.acknowledge(body.alert)
        return service.snapshot()

    @app.get("/api/jobs")
    def jobs() -> list[dict[str, Any]]:
        """Jobs of this workspace's daemons, newest first."""
        return [job.to_json() for job in service.jobs]

    @app.get("/api/jobs/{job_id}")
    def job(job_id: str) -> dict[str, Any]:
        """One job."""
        found = service.job(job_id)
        if found is None:
            raise NotFoundError(f"there is no job {job_id[:40]!r}")
        return found.to_json()

    app.include_router(make_reading(service))
    return app


async def _tell(service: Service, loop: asyncio.AbstractEventLoop) -> None:
    """Publish the snapshot when it has changed; the engine's thread never writes JSON for it."""
    changed = asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(changed.set)

    service.live.changed = wake
    told: State | None = None
    while True:
        await changed.wait()
        changed.clear()
        snapshot = service.snapshot()
        service.hub.publish("state", snapshot)
        quiet_s = 0.0 if snapshot["state"] is not told else _COALESCE_S
        told = snapshot["state"]
        await asyncio.sleep(quiet_s)


def _tell_problems(app: FastAPI, service: Service) -> None:
    """Every error as a `Problem`; what was sent is never repeated in it."""

    def problem(status: int, detail: Any, reason: str) -> JSONResponse:  # noqa: ANN401
        document = {"detail": detail, "state": service.snapshot()["state"], "reason": reason}
        return JSONResponse(document, status_code=status)

    @app.exception_handler(RefusedError)
    async def refused(_request: Request, error: RefusedError) -> JSONResponse:
        return problem(409, str(error), error.reason)

    @app.exception_handler(NotFoundError)
    async def missing(_request: Request, error: NotFoundError) -> JSONResponse:
        return problem(404, str(error), "not_found")

    @app.exception_handler(WorkspaceError)
    @app.exception_handler(CatalogError)
    @app.exception_handler(RigError)
    async def wrong(_request: Request, error: Exception) -> JSONResponse:
        action = getattr(error, "action", "")
        return problem(422, f"{error}" + (f" ({action})" if action else ""), "unknown")

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        lines = [
            ".".join(str(part) for part in one["loc"]) + f": {one['msg']}" for one in error.errors()
        ]
        return problem(422, "; ".join(lines)[:2000], "invalid")
