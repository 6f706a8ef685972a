"""What the API tells from the catalog: grid, light, frames, history, and what can be started.

Plain functions: each reads a little, beside the loop. Files are named by their frame's number and
never by a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse, Response

from capture.batch import read_batch
from capture.daemon.past import history, plan_of_sweep, run_events
from capture.daemon.pictures import clipping, thumbnail
from capture.daemon.problems import NotFoundError
from capture.daemon.service import Service
from capture.daemon.work import toml_files
from capture.progress import duration
from rig.config import RigConfig
from rig.errors import Abort
from schemas.capture_store import find_run, list_events, list_lightings, list_scenes
from schemas.exposure import spell_shutter
from schemas.frame_store import list_frames, load_histogram
from schemas.history_store import find_frame, latest_frames, latest_run, list_lux, waits
from schemas.plan import SweepPlan
from schemas.records import Frame, utc_now

#: Points of a lux trace: as many as a screen is wide.
_POINTS = 1200
#: A file's bytes never change under its name.
_FOR_GOOD = {"Cache-Control": "private, max-age=86400, immutable"}

_ID = Annotated[int, Path(ge=1, le=2**53)]
_Name = Annotated[str | None, Query(max_length=200)]
_Width = Annotated[int, Query(ge=16, le=1920)]


def make_reading(service: Service) -> APIRouter:
    """The routes that only read."""
    router = APIRouter(prefix="/api")
    catalog = service.catalog

    @router.get("/options")
    def options() -> dict[str, Any]:
        """What can be started, and the revision that a start quotes."""
        config = RigConfig.load(service.workspace.rig_toml)
        return {
            "rev": service.live.rev,
            "scenes": [
                {"name": one.name, "category": one.category, "count": one.count}
                for one in list_scenes(catalog)
            ],
            "lightings": [
                {"name": one.name, "lux": one.lux, "tolerance": one.tolerance}
                for one in config.lighting.values()
            ],
            **_files(service),
        }

    @router.get("/history")
    def past(
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    ) -> list[dict[str, Any]]:
        """Runs of sweeps with what became of them and why, newest first."""
        return history(catalog, _run_at_hand(service), limit=limit, before=before)

    @router.get("/runs/{run}/events")
    def events(run: _ID) -> list[dict[str, Any]]:
        """What happened in a run, in plain words."""
        return run_events(catalog, run)

    @router.get("/preflight")
    def findings() -> dict[str, Any]:
        """What the last preflight found, alone or before a sweep."""
        return service.live.found or {"at": None, "findings": []}

    @router.get("/grid")
    def grid(scene: _Name = None, lighting: _Name = None) -> dict[str, Any]:
        """Every setting of a sweep's plan and what became of it."""
        where = _sweep(service, scene, lighting)
        job = service.live.job
        mine = job is not None and (job.scene, job.lighting) == where
        plan = (job.plan if mine and job else None) or plan_of_sweep(catalog, *where)
        if plan is None:
            raise NotFoundError("there is no such sweep")
        return _grid(service, plan, *where)

    @router.get("/light")
    def light(
        run: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        seconds: Annotated[float | None, Query(gt=0, le=86400)] = None,
    ) -> dict[str, Any]:
        """The lux trace of a run, its band, and when it waited for the light."""
        if run is None:
            job = service.live.job
            run = job.run if job else None
        found = None if run is None else find_run(catalog, run)
        if found is None:
            return {"run": None, "points": [], "suspensions": [], "low": None, "high": None}
        since = None if seconds is None else utc_now() - timedelta(seconds=seconds)
        band = found.devices.get("light_guard", {})
        lux = list_lux(catalog, found.id, since=since)
        happened = [(one.kind, one.at, one.detail) for one in list_events(catalog, found.id)]
        end = found.ended_at or utc_now()
        reasons = {at: detail for kind, at, detail in happened if kind == "suspended"}
        times = waits([(kind, at) for kind, at, _ in happened], end)
        return {
            "run": found.id,
            "points": [[round(at.timestamp(), 2), value] for at, value in thinned(lux)],
            "suspensions": [
                {
                    "from": round(begin.timestamp(), 2),
                    "to": round(over.timestamp(), 2),
                    "reason": reasons.get(begin, ""),
                }
                for begin, over, kind in times
                if kind == "suspended"
            ],
            "low": band.get("low"),
            "high": band.get("high"),
        }

    _add_frames(router, service)
    return router


def _add_frames(router: APIRouter, service: Service) -> None:
    """Routes of single frames and their files."""
    catalog = service.catalog

    @router.get("/frames")
    def frames(
        scene: _Name = None,
        lighting: _Name = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 24,
    ) -> list[dict[str, Any]]:
        """Shots of plans that got their row last, newest first."""
        found = latest_frames(catalog, scene=scene, lighting=lighting, limit=limit)
        return [_facts(frame) for frame in found]

    @router.get("/frames/{frame_id}")
    def frame(frame_id: _ID) -> dict[str, Any]:
        """All that is known of one shot, its luma histogram included."""
        found = _frame(service, frame_id)
        luma = load_histogram(catalog, frame_id)
        counts = None
        if luma is not None:
            counts = [int.from_bytes(luma[i : i + 4], "little") for i in range(0, 1024, 4)]
        return _facts(found) | {"histogram": counts}

    @router.get("/frames/{frame_id}/image", response_class=FileResponse)
    def image(frame_id: _ID) -> Response:
        """The stored file, byte for byte."""
        path = service.file_of(_frame(service, frame_id))
        return FileResponse(path, media_type="image/jpeg", headers=_FOR_GOOD)

    @router.get("/frames/{frame_id}/thumbnail", response_class=Response)
    def small(frame_id: _ID, width: _Width = 480) -> Response:
        """A small JPEG of it."""
        path = service.file_of(_frame(service, frame_id))
        return Response(thumbnail(path, width), media_type="image/jpeg", headers=_FOR_GOOD)

    @router.get("/frames/{frame_id}/clipping", response_class=Response)
    def clipped(frame_id: _ID, width: _Width = 480) -> Response:
        """Where it is clipped, at the full size and then made small: 127 black, 255 white."""
        path = service.file_of(_frame(service, frame_id))
        return Response(clipping(path, width), media_type="image/png", headers=_FOR_GOOD)


