"""Results of classifiers and detectors, with what is published about each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evaluate.metrics.groups import group_by
from evaluate.report.curves import TOP1, Curve
from evaluate.report.detectors import AP, AP50, OLRP, OLRP_FN, OLRP_FP, OLRP_LOC
from evaluate.report.observed import Observed
from evaluate.report.paper.order import worst_first
from evaluate.report.tables.common import (
    KNOWN,
    MODEL,
    Entries,
    by_observer,
    interval,
    known,
    number,
    published,
)
from evaluate.report.tables.table import Column, Table
from evaluate.report.who import who_is
from schemas.answer_store import CLASSIFICATION


def classification_table(curves: Sequence[Curve], entries: Entries) -> Table | None:
    """Top-1 and top-5 as `evaluate score` gives them, with size, training and sensitivity."""
    metrics = {one["name"]: one for one in entries if one["task"] == CLASSIFICATION}
    ordered = worst_first([c for c in curves if c.measure == TOP1 and c.who.name in metrics])[::-1]
    rows = []
    for curve in ordered:
        entry = metrics[curve.who.name]
        found, peak = entry["metrics"], curve.peak
        rows.append(
            {
                **known(curve.who),
                "imagenet_top1": published(curve.who),
                "n": entry["n"],
                **{f"top1{end}": number(found[f"top1{end}"]) for end in ("", "_low", "_high")},
                **{f"top5{end}": number(found[f"top5{end}"]) for end in ("", "_low", "_high")},
                "well_exposed": curve.well_exposed(),
                "peak": math.nan if peak is None else peak.value,
                "peak_ev_offset": None if peak is None else peak.ev_offset,
                "ps": number(found["ps"]),
                "ps_mixed": number(found["ps_mixed"]),
            }
        )
    if not rows:
        return None
    return Table(
        "classification",
        "classification",
        "Image classification",
        "In percent, with 95 % intervals by scene (Wilson's for few). ImageNet: as published; "
        "well: EV offsets -2 to 2; peak: highest mean at one EV offset; PS: parameter "
        "sensitivity; mixed: share of equal-exposure sets with right and wrong answers.",
        (
            MODEL,
            *KNOWN,
            Column("imagenet_top1", "ImageNet", "percent"),
            Column("n", "Frames", "count"),
            Column("top1", "Top-1", "percent", "top1_low", "top1_high"),
            Column("top5", "Top-5", "percent", "top5_low", "top5_high"),
            Column("well_exposed", "Well", "percent"),
            Column("peak", "Peak", "percent"),
            Column("peak_ev_offset", "at EV", "signed"),
            Column("ps", "PS", "percent"),
            Column("ps_mixed", "Mixed", "percent"),
        ),
        rows,
    )


def category_table(observers: Sequence[Observed]) -> Table | None:
    """Top-1 of each classifier on each category."""
    rows = []
    for observed in observers:
        labels = observed.evaluated().task_of(CLASSIFICATION)
        if len(labels):
            right = (labels.place == 1).astype(np.float64)
            groups = group_by({"category": labels.of("category")}, ["category"])
            means = zip(groups.labels, groups.means(right).tolist(), strict=True)
            who = who_is(observed.name, observed.kind)
            shares = {str(category): value for category, value in means}
            rows.append(
                {
                    "model": who.label,
                    "observer": who.name,
                    "n": len(labels),
                    "all": float(right.mean()),
                    **shares,
                }
            )
    categories = sorted({key for row in rows for key in row} - {"model", "observer", "n", "all"})
    if not categories:
        return None
    return Table(
        "classification-by-category",
        "classification",
        "Top-1 on each category",
        "In percent, over all evaluated frames.",
        (
            MODEL,
            Column("n", "Frames", "count"),
            *(Column(name, name.replace("_", " "), "percent") for name in categories),
            Column("all", "All", "percent"),
        ),
        sorted(
            ({**dict.fromkeys(categories, math.nan), **row} for row in rows),
            key=lambda row: (-float(str(row["all"])), str(row["model"])),
        ),
    )


def detection_table(curves: Sequence[Curve]) -> Table | None:
    """AP, oLRP and its parts, with the sensitivity of each."""
    found = by_observer(curves)
    ordered = worst_first([c for c in curves if c.measure == OLRP], low_is_good=True)[::-1]
    rows = []
    for curve in ordered:
        mine = found[curve.who.name]
        row: dict[str, object] = {**known(curve.who), "coco_ap": published(curve.who)}
        row["n"] = curve.overall.n
        for measure in (AP, AP50, OLRP, OLRP_LOC, OLRP_FP, OLRP_FN):
            row |= interval(measure, mine[measure].overall)
        for measure in (AP, OLRP, OLRP_LOC, OLRP_FP, OLRP_FN):
            sets = mine[measure].sensitivity
            row[f"ps_{measure}"] = math.nan if sets is None else sets.parameter_sensitivity
        rows.append(row)
    if not rows:
        return None
    return Table(
        "detection",
        "detection",
        "Object detection",
        "With 95 % intervals by scene; COCO: AP on val2017 as published; PS in "
        "percent, of the measure of single frames.",
        (
            MODEL,
            *KNOWN,
            Column("coco_ap", "COCO AP", "number", decimals=3),
            Column("n", "Frames", "count"),
            *(
                Column(measure, header, "number", f"{measure}_low", f"{measure}_high", 3)
                for measure, header in (
                    (AP, "AP"),
                    (AP50, "AP50"),
                    (OLRP, "oLRP"),
                    (OLRP_LOC, "Loc"),
                    (OLRP_FP, "FP"),
                    (OLRP_FN, "FN"),
                )
            ),
            Column(f"ps_{OLRP}", "PS oLRP", "percent"),
            Column(f"ps_{OLRP_LOC}", "PS Loc", "percent"),
            Column(f"ps_{OLRP_FP}", "PS FP", "percent"),
            Column(f"ps_{OLRP_FN}", "PS FN", "percent"),
        ),
        rows,
    )
