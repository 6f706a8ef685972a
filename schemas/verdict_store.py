"""Scoring's way through the catalog: responses with their truth out, verdicts in, by the block.

A release has a million responses; rows go to and from the driver as tuples, JSON as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from schemas.catalog import Catalog

#: Rows of one transaction, and of one read.
BLOCK = 50_000

_STIMULI = """
    SELECT s.id, s.task, c.category, c.count, s.options
    FROM stimuli s
    JOIN frames f ON f.id = s.frame_id
    JOIN scenes c ON c.id = f.scene_id
"""

_RESPONSES = """
    SELECT r.id, r.stimulus_id, r.observer_id, r.text, r.payload, r.error
    FROM responses r WHERE r.id > ?
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
    query = _RESPONSES
    values: tuple[str, ...] = ()
    if vocabulary is not None:
        query += _STALE
        values = (protocol, vocabulary)
    query += f" ORDER BY r.id LIMIT {BLOCK}"
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        # one look at each stimulus, not a join for each of its many responses
        asked = {row[0]: row[1:] for row in cursor.execute(_STIMULI) if row[1] in tasks}
        kinds = dict(cursor.execute("SELECT id, kind FROM observers").fetchall())
    last = 0
    while True:
        with catalog.read() as connection:
            cursor = connection.connection.cursor()
            found = cursor.execute(query, (last, *values)).fetchall()
        if not found:
            return
        last = found[-1][0]
        yield [
            TruthRow(key, asked[stimulus][0], kinds[observer], *asked[stimulus][1:], *answer)
            for key, stimulus, observer, *answer in found
            if stimulus in asked
        ]


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
    SELECT r.stimulus_id, v.soft, v.hard, v.error_kind, json_extract(v.parsed, '$.place'),
           CASE s.task WHEN 'choice' THEN r.payload ELSE '' END
    FROM responses r
    CROSS JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    CROSS JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.observer_id = ? AND (s.view = 'original' OR s.view LIKE 'original@%')
    ORDER BY r.stimulus_id
"""

_CONDITIONS = """
    SELECT s.id, s.task, c.name, l.name, f.kind, f.ev_offset, u.kind = 'import'
    FROM stimuli s
    JOIN frames f ON f.id = s.frame_id
    JOIN runs u ON u.id = f.run_id
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
"""

#: Stimulus id to task, scene, lighting, frame kind, EV offset, whether the frame was imported.
Conditions = dict[int, tuple[str, str, str, str, int | None, int]]


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


def load_conditions(catalog: Catalog) -> Conditions:
    """Task and conditions of every stimulus: read once for all observers."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        return {row[0]: row[1:] for row in cursor.execute(_CONDITIONS)}


def load_scored(
    catalog: Catalog, observer_id: int, protocol: str, conditions: Conditions
) -> list[ScoredRow]:
    """All verdicts on an observer's responses under a protocol, in stimulus order."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        found = cursor.execute(_SCORED, (protocol, observer_id)).fetchall()
    return [
        ScoredRow._make((*conditions[stimulus], *verdict, observer_id, payload))
        for stimulus, *verdict, payload in found
    ]
