"""Black rows, which a later picture may contradict: a dead shutter's pictures look alike."""

from __future__ import annotations

from dataclasses import dataclass

from capture.prediction import BLACK_SHARE, DOUBTFUL, light_stops
from schemas.capture_store import list_events, list_runs
from schemas.catalog import Catalog
from schemas.frame_store import list_frames
from schemas.plan import Lighting, Shot, SweepPlan
from schemas.records import Outcome

#: What taking a row back is called among the events.
WITHDRAWN = "withdrawn_black"


@dataclass(frozen=True)
class BlackRow:
    """A row that says `rejected_black` of one picture.

    Attributes
    ----------
    shot : Shot
    attempt : int
        Exposures of this shot, that picture included.
    frame : int
        The row's id.
    stops : float
        `light_stops` of the picture.
    earlier : bool
        Whether an earlier run left it.
    """

    shot: Shot
    attempt: int
    frame: int
    stops: float
    earlier: bool = False


def load_black_rows(
    catalog: Catalog, scene: str, lighting: Lighting, plan: SweepPlan
) -> list[BlackRow]:
    """Those that earlier runs of a sweep left, but for what was black twice.

    Nor those that the rule `mean` rejects though more than a few of their pixels show something.
    """
    rows = list_frames(catalog, scene=scene, lighting=lighting.name, outcome=Outcome.REJECTED_BLACK)
    black = {row.setting: row for row in rows if (row.black_fraction or 0.0) > BLACK_SHARE}
    if not black:
        return []
    for run in list_runs(catalog, scene=scene, lighting=lighting.name):
        for event in list_events(catalog, run.id):
            if event.kind in (DOUBTFUL, WITHDRAWN):
                black.pop(event.setting, None)
    return [
        BlackRow(
            shot,
            row.attempt,
            row.id,
            light_stops(shot.exposure, row.light.lux or lighting.lux),
            earlier=True,
        )
        for shot in plan
        if (row := black.get(shot.exposure.stem)) is not None and row.id is not None
    ]
