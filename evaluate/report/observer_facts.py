"""Everything that an observer's page shows, as values: who, scores, mistakes, likeness."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluate.metrics.answers import Confusion, shape_bias, top_confusions
from evaluate.metrics.bootstrap import Interval
from evaluate.metrics.sensitivity import Sensitivity, sensitivity
from evaluate.question_judges import BOTH, FAITHFULNESS, NO_ANSWER, UNSURE
from evaluate.report.breakdown import Table, condition_columns, overall, tables, task_scores
from evaluate.report.observed import Observed, share_of, task_family
from evaluate.report.provenance import flatten
from evaluate.report.relations import Relations, relate
from evaluate.report.who import paper_row
from evaluate.scores import VQA, picture_cues
from schemas.answer_store import CHOICE, CLASSIFICATION, DETECTION
from schemas.records import Observer
from schemas.said_store import Said

#: Wrong answers shown of each category.
MISTAKES = 3

#: Characters shown of an answer that names nothing known.
_SHOWN = 40

_TITLES = {
    CLASSIFICATION: "Image classification",
    VQA: "Questions Q1 to Q4",
    CHOICE: "Choices between options",
    DETECTION: "Object detection",
}


@dataclass(frozen=True)
class Answering:
    """Length and form of the answers at one EV offset (None: all), of one question.

    Attributes
    ----------
    length : float
        Mean, in characters.
    unfaithful, unanswered : float
        Shares of answers not as asked, and of none that could be read.
    """

    ev_offset: int | None
    n: int
    length: float
    unfaithful: float
    unanswered: float


@dataclass(frozen=True)
class Section:
    """An observer in one family of tasks.

    Attributes
    ----------
    measures : tuple of str
        Names of the scores.
    scores : tuple of Interval
        Over all frames counted, in the order of `measures`.
    sensitivity : tuple of (str, Sensitivity)
        By task and score.
    confusions : tuple of (str, tuple of Confusion)
        By task.
    answering : tuple of (str, tuple of Answering)
        By question, all EV offsets first.
    extra : tuple of (str, float)
        Further numbers, such as the shape bias.
    """

    family: str
    title: str
    n: int
    unanswered: int
    measures: tuple[str, ...]
    scores: tuple[Interval, ...]
    tables: tuple[Table, ...]
    sensitivity: tuple[tuple[str, Sensitivity], ...] = ()
    confusions: tuple[tuple[str, tuple[Confusion, ...]], ...] = ()
    answering: tuple[tuple[str, tuple[Answering, ...]], ...] = ()
    extra: tuple[tuple[str, float], ...] = ()

    @property
    def shown(self) -> int:
        """Which score is drawn as a bar: of questions the hard accuracy, of detectors oLRP."""
        return {VQA: 1, DETECTION: 2}.get(self.family, 0)


@dataclass(frozen=True)
class ObserverFacts:
    """An observer's page as values."""

    name: str
    label: str
    kind: str
    about: tuple[tuple[str, str], ...]
    persons: tuple[tuple[str, int, float], ...]
    sections: tuple[Section, ...]
    relations: Relations | None


