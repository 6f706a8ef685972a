"""Which sweeps can go on."""

from __future__ import annotations

from dataclasses import dataclass

from capture.guidance import Guidance
from capture.guiding import recall_guidance
from capture.sweep import survey
from schemas.capture_store import Run, list_runs
from schemas.catalog import Catalog
from schemas.plan import SweepPlan


@dataclass(frozen=True)
class Unfinished:
    """A sweep with shots left. `run` is its last one; without a status it was interrupted.

    `guidance` is that of the last run; of a guided sweep `remaining` is an upper bound.
    """

    run: Run
    plan: SweepPlan
    remaining: int
    guidance: Guidance | None = None

    def __str__(self) -> str:
        ended = self.run.status or "interrupted"
        why = f" ({self.run.reason})" if self.run.reason else ""
        mode = ", guided" if self.guidance else ""
        return (
            f"{self.run.scene} under {self.run.lighting}{mode}: {self.remaining} of "
            f"{len(self.plan)} shots left, run {self.run.id} {ended}{why}"
        )


def find_unfinished(
    catalog: Catalog, scene: str | None = None, lighting: str | None = None
) -> list[Unfinished]:
    """Sweeps with shots left, the one that ran last first."""
    last: dict[tuple[str, str, str], Run] = {}
    for run in list_runs(catalog, scene=scene, lighting=lighting):
        if run.plan is not None:
            last[run.scene, run.lighting, run.plan_digest] = run
    found = []
    for run in sorted(last.values(), key=lambda run: run.id, reverse=True):
        if run.plan is None:
            continue
        guidance = recall_guidance(catalog, run.id)
        now = survey(catalog, run.scene, run.lighting, run.plan, guidance)
        if now.remaining:
            found.append(Unfinished(run, run.plan, len(now.remaining), guidance))
    return found
