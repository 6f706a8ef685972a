"""Scoring's way through the catalog: responses with their truth out, verdicts in, by the block.

A release has a million responses; rows go to and from the driver as tuples, JSON as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from schemas.catalog import Catalog

#: Rows of one transaction, and of one read.
BLOCK = 20_000

# CROSS JOIN keeps SQLite to this order: it would start from the stimuli of a task, and sort all
# that is left for every block.
_TRUTHS = """
    SELECT r.id, s.task, o.kind, c.category, c.count, s.options, r.text, r.payload, r.error
    FROM responses r
    CROSS JOIN stimuli s ON s.id = r.stimulus_id
    CROSS JOIN observers o ON o.id = r.observer_id
    CROSS JOIN frames f ON f.id = s.frame_id
    CROSS JOIN scenes c ON c.id = f.scene_id
    WHERE r.id > ?
"""

_STALE = """
    AND NOT EXISTS (
        SELECT 1 FROM verdicts v
        WHERE v.response_id = r.id AND v.protocol = ?
        AND json_extract(v.parsed, '$.vocabulary') = ?
    )
"""


class TruthRow(NamedTuple):
    """A response with what its scoring needs to know; `options` and `payload` are JSON texts.

    `objects` is how many there are in the scene.
    """

    response_id: int
    task: str
    observer_kind: str
    category: str
    objects: int
    options: str
    text: str | None
    payload: str
    error: str


class VerdictRow(NamedTuple):
    """A verdict as the driver takes it; `parsed` is JSON text, `soft` None without an answer."""

    response_id: int
    parsed: str
    soft: bool | None
    hard: bool | None
    error_kind: str


def iter_truths(
    catalog: Catalog, tasks: Sequence[str], protocol: str, vocabulary: str | None = None
) -> Iterator[list[TruthRow]]:
    """Responses to some tasks with their truth, in blocks, in the order they were stored.

    With a `vocabulary` digest only those that no verdict of this protocol and vocabulary covers.
    No transaction stays open between blocks.
    """
    marks = ", ".join("?" for _ in tasks)
    query = f"{_TRUTHS} AND s.task IN ({marks})"
    values: tuple[str, ...] = tuple(tasks)
    if vocabulary is not None:
        query += _STALE
        values += (protocol, vocabulary)
    query += f" ORDER BY r.id LIMIT {BLOCK}"
    last = 0
    while True:
        with catalog.read() as connection:
            cursor = connection.connection.cursor()
            cursor.execute(query, (last, *values))
            block = [TruthRow(*row) for row in cursor.fetchall()]
        if not block:
            return
        last = block[-1].response_id
        yield block


def put_verdict_rows(catalog: Catalog, protocol: str, rows: Sequence[VerdictRow]) -> None:
    """Store verdicts, replacing those of the same response and protocol."""
    statement = (
        "INSERT INTO verdicts (response_id, protocol, parsed, soft, hard, error_kind) "
        "VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (response_id, protocol) DO UPDATE SET parsed = excluded.parsed, "
        "soft = excluded.soft, hard = excluded.hard, error_kind = excluded.error_kind"
    )
    if rows:
        with catalog.write() as connection:
            connection.exec_driver_sql(
                statement, [(row[0], protocol, row[1], row[2], row[3], row[4]) for row in rows]
            )


_SCORED = """
    SELECT s.task, c.name, l.name, f.kind, f.ev_offset, u.kind = 'import', v.soft, v.hard,
           v.error_kind, json_extract(v.parsed, '$.place'), r.observer_id,
           CASE s.task WHEN 'choice' THEN r.payload ELSE '' END
    FROM responses r
    CROSS JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    CROSS JOIN stimuli s ON s.id = r.stimulus_id
    CROSS JOIN frames f ON f.id = s.frame_id
    CROSS JOIN runs u ON u.id = f.run_id
    CROSS JOIN scenes c ON c.id = f.scene_id
    CROSS JOIN lightings l ON l.id = f.lighting_id
    WHERE r.observer_id = ?
    ORDER BY r.stimulus_id
"""


class ScoredRow(NamedTuple):
    """A verdict with the conditions of its frame.

    Attributes
    ----------
    imported : bool
        The frame was taken elsewhere.
    place : int or None
        Of the first accepted class among the labels given, for classification.
    """

    task: str
    scene: str
    lighting: str
    frame_kind: str
    ev_offset: int | None
    imported: bool
    soft: bool | None
    hard: bool | None
    error_kind: str
    place: int | None
    observer_id: int
    payload: str


def load_scored(catalog: Catalog, observer_id: int, protocol: str) -> list[ScoredRow]:
    """All verdicts on an observer's responses under a protocol, in stimulus order."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        cursor.execute(_SCORED, (protocol, observer_id))
        return [ScoredRow(*row) for row in cursor.fetchall()]
