"""Sessions of human trials in the catalog: whole, once, and corrected where a log has grown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import delete, insert, select

from schemas.answer_store import ORIGINAL
from schemas.catalog import Catalog
from schemas.import_store import put_import
from schemas.records import Response
from schemas.tables import responses

_VERDICTS = """
    SELECT c.name, l.name, f.setting, s.task, v.soft, v.hard, v.error_kind
    FROM responses r
    JOIN observers o ON o.id = r.observer_id
    JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    JOIN stimuli s ON s.id = r.stimulus_id
    JOIN frames f ON f.id = s.frame_id
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE o.name = ? AND s.view = ?
"""

#: What makes two responses the same answer; the row's own id and moment do not.
_SAME = ("text", "payload", "error", "latency_s", "timing", "frame_sha256")


@dataclass(frozen=True)
class Landed:
    """What a session changed in the catalog."""

    added: int
    corrected: int


class SessionVerdict(NamedTuple):
    """How an answer was scored; `soft` and `hard` are None without an answer."""

    soft: int | None
    hard: int | None
    error_kind: str


def put_session(
    catalog: Catalog,
    answers: Sequence[Response],
    *,
    kind: str,
    source: str,
    sha256: str,
    report: Mapping[str, Any],
) -> Landed:
    """Store the answers of one session and note its source, in one transaction.

    An answer that is there already stays, with its verdict; one that differs is replaced, and
    scored anew by the next scoring.
    """
    new, stale = [], []
    with catalog.write() as connection:
        for observer_id in sorted({one.observer_id for one in answers}):
            query = select(responses).where(responses.c.observer_id == observer_id)
            known = {row.stimulus_id: row for row in connection.execute(query)}
            for one in answers:
                if one.observer_id != observer_id:
                    continue
                row = known.get(one.stimulus_id)
                if row is None or any(getattr(row, name) != getattr(one, name) for name in _SAME):
                    new.append(one)
                    stale += [] if row is None else [row.id]
        for key in stale:
            connection.execute(delete(responses).where(responses.c.id == key))
        if new:
            connection.execute(insert(responses), [_values(one) for one in new])
        put_import(connection, kind, source, sha256, report)
    return Landed(added=len(new) - len(stale), corrected=len(stale))


def session_verdicts(
    catalog: Catalog, observer: str, protocol: str
) -> dict[tuple[str, str, str, str], SessionVerdict]:
    """Verdicts on an observer's answers by scene, lighting, setting and task."""
    with catalog.read() as connection:
        rows = connection.exec_driver_sql(_VERDICTS, (protocol, observer, ORIGINAL))
        return {(row[0], row[1], row[2], row[3]): SessionVerdict(*row[4:]) for row in rows}


def _values(one: Response) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in ("stimulus_id", "observer_id", *_SAME)}
    # as JSON gives it back: what is compared next time
    values["timing"] = json.loads(json.dumps(one.timing))
    return {**values, "answered_at": one.answered_at}
