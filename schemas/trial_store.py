"""Answers that name one class each, with what a table of trials says of them."""

from __future__ import annotations

from typing import NamedTuple

from schemas.catalog import Catalog

_ANSWERS = """
    SELECT s.task, s.view, c.name, c.category, l.name, f.setting, f.ev_offset,
           r.text, r.payload, r.error, r.latency_s, r.timing, v.parsed, v.error_kind
    FROM responses r
    JOIN stimuli s ON s.id = r.stimulus_id
    JOIN frames f ON f.id = s.frame_id
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    LEFT JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    WHERE r.observer_id = ? AND s.task = ?
    ORDER BY r.stimulus_id
"""


class AnswerRow(NamedTuple):
    """A response with its frame and verdict; `payload`, `timing` and `parsed` are JSON texts.

    `parsed` and `error_kind` are None where it is not scored.
    """

    task: str
    view: str
    scene: str
    category: str
    lighting: str
    setting: str
    ev_offset: int | None
    text: str | None
    payload: str
    error: str
    latency_s: float | None
    timing: str
    parsed: str | None
    error_kind: str | None


def list_answer_rows(
    catalog: Catalog, observer_id: int, task: str, protocol: str
) -> list[AnswerRow]:
    """An observer's responses to a task with their verdicts under a protocol, by stimulus."""
    with catalog.read() as connection:
        found = connection.exec_driver_sql(_ANSWERS, (protocol, observer_id, task))
        return [AnswerRow(*row) for row in found]
