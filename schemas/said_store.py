"""What observers said, and the camera settings it was said about: the details behind verdicts."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from schemas.catalog import Catalog

_SAID = """
    SELECT coalesce(json_extract(v.parsed, '$.name'), json_extract(v.parsed, '$.named')),
           CASE WHEN s.task = 'choice' THEN json_extract(r.payload, '$.response') ELSE r.text END,
           CASE WHEN s.task = 'choice' THEN json_extract(r.payload, '$.imagename') END
    FROM responses r
    CROSS JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    CROSS JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.observer_id = ?
    ORDER BY r.stimulus_id
"""

_TEXTS = """
    SELECT r.stimulus_id, coalesce(r.text, ''),
           coalesce(json_extract(r.payload, '$.cleaned'), r.text, '')
    FROM responses r
    JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.observer_id = ? AND s.task = ? AND r.error = ''
    ORDER BY r.stimulus_id
"""

_GIVEN = """
    SELECT r.observer_id,
           coalesce(json_extract(v.parsed, '$.name'), json_extract(v.parsed, '$.named')),
           CASE WHEN s.task = 'choice' THEN json_extract(r.payload, '$.response') ELSE r.text END,
           v.soft, v.error_kind
    FROM responses r
    JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.stimulus_id = ?
    ORDER BY r.observer_id
"""

_SETTINGS = """
    SELECT f.id, f.shutter_s, f.iso, f.f_number, f.path, f.kind, f.ev, l.lux, u.kind = 'import'
    FROM frames f
    JOIN lightings l ON l.id = f.lighting_id
    JOIN runs u ON u.id = f.run_id
    WHERE f.outcome = 'accepted'
    ORDER BY f.id
"""


class Said(NamedTuple):
    """An answer.

    Attributes
    ----------
    named : str
        The label, or the names read from the text, joined by ``+``.
    text : str
        As given.
    picture : str
        The picture's name in trials of the model-vs-human format, else empty.
    """

    named: str
    text: str
    picture: str


class Given(NamedTuple):
    """An answer to a certain stimulus; `right` is None where there is no answer, or no truth."""

    observer_id: int
    named: str
    text: str
    right: bool | None
    error_kind: str


class AnswerText(NamedTuple):
    """A response in words to a stimulus.

    Attributes
    ----------
    cleaned : str
        What an imported source made of the text; the text itself where it made nothing of it.
    """

    stimulus_id: int
    text: str
    cleaned: str


class FrameSetting(NamedTuple):
    """How an accepted frame was taken, and where its file lies (empty if not here)."""

    frame_id: int
    shutter_s: float | None
    iso: int | None
    f_number: float | None
    path: str
    kind: str
    ev: float | None
    lux: float
    imported: bool


def load_said(catalog: Catalog, observer_id: int, protocol: str) -> list[Said]:
    """Answers of an observer that have a verdict under a protocol, in stimulus order."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        found = cursor.execute(_SAID, (protocol, observer_id)).fetchall()
    return [
        Said(_joined(named), "" if text is None else str(text), picture or "")
        for named, text, picture in found
    ]


def load_given(catalog: Catalog, stimulus_id: int, protocol: str) -> list[Given]:
    """Every observer's answer to a stimulus that has a verdict under a protocol."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        found = cursor.execute(_GIVEN, (protocol, stimulus_id)).fetchall()
    return [
        Given(
            observer_id,
            _joined(named),
            "" if text is None else str(text),
            None if soft is None else bool(soft),
            kind,
        )
        for observer_id, named, text, soft, kind in found
    ]


def load_texts(catalog: Catalog, observer_id: int, task: str) -> list[AnswerText]:
    """Answers in words of an observer to one question, in stimulus order."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        found = cursor.execute(_TEXTS, (observer_id, task)).fetchall()
    return [AnswerText(*row) for row in found]


def load_settings(catalog: Catalog) -> list[FrameSetting]:
    """Settings of every accepted frame, by ascending id."""
    with catalog.read() as connection:
        return [FrameSetting(*row) for row in connection.exec_driver_sql(_SETTINGS)]


@lru_cache(maxsize=100_000)
def _joined(named: str | None) -> str:
    """Names from a verdict: a label as it is, a JSON list of names joined."""
    if named is None:
        return ""
    return " + ".join(json.loads(named)) if named.startswith("[") else named
