"""Everything that figures and tables are made of, measured once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from evaluate.report.chance import question_chance, top1_chance
from evaluate.report.curves import Curve, answer_curves
from evaluate.report.detectors import detector_curves
from evaluate.report.disagreement import Dispute, find_disputes
from evaluate.report.observed import Conditions, Observed, load_conditions, load_observed
from evaluate.report.published import Compared, compare_with_published, holds_release
from evaluate.scores import score_observers
from evaluate.scoring import PROTOCOLS, score_catalog
from evaluate.vocabulary import Vocabulary
from schemas.answer_store import DETECTION
from schemas.catalog import Catalog
from schemas.report_store import count_frames, count_responses

#: Told what is about to be done.
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Results:
    """What a catalog's answers amount to under a protocol.

    Attributes
    ----------
    entries : list of dict
        As `evaluate score --json` prints them.
    curves : list of Curve
        Of all observers, detectors included.
    detectors : list of list of Curve
        One list a detector.
    chance : dict of str to float
        By ``top1``, ``q1`` to ``q4`` and ``all``; without those it is not known of.
    frames : list of tuple
        As `count_frames` gives them.
    compared : list of Compared
        Against the published values; empty without answers of the release.
    disputes : list of Dispute
        Frames that observers disagree about most.
    """

    protocol: str
    entries: list[dict[str, Any]]
    conditions: Conditions
    observers: list[Observed]
    curves: list[Curve]
    detectors: list[list[Curve]]
    chance: dict[str, float]
    frames: list[tuple[Any, ...]]
    compared: list[Compared]
    disputes: list[Dispute]
    has_detections: bool


def measure_catalog(catalog: Catalog, vocabulary: Vocabulary, protocol: str, tell: Tell) -> Results:
    """Score what is new, and measure all of it."""
    tell(f"scoring under {protocol}")
    score_catalog(catalog, vocabulary, protocol, only_new=True)
    tell("accuracies with intervals")
    entries = score_observers(catalog, protocol)
    tell("reading verdicts")
    conditions = load_conditions(catalog)
    observers = list(load_observed(catalog, protocol, conditions))
    curves: list[Curve] = []
    for observed in observers:
        tell(f"EV offsets: {observed.name}")
        curves += answer_curves(observed)
    detectors: list[list[Curve]] = []
    tell("detections")
    for found in detector_curves(catalog, conditions):
        tell(f"EV offsets: {found[0].who.name}")
        detectors.append(found)
    chance = question_chance(conditions)
    top1 = top1_chance(conditions, vocabulary, protocol)
    if top1 is not None:
        chance["top1"] = top1
    tell("disagreement")
    disputes = find_disputes(catalog, observers, conditions)
    return Results(
        protocol=protocol,
        entries=entries,
        conditions=conditions,
        observers=observers,
        curves=curves + list(chain.from_iterable(detectors)),
        detectors=detectors,
        chance=chance,
        frames=count_frames(catalog),
        compared=_compared(catalog, vocabulary, protocol, conditions, observers, detectors, tell),
        disputes=disputes,
        has_detections=any(DETECTION in tasks for tasks in count_responses(catalog).values()),
    )


def _compared(
    catalog: Catalog,
    vocabulary: Vocabulary,
    protocol: str,
    conditions: Conditions,
    observers: Sequence[Observed],
    detectors: Sequence[list[Curve]],
    tell: Tell,
) -> list[Compared]:
    """Against the published values, which takes the verdicts of both protocols."""
    if not holds_release(observers):
        return []
    for other in PROTOCOLS:
        if other != protocol:
            tell(f"scoring under {other}")
            score_catalog(catalog, vocabulary, other, only_new=True)
    tell("against the published values")
    return compare_with_published(catalog, conditions, detectors)
