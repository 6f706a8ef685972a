"""What one observer's verdicts amount to: the numbers of the report, as values and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaluate.metrics.accuracy import Share, accuracy
from evaluate.metrics.sensitivity import Sensitivity, sensitivity
from evaluate.question_judges import NO_ANSWER, UNSCORABLE
from evaluate.scoring import PAPER
from schemas.answer_store import CLASSIFICATION, Answer, list_answers, list_observers
from schemas.catalog import Catalog
from schemas.records import Observer


@dataclass(frozen=True)
class OffsetShare:
    """Top-1 at one EV offset under one lighting."""

    lighting: str
    ev_offset: int
    top1: Share


@dataclass(frozen=True)
class Summary:
    """An observer's answers to a task, scored.

    Attributes
    ----------
    no_answer, unscorable : int
        Verdicts that are neither right nor wrong, hence in no share.
    """

    observer: Observer
    task: str
    top1: Share
    top5: Share
    by_ev_offset: tuple[OffsetShare, ...]
    sensitivity: Sensitivity
    no_answer: int
    unscorable: int


def summarize(observer: Observer, answers: list[Answer]) -> Summary:
    """Top-1 and top-5, top-1 by EV offset and lighting, and parameter sensitivity."""
    judged = [answer for answer in answers if answer.soft is not None]
    conditions = sorted({(answer.lighting, answer.ev_offset) for answer in judged})
    by_condition: dict[tuple[str, int], list[Answer]] = {key: [] for key in conditions}
    for answer in judged:
        by_condition[answer.lighting, answer.ev_offset].append(answer)
    return Summary(
        observer=observer,
        task=CLASSIFICATION,
        top1=_share(judged, 1),
        top5=_share(judged, 5),
        by_ev_offset=tuple(
            OffsetShare(lighting, offset, _share(group, 1))
            for (lighting, offset), group in by_condition.items()
        ),
        sensitivity=sensitivity(
            [float(answer.soft is True) for answer in judged],
            [answer.scene for answer in judged],
            [answer.ev_offset for answer in judged],
        ),
        no_answer=sum(answer.error_kind == NO_ANSWER for answer in answers),
        unscorable=sum(answer.error_kind == UNSCORABLE for answer in answers),
    )


def answers_by_observer(catalog: Catalog) -> Iterator[tuple[Observer, list[Answer]]]:
    """Scored answers of one observer after another: one's are in memory at a time."""
    for observer in list_observers(catalog):
        if observer.id is None:
            raise ValueError(f"observer {observer.name} comes from no catalog")
        answers = list(list_answers(catalog, observer.id, PAPER, CLASSIFICATION))
        if answers:
            yield observer, answers


def summarize_all(catalog: Catalog) -> list[Summary]:
    """A summary of each observer that has verdicts, in the order they came."""
    return [summarize(observer, answers) for observer, answers in answers_by_observer(catalog)]


def metrics_json(summary: Summary) -> dict[str, Any]:
    """Metrics by the names that `evaluate score --json` uses; None where undefined."""
    found = summary.sensitivity
    return {
        "top1": _number(summary.top1.value),
        "top1_low": _number(summary.top1.low),
        "top1_high": _number(summary.top1.high),
        "top5": _number(summary.top5.value),
        "interval": summary.top1.method,
        "ps": _number(found.parameter_sensitivity),
        "ps_mixed": _number(found.mixed_share),
        "ps_sets": found.sets,
    }


def observer_json(summary: Summary) -> dict[str, Any]:
    """Who answered what, how often, and how well by EV offset."""
    return {
        "name": summary.observer.name,
        "kind": summary.observer.kind,
        "task": summary.task,
        "n": summary.top1.n,
        "no_answer": summary.no_answer,
        "unscorable": summary.unscorable,
        "by_ev_offset": [
            {
                "lighting": point.lighting,
                "ev_offset": point.ev_offset,
                "n": point.top1.n,
                "top1": _number(point.top1.value),
                "low": _number(point.top1.low),
                "high": _number(point.top1.high),
            }
            for point in summary.by_ev_offset
        ],
    }


def _share(answers: list[Answer], within: int) -> Share:
    places = [answer.parsed.get("place") for answer in answers]
    hits = [place is not None and place <= within for place in places]
    return accuracy(hits, [answer.scene for answer in answers])


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
