"""Time the queries that reports, resume and inference make, on a catalog of a million frames.

    python benchmarks/catalog_queries.py [--rows 1000000] [--keep FILE]

Fills a throw-away catalog: --rows frames over scenes of 630 triplets under two lightings, a
stimulus, a response and a verdict for each accepted one, and light readings. Each query is the
one that the packages run (taken from SQLAlchemy as it is executed), timed as it stands and once
more after the index that serves it is taken away. "no index" shows what the index is worth:
where it is no slower, the index does not earn its place.
"""
# ruff: noqa: S608 - the statements are made of names in this file

from __future__ import annotations

import argparse
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from sqlalchemy import event

from evaluate.scoring import PAPER
from schemas.answer_store import (
    CLASSIFICATION,
    ensure_stimuli,
    list_answers,
    pending_stimuli,
    put_observer,
)
from schemas.capture_store import list_readings
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import count_outcomes, list_frames, load_attempts
from schemas.plan import SweepPlan
from schemas.records import Observer
from schemas.summary import summarize
from schemas.verdict_store import iter_truths

LIGHTINGS = {"bright": (1000.0, 11), "dim": (10.0, 5)}
READINGS_PER_RUN = 2000
DIGEST = "0123456789abcdef" * 4
MOMENT = "2026-01-01 00:00:00.000000"


@dataclass(frozen=True)
class Query:
    """One question to the catalog.

    `index` serves it; None where it reads everything anyway.
    """

    what: str
    ask: Callable[[Catalog], int]
    index: str | None


def length(found: Iterable[object]) -> int:
    """How many there are, without keeping them."""
    return sum(1 for _ in found)


QUERIES = (
    Query(
        "outcome counts by triplet and lighting (report)",
        lambda catalog: len(count_outcomes(catalog)),
        None,
    ),
    Query(
        "outcome counts by EV offset and lighting (report)",
        lambda catalog: len(by_ev_offset(catalog)),
        "ix_frames_outcome_lighting_id_ev_offset",
    ),
    Query(
        "row counts of everything (status)",
        lambda catalog: summarize(catalog).frames.accepted,
        None,
    ),
    Query(
        "frames of one sweep (report)",
        lambda catalog: length(list_frames(catalog, scene="scene0", lighting="bright")),
        "uq_frames_scene_id_lighting_id_kind_setting",
    ),
    Query(
        "settings done of one sweep (resume)",
        lambda catalog: len(load_attempts(catalog, "scene0", "dim")),
        "uq_frames_scene_id_lighting_id_kind_setting",
    ),
    Query(
        "light trace of one run (report)",
        lambda catalog: len(list_readings(catalog, 1)),
        "ix_light_readings_run_id_at",
    ),
    Query(
        "stimuli for new frames, none new (run)",
        lambda catalog: ensure_stimuli(catalog, CLASSIFICATION),
        "uq_stimuli_frame_id_view_task",
    ),
    Query(
        "pending stimuli of an observer with all but 1 % answered (run)",
        lambda catalog: len(pending_stimuli(catalog, 1, CLASSIFICATION)),
        "uq_responses_observer_id_stimulus_id",
    ),
    Query(
        "pending stimuli of a new observer (run)",
        lambda catalog: len(pending_stimuli(catalog, 2, CLASSIFICATION)),
        None,
    ),
    Query(
        "answers of one observer with their conditions (report)",
        lambda catalog: length(list_answers(catalog, 1, PAPER, CLASSIFICATION)),
        "uq_responses_observer_id_stimulus_id",
    ),
    Query(
        "answers of an observer who saw 1 % (report)",
        lambda catalog: length(list_answers(catalog, 3, PAPER, CLASSIFICATION)),
        "uq_responses_observer_id_stimulus_id",
    ),
    Query(
        "responses without a verdict, none (report)",
        lambda catalog: sum(map(len, iter_truths(catalog, [CLASSIFICATION], PAPER, DIGEST[:16]))),
        "verdicts primary key",
    ),
)


def by_ev_offset(catalog: Catalog) -> list[Any]:
    """Frames by outcome, lighting and EV offset."""
    with catalog.read() as connection:
        return list(
            connection.exec_driver_sql(
                "SELECT outcome, lighting_id, ev_offset, count(*) FROM frames "
                "GROUP BY outcome, lighting_id, ev_offset"
            )
        )


