"""Accuracy of an observer in each color discrimination group, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evaluate.color.data import GROUPS, UNKNOWN, Bools, ColorData, ColorFrames, Ints, Seen, Series
from evaluate.color.groups import COMPARED, Group
from evaluate.color.metrics import absolute_gap, scr, scvr
from evaluate.metrics.accuracy import accuracy, wilson
from evaluate.views import GRAYSCALE, ORIGINAL, corruption, frequencies

#: The middle of the luma range of 0 to 1; how far from it a picture's mean may lie, and how far
#: apart the means of object and background may.
MIDDLE_LUMA: Final = 0.5
LUMA_RANGES: Final = (0.2, 0.4)

#: Severities of the common corruptions.
SEVERITIES: Final = range(1, 6)

#: Scenes beyond which resampling them costs more than it tells.
_MOST_CLUSTERS: Final = 2000


@dataclass(frozen=True)
class GroupScore:
    """Right answers and answers in each group; tuples in the order of `GROUPS`."""

    hits: tuple[int, ...]
    n: tuple[int, ...]

    def of(self, group: Group) -> float:
        """Accuracy in a group, 0 to 1; NaN without answers."""
        place = GROUPS.index(group)
        return self.hits[place] / self.n[place] if self.n[place] else math.nan

    @property
    def compared(self) -> tuple[float, float, float]:
        """Hard, Medium, Easy."""
        hard, medium, easy = (self.of(group) for group in COMPARED)
        return hard, medium, easy

    @property
    def complete(self) -> bool:
        """Whether all three groups have answers."""
        return not any(math.isnan(value) for value in self.compared)

    @property
    def total(self) -> float:
        """Accuracy over all answers with a group, Others included."""
        return sum(self.hits) / sum(self.n) if sum(self.n) else math.nan

    @property
    def ag(self) -> float:
        """Absolute gap of the compared groups."""
        return absolute_gap(self.compared)

    @property
    def scvr(self) -> float:
        """Scaled color-vision robustness, groups weighted by their answers."""
        known = [g for g in COMPARED if not math.isnan(self.of(g))]
        if len(known) < 2:
            return math.nan
        weights = [float(self.n[GROUPS.index(group)]) for group in known]
        return scvr(self.total, [self.of(group) for group in known], weights)

    @property
    def accuracy_over_ag(self) -> float:
        """Total accuracy over the absolute gap; infinite without a gap."""
        if math.isnan(self.ag):
            return math.nan
        return math.inf if self.ag == 0 else self.total / self.ag


@dataclass(frozen=True)
class Subset:
    """Part of the answers: those under some views, to some frames.

    `frames` takes the columns of all frames and gives which ones count.
    """

    key: str
    title: str
    view: Callable[[str], bool]
    frames: Callable[[ColorFrames], Bools] | None = None


def _original(view: str) -> bool:
    return view == ORIGINAL


def _near_middle(within: float) -> Callable[[ColorFrames], Bools]:
    def chosen(frames: ColorFrames) -> Bools:
        return np.asarray(np.abs(frames.luma - MIDDLE_LUMA) <= within)  # NaN is outside

    return chosen


def _alike(within: float) -> Callable[[ColorFrames], Bools]:
    def chosen(frames: ColorFrames) -> Bools:
        return np.asarray(frames.luma_difference <= within)  # NaN is not

    return chosen


def is_corrupted(view: str) -> bool:
    """Whether a view is one of the common corruptions."""
    return corruption(view) is not None


ALL: Final = Subset("all", "all frames", _original)
VEHICLES: Final = Subset("vehicles", "land vehicles", _original, lambda frames: frames.vehicle)
GRAY: Final = Subset("grayscale", "grayscale", lambda view: view == GRAYSCALE)
CORRUPTED: Final = Subset("corrupted", "corrupted", is_corrupted)
LUMA: Final = tuple(
    Subset(key.format(within), title.format(within), _original, chosen(within))
    for key, title, chosen in (
        ("luma_{}", "mean luma within {} of the middle", _near_middle),
        ("luma_difference_{}", "object and background at most {} apart in luma", _alike),
    )
    for within in LUMA_RANGES
)


def subsets(data: ColorData) -> list[Subset]:
    """The paper's subsets, then one for each part of the spectrum that somebody was shown."""
    views = {view for one in data.shown for view in one.views}
    parts = sorted({found for view in views if (found := frequencies(view)) is not None})
    spectrum = [
        Subset(f"{part}_{radius}", f"{part} frequencies, r = {radius}", f"{part}:{radius}".__eq__)
        for part, radius in parts
    ]
    return [ALL, VEHICLES, GRAY, *LUMA, CORRUPTED, *spectrum]


def select(frames: ColorFrames, series: Series, subset: Subset) -> Seen | None:
    """An observer's answers in a subset; None without any."""
    parts = [seen for view, seen in series.views.items() if subset.view(view)]
    if not parts:
        return None
    seen = Seen.joined(parts)
    if subset.frames is not None:
        keep = subset.frames(frames)[seen.frames]
        seen = Seen(seen.frames[keep], seen.right[keep], seen.latency_s[keep])
    return seen if seen.frames.size else None


