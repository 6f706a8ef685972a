"""Whether groups differ across observers: paired t tests, adjusted by Holm, and Page's trend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

from evaluate.color.data import ColorData, Series
from evaluate.color.groups import COMPARED
from evaluate.color.scores import ALL, GRAY, VEHICLES, GroupScore, Subset, score_subset
from evaluate.metrics.trends import TestResult, holm, page_trend, paired_t

Json = dict[str, Any]


def group_tests(data: ColorData, chosen: Iterable[Subset]) -> list[Json]:
    """Tests of each subset across models, and across people one by one."""
    rows: list[Json] = []
    for subset in chosen:
        for across, observers in (("models", data.models), ("people", data.people)):
            scores = _scores(data, observers, subset)
            if scores:
                rows += tests_of([one.compared for one in scores], subset.key, across)
    rows += gap_tests(data)
    return rows


def tests_of(
    accuracies: Sequence[tuple[float, float, float]], subset: str, across: str
) -> list[Json]:
    """Every pair of groups by a paired t test, and the increase Hard, Medium, Easy by Page's.

    Parameters
    ----------
    accuracies : sequence of (hard, medium, easy)
        One observer each.

    Returns
    -------
    list of dict
        `p_holm` is adjusted for the three pairs; `reason` says why a test was not possible.
    """
    rows = []
    for first, second in combinations(range(len(COMPARED)), 2):
        pair = f"{COMPARED[first]} - {COMPARED[second]}"
        one, other = [row[first] for row in accuracies], [row[second] for row in accuracies]
        rows.append(_row(subset, across, "paired t", pair, lambda a=one, b=other: paired_t(a, b)))  # type: ignore[misc]  # bound now
    adjusted = holm([1.0 if math.isnan(row["p"]) else row["p"] for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        row["p_holm"] = math.nan if math.isnan(row["p"]) else float(p)
    trend = "Hard < Medium < Easy"
    rows.append(_row(subset, across, "Page", trend, lambda: page_trend(list(accuracies))))
    return rows


def gap_tests(data: ColorData) -> list[Json]:
    """Whether AG is larger for vehicles than for all, and in color than in gray, across models."""
    rows = []
    for subset in (VEHICLES, GRAY):
        pairs = [
            (plain.ag, other.ag)
            for one in data.models
            if (plain := score_subset(data.frames, one, ALL)) is not None
            and (other := score_subset(data.frames, one, subset)) is not None
            and plain.complete
            and other.complete
        ]
        if pairs:
            one, other_gaps = [a for a, _ in pairs], [b for _, b in pairs]
            rows.append(
                _row(
                    subset.key,
                    "models",
                    "paired t",
                    f"AG: all - {subset.title}",
                    lambda a=one, b=other_gaps: paired_t(a, b),  # type: ignore[misc]  # bound now
                )
            )
    return rows


def _scores(data: ColorData, observers: Sequence[Series], subset: Subset) -> list[GroupScore]:
    found = (score_subset(data.frames, one, subset) for one in observers)
    return [one for one in found if one is not None and one.complete]


def _row(subset: str, across: str, test: str, compared: str, run: Callable[[], TestResult]) -> Json:
    row: Json = {"subset": subset, "across": across, "test": test, "compared": compared}
    nothing = math.nan
    try:
        found = run()
    except ValueError as error:
        return row | {"statistic": nothing, "p": nothing, "p_holm": nothing, "n": 0,
                      "reason": str(error)}  # fmt: skip
    return row | {
        "statistic": found.statistic,
        "p": found.p_value,
        "p_holm": nothing,
        "n": found.n,
        "reason": "",
    }
