"""Frames to ask questions about, and the questions that the catalog has for them."""

from __future__ import annotations

from typing import NamedTuple

from schemas.answer_store import ORIGINAL
from schemas.catalog import Catalog

_FRAMES = """
    SELECT f.id, c.name, l.name, f.setting, c.category, c.count
    FROM frames f
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE f.kind = 'manual' AND f.outcome = 'accepted'
    ORDER BY f.id
"""


class QuestionFrame(NamedTuple):
    """An accepted manual frame. `objects` is how many there are in its scene."""

    id: int
    scene: str
    lighting: str
    setting: str
    category: str
    objects: int


def list_question_frames(catalog: Catalog) -> list[QuestionFrame]:
    """All accepted manual frames in the order they were taken."""
    with catalog.read() as connection:
        return [QuestionFrame(*row) for row in connection.exec_driver_sql(_FRAMES)]


def stored_options(catalog: Catalog, task: str) -> dict[int, str]:
    """Options of a task's stimuli as JSON texts, by frame id."""
    query = "SELECT frame_id, options FROM stimuli WHERE task = ? AND view = ?"
    with catalog.read() as connection:
        return {row[0]: row[1] for row in connection.exec_driver_sql(query, (task, ORIGINAL))}


def set_aside_unknown(catalog: Catalog, task: str) -> int:
    """Give imported stimuli of a task whose options are not known a view of their own.

    They keep their answers, which are scored by what they say. Their frames can then be asked
    the task with options in an order that is known. Returns how many were set aside.
    """
    statement = (
        "UPDATE stimuli SET view = ? || '@' || origin "
        "WHERE task = ? AND view = ? AND origin != '' AND options = '[]'"
    )
    with catalog.write() as connection:
        values = (ORIGINAL, task, ORIGINAL)
        return int(connection.exec_driver_sql(statement, values).rowcount)


def add_questions(catalog: Catalog, rows: list[tuple[int, str, str]]) -> int:
    """Add stimuli (frame id, task, options as a JSON text); those in the catalog stay as they are.

    Returns how many were added.
    """
    statement = (
        "INSERT INTO stimuli (frame_id, view, task, options) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING"
    )
    if not rows:
        return 0
    values = [(frame_id, ORIGINAL, task, options) for frame_id, task, options in rows]
    with catalog.write() as connection:
        return int(connection.exec_driver_sql(statement, values).rowcount)
