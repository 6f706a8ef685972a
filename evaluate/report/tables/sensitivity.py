"""Parameter sensitivity of every observer and measure."""

from __future__ import annotations

from collections.abc import Sequence

from evaluate.report.curves import HARD, TOP1, Curve
from evaluate.report.detectors import OLRP, OLRP_FN, OLRP_FP, OLRP_LOC
from evaluate.report.tables.table import Column, Table
from evaluate.scores import QUESTIONS

#: Measures of single frames that the paper states the sensitivity of, as readers know them.
MEASURES = {
    TOP1: "top-1",
    OLRP: "oLRP",
    OLRP_LOC: "oLRP Loc",
    OLRP_FP: "oLRP FP",
    OLRP_FN: "oLRP FN",
    **{f"{HARD}_{question}": f"{question.upper()} hard" for question in QUESTIONS},
}


def sensitivity_table(curves: Sequence[Curve]) -> Table | None:
    """Sets, those that vary and those that are mixed; None without any."""
    rows = [
        {
            "model": curve.who.label,
            "observer": curve.who.name,
            "measure": MEASURES[curve.measure],
            "sets": sets.sets,
            "single": sets.single,
            "varying": sets.varying,
            "ps": sets.parameter_sensitivity,
            "mixed": sets.mixed,
            "ps_mixed": sets.mixed_share,
        }
        for curve in curves
        if curve.measure in MEASURES and (sets := curve.sensitivity) is not None and sets.sets
    ]
    if not rows:
        return None
    return Table(
        "sensitivity",
        "sensitivity",
        "Parameter sensitivity",
        "Shares in percent; single: sets of one frame, which cannot vary.",
        (
            Column("model", "Observer"),
            Column("measure", "Measure"),
            Column("sets", "Sets", "count"),
            Column("single", "Single", "count"),
            Column("varying", "CV > 1", "count"),
            Column("ps", "PS", "percent"),
            Column("mixed", "Mixed", "count"),
            Column("ps_mixed", "Mixed share", "percent"),
        ),
        rows,
    )
