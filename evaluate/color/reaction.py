"""Reaction time of people by color discrimination group."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from evaluate.color.data import GROUPS, ColorData, Floats, Series
from evaluate.color.groups import COMPARED
from evaluate.color.scores import ALL, score, select
from evaluate.color.trend_tests import tests_of

#: What `tests_of` calls a test of times.
SUBSET: Final = "reaction_time"


def reaction_rows(data: ColorData) -> list[dict[str, Any]]:
    """A row for each person: mean and median seconds, and accuracy, in each group.

    Only answers with a measured time count for the times.
    """
    rows = []
    for person in data.people:
        seen = select(data.frames, person, ALL)
        if seen is None or np.isnan(seen.latency_s).all():
            continue
        scored = score(seen, data.frames.group)
        row: dict[str, Any] = {"observer": person.name, "task": person.task}
        for group in COMPARED:
            name = group.lower()
            times = _times(data, person, GROUPS.index(group))
            row |= {
                f"{name}_mean_s": float(times.mean()) if times.size else math.nan,
                f"{name}_median_s": float(np.median(times)) if times.size else math.nan,
                f"{name}_accuracy": scored.of(group),
                f"{name}_answers": int(times.size),
            }
        if any(row[f"{group.lower()}_answers"] for group in COMPARED):
            rows.append(row)
    return rows


def reaction_tests(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Paired t tests of mean times across people, and Page's trend of decreasing times.

    The harder the colors, the longer: the trend is tested from Easy to Hard.
    """
    means = [tuple(row[f"{group.lower()}_mean_s"] for group in COMPARED) for row in rows]
    known = [(m[0], m[1], m[2]) for m in means if not any(map(math.isnan, m))]
    if not known:
        return []
    tests = [row for row in tests_of(known, SUBSET, "people") if row["test"] != "Page"]
    [trend] = [
        row
        for row in tests_of([one[::-1] for one in known], SUBSET, "people")
        if row["test"] == "Page"
    ]
    return [*tests, trend | {"compared": "Easy < Medium < Hard"}]


def _times(data: ColorData, person: Series, place: int) -> Floats:
    seen = select(data.frames, person, ALL)
    if seen is None:
        return np.zeros(0)
    times = seen.latency_s[data.frames.group[seen.frames] == place]
    return np.asarray(times[~np.isnan(times)])
