"""Rows of another catalog, joined to ours by their names: what is new, what contradicts.

The other catalog is attached as ``other``. Numbers of rows are each catalog's own, so every
statement goes by names, settings, moments and digests. All of them may run twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table

from schemas.frame_store import FINAL
from schemas.ruling_store import PROTOCOL
from schemas.tables import (
    color_labels,
    events,
    frames,
    instances,
    light_readings,
    lightings,
    runs,
    scenes,
)
from schemas.tables import imports as imports_table
from schemas.tables import observers as observers_table
from schemas.tables import responses as responses_table

FINAL_OUTCOMES = "(" + ", ".join(f"'{outcome}'" for outcome in FINAL) + ")"

#: Theirs (o) with our scene (s) and lighting (l) of the same names.
PLACE = """
    JOIN other.scenes os ON os.id = o.scene_id JOIN main.scenes s ON s.name = os.name
    JOIN other.lightings ol ON ol.id = o.lighting_id JOIN main.lightings l ON l.name = ol.name
"""

#: Their run and ours: started at the same moment. Imported shots have one run a sweep.
_RUNS = f"""
    SELECT o.id AS theirs, min(r.id) AS ours
    FROM other.runs o {PLACE}
    JOIN main.runs r ON r.scene_id = s.id AND r.lighting_id = l.id AND r.kind = o.kind
        AND (r.started_at = o.started_at OR r.kind = 'import')
    GROUP BY o.id
"""  # noqa: S608 - all text of these statements is of this module

#: Their frame (o) and ours (f) of the same shot.
SAME_FRAMES = f"""
    FROM other.frames o {PLACE}
    JOIN main.frames f ON f.scene_id = s.id AND f.lighting_id = l.id
        AND f.kind = o.kind AND f.setting = o.setting
"""

#: Whether theirs takes the place of ours: it ended for good, or has the file that ours lacks.
_BETTER = f"""
    (f.outcome NOT IN {FINAL_OUTCOMES} AND o.outcome IN {FINAL_OUTCOMES})
    OR (f.outcome = 'accepted' AND o.outcome = 'accepted' AND f.path = '' AND o.path != '')
