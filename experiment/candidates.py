"""Pictures of the catalog that a design can show, and whether it still can."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from experiment.design import GROUPS, Candidate
from experiment.records import Design
from schemas.catalog import Catalog
from schemas.design_store import ShownFrame, list_shown_frames, stimuli_by_key, stimuli_of

_TASKS = tuple(task for tasks in GROUPS.values() for task in tasks)


@dataclass(frozen=True)
class Candidates:
    """Pictures to choose from.

    Attributes
    ----------
    left_out : int
        Accepted frames whose file is not here, while that of others is.
    files_here : bool
        Whether there is any file: a design can be made before the pictures come.
    without_options : int
        Frames whose order of options is not known in Q3 or Q4: those questions are not asked.
    without_questions : int
        Frames that nobody made questions for.
    """

    pictures: list[Candidate]
    left_out: int
    files_here: bool
    without_options: int
    without_questions: int

    def by_offset(self) -> Counter[int]:
        """How many there are of each EV offset."""
        return Counter(one.ev_offset for one in self.pictures)


def load_candidates(catalog: Catalog) -> Candidates:
    """Accepted manual frames with the questions that the catalog has for them."""
    frames = list_shown_frames(catalog)
    filed = [frame for frame in frames if frame.path]
    stimuli = {task: stimuli_of(catalog, task) for task in _TASKS}
    shown = [_candidate(frame, stimuli) for frame in filed or frames]
    pictures = [one for one in shown if one is not None]
    return Candidates(
        pictures=pictures,
        left_out=len(frames) - len(filed) if filed else 0,
        files_here=bool(filed),
        without_options=sum(
            any(task in one.options and not one.askable(task) for task in _TASKS)
            for one in pictures
        ),
        without_questions=sum(not one.options for one in pictures),
    )


def _candidate(
    frame: ShownFrame, stimuli: dict[str, dict[int, tuple[int, tuple[str, ...]]]]
) -> Candidate | None:
    if frame.ev_offset is None:
        return None
    options = {task: found[frame.id][1] for task, found in stimuli.items() if frame.id in found}
    return Candidate(
        frame.scene,
        frame.lighting,
        frame.setting,
        frame.category,
        frame.objects,
        frame.ev_offset,
        options,
    )


def stale_trials(catalog: Catalog, design: Design) -> list[str]:
    """What a stored design demands and the catalog does not have any more."""
    tasks = sorted({trial.task for slot in design.slots for trial in slot.trials})
    stimuli = stimuli_by_key(catalog, tasks)
    reasons: Counter[str] = Counter()
    for slot in design.slots:
        for trial in slot.trials:
            found = stimuli.get((trial.key, trial.task))
            if found is None:
                reasons["have no accepted frame or no question any more"] += 1
            elif found[2] != trial.options:
                reasons["have other options now"] += 1
    return [f"{number} trials {reason}" for reason, number in reasons.items()]
