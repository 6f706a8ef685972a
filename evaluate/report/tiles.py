"""The few numbers at the head of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluate.report.curves import HARD, SOFT, TOP1, Curve
from evaluate.report.detectors import OLRP
from evaluate.report.paper.order import worst_first
from evaluate.report.results import Results
from evaluate.scoring import RELEASE
from schemas.summary import FrameCounts


@dataclass(frozen=True)
class Tile:
    """A number, and what it is. `alarm` marks what someone has to look at."""

    value: str
    words: str
    alarm: bool = False


def tiles(counts: FrameCounts, results: Results) -> list[Tile]:
    """Frames, then the best observer of each task and people."""
    planned = counts.planned or not counts.accepted
    found = [
        Tile(
            f"{counts.accepted:,}".replace(",", "\u202f"),
            f"frames accepted of {counts.planned} shots planned"
            if planned
            else "frames, taken elsewhere",
        )
    ]
    if planned or counts.rejected_black or counts.rejected_white:
        rejected = f"{counts.rejected_black} / {counts.rejected_white}"
        found.append(Tile(rejected, "rejected as black / as white"))
    if counts.failed or counts.skipped:
        found.append(Tile(f"{counts.failed} / {counts.skipped}", "failed / skipped", alarm=True))
    models = [curve for curve in results.curves if not curve.who.is_people]
    people = [curve for curve in results.curves if curve.who.is_people]
    found += _best(models, TOP1, "top-1")
    found += _best(models, OLRP, "oLRP", low_is_good=True)
    found += _best(models, HARD, "hard accuracy on questions")
    if results.protocol == RELEASE:  # knows one accuracy of people
        found += _best(people, SOFT, "accuracy on questions")
    else:
        found += _best(people, HARD, "hard accuracy on questions")
    return found


def _best(
    curves: Sequence[Curve], measure: str, words: str, *, low_is_good: bool = False
) -> list[Tile]:
    """The best observer's value with its interval, and how often it changes its mind."""
    known = [c for c in curves if c.measure == measure and not math.isnan(c.overall.value)]
    if not known:
        return []
    best = worst_first(known, low_is_good=low_is_good)[-1]
    share = best.overall
    spell = "{:.3f}".format if low_is_good else _percent
    interval = (
        ""
        if math.isnan(share.low)
        else f", 95 % interval {spell(share.low)} to {spell(share.high)}"
    )
    of = f"of {best.who.label}, best of {len(known)}" if len(known) > 1 else f"of {best.who.label}"
    found = [Tile(spell(share.value), f"{words} {of}{interval}")]
    sets = best.sensitivity
    if sets is not None and sets.sets and measure == TOP1:
        found.append(
            Tile(
                _percent(sets.mixed_share),
                "of its equal-exposure sets hold right and wrong answers; parameter sensitivity "
                f"{_percent(sets.parameter_sensitivity)}",
            )
        )
    return found


def _percent(value: float) -> str:
    return f"{100 * value:.1f}\u202f%"
