"""The report's way out of the catalog: verdicts as columns, with the conditions of their frames.

A release has a million of them: rows come from the driver as tuples and go into arrays, and the
conditions of each stimulus are read once for all observers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.catalog import Catalog

_ASKED = """
    SELECT s.id, s.task, json_array_length(s.options), c.name, c.category, c.count, l.name,
           f.kind, f.ev_offset, u.kind = 'import', f.id
    FROM stimuli s
    JOIN frames f ON f.id = s.frame_id
    JOIN runs u ON u.id = f.run_id
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE (s.view = 'original' OR s.view LIKE 'original@%')
    ORDER BY s.id
"""

_VERDICTS = """
    SELECT r.stimulus_id, v.soft, v.hard, v.error_kind, json_extract(v.parsed, '$.place'),
           length(coalesce(r.text, ''))
    FROM responses r
    CROSS JOIN verdicts v ON v.response_id = r.id AND v.protocol = ?
    CROSS JOIN stimuli s ON s.id = r.stimulus_id
    WHERE r.observer_id = ? AND (s.view = 'original' OR s.view LIKE 'original@%')
    ORDER BY r.stimulus_id
"""

_TASKS = """
    SELECT r.observer_id, s.task, count(*)
    FROM responses r JOIN stimuli s ON s.id = r.stimulus_id
    WHERE (s.view = 'original' OR s.view LIKE 'original@%')
    GROUP BY r.observer_id, s.task ORDER BY r.observer_id, s.task
"""

_FRAMES = """
    SELECT c.name, c.category, c.count, l.name, l.lux, f.kind, f.ev_offset, f.shutter_s, f.iso,
           f.f_number, count(*)
    FROM frames f
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE f.outcome = 'accepted' AND f.kind != 'reference'
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""

Column = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Asked:
    """Every stimulus with the conditions of its frame; arrays of shape (n,), ids ascending.

    Attributes
    ----------
    options : array of int
        How many were offered.
    count : array of int
        Objects in the scene.
    ev_offset : array of float
        NaN for frames without one.
    imported : array of bool
        Whether the frame was taken elsewhere.
    """

    id: Column
    task: Column
    options: Column
    scene: Column
    category: Column
    count: Column
    lighting: Column
    frame_kind: Column
    ev_offset: Column
    imported: Column
    frame_id: Column


@dataclass(frozen=True, eq=False)
class Verdicts:
    """All verdicts on an observer's responses under a protocol; arrays of shape (n,).

    Attributes
    ----------
    row : array of int
        Place of the stimulus in `Asked`.
    soft, hard : array of float
        1, 0, or NaN where there is no answer.
    place : array of float
        Of the first accepted label, NaN for none.
    length : array of int
        Characters of the answer as given.
    """

    row: Column
    soft: Column
    hard: Column
    error_kind: Column
    place: Column
    length: Column


def load_asked(catalog: Catalog) -> Asked:
    """Conditions of every stimulus."""
    with catalog.read() as connection:
        found = connection.connection.cursor().execute(_ASKED).fetchall()
    columns: list[Any] = list(zip(*found, strict=True)) or [()] * 11
    numbers = {0: np.int64, 2: np.int64, 5: np.int64, 8: np.float64, 9: bool, 10: np.int64}
    return Asked(*(np.array(column, numbers.get(n, object)) for n, column in enumerate(columns)))


def load_verdicts(catalog: Catalog, observer_id: int, protocol: str, asked: Asked) -> Verdicts:
    """Verdicts on an observer's responses in stimulus order."""
    with catalog.read() as connection:
        cursor = connection.connection.cursor()
        found = cursor.execute(_VERDICTS, (protocol, observer_id)).fetchall()
    columns: list[Any] = list(zip(*found, strict=True)) or [()] * 6
    ids, soft, hard, kind, place, length = columns
    return Verdicts(
        row=np.searchsorted(asked.id, np.array(ids, np.int64)),
        soft=np.array(soft, np.float64),  # None becomes NaN
        hard=np.array(hard, np.float64),
        error_kind=np.array(kind, object),
        place=np.array(place, np.float64),
        length=np.array(length, np.int64),
    )


def count_responses(catalog: Catalog) -> dict[int, dict[str, int]]:
    """How many responses each observer gave to each task, by observer id."""
    found: dict[int, dict[str, int]] = {}
    with catalog.read() as connection:
        for observer_id, task, number in connection.exec_driver_sql(_TASKS):
            found.setdefault(observer_id, {})[task] = number
    return found


def count_frames(catalog: Catalog) -> list[tuple[Any, ...]]:
    """Accepted frames by conditions.

    Returns
    -------
    list of tuple
        (scene, category, objects, lighting, lux, kind, EV offset, shutter in s, ISO, F-number,
        how many).
    """
    with catalog.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(_FRAMES)]


class PictureFrame(NamedTuple):
    """An accepted frame whose file is here. `path` is relative to the workspace."""

    scene: str
    category: str
    lighting: str
    lux: float
    kind: str
    ev_offset: int | None
    shutter_s: float | None
    iso: int | None
    f_number: float | None
    path: str
    simulated: bool


def list_picture_frames(catalog: Catalog) -> list[PictureFrame]:
    """Accepted frames with files, scene by scene, brightest lighting first."""
    query = """
        SELECT c.name, c.category, l.name, l.lux, f.kind, f.ev_offset, f.shutter_s, f.iso,
               f.f_number, f.path, u.simulated
        FROM frames f
        JOIN runs u ON u.id = f.run_id
        JOIN scenes c ON c.id = f.scene_id
        JOIN lightings l ON l.id = f.lighting_id
        WHERE f.outcome = 'accepted' AND f.path != '' AND f.kind != 'reference'
        ORDER BY c.id, l.lux DESC, f.id
    """
    with catalog.read() as connection:
        found = connection.exec_driver_sql(query)
        return [PictureFrame._make((*row[:-1], bool(row[-1]))) for row in found]
