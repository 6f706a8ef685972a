"""What the report shows, section by section: figures not yet drawn, figures left out, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluate.report.paper.classification import classification_figures
from evaluate.report.paper.detection import detection_figures
from evaluate.report.paper.figure import LeftOut, PaperFigure
from evaluate.report.paper.pictures import picture_figures
from evaluate.report.paper.questions import question_figures
from evaluate.report.paper.scale import scale_figures
from evaluate.report.paper.sensitivity import sensitivity_figures
from evaluate.report.published import COLUMNS, spell
from evaluate.report.results import Results
from evaluate.report.tables.answers import choice_table, people_tables, question_table, vqa_table
from evaluate.report.tables.dataset import dataset_tables
from evaluate.report.tables.models import (
    category_table,
    classification_table,
    detection_table,
)
from evaluate.report.tables.sensitivity import sensitivity_table
from evaluate.report.tables.table import Column, Table
from evaluate.report.thumbnails import Thumbnail
from schemas.report_store import PictureFrame

#: How a published statement that is no plain number reads; `=` goes without saying.
_RELATIONS = {"=": "", ">=": "\N{GREATER-THAN OR EQUAL TO}", "<=": "\N{LESS-THAN OR EQUAL TO}"}


@dataclass(frozen=True)
class Contents:
    """The report's own parts, in the order of the page."""

    figures: tuple[PaperFigure, ...]
    left_out: tuple[LeftOut, ...]
    tables: tuple[Table, ...]


def contents(results: Results, pictures: Sequence[PictureFrame], thumbnail: Thumbnail) -> Contents:
    """All figures and tables that the catalog has data for."""
    curves, chance = results.curves, results.chance
    found = [
        *picture_figures(pictures, thumbnail),
        *classification_figures(curves, chance.get("top1")),
        *scale_figures(curves),
        *detection_figures(curves, results.has_detections),
        *question_figures(curves, chance, results.protocol),
        *sensitivity_figures(curves),
    ]
    single = (
        choice_table(results.entries),
        classification_table(curves, results.entries),
        category_table(results.observers),
        detection_table(curves),
        vqa_table(curves),
        question_table(curves, chance),
        sensitivity_table(curves),
        published_table(results),
        disagreement_table(results),
    )
    tables = [
        *dataset_tables(results.frames),
        *people_tables(curves, chance),
        *(table for table in single if table is not None),
    ]
    return Contents(
        tuple(one for one in found if isinstance(one, PaperFigure)),
        tuple(one for one in found if isinstance(one, LeftOut)),
        tuple(tables),
    )


def published_table(results: Results) -> Table | None:
    """Metric, published, recomputed, difference, reason; None without answers of the release."""
    if not results.compared:
        return None
    rows = []
    for one in results.compared:
        row = {key: one.row()[key] for key in COLUMNS}
        relation = _RELATIONS.get(one.value.relation, one.value.relation)
        rows.append(
            {
                **row,
                "shown": f"{relation} {spell(one.value, one.value.published)}".strip(),
                "shown_recomputed": spell(one.value, one.recomputed),
                "shown_difference": spell(one.value, one.difference, signed=True),
                "shown_under_paper": spell(one.value, one.under_paper),
                "shown_reason": f"{row['reason']} {row['effect']}".strip(),
            }
        )
    return Table(
        "published",
        "published",
        "Against the published values",
        "Recomputed under the protocol release; beside it the same under the protocol paper.",
        (
            Column("what", "Metric"),
            Column("shown", "Published"),
            Column("shown_recomputed", "Recomputed"),
            Column("shown_difference", "Difference"),
            Column("shown_under_paper", "Under paper"),
            Column("result", "Result"),
            Column("shown_reason", "Reason"),
        ),
        rows,
    )


def disagreement_table(results: Results) -> Table | None:
    """Every answer to the frames that observers disagree about most; None without any."""
    rows = [row for dispute in results.disputes for frame in dispute.frames for row in frame.rows()]
    if not rows:
        return None
    return Table(
        "disagreement",
        "disagreement",
        "Frames that observers disagree about most",
        "One row an answer; right: 1, wrong: 0.",
        (
            Column("kind", "Kind"),
            Column("task", "Task"),
            Column("scene", "Scene"),
            Column("lighting", "Lighting"),
            Column("ev_offset", "EV offset", "signed"),
            Column("observer", "Observer"),
            Column("answer", "Answer"),
            Column("right", "Right", "count"),
        ),
        rows,
    )