def spec_digest(observer: Observer) -> str:
    """Digest of what defines an observer: kind and specification."""
    text = json.dumps([observer.kind, observer.spec], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def about(name: str, members: Sequence[Observer]) -> tuple[tuple[str, str], ...]:
    """Who an observer is, as lines: what is stored, and what is published about the model."""
    first = members[0]
    if len(members) > 1 or first.kind == "person":
        facts = {"kind": "people", "number": str(len(members))}
        for key in ("source", "file", "dataset"):
            found = {str(one.spec[key]) for one in members if key in one.spec}
            if found:
                facts[key] = ", ".join(sorted(found))
        return tuple(facts.items())
    known = [("kind", first.kind), ("digest", spec_digest(first)), *flatten(first.spec)]
    row = paper_row(name)
    if row is None:
        return tuple(known)
    size = "unknown" if row.parameters is None else f"{row.parameters.millions:,.1f} million"
    known += [("parameters", size), ("trained on", row.training.words)]
    if row.training.millions is not None:
        known.append(("training data", f"{row.training.millions:,.4g} million {row.training.unit}"))
    if row.accuracy is not None:
        metric = {"imagenet_top1": "ImageNet top-1", "coco_ap": "COCO AP"}[row.accuracy.metric]
        known.append((f"published {metric}", f"{row.accuracy.percent:.1f} %"))
    return tuple(known)


def gather_observer(
    observed: Observed, words: Sequence[Said], others: Sequence[Observed]
) -> ObserverFacts:
    """Everything of an observer's answers, detections excepted (see `detector_section`).

    Parameters
    ----------
    words : sequence of Said
        What was said, as `load_words` gives it.
    others : sequence of Observed
        All observers of the catalog; the observer itself may be among them.
    """
    counted = observed.evaluated()
    families = dict.fromkeys(task_family(task) for task in counted.tasks)
    sections = (_section(counted, words, family) for family in families if family in _TITLES)
    return ObserverFacts(
        name=observed.name,
        label=label_of(observed.name, observed.kind),
        kind=observed.kind,
        about=about(observed.name, observed.members),
        persons=_persons(counted),
        sections=tuple(sections),
        relations=relate(observed, others),
    )


def label_of(name: str, kind: str) -> str:
    """The paper's name of a model that it has, else the name in the catalog."""
    row = paper_row(name) if kind == "model" else None
    return name if row is None else row.paper_name


def _persons(counted: Observed) -> tuple[tuple[str, int, float], ...]:
    """Name, answers and share of right ones of each of several people."""
    if len(counted.members) < 2:
        return ()
    found = []
    for member in counted.members:
        own = counted.soft[counted.person == member.id]
        if len(own):
            found.append((member.name, len(own), share_of(own)))
    return tuple(found)


def _section(counted: Observed, words: Sequence[Said], family: str) -> Section:
    frames = counted.where(np.isin(counted.of("task"), _tasks_of(counted, family)))
    measures, scores = task_scores(frames, family)
    kinds = frames.error_kind
    return Section(
        family=family,
        title=_TITLES[family],
        n=len(frames),
        unanswered=int(np.isin(kinds.astype(str), (NO_ANSWER, UNSURE)).sum()),
        measures=measures,
        scores=overall(len(frames), scores),
        tables=tuple(tables(condition_columns(frames), measures, scores)),
        sensitivity=tuple(_sensitivity(frames, family)),
        confusions=tuple((task, _confusions(frames.task_of(task), words)) for task in frames.tasks),
        answering=tuple((task, _answering(frames.task_of(task))) for task in frames.tasks)
        if family == VQA
        else (),
        extra=_shape_bias(frames, words) if family == CHOICE else (),
    )


def _tasks_of(counted: Observed, family: str) -> list[str]:
    return [task for task in counted.tasks if task_family(task) == family]


def _sensitivity(frames: Observed, family: str) -> Iterator[tuple[str, Sensitivity]]:
    """For each task, and each kind of right: sets of one scene and EV offset."""
    if np.isnan(frames.of("ev_offset")).all():
        return
    for task in frames.tasks:
        some = frames.task_of(task)
        for name in ("soft", "hard") if family == VQA else ("soft",):
            right = (getattr(some, name) == 1).astype(np.float64)
            label = f"{task.upper()} {name}" if family == VQA else "top-1"
            yield label, sensitivity(right, some.of("scene_number"), some.of("ev_offset"))


def _confusions(some: Observed, words: Sequence[Said]) -> tuple[Confusion, ...]:
    """Most frequent wrong answers by category, or by number of objects for counts."""
    truth = some.of("count") if some.tasks[0] in ("q2", "q4") else some.of("category")
    given = [spoken(words[place]) for place in some.index.tolist()]
    return tuple(top_confusions(truth.astype(str), given, some.soft == 1, MISTAKES))


def spoken(said: Said) -> str:
    """What an answer is grouped by: the names read from it, else its words."""
    if said.named:
        return said.named
    text = " ".join(said.text.split()).casefold()
    if not text:
        return "(no answer)"
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\N{HORIZONTAL ELLIPSIS}"
    return f"\N{LEFT DOUBLE QUOTATION MARK}{shown}\N{RIGHT DOUBLE QUOTATION MARK}"


def _answering(some: Observed) -> tuple[Answering, ...]:
    offsets = some.of("ev_offset")
    known = np.unique(offsets[~np.isnan(offsets)]).tolist()
    return _form(None, some), *(_form(int(at), some.where(offsets == at)) for at in known)


def _form(offset: int | None, some: Observed) -> Answering:
    kinds = some.error_kind.astype(str)
    return Answering(
        offset,
        len(some),
        float(some.length.mean()),
        float(np.isin(kinds, (FAITHFULNESS, BOTH)).mean()),
        float(np.isin(kinds, (NO_ANSWER, UNSURE)).mean()),
    )


def _shape_bias(frames: Observed, words: Sequence[Said]) -> tuple[tuple[str, float], ...]:
    """Of cue-conflict pictures: share of decisions for the shape."""
    said = [words[place] for place in frames.index.tolist()]
    conflicts = [(one.text, *cues) for one in said if (cues := picture_cues(one.picture))]
    if not conflicts:
        return ()
    bias = shape_bias(*zip(*conflicts, strict=True))
    return () if math.isnan(bias) else (("shape bias", bias),)
