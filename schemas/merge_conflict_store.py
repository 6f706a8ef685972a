"""What contradicts between our catalog and the one attached as ``other``, in words."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection

from schemas.merge_store import FINAL_OUTCOMES, PLACE, SAME_FRAMES, same_answers
from schemas.tables import instances

#: Whether two frames that ended for good are one: the camera's bytes say so, and the stored
#: file's where both have one. An imported frame may lack its file.
_SAME = """
    f.outcome = o.outcome
    AND (f.camera_sha256 = o.camera_sha256 OR f.camera_sha256 = '' OR o.camera_sha256 = '')
    AND (f.sha256 = o.sha256 OR f.path = '' OR o.path = '')
"""


def find_conflicts(connection: Connection) -> list[str]:
    """What contradicts, in words. One kind hides those that follow from it."""
    return [
        *_contradicting_names(connection),
        *_contradicting_objects(connection),
        *_rows(
            connection,
            f"""
            SELECT 'frame ' || s.name || '/' || l.name || '/' || o.setting || ': ours is '
                || f.outcome || ' (' || substr(f.camera_sha256, 1, 12) || '), theirs '
                || o.outcome || ' (' || substr(o.camera_sha256, 1, 12) || ')'
            {SAME_FRAMES}
            WHERE f.outcome IN {FINAL_OUTCOMES} AND o.outcome IN {FINAL_OUTCOMES} AND NOT ({_SAME})
            """,
        ),
        *_rows(
            connection,
            f"""
            SELECT 'file ' || o.path || ' belongs to another frame here'
            FROM other.frames o {PLACE}
            JOIN main.frames f ON f.path = o.path
            WHERE o.path != '' AND (f.scene_id, f.lighting_id, f.kind, f.setting)
                != (s.id, l.id, o.kind, o.setting)
            """,  # noqa: S608
        ),
        *_rows(
            connection,
            "SELECT 'import ' || i.source || ': the two have different files of that name' "
            "FROM other.imports o JOIN main.imports i ON i.kind = o.kind AND i.source = o.source "
            "WHERE i.sha256 != o.sha256",
        ),
        *_rows(
            connection,
            f"""
            SELECT 'question ' || os2.task || ' of ' || s.name || '/' || l.name || '/' || o.setting
                || ': the options differ'
            {SAME_FRAMES}
            JOIN other.stimuli os2 ON os2.frame_id = o.id
            JOIN main.stimuli st ON st.frame_id = f.id AND st.view = os2.view
                AND st.task = os2.task
            WHERE st.options != os2.options AND st.options != '[]' AND os2.options != '[]'
            """,
        ),
        *_rows(
            connection,
            f"""
            SELECT 'person ' || ob.name || ' answered ' || st.task || ' of ' || s.name || '/'
                || l.name || '/' || o.setting || ' differently in the two: two people under one '
                || 'pseudonym?'
            {same_answers()}
            WHERE ob.kind = 'person' AND (r.text IS NOT ora.text OR r.payload != ora.payload
                OR r.error != ora.error)
            """,
        ),
    ]


def _contradicting_names(connection: Connection) -> list[str]:
    found = _rows(
        connection,
        "SELECT 'scene ' || s.name || ': ours is ' || s.count || ' x ' || s.category || "
        "', theirs ' || o.count || ' x ' || o.category "
        "FROM other.scenes o JOIN main.scenes s ON s.name = o.name "
        "WHERE s.category != o.category OR s.count != o.count",
    ) + _rows(
        connection,
        "SELECT 'lighting ' || l.name || ': ours has ' || l.lux || ' lux and EV reference ' || "
        "l.ev_reference || ', theirs ' || o.lux || ' and ' || o.ev_reference "
        "FROM other.lightings o JOIN main.lightings l ON l.name = o.name "
        "WHERE l.lux != o.lux OR l.ev_reference != o.ev_reference",
    )
    pairs = connection.exec_driver_sql(
        "SELECT o.name, o.kind, o.spec, m.kind, m.spec "
        "FROM other.observers o JOIN main.observers m ON m.name = o.name"
    )
    return found + [
        f"observer {name}: the two have other specifications ({theirs} and {ours})"
        for name, their_kind, theirs, our_kind, ours in pairs
        if (their_kind, json.loads(theirs)) != (our_kind, json.loads(ours))
    ]


def _contradicting_objects(connection: Connection) -> list[str]:
    columns = ", ".join(
        f"i.{column.name}" for column in instances.c if column.name not in ("id", "scene_id")
    )
    found: dict[str, dict[str, list[Any]]] = {"main": {}, "other": {}}
    for database, by_scene in found.items():
        rows = connection.exec_driver_sql(
            f"SELECT s.name, {columns} FROM {database}.instances i "  # noqa: S608
            f"JOIN {database}.scenes s ON s.id = i.scene_id ORDER BY s.id, i.number"
        )
        for name, *values in rows:
            by_scene.setdefault(name, []).append(values)
    return [
        f"scene {name}: its objects were marked differently"
        for name, theirs in found["other"].items()
        if name in found["main"] and found["main"][name] != theirs
    ]


def _rows(connection: Connection, query: str) -> list[str]:
    return [str(row[0]) for row in connection.exec_driver_sql(query)]