"""


class Sweep(NamedTuple):
    """A scene under a lighting, by their names."""

    scene: str
    lighting: str


class FileToCopy(NamedTuple):
    """A stored file of the other workspace whose row is to become ours."""

    path: str
    sha256: str
    size_bytes: int


def sweeps(connection: Connection) -> list[Sweep]:
    """All sweeps of the other catalog, in the order of their scenes."""
    return [
        Sweep(*row)
        for row in connection.exec_driver_sql(
            "SELECT os.name, ol.name FROM other.runs o "
            "JOIN other.scenes os ON os.id = o.scene_id "
            "JOIN other.lightings ol ON ol.id = o.lighting_id "
            "GROUP BY os.id, ol.id ORDER BY os.id, ol.id"
        )
    ]


def files_to_copy(connection: Connection, sweep: Sweep) -> Iterator[FileToCopy]:
    """Files of frames of a sweep that are new to us, or better than what we have."""
    rows = connection.exec_driver_sql(
        f"""
        SELECT o.path, o.sha256, o.size_bytes
        FROM other.frames o
        JOIN other.scenes os ON os.id = o.scene_id
        JOIN other.lightings ol ON ol.id = o.lighting_id
        LEFT JOIN main.scenes s ON s.name = os.name
        LEFT JOIN main.lightings l ON l.name = ol.name
        LEFT JOIN main.frames f ON f.scene_id = s.id AND f.lighting_id = l.id
            AND f.kind = o.kind AND f.setting = o.setting
        WHERE os.name = ? AND ol.name = ? AND o.path != '' AND (f.id IS NULL OR {_BETTER})
        ORDER BY o.id
        """,  # noqa: S608 - all text is of this module
        tuple(sweep),
    )
    for row in rows.fetchall():
        yield FileToCopy(*row)


def put_names(connection: Connection) -> dict[str, int]:
    """Add scenes, lightings and observers that are new; how many of each."""
    return {
        table.name: _copy(connection, table, "", "WHERE o.name NOT IN (SELECT name FROM main.{})")
        for table in (scenes, lightings, observers_table)
    }


def put_sweep(connection: Connection, sweep: Sweep) -> dict[str, int]:
    """Add the runs, frames, readings and events of a sweep; how many of each."""
    here = " AND os.name = ? AND ol.name = ?"
    names = tuple(sweep)
    place = {"scene_id": "s.id", "lighting_id": "l.id"}
    known = f"o.id NOT IN (SELECT theirs FROM ({_RUNS}))"  # noqa: S608
    done = {"runs": _copy(connection, runs, PLACE, f"WHERE {known}{here}", place, names)}
    connection.exec_driver_sql(
        f"""
        UPDATE main.runs SET status = o.status, reason = o.reason, ended_at = o.ended_at
        FROM ({_RUNS}) m JOIN other.runs o ON o.id = m.theirs
        JOIN other.scenes os ON os.id = o.scene_id JOIN other.lightings ol ON ol.id = o.lighting_id
        WHERE runs.id = m.ours AND runs.status IS NULL AND o.status IS NOT NULL {here}
        """,  # noqa: S608
        names,
    )
    with_run = {**place, "run_id": "m.ours"}
    run = f"JOIN ({_RUNS}) m ON m.theirs = o.run_id"
    done["frames_replaced"] = _replace_frames(connection, run, here, names)
    done["frames"] = _copy(connection, frames, PLACE + run, f"WHERE 1 {here}", with_run, names)
    connection.exec_driver_sql(
        f"""
        INSERT INTO main.histograms (frame_id, luma)
        SELECT f.id, h.luma {SAME_FRAMES} JOIN other.histograms h ON h.frame_id = o.id
        WHERE f.camera_sha256 = o.camera_sha256 {here}
        ON CONFLICT (frame_id) DO NOTHING
        """,
        names,
    )
    of_run = f"""
        JOIN other.runs ru ON ru.id = o.run_id JOIN ({_RUNS}) m ON m.theirs = ru.id
        JOIN other.scenes os ON os.id = ru.scene_id
        JOIN other.lightings ol ON ol.id = ru.lighting_id
    """
    for table, same in (
        (light_readings, "x.at = o.at AND x.uptime_ms = o.uptime_ms"),
        (
            events,
            "x.at = o.at AND x.kind = o.kind AND x.setting = o.setting AND x.detail = o.detail",
        ),
    ):
        new = f"""
            WHERE NOT EXISTS (SELECT 1 FROM main.{table.name} x
                              WHERE x.run_id = m.ours AND {same}) {here}
        """  # noqa: S608
        done[table.name] = _copy(connection, table, of_run, new, {"run_id": "m.ours"}, names)
    return done


def put_objects_and_questions(connection: Connection) -> dict[str, int]:
    """Add objects of scenes that have none, stimuli, colors and import notes; how many of each."""
    marked = "WHERE s.id NOT IN (SELECT scene_id FROM main.instances)"
    of_scene = """
        JOIN other.scenes os ON os.id = o.scene_id JOIN main.scenes s ON s.name = os.name
    """
    done = {"instances": _copy(connection, instances, of_scene, marked, {"scene_id": "s.id"})}
    done["stimuli"] = connection.exec_driver_sql(
        f"""
        INSERT INTO main.stimuli (frame_id, view, task, options, origin)
        SELECT f.id, t.view, t.task, t.options, t.origin {SAME_FRAMES}
        JOIN other.stimuli t ON t.frame_id = o.id
        WHERE 1 ORDER BY t.id
        ON CONFLICT DO NOTHING
        """
    ).rowcount
    connection.exec_driver_sql(
        f"""
        UPDATE main.stimuli SET options = t.options
        {SAME_FRAMES} JOIN other.stimuli t ON t.frame_id = o.id
        WHERE stimuli.frame_id = f.id AND stimuli.view = t.view AND stimuli.task = t.task
            AND stimuli.options = '[]' AND t.options != '[]'
        """  # noqa: S608
    )
    same = f"JOIN (SELECT o.id AS theirs, f.id AS ours {SAME_FRAMES}) m ON m.theirs = o.frame_id"
    done["color_labels"] = _copy(connection, color_labels, same, "WHERE 1", {"frame_id": "m.ours"})
    done["imports"] = _copy(connection, imports_table, "", "WHERE 1")
    return done


def observer_names(connection: Connection) -> list[str]:
    """Observers of the other catalog, in order."""
    query = "SELECT name FROM other.observers ORDER BY id"
    return [row[0] for row in connection.exec_driver_sql(query)]


def put_answers(connection: Connection, observer: str) -> dict[str, int]:
    """Add the responses of an observer and the rulings on them; how many, and how many we had."""
    theirs = int(
        connection.exec_driver_sql(
            "SELECT count(*) FROM other.responses r JOIN other.observers o "
            "ON o.id = r.observer_id WHERE o.name = ?",
            (observer,),
        ).scalar_one()
    )
    joined = f"""
        JOIN other.observers oo ON oo.id = o.observer_id
        JOIN main.observers ob ON ob.name = oo.name
        JOIN other.stimuli ost ON ost.id = o.stimulus_id
        JOIN (SELECT o.id AS theirs, f.id AS ours {SAME_FRAMES}) m ON m.theirs = ost.frame_id
        JOIN main.stimuli st ON st.frame_id = m.ours AND st.view = ost.view AND st.task = ost.task
    """
    added = _copy(
        connection,
        responses_table,
        joined,
        "WHERE oo.name = ?",
        {"stimulus_id": "st.id", "observer_id": "ob.id"},
        (observer,),
    )
    rulings = connection.exec_driver_sql(
        f"""
        INSERT INTO main.verdicts (response_id, protocol, parsed, soft, hard, error_kind)
        SELECT r.id, v.protocol, v.parsed, v.soft, v.hard, v.error_kind
        {same_answers()} JOIN other.verdicts v ON v.response_id = ora.id
        WHERE v.protocol = ? AND ob.name = ? AND r.text IS ora.text
        ON CONFLICT DO NOTHING
        """,
        (PROTOCOL, observer),
    ).rowcount
    return {"responses": added, "responses_kept": theirs - added, "rulings": rulings}


def same_answers() -> str:
    """Their answer (ora) and ours (r) of the same observer to the same question."""
    return f"""
        {SAME_FRAMES}
        JOIN other.stimuli ost ON ost.frame_id = o.id
        JOIN main.stimuli st ON st.frame_id = f.id AND st.view = ost.view AND st.task = ost.task
        JOIN other.responses ora ON ora.stimulus_id = ost.id
        JOIN other.observers oo ON oo.id = ora.observer_id
        JOIN main.observers ob ON ob.name = oo.name
        JOIN main.responses r ON r.observer_id = ob.id AND r.stimulus_id = st.id
    """


def _replace_frames(connection: Connection, run: str, here: str, names: tuple[str, ...]) -> int:
    """Put theirs in the place of our frames that never ended, or lack their file."""
    keys = ("id", "scene_id", "lighting_id", "kind", "setting", "run_id")
    columns = ", ".join(f"{c.name} = o.{c.name}" for c in frames.c if c.name not in keys)
    # models are asked anew about the new picture; people cannot be: theirs stay
    connection.exec_driver_sql(
        f"""
        DELETE FROM main.responses WHERE id IN (
            SELECT r.id {SAME_FRAMES}
            JOIN main.stimuli st ON st.frame_id = f.id
            JOIN main.responses r ON r.stimulus_id = st.id
            JOIN main.observers ob ON ob.id = r.observer_id
            WHERE ob.kind = 'model' AND r.frame_sha256 != o.sha256
                AND f.outcome NOT IN {FINAL_OUTCOMES} AND o.outcome IN {FINAL_OUTCOMES} {here}
        )
        """,  # noqa: S608
        names,
    )
    better = _BETTER.replace("f.", "frames.")
    return connection.exec_driver_sql(
        f"""
        UPDATE main.frames SET run_id = m.ours, {columns}
        FROM other.frames o {PLACE} {run}
        WHERE frames.scene_id = s.id AND frames.lighting_id = l.id AND frames.kind = o.kind
            AND frames.setting = o.setting AND ({better}) {here}
        """,  # noqa: S608
        names,
    ).rowcount


def _copy(
    connection: Connection,
    table: Table,
    joined: str,
    where: str,
    instead: dict[str, str] | None = None,
    values: Sequence[Any] = (),
) -> int:
    """Insert their rows of a table, with some columns from elsewhere; how many were new."""
    columns = [column.name for column in table.c if column.name != "id"]
    taken = ", ".join((instead or {}).get(name, f"o.{name}") for name in columns)
    order = "ORDER BY o.id" if "id" in table.c else ""
    return connection.exec_driver_sql(
        f"""
        INSERT INTO main.{table.name} ({", ".join(columns)})
        SELECT {taken} FROM other.{table.name} o {joined} {where.format(table.name)} {order}
        ON CONFLICT DO NOTHING
        """,  # noqa: S608
        tuple(values),
    ).rowcount