def outcome_of(offset: int) -> str:
    """What becomes of a shot in this made-up dark room."""
    if offset < -6:
        return "rejected_black"
    return "rejected_white" if offset > 8 else "accepted"


def fill(path: Path, rows: int) -> None:
    """Write the catalog with plain sqlite3: only its size and shape matter here."""
    catalog = Catalog.create(path)
    put_observer(catalog, Observer("model", "model", {}))
    put_observer(catalog, Observer("new", "model", {}))
    put_observer(catalog, Observer("rare", "person", {}))
    catalog.close()
    shots = [(shot.exposure, shot.exposure.stem) for shot in SweepPlan()]
    sweeps = -(-rows // len(shots))
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous=OFF")
    for place, (name, (lux, reference)) in enumerate(LIGHTINGS.items(), 1):
        database.execute(
            "INSERT INTO lightings VALUES (?,?,?,0.1,?)", (place, name, lux, reference)
        )
    for sweep in range(sweeps):
        scene, light = divmod(sweep, 2)
        if light == 0:
            row = (scene + 1, f"scene{scene}", "cup", 3, MOMENT)
            database.execute("INSERT INTO scenes VALUES (?,?,?,?,?)", row)
        database.execute(
            "INSERT INTO runs (id, scene_id, lighting_id, kind, plan_digest, simulated, devices,"
            " versions, started_at, reason) VALUES (?,?,?,'sweep',?,1,'{}','{}',?,'')",
            (sweep + 1, scene + 1, light + 1, DIGEST, MOMENT),
        )
        database.executemany(
            "INSERT INTO light_readings (run_id, at, lux, uptime_ms) VALUES (?,?,?,?)",
            (
                (sweep + 1, f"2026-01-01 00:{n // 60 % 60:02d}:{n % 60:02d}.{n:06d}", 1000.0, n)
                for n in range(READINGS_PER_RUN)
            ),
        )
    for start in range(0, rows, 10_000):
        database.executemany(
            "INSERT INTO frames (id, scene_id, lighting_id, run_id, kind, setting, shutter_s, iso,"
            " f_number, ev, ev_index, ev_offset, outcome, reason, attempt, black_fraction,"
            " white_fraction, mean_luma, lux, light_readings, path, size_bytes, camera_sha256,"
            " sha256, commanded_at, captured_at, stored_at, camera_time)"
            f" VALUES ({','.join('?' * 28)})",
            (frame_row(number, shots) for number in range(start, min(rows, start + 10_000))),
        )
    accepted = "SELECT id FROM frames WHERE outcome = 'accepted'"
    database.execute(
        "INSERT INTO stimuli (id, frame_id, view, task, options)"
        f" SELECT id, id, 'original', 'classification', '[]' FROM frames WHERE id IN ({accepted})"
    )
    top5 = '{"top5": [' + ", ".join(['[968, "cup", 0.512345]'] * 5) + "]}"
    for observer, condition in ((1, "id % 100 != 0"), (3, "id % 100 = 1")):
        database.execute(
            "INSERT INTO responses (stimulus_id, observer_id, payload, error, timing,"
            " frame_sha256, answered_at)"
            f" SELECT id, {observer}, ?, '', '{{}}', ?, ? FROM stimuli WHERE {condition}",
            (top5, DIGEST, MOMENT),
        )
    parsed = f'{{"vocabulary": "{DIGEST[:16]}", "label": 968, "name": "cup", "place": 1}}'
    database.execute(
        "INSERT INTO verdicts SELECT id, 'paper', ?, id % 2, id % 2, '' FROM responses", (parsed,)
    )
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def frame_row(number: int, shots: list[tuple[Exposure, str]]) -> tuple[Any, ...]:
    """The values of one frame."""
    sweep, place = divmod(number, len(shots))
    scene, light = divmod(sweep, 2)
    shot, stem = shots[place]
    lighting = list(LIGHTINGS)[light]
    lux, reference = LIGHTINGS[lighting]
    offset = shot.ev_offset(reference)
    outcome = outcome_of(offset)
    path = f"frames/scene{scene}/{lighting}/{offset}/{stem}.jpg"
    kept = outcome == "accepted"
    return (
        number + 1, scene + 1, light + 1, sweep + 1, "manual", stem, shot.shutter_s, shot.iso,
        shot.f_number, shot.ev, shot.ev_index, offset, outcome, "" if kept else outcome, 1, 0.1,
        0.1, 120.0, lux, 3, path if kept else "", 1_000_000, DIGEST, DIGEST if kept else "",
        MOMENT, MOMENT, MOMENT, "2026:01:01 00:00:00",
    )  # fmt: skip


def timed(path: Path, query: Query, repeats: int) -> tuple[int, float, str]:
    """Rows, median milliseconds, and the indexes in SQLite's plan."""
    with Catalog.open(path) as catalog:
        seen: list[tuple[str, Any]] = []
        event.listen(
            catalog._engine,  # noqa: SLF001 - a benchmark looks inside
            "before_cursor_execute",
            lambda _c, _cursor, statement, parameters, *_: seen.append((statement, parameters)),
        )
        durations, rows = [], 0
        for _ in range(repeats):
            started = time.perf_counter()
            rows = query.ask(catalog)
            durations.append(1000 * (time.perf_counter() - started))
        used: list[str] = []
        with catalog.read() as connection:
            for statement, parameters in seen[: len(seen) // repeats]:
                if re.match(r"\s*(SELECT|INSERT)", statement):
                    plan = connection.exec_driver_sql("EXPLAIN QUERY PLAN " + statement, parameters)
                    used += re.findall(r"INDEX (\w+)", " ".join(str(row[-1]) for row in plan))
    return rows, statistics.median(durations), ", ".join(dict.fromkeys(used)) or "scan"


def without_index(path: Path, index: str) -> None:
    """Take an index away; that of a UNIQUE constraint goes with its constraint."""
    database = sqlite3.connect(path)
    if index.startswith("ix_"):
        database.execute(f"DROP INDEX {index}")
    else:
        table = index.split("_")[1]
        (sql,) = database.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        bare = re.sub(rf",?\s*CONSTRAINT {index} UNIQUE \([^)]*\)", "", sql)
        assert bare != sql, f"no constraint {index} in {sql}"
        indexes = database.execute(
            "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type = 'index' AND sql NOT NULL",
            (table,),
        ).fetchall()
        database.execute("PRAGMA foreign_keys=OFF")
        database.execute("PRAGMA legacy_alter_table=ON")
        database.execute(f"ALTER TABLE {table} RENAME TO bare_{table}")
        for (statement,) in indexes:
            database.execute(f"DROP INDEX {statement.split()[2]}")
        database.execute(bare)
        database.execute(f"INSERT INTO {table} SELECT * FROM bare_{table}")
        database.execute(f"DROP TABLE bare_{table}")
        for (statement,) in indexes:
            database.execute(statement)
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def table_sizes(path: Path) -> list[tuple[str, float]]:
    """(table or index, MB), largest first; empty where SQLite was built without dbstat."""
    with sqlite3.connect(path) as database:
        try:
            return [
                (name, size / 1e6)
                for name, size in database.execute(
                    "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 12"
                )
            ]
        except sqlite3.OperationalError:
            return []


def main() -> None:
    """Fill, time, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-without", action="store_true", help="do not drop indexes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite"
        started = time.perf_counter()
        fill(path, options.rows)
        print(
            f"{options.rows} frames, SQLite {sqlite3.sqlite_version}, filled in "
            f"{time.perf_counter() - started:.0f} s, {path.stat().st_size / 1e6:.0f} MB"
        )
        for name, size in table_sizes(path):
            print(f"    {size:8.1f} MB  {name}")
        slow: dict[str, float] = {}
        if not options.skip_without:
            for index in dict.fromkeys(query.index for query in QUERIES):
                if index is not None and index.startswith(("ix_", "uq_")):
                    bare = Path(folder) / "bare.sqlite"
                    shutil.copy(path, bare)
                    without_index(bare, index)
                    for query in QUERIES:
                        # an upsert without its constraint is an error, not a slow query
                        if query.index == index and query.ask is not QUERIES[6].ask:
                            slow[query.what] = timed(bare, query, options.repeats)[1]
                    bare.unlink()
        print(f"\n{'query':62} {'rows':>8} {'ms':>9} {'no index':>9}  indexes in SQLite's plan")
        for query in QUERIES:
            rows, ms, used = timed(path, query, options.repeats)
            bare_ms = f"{slow[query.what]:9.1f}" if query.what in slow else f"{'':>9}"
            print(f"{query.what:62} {rows:8} {ms:9.1f} {bare_ms}  {used}")


if __name__ == "__main__":
    main()
