"""Exposure and color apart: what exposure does to groups, and to accuracy within them.

Wrong exposure pulls the colors of an object and its background together, so that frames move to
harder groups. Accuracy then falls for two reasons: the frames are in harder groups, and answers
within each group are worse. Direct standardization separates them: at every EV offset the accuracy
of each group is weighted by that group's share at EV offset 0 instead of its share there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evaluate.color.data import GROUPS, UNKNOWN, ColorData, ColorFrames, Ints, Seen, Series
from evaluate.color.scores import ALL, GroupScore, score, select

#: Share of the mix at the reference that must have answers, for a standardized value to be shown.
LEAST_COVERED: Final = 0.9


@dataclass(frozen=True)
class Standardized:
    """Accuracy of an observer at one EV offset.

    Attributes
    ----------
    by_group : GroupScore
        By group as the frames appear.
    raw : float
        Over all answers.
    standardized : float
        With the group mix of the reference; NaN where nothing of the mix has answers here.
    covered : float
        Share of the reference's mix that has answers here; the mix is rescaled to it.
    """

    ev_offset: int
    by_group: GroupScore
    raw: float
    standardized: float
    covered: float

    @property
    def shown(self) -> bool:
        """Whether enough of the mix is there to speak of the same mix."""
        return self.covered >= LEAST_COVERED


def group_mix(frames: ColorFrames) -> dict[int, tuple[int, ...]]:
    """Frames in each group as they appear, by EV offset."""
    known = ~np.isnan(frames.ev_offset) & (frames.apparent != UNKNOWN)
    return {
        int(offset): tuple(
            np.bincount(
                frames.apparent[known & (frames.ev_offset == offset)], minlength=len(GROUPS)
            ).tolist()
        )
        for offset in np.unique(frames.ev_offset[known])
    }


def standardize(scores: dict[int, GroupScore]) -> list[Standardized]:
    """Raw and standardized accuracy by EV offset.

    Parameters
    ----------
    scores : dict
        EV offset → scores by group. The reference is the offset nearest to 0.
    """
    if not scores:
        return []
    reference = scores[min(scores, key=lambda offset: (abs(offset), offset))]
    total = sum(reference.n)
    mix = [n / total for n in reference.n]
    found = []
    for offset in sorted(scores):
        one = scores[offset]
        there = [place for place, n in enumerate(one.n) if n and mix[place]]
        covered = math.fsum(mix[place] for place in there)
        weighted = math.fsum(mix[place] * one.hits[place] / one.n[place] for place in there)
        found.append(
            Standardized(
                offset, one, one.total, weighted / covered if covered else math.nan, covered
            )
        )
    return found


def by_offset(frames: ColorFrames, series: Series, groups: Ints) -> dict[int, GroupScore]:
    """Scores by EV offset; `groups` are the own or the apparent ones."""
    seen = select(frames, series, ALL)
    if seen is None:
        return {}
    offsets = frames.ev_offset[seen.frames]
    found = {}
    for offset in np.unique(offsets[~np.isnan(offsets)]):
        at = offsets == offset
        one = score(Seen(seen.frames[at], seen.right[at], seen.latency_s[at]), groups)
        if sum(one.n):
            found[int(offset)] = one
    return found


def curves(data: ColorData) -> list[tuple[str, list[Standardized]]]:
    """Raw and standardized accuracy of each observer, people first, over two offsets or more."""
    found = []
    for series in (*data.pooled, *data.models):
        points = standardize(by_offset(data.frames, series, data.frames.apparent))
        if len(points) > 1:
            found.append((series.name, points))
    return found


def exposure_rows(found: Sequence[tuple[str, list[Standardized]]]) -> list[dict[str, Any]]:
    """The curves as rows, with the accuracy and answers of each group as it appears."""
    return [
        {
            "observer": name,
            "ev_offset": point.ev_offset,
            "answers": sum(point.by_group.n),
            "raw": point.raw,
            "standardized": point.standardized,
            "covered": point.covered,
            **{
                key: value
                for group in GROUPS
                for key, value in (
                    (group.lower(), point.by_group.of(group)),
                    (f"{group.lower()}_answers", point.by_group.n[GROUPS.index(group)]),
                )
            },
        }
        for name, points in found
        for point in points
    ]


def within_rows(data: ColorData) -> list[dict[str, Any]]:
    """Accuracy of each observer by EV offset within the groups of the objects' own colors."""
    return [
        {
            "observer": series.name,
            "ev_offset": offset,
            "group": str(group),
            "answers": one.n[place],
            "accuracy": one.of(group),
        }
        for series in (*data.pooled, *data.models)
        for offset, one in by_offset(data.frames, series, data.frames.group).items()
        for place, group in enumerate(GROUPS)
        if one.n[place]
    ]
