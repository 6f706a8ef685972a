"""Rulings of people on answers: rows of the protocol `ruling` among the verdicts.

They are no verdicts of a parser and are never rebuilt; scoring reads them, and they win.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from schemas.catalog import Catalog
from schemas.verdict_store import VerdictRow

PROTOCOL = "ruling"

# the inner query is answered by the key's index alone: a million verdicts are passed over quickly
_RULINGS = """
    SELECT response_id, parsed FROM verdicts
    WHERE rowid IN (SELECT rowid FROM verdicts WHERE protocol = ?)
"""

_JUDGED = """
    SELECT r.id, o.name, o.kind, s.task, c.category, c.count, s.options, r.text,
           v.parsed, v.soft, v.hard, v.error_kind
    FROM verdicts v
    JOIN responses r ON r.id = v.response_id
    JOIN observers o ON o.id = r.observer_id
    JOIN stimuli s ON s.id = r.stimulus_id
    JOIN frames f ON f.id = s.frame_id
    JOIN scenes c ON c.id = f.scene_id
    WHERE v.protocol = ? AND s.task IN ('q1', 'q2', 'q3', 'q4')
"""


class JudgedRow(NamedTuple):
    """An answer in words with its verdict; `options` and `parsed` are JSON texts.

    `objects` is how many there are in the scene.
    """

    response_id: int
    observer: str
    observer_kind: str
    task: str
    category: str
    objects: int
    options: str
    text: str | None
    parsed: str
    soft: int | None
    hard: int | None
    error_kind: str


def load_rulings(catalog: Catalog) -> dict[int, dict[str, Any]]:
    """Rulings by response id, as they were stored."""
    with catalog.read() as connection:
        found = connection.exec_driver_sql(_RULINGS, (PROTOCOL,))
        return {int(row[0]): json.loads(row[1]) for row in found}


def put_ruling(connection: Connection, row: VerdictRow) -> None:
    """Store a ruling in place of an earlier one."""
    connection.exec_driver_sql(
        "INSERT OR REPLACE INTO verdicts (protocol, response_id, parsed, soft, hard, error_kind) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (PROTOCOL, *row),
    )


def forget_verdicts(connection: Connection, response_ids: Sequence[int], protocol: str) -> None:
    """Drop verdicts, so that the next scoring reaches them anew."""
    connection.exec_driver_sql(
        "DELETE FROM verdicts WHERE response_id = ? AND protocol = ?",
        [(key, protocol) for key in response_ids],
    )


def iter_judged(catalog: Catalog, protocol: str) -> Iterator[JudgedRow]:
    """Answers to Q1 to Q4 with their verdicts under a protocol, streamed in their order."""
    query = _JUDGED + " ORDER BY v.response_id"
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        for row in cursor.execute(query, (protocol,)):
            yield JudgedRow(*row)


def find_judged(
    catalog: Catalog, protocol: str, response_ids: Sequence[int]
) -> Mapping[int, JudgedRow]:
    """Those of some answers to Q1 to Q4 that have a verdict under a protocol, by response id."""
    query = _JUDGED + " AND v.response_id = ?"
    found = {}
    with catalog.read() as connection:
        for key in response_ids:
            row = connection.exec_driver_sql(query, (protocol, key)).first()
            if row is not None:
                found[key] = JudgedRow(*row)
    return found
