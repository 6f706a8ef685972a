"""Tables I to VII of the paper for whatever a catalog holds, and the numbers behind the figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluate.color.data import GROUPS, ColorData
from evaluate.color.families import SELF_SUPERVISED
from evaluate.color.groups import COMPARED, Group, all_pairs
from evaluate.color.localization import Localized
from evaluate.color.plots import Missing
from evaluate.color.scores import ALL, LUMA, family_gaps, robustness, score_subset
from evaluate.report.tables.table import MISSING, Column, Table

Item = Table | Missing
Rows = Sequence[Mapping[str, Any]]

_GROUPS: Final = tuple(
    Column(group.lower(), str(group), "percent", decimals=2) for group in COMPARED
)
_OBSERVER: Final = Column("observer", "Observer")
_ANSWERS: Final = Column("answers", "Answers", "count")
_ACCURACY: Final = Column("accuracy", "Accuracy (%)", "percent", decimals=2)
_AG: Final = Column("ag", "AG (%)", "percent", decimals=2)

_NO_ANSWERS: Final = "no scored answers to frames with both colors known"


def _table(
    name: str, title: str, note: str, columns: Sequence[Column], rows: Rows, reason: str
) -> Item:
    if not rows:
        return Missing(name, title, reason)
    return Table(name, name, title, note, tuple(columns), rows)


def accuracy_table(rows: Rows) -> Item:
    """Accuracy by group of all observers."""
    columns = (
        _OBSERVER,
        Column("family", "Family"),
        Column("training", "Training"),
        _ANSWERS,
        _ACCURACY,
        *(
            Column(g.lower(), f"{g} (%)", "percent", f"{g.lower()}_low", f"{g.lower()}_high")
            for g in COMPARED
        ),
        Column("others", "Others (%)", "percent"),
        _AG,
        Column("scvr", "sCVR", "number", decimals=1),
        Column("accuracy_over_ag", "Accuracy / AG", "number", decimals=1),
    )
    note = (
        "Answers to frames as they are, whose two colors are known. Brackets: 95 % intervals, "
        "scenes resampled. AG: largest less smallest accuracy of Hard, Medium and Easy. sCVR: "
        "accuracy over the weighted deviation of the three groups."
    )
    own = [row for row in rows if row["subset"] == ALL.key]
    title = "Accuracy by color discrimination group"
    return _table("accuracy-by-group", title, note, columns, own, _NO_ANSWERS)


def subset_table(rows: Rows) -> Item:
    """The same for every subset and manipulation."""
    columns = (
        Column("subset", "Subset"), _OBSERVER, _ANSWERS, _ACCURACY, *_GROUPS, _AG,
        Column("scvr", "sCVR", "number", decimals=1),
    )  # fmt: skip
    parts = [row for row in rows if row["subset"] != ALL.key]
    note = "Land vehicles, grayscale, pictures of medium luma, corrupted views, parts of spectra."
    return _table(
        "accuracy-subsets", "Accuracy by group in subsets and views", note, columns, parts,
        "no answers to land vehicles, to frames of known luma, or to any other view",
    )  # fmt: skip


def tests_table(rows: Rows) -> Item:
    """Paired t tests and Page's trend."""
    columns = (
        Column("subset", "Subset"), Column("across", "Across"), Column("test", "Test"),
        Column("compared", "Compared"), Column("n", "n", "count"),
        Column("statistic", "t, or L", "number", decimals=3),
        Column("p", "p", "number", decimals=6),
        Column("p_holm", "p, by Holm", "number", decimals=6), Column("reason", "Not possible"),
    )  # fmt: skip
    note = (
        "Across observers that answered in all three groups. Two-sided; Page's test is for the "
        "order named. Holm adjusts for the three pairs of one subset."
    )
    reason = "no observer answered in all three groups"
    return _table("tests", "Do groups differ?", note, columns, rows, reason)


