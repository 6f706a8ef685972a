"""Between a guided sweep's `capture.guided.Guide` and a run over the catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from capture.evidence import RULE, Judged, judged, require_rule
from capture.frames import Skipped
from capture.guidance import Guidance
from capture.guided import Guide
from capture.todo import Todo
from rig.errors import Abort
from schemas.acceptance import Extremes
from schemas.capture_store import add_event, list_events
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import FINAL, list_frames
from schemas.plan import Shot, SweepPlan
from schemas.records import Outcome

#: The event that says of a run that it was guided, and how.
_EVENT = "guided"


class RunGuide:
    """What a runner asks for its next shot and tells what became of it."""

    def __init__(self, guide: Guide, attempts: Mapping[str, int]) -> None:
        self._guide = guide
        self._attempts = attempts

    def draw(self) -> Todo | None:
        """The next shot; None while that depends on verdicts that are out, and at the end."""
        shot = self._guide.next()
        return None if shot is None else Todo(shot, self._attempts.get(shot.exposure.stem, 0))

    def learn(self, shot: Shot, outcome: Outcome, luma: Extremes | None) -> None:
        """A drawn shot has its row; without `luma` it was given up."""
        frame = None
        if luma is not None and outcome in FINAL:
            frame = Judged(shot.exposure, outcome, luma.black_fraction, luma.white_fraction)
        self._guide.learn(shot.exposure, frame)

    def withdraw(self, shot: Shot) -> None:
        """The row of a shot was taken back; its shot is out again."""
        self._guide.withdraw(shot.exposure)

    def skipped(self) -> list[Skipped]:
        """What need not be shot, once `draw` has come to its end."""
        return [
            Skipped(skip.shot, self._attempts.get(skip.shot.exposure.stem, 0), skip.reason)
            for skip in self._guide.skips()
        ]

    def left(self) -> tuple[int, float]:
        """Shots that may still come, and their open shutter in seconds: upper bounds."""
        left = self._guide.left()
        return len(left), sum(shot.exposure.shutter_s for shot in left)

    def refutation(self) -> str:
        """Why the claim that the skipped shots are certain has failed; empty if it has not."""
        found = self._guide.refuted
        if not found:
            return ""
        named = "; ".join(map(str, found[:3])) + ("; …" if len(found) > 3 else "")
        return f"the audit refutes {len(found)} of the skipped shots: {named}"


def start_guide(
    catalog: Catalog,
    scene: str,
    lighting: str,
    plan: SweepPlan,
    guidance: Guidance,
    *,
    ev_reference: int = 0,
    limit: int | None = None,
) -> Guide:
    """A guide that knows what the catalog has of this scene and lighting.

    Parameters
    ----------
    ev_reference : int
        Of the lighting: where to begin. What is proven does not depend on it.
    limit : int or None
        Shots to hand out at most.

    Raises
    ------
    Abort
        If the plan's acceptance rule is not the one that witnesses prove.
    """
    require_provable(plan)
    rows = list_frames(catalog, scene=scene, lighting=lighting)
    known = [frame for frame in map(judged, rows) if frame is not None]
    return Guide(plan, ev_reference, known, audit=guidance.audit, limit=limit)


def require_provable(plan: SweepPlan) -> None:
    """Raise Abort if a plan's acceptance rule is not the one that witnesses prove."""
    try:
        require_rule(plan)
    except ValueError as error:
        raise Abort(
            str(error), f'leave out --sweep guided, or set acceptance = "{RULE}" in the plan'
        ) from error


def settled_by_witness(
    catalog: Catalog, scene: str, lighting: str, plan: SweepPlan, guidance: Guidance
) -> set[Exposure]:
    """Shots that need nothing more: their row says `skipped`, and a witness still stands.

    Those that an audit is to shoot are not among them.
    """
    guide = start_guide(catalog, scene, lighting, plan, guidance)
    audit = {shot.exposure for shot in guide.to_audit()}
    certain = {skip.shot.exposure for skip in guide.certain()} - audit
    rows = list_frames(catalog, scene=scene, lighting=lighting, outcome=Outcome.SKIPPED)
    return {row.requested for row in rows if row.requested in certain}


def note_guidance(catalog: Catalog, run_id: int, guidance: Guidance) -> None:
    """Record that a run is guided, for a resume."""
    add_event(catalog, run_id, _EVENT, "", json.dumps(asdict(guidance)))


def recall_guidance(catalog: Catalog, run_id: int) -> Guidance | None:
    """How a run was guided; None for an exhaustive one."""
    for event in list_events(catalog, run_id):
        if event.kind == _EVENT:
            return Guidance(**json.loads(event.detail))
    return None
