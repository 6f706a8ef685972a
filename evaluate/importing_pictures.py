"""Pictures from elsewhere as scenes of one frame each: no plan, no known light."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from schemas.import_store import (
    UNKNOWN_LIGHT,
    FrameRow,
    put_frames,
    put_runs,
    put_scenes,
    unknown_light,
)
from schemas.records import FrameKind, Scene
from schemas.tables import frames, scenes

KIND: FrameKind = "picture"


@dataclass(frozen=True)
class Picture:
    """A picture to be put in: its scene, and what is known of its file."""

    scene: Scene
    file: FrameRow | None = None


def scene_name(dataset: str, file_name: str) -> str:
    """A folder-safe scene name for a picture of a data set, told from its file name."""
    stem = re.sub(r"\.[A-Za-z]+$", "", file_name)
    return f"{_safe(dataset)}-{_safe(stem)}"


def name_scenes(dataset: str, file_names: Mapping[int, str]) -> dict[int, str]:
    """Scene names for pictures by id; those whose file names coincide carry their id."""
    names = {key: scene_name(dataset, file_name) for key, file_name in file_names.items()}
    used: dict[str, int] = {}
    for name in names.values():
        used[name] = used.get(name, 0) + 1
    return {key: name if used[name] == 1 else f"{name}-{key}" for key, name in names.items()}


def put_pictures(
    connection: Connection, pictures: Iterable[Picture], reason: str
) -> dict[str, int]:
    """Add scenes and frames of pictures in order; frame ids of all pictures by scene name.

    Parameters
    ----------
    reason : str
        Where they come from, for the run that stands for their taking.
    """
    listed = list(pictures)
    scene_ids = put_scenes(connection, (picture.scene for picture in listed))
    light_id = unknown_light(connection)
    keys = [(scene_ids[picture.scene.name], light_id) for picture in listed]
    run_ids = put_runs(connection, keys, reason)
    rows = []
    for picture, key in zip(listed, keys, strict=True):
        blank = FrameRow(*key, run_ids[key], KIND, KIND)
        known = picture.file or blank
        rows.append(
            known._replace(
                scene_id=key[0],
                lighting_id=key[1],
                run_id=run_ids[key],
                kind=KIND,
                setting=KIND,
            )
        )
    put_frames(connection, rows)
    query = (
        select(scenes.c.name, frames.c.id)
        .join(frames, frames.c.scene_id == scenes.c.id)
        .where(frames.c.kind == KIND)
    )
    return {str(name): int(frame_id) for name, frame_id in connection.execute(query)}


def picture_folder(scene: str) -> str:
    """Where a picture's file lies below the workspace's frames."""
    return f"{scene}/{UNKNOWN_LIGHT}"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_-") or "picture"
