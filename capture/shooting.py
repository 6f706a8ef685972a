"""From an open bench to the end of a sweep: what `capture run`, `resume` and `batch` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import click

from capture.asking import asker
from capture.guidance import Guidance
from capture.pace import Pace
from capture.preflight_gate import Gate
from capture.progress import shown
from capture.rescue import Recovery
from capture.states import Snapshot
from capture.stopping import StopRequest
from capture.sweep import Summary, run_sweep, survey
from rig.bench import Bench
from rig.cli import DONE, FAILED, RESUMABLE
from rig.config import RigConfig
from schemas.catalog import Catalog
from schemas.plan import Lighting, SweepPlan
from schemas.records import Outcome, RunStatus
from schemas.workspace import Workspace

#: Exit status of a command by how its run ended.
EXIT = {RunStatus.DONE: DONE, RunStatus.FAILED: FAILED, RunStatus.STOPPED: RESUMABLE}


def say(text: str) -> None:
    """Tell a person at the terminal."""
    click.echo(text, err=True)


@dataclass(frozen=True)
class Shooting:
    """How sweeps are shot at a terminal.

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
    """

    workspace: Workspace
    catalog: Catalog
    config: RigConfig
    gate: Gate
    attempts: int
    references: bool = True

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
        with shown(f"{scene}/{lighting.name}", more=more) as watch:
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
                recovery=Recovery(camera.power_switch, camera.margin_s, asker(stop, say)),
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
