"""From an open bench to the end of a sweep: what `capture run`, `resume` and `batch` share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import click

from capture.asking import Ask, asker
from capture.guidance import Guidance
from capture.light_log import LightLog
from capture.pace import Pace
from capture.preflight_gate import Gate
from capture.progress import shown
from capture.rescue import Recovery
from capture.states import Snapshot, Watch
from capture.stopping import StopRequest
from capture.sweep import Summary, run_sweep, survey
from rig.bench import Bench
from rig.cli import DONE, FAILED, RESUMABLE
from rig.config import RigConfig
from rig.light_guard import Band
from rig.protocols import LightMeter
from schemas.catalog import Catalog
from schemas.plan import Lighting, SweepPlan
from schemas.records import Outcome, RunStatus
from schemas.workspace import Workspace

#: Exit status of a command by how its run ended.
EXIT = {RunStatus.DONE: DONE, RunStatus.FAILED: FAILED, RunStatus.STOPPED: RESUMABLE}


def say(text: str) -> None:
    """Tell a person at the terminal."""
    click.echo(text, err=True)


class Desk(Protocol):
    """Who watches a sweep and answers its questions."""

    def shown(self, title: str, more: Callable[[Snapshot], str]) -> AbstractContextManager[Watch]:
        """Within: the watcher shows its snapshots, with `more` behind the time left."""
        ...

    def asker(self, stop: StopRequest) -> Ask | None:
        """Asks for what only a person can do; None where nobody is there."""
        ...

    def light(self, meter: LightMeter, band: Band) -> LightLog:
        """A light log, not started."""
        ...


class Terminal:
    """A person at a terminal, or nobody."""

    def shown(self, title: str, more: Callable[[Snapshot], str]) -> AbstractContextManager[Watch]:
        """A bar, or lines."""
        return shown(title, more=more)

    def asker(self, stop: StopRequest) -> Ask | None:
        """Waits for Enter."""
        return asker(stop, say)

    def light(self, meter: LightMeter, band: Band) -> LightLog:
        """Nobody looks at the readings."""
        return LightLog(meter, band)


@dataclass(frozen=True)
class Shooting:
    """How sweeps are shot.

    Attributes
    ----------
    workspace, catalog, config
        Owned by the caller.
    gate : Gate
        The preflight before each sweep.
    attempts : int
        Failed exposures of a shot after which it is given up.
    references : bool
        Whether reference frames are taken.
    desk : Desk
        Who watches and answers.
    """

    workspace: Workspace
    catalog: Catalog
    config: RigConfig
    gate: Gate
    attempts: int
    references: bool = True
    desk: Desk = field(default_factory=Terminal)

    def sweep(
        self,
        bench: Bench,
        scene: str,
        lighting: Lighting,
        plan: SweepPlan,
        *,
        stop: StopRequest,
        guidance: Guidance | None = None,
        limit: int | None = None,
        pace: Pace | None = None,
        more: Callable[[Snapshot], str] = lambda _snapshot: "",
    ) -> Summary:
        """Preflight, then the sweep. `more` is shown behind the time left.

        Raises
        ------
        RigError
            Before there is a run: what the preflight refuses for.
        """
        left = survey(self.catalog, scene, lighting.name, plan, guidance).remaining[:limit]
        ready = self.gate.check(
            self.workspace,
            self.catalog,
            self.config,
            bench,
            left,
            lighting,
            stopped=lambda: stop.asked,
        )
        camera = self.config.camera
        with self.desk.shown(f"{scene}/{lighting.name}", more) as watch:
            return run_sweep(
                self.workspace,
                self.catalog,
                bench,
                scene=scene,
                lighting=lighting,
                plan=plan,
                guidance=guidance,
                attempts=self.attempts,
                limit=limit,
                ready=ready,
                stop=stop,
                watch=watch,
                patience_s=self.config.guard.patience_min * 60,
                references=self.references,
                recovery=Recovery(camera.power_switch, camera.margin_s, self.desk.asker(stop)),
                make_light=self.desk.light,
                pace=pace,
            )


def sentence(summary: Summary) -> str:
    """How a run ended, in one line for a person."""
    counts = [
        f"{n} {outcome.replace('_', ' ')}"
        for outcome in Outcome
        if (n := getattr(summary, outcome.value))
    ]
    why = f" ({summary.reason})" if summary.reason else ""
    bound = "at most " if summary.sweep == "guided" else ""
    left = f"; {bound}{summary.remaining} left to shoot" if summary.remaining else ""
    return (
        f"{summary.scene} under {summary.lighting}: {summary.status}{why}, "
        f"{summary.planned} planned: {', '.join(counts) or 'nothing shot'}{left}"
    )
