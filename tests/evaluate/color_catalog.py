"""A catalog of frames with known colors, and observers that answer as told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.answer_store import CLASSIFICATION, ORIGINAL, add_responses, put_observer
from schemas.color_store import (
    FRAME,
    SCENE,
    ColorLabel,
    put_color_labels,
    put_mean_luma,
)
from schemas.import_store import FrameRow, Stimuli, put_frames, put_runs, put_scenes
from schemas.records import Observer, Response, Scene

#: Colors of an object on its background that make each group.
PAIRS = {
    "Hard": ("red", "red"),
    "Medium": ("red", "green"),
    "Easy": ("white", "black"),
    "Others": ("others", "blue"),
}

_LABELS = {"cup": [968, "cup"], "ambulance": [407, "ambulance"]}
_WRONG = [1, "goldfish"]


@dataclass(frozen=True)
class Made:
    """A frame to be: its own group, and the one it appears in."""

    scene: str
    group: str
    ev_offset: int = 0
    category: str = "cup"
    apparent: str = ""
    luma: float | None = None


def put_made(lab, frames: Iterable[Made], kind: str = "human") -> list[int]:
    """Store frames and their labels; their ids in the same order."""
    frames = list(frames)
    catalog = lab.catalog
    scenes = {one.scene: Scene(one.scene, one.category, 1) for one in frames}
    with catalog.write() as connection:
        ids = put_scenes(connection, scenes.values())
        light = connection.exec_driver_sql("SELECT id FROM lightings WHERE name='bright'").scalar()
        runs = put_runs(connection, [(ids[name], light) for name in scenes], "made")
        rows = [
            FrameRow(
                ids[one.scene],
                light,
                runs[ids[one.scene], light],
                "manual",
                f"made-{one.scene}-{number}",
                ev_offset=one.ev_offset,
            )
            for number, one in enumerate(frames)
        ]
        put_frames(connection, rows)
        found = [
            connection.exec_driver_sql(
                "SELECT id FROM frames WHERE setting = ?", (row.setting,)
            ).scalar()
            for row in rows
        ]
    labels = []
    labeled = set()
    for one, frame_id in zip(frames, found, strict=True):
        if one.scene not in labeled and one.group:
            labels.append(ColorLabel(frame_id, SCENE, kind, *PAIRS[one.group], "ann"))
            labeled.add(one.scene)
        if one.apparent:
            labels.append(
                ColorLabel(frame_id, FRAME, "measured", *PAIRS[one.apparent], "made mask")
            )
    put_color_labels(catalog, labels)
    put_mean_luma(
        catalog,
        {i: 255 * f.luma for f, i in zip(frames, found, strict=True) if f.luma is not None},
    )
    return found


def answer(
    lab,
    observer: Observer,
    right: Mapping[int, bool],
    *,
    view: str = ORIGINAL,
    categories: Mapping[int, str] | None = None,
    latency_s: Mapping[int, float] | None = None,
) -> None:
    """Let an observer classify frames, right or wrong as told."""
    catalog = lab.catalog
    key = put_observer(catalog, observer)
    with catalog.write() as connection:
        stimuli = Stimuli("", view).put(connection, CLASSIFICATION, dict.fromkeys(right, ()))
    responses = []
    for frame_id, good in right.items():
        label = _LABELS[(categories or {}).get(frame_id, "cup")] if good else _WRONG
        responses.append(
            Response(
                stimuli[frame_id].id,
                key,
                payload=json.loads(json.dumps({"top5": [[*label, 0.5]]})),
                latency_s=(latency_s or {}).get(frame_id),
            )
        )
    add_responses(catalog, responses)