def robustness_table(data: ColorData) -> Item:
    """The paper's scaled metrics."""
    rows = [
        {"observer": one.name, "family": one.lineage.shown_family, **robustness(data.frames, one)}
        for one in data.shown
    ]
    known = [row for row in rows if not all(isinstance(v, float) and math.isnan(v)
                                            for v in list(row.values())[2:])]  # fmt: skip
    columns = (
        _OBSERVER,
        Column("family", "Family"),
        Column("scvr", "sCVR", "number", decimals=2),
        Column("accuracy_over_ag", "Accuracy / AG", "number", decimals=2),
        Column("scvr_corrupted", "sCVR, corrupted", "number", decimals=2),
        Column("accuracy_over_ag_corrupted", "Accuracy / AG, corrupted", "number", decimals=2),
        Column("scr", "sCR", "number", decimals=2),
    )
    note = (
        "Higher is more robust; inf: no difference at all. The paper's values are of corrupted "
        "pictures. sCR: accuracy over the deviation across severities."
    )
    return _table("robustness", "Robustness to color and corruption", note, columns, known,
                  "no observer answered in two groups")  # fmt: skip


def table_1(data: ColorData) -> Item:
    """AG by model family."""
    columns = (
        Column("family", "Family"), Column("models", "Models", "count"),
        Column("all", "All", "percent", decimals=2),
        Column("vehicles", "Land vehicles", "percent", decimals=2),
        Column("corrupted", "Corrupted", "percent", decimals=2),
    )  # fmt: skip
    note = "Mean over the models of a family that answered in all three groups, in percent."
    return _table(
        "table-1-gaps", "Table I: average absolute gap by model family", note, columns,
        family_gaps(data), "no model answered in all three groups",
    )  # fmt: skip


def table_2(rows: Rows) -> Item:
    """Self-supervised models."""
    chosen = [
        row for row in rows if row["subset"] == ALL.key and row["training"] == SELF_SUPERVISED
    ]
    return _table(
        "table-2-self-supervised", "Table II: self-supervised models", "Accuracy in percent.",
        (_OBSERVER, _ANSWERS, *_GROUPS[::-1]), chosen,
        "no self-supervised model (DINO) answered",
    )  # fmt: skip


def table_3(data: ColorData) -> Item:
    """Luma subsets, Hard/Medium/Easy."""
    rows = []
    for one in data.shown:
        found = {subset.key: score_subset(data.frames, one, subset) for subset in LUMA}
        if any(got is not None for got in found.values()):
            cells = {
                key: "" if got is None else "/".join(_percent(v) for v in got.compared)
                for key, got in found.items()
            }
            counts = {
                f"{key}_answers": 0 if got is None else sum(got.n) for key, got in found.items()
            }
            rows.append({"observer": one.name, **cells, **counts})
    columns = [_OBSERVER]
    for subset in LUMA:
        columns += [
            Column(subset.key, subset.title.capitalize()),
            Column(f"{subset.key}_answers", "Answers", "count"),
        ]
    note = (
        "Hard/Medium/Easy in percent. Luma: Rec. 601, 0 to 1, the middle 0.5. Apart: the means of "
        "object and background, where a mask told them."
    )
    return _table("table-3-luma", "Table III: luma controlled", note, columns, rows,
                  "no answers to labeled frames of known luma")  # fmt: skip


def _percent(share: float) -> str:
    return MISSING if math.isnan(share) else f"{100 * share:.2f}"


def table_4(rows: Rows) -> Item:
    """Parts of the spectrum."""
    chosen = [row for row in rows if str(row["subset"]).startswith(("low_", "high_"))]
    columns = (Column("subset", "Part and radius"), _OBSERVER, _ANSWERS, *_GROUPS[::-1])
    return _table(
        "table-4-frequencies", "Table IV: low and high frequencies", "Accuracy in percent.",
        columns, chosen, "nobody was shown the views `low:RADIUS` or `high:RADIUS`",
    )  # fmt: skip


