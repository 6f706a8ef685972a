"""What a design keeps and how even it is, told from the design alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiment.blocks import BLOCK
from experiment.design import GROUPS, MULTIPLE_CHOICE
from experiment.records import Design, PlannedTrial, Slot


@dataclass(frozen=True)
class Balance:
    """How often each value of something was shown."""

    counts: Mapping[str, int]

    @property
    def ratio(self) -> float | None:
        """Largest over smallest, 1.0 is even; None where something never comes."""
        fewest = min(self.counts.values())
        return round(max(self.counts.values()) / fewest, 4) if fewest else None

    def as_json(self) -> dict[str, Any]:
        """As a JSON document."""
        values = self.counts.values()
        return {
            "counts": dict(self.counts),
            "max": max(values),
            "min": min(values),
            "max_min_ratio": self.ratio,
        }


@dataclass(frozen=True)
class DesignReport:
    """A design in numbers.

    Attributes
    ----------
    trials_each : int
        Of one participant.
    min_stops_apart : int or None
        The closest two pictures of a scene that a participant sees; None for other designs.
    distinct_images, most_showings : int
        Pictures that take part; showings of the most shown one, over all participants.
    by : dict
        Balances over all trials: ``ev_offset``, ``category``, ``lighting``, ``task``.
    violations : list of str
        Demands that the design does not keep; empty for every one that is made here.
    notes : list of str
        Why something is not even, as far as it can be told.
    """

    design: Design
    trials_each: int
    min_stops_apart: int | None
    distinct_images: int
    most_showings: int
    by: dict[str, Balance]
    violations: list[str]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """As a JSON document."""
        return {
            "study": self.design.study,
            "participants": len(self.design.slots),
            "trials_each": self.trials_each,
            "min_stops_apart": self.min_stops_apart,
            "distinct_images": self.distinct_images,
            "most_showings": self.most_showings,
            **{f"by_{name}": balance.as_json() for name, balance in self.by.items()},
            "violations": self.violations,
            "notes": self.notes,
            "seed": self.design.seed,
            "parameters": self.design.parameters,
            "digest": self.design.digest,
        }


def report_design(design: Design, pictures_of: Mapping[int, int] | None = None) -> DesignReport:
    """Count a design, and hold it against its own demands.

    Parameters
    ----------
    pictures_of : dict
        Pictures that the catalog has of each EV offset, to explain an uneven balance.
    """
    trials = [trial for slot in design.slots for trial in slot.trials]
    showings = Counter(trial.key for trial in trials)
    by = {
        name: Balance(_counts(trials, name, design.parameters))
        for name in ("ev_offset", "category", "lighting", "task")
        if any(getattr(trial, name) is not None for trial in trials)
    }
    gaps = [gap for slot in design.slots for gap in _gaps(slot)]
    return DesignReport(
        design=design,
        trials_each=max(sum(1 for _ in slot.trials) for slot in design.slots),
        min_stops_apart=min(gaps) if gaps else None,
        distinct_images=len(showings),
        most_showings=max(showings.values()),
        by=by,
        violations=_violations(design),
        notes=_notes(design, by, pictures_of or {}),
    )


def _counts(trials: list[PlannedTrial], name: str, parameters: Mapping[str, Any]) -> dict[str, int]:
    found = Counter(getattr(trial, name) for trial in trials)
    if name == "ev_offset":  # those that take part, even if they never come
        found.update(dict.fromkeys(parameters["ev_offsets"], 0))
    return {str(value): found[value] for value in sorted(found)}


def _gaps(slot: Slot) -> list[int]:
    """EV offsets between the pictures of each scene that a participant sees twice."""
    of_scene: dict[str, list[int]] = {}
    for trial in slot.trials:
        if trial.ev_offset is not None:
            of_scene.setdefault(trial.scene, []).append(trial.ev_offset)
    return [
        abs(a - b)
        for offsets in of_scene.values()
        for place, a in enumerate(offsets)
        for b in offsets[:place]
    ]


def _violations(design: Design) -> list[str]:
    return [
        f"participant {number}: {what}"
        for number, slot in enumerate(design.slots, start=1)
        for what in _slot_violations(design, slot)
    ]


def _slot_violations(design: Design, slot: Slot) -> list[str]:
    found = []
    trials = list(slot.trials)
    shown = Counter((trial.task, trial.scene) for trial in trials)
    pictures = Counter(trial.key for trial in trials)
    if twice := [scene for (_, scene), number in shown.items() if number > 1]:
        found.append(f"{len(twice)} scenes more than once in one question, {twice[0]} first")
    if again := [key for key, number in pictures.items() if number > 1]:
        found.append(f"{len(again)} pictures more than once, {'/'.join(again[0])} first")
    found += [
        f"a block of {len(block.trials)} trials, or not of one question"
        for block in slot.blocks
        if len(block.trials) > BLOCK or {trial.task for trial in block.trials} != {block.task}
    ]
    if any(trial.task in MULTIPLE_CHOICE and not trial.options for trial in trials):
        found.append("a multiple-choice question without options")
    if design.study != "questions":
        return found
    demands = design.parameters
    tasks = Counter(trial.task for trial in trials)
    expected = dict.fromkeys(GROUPS.get(slot.group, ()), demands["trials_per_question"])
    if tasks != expected:
        found.append(f"trials {dict(tasks)}, not {expected}")
    if (gap := min(_gaps(slot), default=demands["min_stops"])) < demands["min_stops"]:
        found.append(f"two pictures of a scene only {gap} stops apart")
    if {trial.ev_offset for trial in trials} - set(demands["ev_offsets"]):
        found.append("an EV offset that does not take part")
    return found


def _notes(design: Design, by: Mapping[str, Balance], pictures_of: Mapping[int, int]) -> list[str]:
    """Why EV offsets do not come, or come less often: all their pictures are shown already."""
    offsets = by.get("ev_offset")
    if offsets is None:
        return []
    most = max(offsets.counts.values())
    notes = [
        f"EV offset {offset} comes {count} times, others up to {most} times: the catalog has "
        f"{pictures_of[int(offset)]} pictures of it, each is shown once"
        for offset, count in offsets.counts.items()
        if count < most - 1 and pictures_of.get(int(offset)) == count
    ]
    out = sorted(set(pictures_of) - set(design.parameters["ev_offsets"]))
    if out:
        names = ", ".join(str(offset) for offset in out)
        number = sum(pictures_of[offset] for offset in out)
        notes.append(f"EV offsets {names} do not take part: {number} pictures")
    return notes
