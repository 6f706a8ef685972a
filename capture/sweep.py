"""A sweep from its plan to its summary: what is left, the checks before, the run, its end."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from capture.frames import Sweep
from capture.light_log import LightLog
from capture.orphans import sweep_orphans
from capture.provenance import versions
from capture.readiness import Readiness, check_readiness
from capture.runner import Ending, Runner, Todo
from capture.states import Machine, Snapshot, Watch
from capture.stopping import StopRequest
from capture.storing import Storing
from rig.bench import Bench
from rig.errors import Abort, RigError
from schemas.capture_store import add_event, end_run, list_runs, put_lighting, start_run
from schemas.catalog import Catalog
from schemas.frame_store import FINAL, load_attempts
from schemas.plan import Lighting, Shot, SweepPlan
from schemas.records import Outcome, RunStatus
from schemas.workspace import Workspace

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Survey:
    """What a plan has come to under one lighting of a scene: resume is subtraction.

    Attributes
    ----------
    counts : dict
        Rows of the plan's shots by outcome.
    remaining : tuple of Shot
        Shots without a final row, in the plan's order; failed ones are shot again.
    attempts : dict
        Exposures so far by setting.
    """

    counts: dict[Outcome, int]
    remaining: tuple[Shot, ...]
    attempts: dict[str, int]


@dataclass(frozen=True)
class Summary:
    """How a run ended, and where its sweep stands. Counts are of the plan's shots.

    `run` is None where nothing was left to shoot. `attempts` counts this run's exposures.
    """

    run: int | None
    scene: str
    lighting: str
    status: RunStatus
    reason: str
    planned: int
    accepted: int
    rejected_black: int
    rejected_white: int
    failed: int
    skipped: int
    remaining: int
    attempts: int
    seconds: float
    plan_digest: str
    simulated: bool
    next: str

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def survey(catalog: Catalog, scene: str, lighting: str, plan: SweepPlan) -> Survey:
    """Subtract what has its row from a plan."""
    known = load_attempts(catalog, scene, lighting)
    shots = list(plan)
    outcomes = [known[s.exposure.stem][0] for s in shots if s.exposure.stem in known]
    remaining = [s for s in shots if known.get(s.exposure.stem, (None, 0))[0] not in FINAL]
    attempts = {s.exposure.stem: known.get(s.exposure.stem, (None, 0))[1] for s in remaining}
    return Survey(dict(Counter(outcomes)), tuple(remaining), attempts)


def require_same_rule(catalog: Catalog, scene: str, lighting: str, plan: SweepPlan) -> None:
    """Raise Abort if frames of this sweep were judged by another acceptance rule."""
    for run in list_runs(catalog, scene=scene, lighting=lighting):
        other = run.plan.acceptance if run.plan else plan.acceptance
        if other != plan.acceptance:
            raise Abort(
                f"the frames of {scene} under {lighting} are judged by {other!r}, this plan "
                f"judges by {plan.acceptance!r}: one sweep has one rule",
                f'set acceptance = "{other}" in the plan, or add a scene of another name',
            )


def run_sweep(
    workspace: Workspace,
    catalog: Catalog,
    bench: Bench,
    *,
    scene: str,
    lighting: Lighting,
    plan: SweepPlan,
    attempts: int = 3,
    limit: int | None = None,
    stop: StopRequest | None = None,
    watch: Watch = lambda _snapshot: None,
) -> Summary:
    """Shoot what a plan still lacks. The caller owns the workspace and has opened the bench.

    Parameters
    ----------
    attempts : int
        Failed exposures of a shot after which its row says `failed`.
    limit : int or None
        Shots to take at most.
    stop : StopRequest or None
        Obeyed after the frame at hand.
    watch : callable
        Gets a `Snapshot` at each step, on the camera's thread: it must return at once.

    Returns
    -------
    Summary
        Its status is DONE when every shot of the plan has a final row, STOPPED when the run
        can simply go on, FAILED when shots were given up or something broke.

    Raises
    ------
    AskOperator, Abort
        Before there is a run: the camera is not ready, or the plan does not fit.
    """
    begun_s = time.monotonic()
    stop = stop or StopRequest()
    machine = Machine()
    put_lighting(catalog, lighting)
    require_same_rule(catalog, scene, lighting.name, plan)
    before = survey(catalog, scene, lighting.name, plan)
    if not before.remaining:
        return summarize_sweep(catalog, scene, lighting.name, plan)
    watch(Snapshot(machine.state, len(plan), before.counts, message="checking the devices"))
    ready = check_readiness(bench, before.remaining, lighting)
    for warning in ready.warnings:
        watch(Snapshot(machine.state, len(plan), before.counts, message=warning))
    run_id = _begin(workspace, catalog, bench, scene, lighting, plan, ready)
    sweep = Sweep(run_id, scene, lighting, plan.acceptance, ready.offered)
    light = LightLog(bench.meter)
    storing = Storing(workspace, catalog, sweep, light)
    runner = Runner(
        bench.camera,
        bench.camera_info,
        storing,
        light,
        (Todo(shot, before.attempts[shot.exposure.stem]) for shot in before.remaining[:limit]),
        planned=len(plan),
        counts=_settled(before.counts),
        attempts=attempts,
        stop=stop,
        watch=watch,
        machine=machine,
    )
    ending = Ending(RunStatus.STOPPED, "stopped at once", 0)
    try:
        light.start()
        storing.start()
        ending = runner.run()
    finally:
        light.stop()
        storing.close()
        _end(catalog, run_id, ending)
    if isinstance(ending.error, Exception) and not isinstance(ending.error, RigError):
        raise ending.error
    return summarize_sweep(
        catalog,
        scene,
        lighting.name,
        plan,
        run=run_id,
        ending=ending,
        seconds=time.monotonic() - begun_s,
        simulated=simulated(bench),
    )


def _begin(
    workspace: Workspace,
    catalog: Catalog,
    bench: Bench,
    scene: str,
    lighting: Lighting,
    plan: SweepPlan,
    ready: Readiness,
) -> int:
    """Open the run's row, and note what a crash left and what the checks warned of."""
    run_id = start_run(
        catalog,
        scene=scene,
        lighting=lighting.name,
        plan=plan,
        simulated=simulated(bench),
        devices=devices(bench),
        versions=versions(),
    )
    for orphan in sweep_orphans(workspace, catalog, scene, lighting.name):
        add_event(catalog, run_id, "orphan", "", orphan)
    for warning in ready.warnings:
        add_event(catalog, run_id, "warning", "", warning)
    return run_id