def table_5(found: Mapping[str, Localized]) -> Item:
    """Top-1 localization."""
    rows = [
        {
            "observer": name,
            "subset": subset,
            "threshold": threshold,
            "answers": sum(got.n),
            **{group.lower(): got.of(group) for group in COMPARED},
            "ag": got.ag,
        }
        for name, scores in found.items()
        for (subset, threshold), got in scores.items()
        if sum(got.n)
    ]
    columns = (
        _OBSERVER, Column("subset", "Frames"), Column("threshold", "IoU", "number"), _ANSWERS,
        *_GROUPS[::-1], _AG,
    )  # fmt: skip
    note = "The best-scored box has the right class and overlaps by at least IoU; percent."
    return _table("table-5-localization", "Table V: top-1 localization", note, columns, rows,
                  "no detections on frames with boxes and both colors known")  # fmt: skip


def table_6(data: ColorData) -> Item:
    """Pairs and frames in each group."""
    pairs = all_pairs()
    rows = [
        {
            "group": str(group),
            "pairs": sum(one.group is group for one in pairs),
            "frames": int((data.frames.group == place).sum()),
            "scenes": len(set(data.frames.scene[data.frames.group == place].tolist())),
            "apparent": int((data.frames.apparent == place).sum()),
        }
        for group in (*COMPARED, Group.OTHERS)
        for place in (GROUPS.index(group),)
    ]
    columns = (
        Column("group", "Group"), Column("pairs", "Pairs", "count"),
        Column("frames", "Frames", "count"), Column("scenes", "Scenes", "count"),
        Column("apparent", "Frames as they appear", "count"),
    )  # fmt: skip
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in data.frames.kinds.items()) or "none"
    unlabeled = len(data.frames.rows) - sum(data.frames.kinds.values())
    note = f"Frames with both colors known, by label: {kinds}; {unlabeled:,} frames without."
    return Table("table-6-groups", "groups", "Table VI: pairs and frames", note, columns, rows)


def table_7() -> Item:
    """The 36 pairs."""
    rows = [
        {
            "background": str(one.background),
            "foreground": str(one.foreground),
            "ratio": one.ratio,
            "group": str(one.group),
        }
        for one in all_pairs()
    ]
    columns = (
        Column("background", "Color"), Column("foreground", "Color"),
        Column("ratio", "Contrast ratio", "number", decimals=2), Column("group", "Group"),
    )  # fmt: skip
    note = "Unordered. Contrast ratio of WCAG 2.1."
    return Table("table-7-pairs", "pairs", "Table VII: color pairs", note, columns, rows)


def color_table(rows: Rows) -> Item:
    """Accuracy by color, and how far each lies from the mean."""
    columns = (
        _OBSERVER, Column("side", "Side"), Column("color", "Color"), _ANSWERS, _ACCURACY,
        Column("degradation", "Against mean", "percent", decimals=2),
    )  # fmt: skip
    note = "Against mean: in percentage points of accuracy; negative: the color is at a loss."
    return _table("colors", "Colors as spurious correlations", note, columns, rows,
                  "no scored answers to frames with a known color")  # fmt: skip


def reaction_table(rows: Rows) -> Item:
    """Reaction times of people."""
    columns = [_OBSERVER]
    for group in COMPARED:
        key = group.lower()
        columns += [
            Column(f"{key}_mean_s", f"{group}: mean (s)", "number", decimals=3),
            Column(f"{key}_median_s", "median (s)", "number", decimals=3),
            Column(f"{key}_accuracy", "accuracy (%)", "percent"),
        ]
    return _table(
        "reaction-times", "Reaction time of people by group", "Answers with a measured time.",
        columns, rows, "no answers of people with a reaction time and known colors",
    )  # fmt: skip


def exposure_table(rows: Rows) -> Item:
    """Raw and standardized accuracy by EV offset."""
    columns = (
        _OBSERVER, Column("ev_offset", "EV offset", "signed"), _ANSWERS,
        Column("raw", "Raw (%)", "percent", decimals=2),
        Column("standardized", "Same mix (%)", "percent", decimals=2),
        Column("covered", "Mix covered (%)", "percent"), *_GROUPS,
    )  # fmt: skip
    note = (
        "Groups as the frames appear. Same mix: accuracy of each group weighted by its share at "
        "EV offset 0, as far as it has answers."
    )
    return _table("exposure", "Exposure and color apart", note, columns, rows,
                  "no answers to frames measured at two EV offsets or more")  # fmt: skip
