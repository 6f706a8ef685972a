"""The objects of a frame: those of its scene, in the pixels of the frame as it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from rig.errors import Abort
from schemas.masks import MaskError, compress_rle, fit
from schemas.records import Instance


@dataclass(frozen=True)
class ObjectInFrame:
    """An object with its box inside the picture; `counts` are COCO's compressed run lengths."""

    category: str
    box_xywh_px: tuple[float, float, float, float]
    area_px: float
    crowd: bool
    counts: str | None


@dataclass
class Objects:
    """Objects of scenes at any size of their frames; each is fitted once."""

    instances: dict[str, list[Instance]]
    _fitted: dict[tuple[str, tuple[int, int]], list[ObjectInFrame]] = field(default_factory=dict)

    def of(self, scene: str, size_px: tuple[int, int]) -> list[ObjectInFrame]:
        """The objects of a scene in a picture of that size; none where nobody marked them.

        Raises
        ------
        Abort
            If they were marked on a picture of other proportions.
        """
        key = (scene, size_px)
        if key not in self._fitted:
            try:
                found = [_shown(fit(one, size_px)) for one in self.instances.get(scene, [])]
            except MaskError as error:
                raise Abort(
                    f"scene {scene}: {error}",
                    f"mark them anew: snaprig scene annotate {scene} --replace",
                ) from error
            self._fitted[key] = found
        return self._fitted[key]


def _shown(one: Instance) -> ObjectInFrame:
    """Clipped to the picture: sources round to hundredths of a pixel."""
    left, top, width, height = one.box_xywh_px
    right, bottom = min(left + width, one.image_size_px[0]), min(top + height, one.image_size_px[1])
    left, top = max(left, 0.0), max(top, 0.0)
    box = (left, top, right - left, bottom - top)
    counts = None if one.rle is None else compress_rle(one.rle["counts"])
    return ObjectInFrame(one.category, box, min(one.area_px, box[2] * box[3]), one.crowd, counts)
