"""The objects of a scene, and the frame that shows them best."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.capture_store import id_of
from schemas.catalog import Catalog
from schemas.frame_store import list_frames
from schemas.import_store import list_instances, put_instances
from schemas.records import Frame, FrameKind, Instance, Outcome
from schemas.tables import scenes


def scene_instances(catalog: Catalog, scene: str) -> tuple[Instance, ...]:
    """The objects of a scene in order."""
    return tuple(list_instances(catalog).get(scene, ()))


def set_instances(catalog: Catalog, scene: str, found: Sequence[Instance]) -> None:
    """Set the objects of a scene, replacing those it had, in one transaction."""
    with catalog.write() as connection:
        put_instances(connection, id_of(connection, scenes, scene), found)


def clearest_frame(catalog: Catalog, scene: str, lighting: str | None = None) -> Frame | None:
    """The accepted frame of a scene nearest to EV offset 0, the brightest light first.

    Of two equally near ones the over-exposed: objects show better in it. None if there is none.
    """

    def distance(frame: Frame) -> tuple[int, int, float, int]:
        offset = frame.ev_offset if frame.ev_offset is not None else 99
        return abs(offset), -offset, -(frame.light.lux or 0.0), frame.id or 0

    kinds: tuple[FrameKind, ...] = ("manual", "picture")
    found = (
        frame
        for kind in kinds
        for frame in list_frames(
            catalog, scene=scene, lighting=lighting, kind=kind, outcome=Outcome.ACCEPTED
        )
        if frame.path
    )
    return min(found, key=distance, default=None)
