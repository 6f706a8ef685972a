"""Results on questions and choices, of models and of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evaluate.report.curves import HARD, LENGTH, SOFT, UNFAITHFUL, Curve
from evaluate.report.paper.order import worst_first
from evaluate.report.tables.common import (
    KNOWN,
    MODEL,
    Entries,
    by_observer,
    interval,
    known,
    number,
)
from evaluate.report.tables.table import Column, Row, Table
from evaluate.report.who import Who
from evaluate.scores import QUESTIONS
from schemas.answer_store import CHOICE


def vqa_table(curves: Sequence[Curve]) -> Table | None:
    """Accuracy over all questions and on each, people included."""
    found = by_observer(curves)
    ordered = worst_first([curve for curve in curves if curve.measure == HARD])
    people = [curve for curve in ordered if curve.who.is_people]
    rows = []
    for curve in people + [c for c in ordered[::-1] if not c.who.is_people]:
        mine, peak = found[curve.who.name], curve.peak
        row: dict[str, object] = {
            **known(curve.who),
            "kind": curve.who.kind,
            "n": curve.overall.n,
            **interval(HARD, curve.overall),
            **interval(SOFT, mine[SOFT].overall),
            "peak": math.nan if peak is None else peak.value,
            "peak_ev_offset": None if peak is None else peak.ev_offset,
        }
        for question in QUESTIONS:
            one = mine.get(f"{HARD}_{question}")
            row[f"{HARD}_{question}"] = math.nan if one is None else one.overall.value
        row[LENGTH] = mine[LENGTH].overall.value
        row[UNFAITHFUL] = mine[UNFAITHFUL].overall.value
        rows.append(row)
    if not rows:
        return None
    return Table(
        "vqa",
        "vqa",
        "Visual question answering",
        "Mean over the questions in percent, with 95 % intervals by scene (people: by "
        "person); peak: highest mean hard accuracy at one EV offset; length: mean characters; "
        "unfaithful: share of answers not in the form that was asked for.",
        (
            MODEL,
            *KNOWN,
            Column("n", "Answers", "count"),
            Column(HARD, "Hard", "percent", f"{HARD}_low", f"{HARD}_high"),
            Column(SOFT, "Soft", "percent", f"{SOFT}_low", f"{SOFT}_high"),
            Column("peak", "Peak", "percent"),
            Column("peak_ev_offset", "at EV", "signed"),
            *(Column(f"{HARD}_{q}", f"{q.upper()} hard", "percent") for q in QUESTIONS),
            Column(LENGTH, "Length", "number"),
            Column(UNFAITHFUL, "Unfaithful", "percent"),
        ),
        rows,
    )


def question_table(curves: Sequence[Curve], chance: Mapping[str, float]) -> Table | None:
    """Each question of each observer, with intervals, sensitivity and chance."""
    found = by_observer(curves)
    rows = [
        row
        for curve in worst_first([c for c in curves if c.measure == HARD])[::-1]
        for row in _question_rows(curve.who, found[curve.who.name], chance)
    ]
    if not rows:
        return None
    return Table(
        "vqa-questions",
        "vqa",
        "Each question",
        "In percent, with 95 % intervals by scene (people: by person); PS and mixed are "
        "of hard accuracy; chance: one option at random, or always the most frequent truth.",
        (MODEL, *_QUESTION_COLUMNS),
        rows,
    )


def people_tables(curves: Sequence[Curve], chance: Mapping[str, float]) -> list[Table]:
    """People on each question, and over EV offsets."""
    found = by_observer([curve for curve in curves if curve.who.is_people])
    rows, points = [], []
    for mine in found.values():
        if HARD in mine:
            rows += _question_rows(mine[HARD].who, mine, chance)
            points += _offset_rows(mine)
    if not rows:
        return []
    return [
        Table(
            "people",
            "people",
            "People on each question",
            "In percent, with 95 % intervals by person; chance: one option at random, "
            "or always the most frequent truth.",
            (Column("model", "People"), *_QUESTION_COLUMNS),
            rows,
        ),
        Table(
            "people-by-ev-offset",
            "people",
            "People at each EV offset",
            "Hard accuracy in percent; all: mean over the questions with its 95 % interval.",
            (
                Column("model", "People"),
                Column("ev_offset", "EV offset", "signed"),
                Column("n", "Answers", "count"),
                Column(HARD, "All", "percent", f"{HARD}_low", f"{HARD}_high"),
                Column(SOFT, "All, soft", "percent"),
                *(Column(f"{HARD}_{q}", q.upper(), "percent") for q in QUESTIONS),
            ),
            points,
        ),
    ]


def choice_table(entries: Entries) -> Table | None:
    """Observers of named choices (trials in the model-vs-human format)."""
    rows = [
        {
            "model": one["name"],
            "kind": one["kind"],
            "observers": one["observers"],
            "n": one["n"],
            **{f"soft{end}": number(one["metrics"][f"soft{end}"]) for end in ("", "_low", "_high")},
            "shape_bias": number(one["metrics"].get("shape_bias")),
        }
        for one in entries
        if one["task"] == CHOICE
    ]
    if not rows:
        return None
    return Table(
        "choices",
        "people",
        "Choices between named categories",
        "In percent, with 95 % intervals (people: that resample persons); shape bias: decisions "
        "for the shape, of those for shape or texture.",
        (
            Column("model", "Observer"),
            Column("observers", "Observers", "count"),
            Column("n", "Trials", "count"),
            Column("soft", "Accuracy", "percent", "soft_low", "soft_high"),
            Column("shape_bias", "Shape bias", "percent"),
        ),
        rows,
    )


_QUESTION_COLUMNS = (
    Column("question", "Question"),
    Column("n", "Answers", "count"),
    Column(SOFT, "Soft", "percent", f"{SOFT}_low", f"{SOFT}_high"),
    Column(HARD, "Hard", "percent", f"{HARD}_low", f"{HARD}_high"),
    Column("peak", "Peak", "percent"),
    Column("peak_ev_offset", "at EV", "signed"),
    Column("ps", "PS", "percent"),
    Column("ps_mixed", "Mixed", "percent"),
    Column("length", "Length", "number"),
    Column("chance", "Chance", "percent"),
)


def _question_rows(
    who: Who, mine: Mapping[str, Curve], chance: Mapping[str, float]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for question in QUESTIONS:
        hard = mine.get(f"{HARD}_{question}")
        if hard is None:
            continue
        sets, peak = hard.sensitivity, hard.peak
        rows.append(
            {
                "model": who.label,
                "observer": who.name,
                "kind": who.kind,
                "question": question.upper(),
                "n": hard.overall.n,
                **interval(SOFT, mine[f"{SOFT}_{question}"].overall),
                **interval(HARD, hard.overall),
                "peak": math.nan if peak is None else peak.value,
                "peak_ev_offset": None if peak is None else peak.ev_offset,
                "ps": math.nan if sets is None else sets.parameter_sensitivity,
                "ps_mixed": math.nan if sets is None else sets.mixed_share,
                "length": mine[f"{LENGTH}_{question}"].overall.value,
                "chance": chance.get(question, math.nan),
            }
        )
    return rows


def _offset_rows(mine: Mapping[str, Curve]) -> list[Row]:
    soft = {point.ev_offset: point.value for point in mine[SOFT].points}
    by_question = {
        question: {point.ev_offset: point.value for point in mine[f"{HARD}_{question}"].points}
        for question in QUESTIONS
        if f"{HARD}_{question}" in mine
    }
    return [
        {
            "model": mine[HARD].who.label,
            "ev_offset": point.ev_offset,
            "n": point.n,
            HARD: point.value,
            f"{HARD}_low": point.low,
            f"{HARD}_high": point.high,
            SOFT: soft[point.ev_offset],
            **{
                f"{HARD}_{question}": by_question.get(question, {}).get(point.ev_offset, math.nan)
                for question in QUESTIONS
            },
        }
        for point in mine[HARD].points
    ]