def thinned(points: list[tuple[Any, float]], most: int = _POINTS) -> list[tuple[Any, float]]:
    """At most so many of them, lowest and highest of each stretch kept: no dip is lost."""
    if len(points) <= most:
        return points
    cuts = [len(points) * i // (most // 2) for i in range(most // 2 + 1)]
    kept: list[tuple[Any, float]] = []
    for low, high in pairwise(cuts):
        part = points[low:high]
        ends = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept


def _files(service: Service) -> dict[str, list[dict[str, Any]]]:
    """TOML files of the workspace that are plans or batches."""
    whole = SweepPlan()
    plans = [_plan("", whole)]
    batches = []
    for path in toml_files(service.workspace):
        try:
            plans.append(_plan(path.name, SweepPlan.from_file(path)))
            continue
        except (ValueError, OSError):
            pass  # a batch, or something else
        try:
            batch, _ = read_batch(path)
        except (Abort, OSError):
            continue
        names = [scene.name for scene in batch.scene]
        batches.append({"name": path.name, "scenes": names, "lightings": list(batch.lightings)})
    return {"plans": plans, "batches": batches}


def _plan(name: str, plan: SweepPlan) -> dict[str, Any]:
    cost = plan.estimate()
    return {
        "name": name,
        "shots": cost.shots,
        "duration_s": round(cost.duration_s, 1),
        "duration_text": f"about {duration(cost.duration_s)}",
    }


def _run_at_hand(service: Service) -> int | None:
    job = service.live.job
    return None if job is None or job.over else job.run


def _sweep(service: Service, scene: str | None, lighting: str | None) -> tuple[str, str]:
    job = service.live.job
    if scene is not None and lighting is not None:
        return scene, lighting
    if job is None or not job.scene or not job.lighting:
        raise NotFoundError("there is no sweep yet: name scene and lighting")
    return scene or job.scene, lighting or job.lighting


def _grid(service: Service, plan: SweepPlan, scene: str, lighting: str) -> dict[str, Any]:
    rows = {
        frame.setting: frame
        for frame in list_frames(service.catalog, scene=scene, lighting=lighting)
    }
    known = {one.name: one.ev_reference for one in list_lightings(service.catalog)}
    return {
        "scene": scene,
        "lighting": lighting,
        "run": latest_run(service.catalog, scene, lighting),
        "shutter": list(plan.shutter),
        "iso": list(plan.iso),
        "f_number": list(plan.f_number),
        "cells": list(_cells(plan, rows, known.get(lighting))),
    }


def _cells(
    plan: SweepPlan, rows: dict[str, Frame], ev_reference: int | None
) -> Iterator[dict[str, Any]]:
    for shot in plan:
        exposure = shot.exposure
        row = rows.get(exposure.stem)
        yield {
            "stem": exposure.stem,
            "shutter": spell_shutter(exposure.shutter_s),
            "iso": exposure.iso,
            "f_number": exposure.f_number,
            "ev_offset": None if ev_reference is None else exposure.ev_offset(ev_reference),
            "outcome": row.outcome if row else None,
            "frame_id": row.id if row else None,
            "attempts": row.attempt if row else 0,
            "reason": row.reason if row else "",
            "has_file": bool(row and row.path),
        }


def _frame(service: Service, frame_id: int) -> Frame:
    found = find_frame(service.catalog, frame_id)
    if found is None:
        raise NotFoundError(f"there is no frame {frame_id}")
    return found


def _facts(frame: Frame) -> dict[str, Any]:
    asked, light = frame.requested, frame.light
    return {
        "id": frame.id,
        "scene": frame.scene,
        "lighting": frame.lighting,
        "run": frame.run_id,
        "kind": frame.kind,
        "stem": frame.setting,
        "settings": None if asked is None else str(asked),
        "shutter_s": asked and asked.shutter_s,
        "iso": asked and asked.iso,
        "f_number": asked and asked.f_number,
        "ev_offset": frame.ev_offset,
        "outcome": frame.outcome,
        "reason": frame.reason,
        "attempts": frame.attempt,
        "lux": light.lux,
        "lux_min": light.lux_min,
        "lux_max": light.lux_max,
        "black_fraction": frame.black_fraction,
        "white_fraction": frame.white_fraction,
        "mean_luma": frame.mean_luma,
        "clipping": {
            name: {"low": channel.low, "high": channel.high}
            for name, channel in (("red", frame.red), ("green", frame.green), ("blue", frame.blue))
            if channel is not None
        },
        "taken_at": frame.commanded_at and frame.commanded_at.isoformat(timespec="milliseconds"),
        "has_file": bool(frame.path),
        "size_bytes": frame.size_bytes,
        "sha256": frame.sha256,
    }