def score(seen: Seen, groups: Ints) -> GroupScore:
    """Hits and answers by group; `groups` holds a place in `GROUPS` for each frame."""
    codes = groups[seen.frames]
    known = codes != UNKNOWN
    n = np.bincount(codes[known], minlength=len(GROUPS))
    hits = np.bincount(codes[known & seen.right], minlength=len(GROUPS))
    return GroupScore(tuple(hits.tolist()), tuple(n.tolist()))


def score_subset(frames: ColorFrames, series: Series, subset: Subset) -> GroupScore | None:
    """Scores of an observer in a subset; None without an answer to a labeled frame."""
    seen = select(frames, series, subset)
    if seen is None:
        return None
    found = score(seen, frames.group)
    return found if sum(found.n) else None


def interval(frames: ColorFrames, seen: Seen, group: Group) -> tuple[float, float]:
    """95 % interval of the accuracy in a group.

    Frames of one scene are no independent draws: scenes are resampled, unless each has one frame.
    """
    inside = frames.group[seen.frames] == GROUPS.index(group)
    right, scenes = seen.right[inside], frames.scene[seen.frames[inside]]
    if not right.size:
        return math.nan, math.nan
    clusters = len(np.unique(scenes))
    if clusters == right.size or clusters > _MOST_CLUSTERS:
        return wilson(int(right.sum()), int(right.size))
    found = accuracy(right, scenes)
    return found.low, found.high


def severity_accuracies(frames: ColorFrames, series: Series) -> dict[int, float]:
    """Accuracy over all corruptions at each severity that was shown, labeled frames only."""
    found = {}
    for severity in SEVERITIES:
        at = Subset("", "", lambda view, s=severity: _severity(view) == s)  # type: ignore[misc]  # bound now
        got = score_subset(frames, series, at)
        if got is not None:
            found[severity] = got.total
    return found


def _severity(view: str) -> int | None:
    found = corruption(view)
    return None if found is None else found.severity


def robustness(frames: ColorFrames, series: Series) -> dict[str, float]:
    """sCVR, sCR and accuracy over AG, of corrupted frames where there are any (the paper's)."""
    plain = score_subset(frames, series, ALL)
    corrupted = score_subset(frames, series, CORRUPTED)
    by_severity = severity_accuracies(frames, series)
    several = corrupted is not None and len(by_severity) > 1
    return {
        "scvr": math.nan if plain is None else plain.scvr,
        "accuracy_over_ag": math.nan if plain is None else plain.accuracy_over_ag,
        "scvr_corrupted": math.nan if corrupted is None else corrupted.scvr,
        "accuracy_over_ag_corrupted": math.nan if corrupted is None else corrupted.accuracy_over_ag,
        "scr": scr(corrupted.total, list(by_severity.values()))
        if several and corrupted is not None
        else math.nan,
    }


def group_rows(data: ColorData, chosen: Iterable[Subset]) -> list[dict[str, Any]]:
    """A row for each observer and subset that has answers to labeled frames."""
    rows = []
    for subset in chosen:
        for series in data.shown:
            found = score_subset(data.frames, series, subset)
            if found is not None:
                rows.append(_row(data.frames, series, subset, found))
    return rows


def _row(frames: ColorFrames, series: Series, subset: Subset, found: GroupScore) -> dict[str, Any]:
    row: dict[str, Any] = {
        "subset": subset.key,
        "observer": series.name,
        "kind": series.kind,
        "task": series.task,
        "family": series.lineage.family,
        "training": series.lineage.training,
        "answers": sum(found.n),
        "accuracy": found.total,
    }
    seen = select(frames, series, subset) if subset is ALL else None
    for group in GROUPS:
        name = group.lower()
        row |= {name: found.of(group), f"{name}_answers": found.n[GROUPS.index(group)]}
        low, high = (math.nan, math.nan) if seen is None else interval(frames, seen, group)
        row |= {f"{name}_low": low, f"{name}_high": high}
    return row | {
        "ag": found.ag,
        "scvr": found.scvr,
        "accuracy_over_ag": found.accuracy_over_ag,
    }


def family_gaps(data: ColorData) -> list[dict[str, Any]]:
    """Table I: AG averaged over the models of each family, for three sets of frames."""
    families = dict.fromkeys(one.lineage.shown_family for one in data.models)
    rows = []
    for family in families:
        members = [one for one in data.models if one.lineage.shown_family == family]
        gaps = {
            subset.key: _mean_gap(data, members, subset) for subset in (ALL, VEHICLES, CORRUPTED)
        }
        if not all(map(math.isnan, gaps.values())):
            rows.append({"family": family, "models": len(members), **gaps})
    return rows


def _mean_gap(data: ColorData, models: Sequence[Series], subset: Subset) -> float:
    """Mean AG of those models that answered in all three groups."""
    scores = [score_subset(data.frames, one, subset) for one in models]
    gaps = [one.ag for one in scores if one is not None and one.complete]
    return sum(gaps) / len(gaps) if gaps else math.nan
