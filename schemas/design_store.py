"""What a design of human trials is made from, and what its trials stand for in the catalog."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from schemas.answer_store import ORIGINAL
from schemas.catalog import Catalog

#: Scene, lighting, setting: what a frame is known by, in this catalog and in a copy of it.
FrameKey = tuple[str, str, str]

_FRAMES = """
    SELECT f.id, c.name, l.name, f.setting, c.category, c.count, f.ev_offset, f.path, f.sha256
    FROM frames f
    JOIN scenes c ON c.id = f.scene_id
    JOIN lightings l ON l.id = f.lighting_id
    WHERE f.kind = ? AND f.outcome = 'accepted'
    ORDER BY f.id
"""

_STIMULI = "SELECT frame_id, id, options FROM stimuli WHERE task = ? AND view = ?"


class ShownFrame(NamedTuple):
    """An accepted frame that can be shown; `path` is empty where its file is not here."""

    id: int
    scene: str
    lighting: str
    setting: str
    category: str
    objects: int
    ev_offset: int | None
    path: str
    sha256: str

    @property
    def key(self) -> FrameKey:
        """Scene, lighting, setting."""
        return self.scene, self.lighting, self.setting


def list_shown_frames(catalog: Catalog, kind: str = "manual") -> list[ShownFrame]:
    """All accepted frames of a kind, in the order they were stored."""
    with catalog.read() as connection:
        return [ShownFrame(*row) for row in connection.exec_driver_sql(_FRAMES, (kind,))]


def stimuli_of(catalog: Catalog, task: str) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Id and options of a task's stimuli that show a frame as it is, by frame id."""
    decoded: dict[str, tuple[str, ...]] = {}
    found = {}
    with catalog.read() as connection:
        for frame_id, key, options in connection.exec_driver_sql(_STIMULI, (task, ORIGINAL)):
            if options not in decoded:
                decoded[options] = tuple(json.loads(options))
            found[frame_id] = (key, decoded[options])
    return found


def stimuli_by_key(
    catalog: Catalog, tasks: Sequence[str], kinds: Sequence[str] = ("manual", "picture")
) -> dict[tuple[FrameKey, str], tuple[int, ShownFrame, tuple[str, ...]]]:
    """Stimuli of accepted frames shown as they are: id, frame and options, by key and task."""
    frames = {frame.id: frame for kind in kinds for frame in list_shown_frames(catalog, kind)}
    return {
        ((frames[frame_id].key), task): (key, frames[frame_id], options)
        for task in tasks
        for frame_id, (key, options) in stimuli_of(catalog, task).items()
        if frame_id in frames
    }
