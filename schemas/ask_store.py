"""What models are still to be asked, frame by frame, and their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy.dialects.sqlite import insert as upsert

from schemas.answer_store import CHOICE, ORIGINAL
from schemas.catalog import Catalog
from schemas.records import Response, utc_now
from schemas.tables import responses

#: Frames that are looked up at once: memory stays the same for any number of frames.
BLOCK = 500

#: Tasks that mean nothing without options, and none are stored: nobody can be asked these.
_ASKABLE = "(s.task NOT IN ('q3', 'q4', 'choice') OR json_array_length(s.options) > 0)"

_SHOWN = "f.outcome = 'accepted' AND f.path != ''"

_FRAMES = f"""
    SELECT f.id, f.path, f.sha256 FROM frames f
    WHERE {_SHOWN} AND f.id > ? ORDER BY f.id LIMIT ?
"""  # noqa: S608 - constants

_OPEN = """
    NOT EXISTS (SELECT 1 FROM responses r WHERE r.stimulus_id = s.id AND r.observer_id = ?)
"""

_CHOICES = """
    INSERT INTO stimuli (frame_id, view, task, options)
    SELECT f.id, ?, ?, ? FROM frames f
    WHERE f.kind IN ('manual', 'picture') AND f.outcome = 'accepted'
    ORDER BY f.id
    ON CONFLICT DO NOTHING
"""


class Shard(NamedTuple):
    """Part `number` of `total`, from 1. A frame's part follows from its bytes alone."""

    number: int
    total: int

    def holds(self, sha256: str) -> bool:
        """Whether a frame belongs to this part."""
        return int(sha256[:8] or "0", 16) % self.total == self.number - 1


ALL = Shard(1, 1)


class Wanted(NamedTuple):
    """An observer, and the tasks that it is asked."""

    observer_id: int
    tasks: tuple[str, ...]


class Ask(NamedTuple):
    """One stimulus for one of several observers; `who` is the observer's place among them."""

    who: int
    stimulus_id: int
    task: str
    options: tuple[str, ...]


class FrameAsks(NamedTuple):
    """A frame with all that is asked about it; `path` is relative to the workspace.

    `view` is how it is seen (`evaluate.views`).
    """

    path: str
    sha256: str
    asks: tuple[Ask, ...]
    view: str = ORIGINAL


def count_pending(
    catalog: Catalog, wanted: Wanted, shard: Shard = ALL, view: str = ORIGINAL
) -> int:
    """Stimuli of a shard and view that an observer has not answered."""
    query = f"""
        SELECT f.sha256, COUNT(*) FROM stimuli s JOIN frames f ON f.id = s.frame_id
        WHERE {_SHOWN} AND s.view = ? AND s.task IN ({_marks(wanted.tasks)})
          AND {_ASKABLE} AND {_OPEN}
        GROUP BY f.id
    """  # noqa: S608 - constants and question marks
    values = (view, *wanted.tasks, wanted.observer_id)
    with catalog.read() as connection:
        return sum(
            n for sha256, n in connection.exec_driver_sql(query, values) if shard.holds(sha256)
        )


def iter_pending(
    catalog: Catalog, wanted: Sequence[Wanted], shard: Shard = ALL, view: str = ORIGINAL
) -> Iterator[FrameAsks]:
    """Stimuli x observers - responses, by frame in the order of the catalog, in constant memory.

    A frame comes once, with what any of the observers is to be asked about it.
    """
    last = 0
    while True:
        with catalog.read() as connection:
            block = list(connection.exec_driver_sql(_FRAMES, (last, BLOCK)))
            if not block:
                return
            asks: dict[int, list[Ask]] = {}
            for who, one in enumerate(wanted):
                if not one.tasks:
                    continue
                query = f"""
                    SELECT s.frame_id, s.id, s.task, s.options FROM stimuli s
                    WHERE s.frame_id BETWEEN ? AND ? AND s.view = ?
                      AND s.task IN ({_marks(one.tasks)}) AND {_ASKABLE} AND {_OPEN}
                    ORDER BY s.id
                """  # noqa: S608 - constants and question marks
                span = (block[0][0], block[-1][0], view, *one.tasks, one.observer_id)
                for frame_id, stimulus_id, task, options in connection.exec_driver_sql(query, span):
                    ask = Ask(who, stimulus_id, task, tuple(json.loads(options)))
                    asks.setdefault(frame_id, []).append(ask)
        for frame_id, path, sha256 in block:
            if frame_id in asks and shard.holds(sha256):
                yield FrameAsks(path, sha256, tuple(asks[frame_id]), view)
        last = block[-1][0]


def ensure_choices(catalog: Catalog, options: Sequence[str], view: str = ORIGINAL) -> int:
    """Give every accepted frame its choice between these options; those there keep theirs."""
    with catalog.write() as connection:
        values = (view, CHOICE, json.dumps(list(options)))
        return int(connection.exec_driver_sql(_CHOICES, values).rowcount)


def shown_categories(catalog: Catalog) -> list[str]:
    """Categories of the scenes that have accepted frames."""
    query = """
        SELECT DISTINCT c.category FROM scenes c JOIN frames f ON f.scene_id = c.id
        WHERE f.outcome = 'accepted' ORDER BY c.category
    """
    with catalog.read() as connection:
        return [row[0] for row in connection.exec_driver_sql(query)]


def store_answers(catalog: Catalog, new: Iterable[Response]) -> None:
    """Store answers in one transaction; of two runs at once the first keeps its answer."""
    now = utc_now()
    rows = [
        {
            "stimulus_id": r.stimulus_id,
            "observer_id": r.observer_id,
            "text": r.text,
            "payload": r.payload,
            "error": r.error,
            "latency_s": r.latency_s,
            "timing": r.timing,
            "frame_sha256": r.frame_sha256,
            "answered_at": r.answered_at or now,
        }
        for r in new
    ]
    if rows:
        with catalog.write() as connection:
            connection.execute(upsert(responses).on_conflict_do_nothing(), rows)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
