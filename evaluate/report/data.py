"""What the page shows of frames and runs, read from the catalog once.

A catalog may hold 100 scenes and more: what is drawn frame by frame is limited to the scenes
that `choose_scenes` takes; all else is aggregated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluate.report.light_plot import Trace, trace
from evaluate.report.outcome_plot import Counts, count_cells
from evaluate.report.pairs import EqualSet, choose_sets, find_sets
from evaluate.report.sheet import Strip, choose_scenes, make_strip
from schemas.answer_store import CLASSIFICATION, Answer, list_answers, list_observers
from schemas.capture_store import (
    IMPORTED,
    Run,
    list_lightings,
    list_readings,
    list_runs,
    list_scenes,
)
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import count_outcomes, list_frames
from schemas.plan import Lighting
from schemas.records import Frame, Outcome, Scene
from schemas.summary import FrameCounts
from schemas.summary import summarize as summarize_catalog


@dataclass(frozen=True)
class ReportData:
    """Frames and runs, and the pictures of some.

    Attributes
    ----------
    lightings : tuple of Lighting
        Brightest first.
    offsets : tuple of int
        EV offsets of the contact sheet: those with accepted frames, and one beyond each end.
    marks_by : str or None
        The observer whose answers sheet and pairs carry: the first one.
    """

    counts: FrameCounts
    scenes: tuple[Scene, ...]
    lightings: tuple[Lighting, ...]
    runs: tuple[Run, ...]
    traces: tuple[Trace, ...]
    cells: Counts
    strips: tuple[Strip, ...]
    offsets: tuple[int, ...]
    sets: tuple[EqualSet, ...]
    marks_by: str | None

    @property
    def simulated(self) -> bool:
        """Whether any frame comes from a virtual dark room."""
        return any(run.simulated for run in self.runs)

    @property
    def simulated_runs(self) -> dict[int, bool]:
        """By run, whether its frames come from a virtual dark room."""
        return {run.id: run.simulated for run in self.runs}

    @property
    def captured(self) -> tuple[Run, ...]:
        """Runs of a rig, not those that stand for frames taken elsewhere."""
        return tuple(run for run in self.runs if run.kind != IMPORTED)

    @property
    def all_simulated(self) -> bool:
        """Whether every frame does."""
        return bool(self.runs) and all(run.simulated for run in self.runs)


def gather(catalog: Catalog, protocol: str, *, pictures: bool) -> ReportData:
    """Read and aggregate a catalog whose responses are scored.

    Parameters
    ----------
    pictures : bool
        Whether any frame of a sweep has its file here: without, contact sheet and pairs have
        nothing to show.
    """
    scenes = list_scenes(catalog)
    lightings = list_lightings(catalog)
    runs = list_runs(catalog)
    by_name = {light.name: light for light in lightings}
    shown = choose_scenes(scenes) if pictures or not _all_imported(runs) else []
    answers, marks_by = _answers(catalog, protocol, {scene.name for scene in shown})
    frames = {
        (scene.name, light.name): list(list_frames(catalog, scene=scene.name, lighting=light.name))
        for scene in shown
        for light in lightings
    }
    offsets = _offsets(frames.values())
    simulated = {(run.scene, run.lighting): run.simulated for run in runs}
    strips = [
        make_strip(scene, light.name, found, offsets, answers, simulated[scene.name, light.name])
        for scene in shown
        for light in lightings
        if (found := frames[scene.name, light.name])
    ]
    sets = choose_sets(
        [
            find_sets(
                scene, [f for light in lightings for f in frames[scene.name, light.name]], answers
            )
            for scene in shown
        ]
    )
    return ReportData(
        counts=summarize_catalog(catalog).frames,
        scenes=tuple(scenes),
        lightings=tuple(lightings),
        runs=tuple(runs),
        traces=tuple(
            trace(run, by_name[run.lighting], list_readings(catalog, run.id))
            for run in runs
            if run.lighting in by_name
        ),
        cells=count_cells(_planned(runs), count_outcomes(catalog)),
        strips=tuple(strips),
        offsets=tuple(offsets),
        sets=tuple(sets),
        marks_by=marks_by,
    )


def _all_imported(runs: Iterable[Run]) -> bool:
    kinds = {run.kind for run in runs}
    return bool(kinds) and kinds == {IMPORTED}


def _answers(
    catalog: Catalog, protocol: str, shown: set[str]
) -> tuple[dict[int, Answer], str | None]:
    """The first classifier's answers to frames of the shown scenes, and its name."""
    for observer in list_observers(catalog) if shown else ():
        if observer.id is not None:
            answers = list_answers(catalog, observer.id, protocol, CLASSIFICATION)
            found = {answer.frame_id: answer for answer in answers if answer.scene in shown}
            if found:
                return found, observer.name
    return {}, None


def _offsets(groups: Iterable[list[Frame]]) -> list[int]:
    every = [frame for group in groups for frame in group]
    offsets = sorted({frame.ev_offset for frame in every if frame.ev_offset is not None})
    accepted = {frame.ev_offset for frame in every if frame.outcome is Outcome.ACCEPTED}
    kept = [place for place, offset in enumerate(offsets) if offset in accepted]
    if not kept:
        return offsets
    return offsets[max(0, kept[0] - 1) : kept[-1] + 2]


def _planned(runs: Sequence[Run]) -> set[tuple[str, str, Exposure]]:
    shots: dict[str, list[Exposure]] = {}
    planned: set[tuple[str, str, Exposure]] = set()
    for run in runs:
        if run.plan is not None:
            if run.plan_digest not in shots:
                shots[run.plan_digest] = [shot.exposure for shot in run.plan]
            planned.update((run.scene, run.lighting, shot) for shot in shots[run.plan_digest])
    return planned