def simulated(bench: Bench) -> bool:
    """Whether a device says of itself that it is virtual."""
    return bench.camera_info.simulated or bench.meter_info.simulated


def devices(bench: Bench) -> dict[str, Any]:
    """Who took the frames, for the run's record."""
    return {"camera": asdict(bench.camera_info), "meter": asdict(bench.meter_info)}


def _settled(counts: dict[Outcome, int]) -> dict[Outcome, int]:
    return {outcome: n for outcome, n in counts.items() if outcome in FINAL}


def _end(catalog: Catalog, run_id: int, ending: Ending) -> None:
    try:
        end_run(catalog, run_id, ending.status, ending.reason)
    except SQLAlchemyError:  # a full disk: the run shows as interrupted, which is true enough
        _log.warning("the end of run %d could not be recorded", run_id, exc_info=True)


def summarize_sweep(
    catalog: Catalog,
    scene: str,
    lighting: str,
    plan: SweepPlan,
    *,
    run: int | None = None,
    ending: Ending | None = None,
    seconds: float = 0.0,
    simulated: bool = False,
) -> Summary:
    """Where a sweep stands, from its rows."""
    now = survey(catalog, scene, lighting, plan)
    ending = ending or Ending(RunStatus.DONE, "complete already", 0)
    resume = f"snaprig capture resume --scene {scene} --lighting {lighting}"
    action = getattr(ending.error, "action", "")
    return Summary(
        run=run,
        scene=scene,
        lighting=lighting,
        status=ending.status,
        reason=ending.reason,
        planned=len(plan),
        **{str(outcome): now.counts.get(outcome, 0) for outcome in Outcome},
        remaining=len(now.remaining),
        attempts=ending.exposures,
        seconds=round(seconds, 3),
        plan_digest=plan.digest,
        simulated=simulated,
        next=(action or resume) if now.remaining else "",
    )
