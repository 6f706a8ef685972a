"""A sweep from its plan to its summary: what is left, the checks before, the run, its end."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from capture.black_rows import load_black_rows
from capture.examiner import Examiner
from capture.frames import Sweep
from capture.guidance import Guidance
from capture.guiding import RunGuide, note_guidance, settled_by_witness, start_guide
from capture.light_log import LightLog
from capture.orphans import sweep_orphans
from capture.pace import Pace
from capture.provenance import versions
from capture.readiness import Readiness, check_readiness
from capture.recovery import COUNTED
from capture.reference import Reference, Schedule, choose
from capture.reference_store import load_references
from capture.rescue import Recovery
from capture.runner import Runner
from capture.states import Machine, Snapshot, Watch
from capture.stopping import StopRequest
from capture.storing import Storing
from capture.suspension import PATIENCE_S
from capture.todo import Ending, Todo
from rig.bench import Bench
from rig.errors import Abort, AskOperator, RigError
from rig.light_guard import Band
from rig.protocols import LightMeter
from schemas.capture_store import (
    add_event,
    end_run,
    list_events,
    list_runs,
    put_lighting,
    start_run,
)
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

    `run` is None where nothing was left to shoot. `needs_operator`: the run ended because somebody
    has to do what `next` says. `attempts` counts this run's exposures. Of a
    guided sweep `remaining` is an upper bound. Reference frames are not counted. `retries` is what
    went wrong in this run, by kind (`capture.recovery.COUNTED`).
    """

    run: int | None
    scene: str
    lighting: str
    sweep: str
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
    retries: dict[str, int]
    seconds: float
    plan_digest: str
    simulated: bool
    next: str
    needs_operator: bool = False

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def survey(
    catalog: Catalog,
    scene: str,
    lighting: str,
    plan: SweepPlan,
    guidance: Guidance | None = None,
) -> Survey:
    """Subtract what has its row from a plan; in a guided sweep `skipped` is one, if it stands."""
    known = load_attempts(catalog, scene, lighting)
    shots = list(plan)
    outcomes = [known[s.exposure.stem][0] for s in shots if s.exposure.stem in known]
    remaining = [s for s in shots if known.get(s.exposure.stem, (None, 0))[0] not in FINAL]
    if guidance is not None:
        settled = settled_by_witness(catalog, scene, lighting, plan, guidance)
        remaining = [shot for shot in remaining if shot.exposure not in settled]
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
    guidance: Guidance | None = None,
    attempts: int = 3,
    limit: int | None = None,
    stop: StopRequest | None = None,
    watch: Watch = lambda _snapshot: None,
    ready: Readiness | None = None,
    patience_s: float = PATIENCE_S,
    recovery: Recovery = Recovery(),  # noqa: B008 - frozen
    references: bool = True,
    make_light: Callable[[LightMeter, Band], LightLog] = LightLog,
    pace: Pace | None = None,
) -> Summary:
    """Shoot what a plan still lacks. The caller owns the workspace and has opened the bench.

    Parameters
    ----------
    guidance : Guidance or None
        How to skip what is certain to be rejected; None to shoot everything.
    attempts : int
        Failed exposures of a shot after which its row says `failed`.
    limit : int or None
        Shots to take at most.
    stop : StopRequest or None
        Obeyed after the frame at hand.
    watch : callable
        Gets a `Snapshot` at each step, on the camera's thread: it must return at once.
    ready : Readiness or None
        What the preflight found; None for its least part, `check_readiness`.
    patience_s : float
        With wrong light the run is suspended for so long, then it ends, resumable.
    recovery : Recovery
        What helps when the camera fails, and who can be asked.
    references : bool
        Whether reference frames are taken and frames compared with them.
    make_light : callable
        Makes the light log of the run; tests have one with a clock of theirs.
    pace : Pace or None
        What earlier sweeps have measured, for the time left; grows with this one.

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
    before = survey(catalog, scene, lighting.name, plan, guidance)
    if not before.remaining:
        return summarize_sweep(catalog, scene, lighting.name, plan, guidance)
    watch(Snapshot(machine.state, len(plan), before.counts, message="checking the devices"))
    with make_light(bench.meter, Band.of(lighting)) as light:
        ready = ready or check_readiness(bench, before.remaining)
        for warning in ready.warnings:
            watch(Snapshot(machine.state, len(plan), before.counts, message=warning))
        run_id = _begin(workspace, catalog, bench, scene, lighting, plan, ready)
        sweep = Sweep(run_id, scene, lighting, plan.acceptance, ready.offered)
        guiding = None
        if guidance is not None:
            note_guidance(catalog, run_id, guidance)
            guide = start_guide(
                catalog,
                scene,
                lighting.name,
                plan,
                guidance,
                ev_reference=lighting.ev_reference,
                limit=limit,
            )
            guiding = RunGuide(guide, before.attempts)
        first: Reference | None = None
        schedule: Schedule | None = None
        if references:
            first, number = load_references(workspace, catalog, scene, lighting.name)
            schedule = Schedule(choose(plan, ready.offered, lighting.ev_reference), number)
        black = load_black_rows(catalog, scene, lighting, plan) if references else ()
        storing = Storing(workspace, catalog, sweep, light, Examiner(sweep, first, black))
        runner = Runner(
            bench.camera,
            bench.camera_info,
            storing,
            light,
            () if guiding else _todo(before, limit),
            planned=len(plan),
            counts=_settled(before.counts),
            attempts=attempts,
            stop=stop,
            watch=watch,
            machine=machine,
            guiding=guiding,
            patience_s=patience_s,
            references=schedule,
            recovery=recovery,
            pace=pace,
            limited=limit is not None,
        )
        ending = Ending(RunStatus.STOPPED, "stopped at once", 0)
        try:
            storing.start()
            ending = runner.run()
        finally:
            storing.close()
            _end(catalog, run_id, ending)
    if isinstance(ending.error, Exception) and not isinstance(ending.error, RigError):
        raise ending.error
    return summarize_sweep(
        catalog,
        scene,
        lighting.name,
        plan,
        guidance,
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
        devices={
            **devices(bench),
            "light_guard": asdict(Band.of(lighting)),
            **({"preflight": "forced"} if ready.forced else {}),
        },
        versions=versions(),
    )
    for kind, detail in ready.events:
        add_event(catalog, run_id, kind, "", detail)
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


def _todo(before: Survey, limit: int | None) -> list[Todo]:
    return [Todo(shot, before.attempts[shot.exposure.stem]) for shot in before.remaining[:limit]]


def _settled(counts: dict[Outcome, int]) -> dict[Outcome, int]:
    return {outcome: n for outcome, n in counts.items() if outcome in FINAL}


def _end(catalog: Catalog, run_id: int, ending: Ending) -> None:
    try:
        end_run(catalog, run_id, ending.status, ending.reason)
    except SQLAlchemyError:  # a full disk: the run shows as interrupted, which is true enough
        _log.warning("the end of run %d could not be recorded", run_id, exc_info=True)


def _retries(catalog: Catalog, run: int | None) -> dict[str, int]:
    kinds = (event.kind for event in list_events(catalog, run)) if run is not None else ()
    return dict(Counter(kind for kind in kinds if kind in COUNTED))


def summarize_sweep(
    catalog: Catalog,
    scene: str,
    lighting: str,
    plan: SweepPlan,
    guidance: Guidance | None = None,
    *,
    run: int | None = None,
    ending: Ending | None = None,
    seconds: float = 0.0,
    simulated: bool = False,
) -> Summary:
    """Where a sweep stands, from its rows."""
    now = survey(catalog, scene, lighting, plan, guidance)
    ending = ending or Ending(RunStatus.DONE, "complete already", 0)
    resume = f"snaprig capture resume --scene {scene} --lighting {lighting}"
    action = getattr(ending.error, "action", "")
    return Summary(
        run=run,
        scene=scene,
        lighting=lighting,
        sweep="exhaustive" if guidance is None else "guided",
        status=ending.status,
        reason=ending.reason,
        planned=len(plan),
        **{str(outcome): now.counts.get(outcome, 0) for outcome in Outcome},
        remaining=len(now.remaining),
        attempts=ending.exposures,
        retries=_retries(catalog, run),
        seconds=round(seconds, 3),
        plan_digest=plan.digest,
        simulated=simulated,
        next=(action or resume) if now.remaining else "",
        needs_operator=bool(now.remaining) and isinstance(ending.error, AskOperator),
    )
