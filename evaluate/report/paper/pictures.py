"""Figures B.1 to B.3: the scenes, equal exposures, and the EV offsets, as pictures."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from PIL import Image

from evaluate.report.paper.figure import LeftOut, PaperFigure
from evaluate.report.style import MUTED, signed
from evaluate.report.thumbnails import Thumbnail
from schemas.exposure import spell_shutter
from schemas.report_store import PictureFrame

SECTION = "data set"

_TITLES = {
    "B.1": "Overview of the scenes",
    "B.2": "Exposure equivalence",
    "B.3": "EV offsets",
}

#: Scenes in a row of B.1, and pictures of B.2.
_PER_ROW, _EQUAL = 10, 4
_THUMB_PX = 200
_WIDE_PX = 360


def picture_figures(
    frames: Sequence[PictureFrame], thumbnail: Thumbnail
) -> list[PaperFigure | LeftOut]:
    """The figures, or why there are none: they need the files of frames."""
    if not frames:
        reason = "no picture files in the workspace"
        return [LeftOut(number, SECTION, title, reason) for number, title in _TITLES.items()]
    swept = [frame for frame in frames if frame.kind == "manual" and frame.ev_offset is not None]
    return [_overview(frames, thumbnail), _equal(swept, thumbnail), _offsets(swept, thumbnail)]


def _overview(frames: Sequence[PictureFrame], thumbnail: Thumbnail) -> PaperFigure:
    by_scene: dict[str, list[PictureFrame]] = defaultdict(list)
    for frame in frames:
        by_scene[frame.scene].append(frame)
    by_category: dict[str, list[PictureFrame]] = defaultdict(list)
    for members in by_scene.values():
        chosen = min(members, key=_distance_from_reference)
        by_category[chosen.category].append(chosen)
    rows = [
        (category if not start else "", chosen[start : start + _PER_ROW])
        for category, chosen in sorted(by_category.items())
        for start in range(0, len(chosen), _PER_ROW)
    ]
    columns = max(len(chosen) for _, chosen in rows)

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(len(rows), columns, squeeze=False)
        for axes, (category, chosen) in zip(grid, rows, strict=True):
            for place, one in enumerate(axes):
                _show(one, chosen[place] if place < len(chosen) else None, thumbnail, _THUMB_PX)
            axes[0].set_ylabel(
                category.replace("_", " "), rotation=0, ha="right", va="center", fontsize=8
            )

    return PaperFigure(
        "B.1",
        "fig-b1-scenes",
        SECTION,
        _TITLES["B.1"],
        "One frame of each scene whose file is here, by category: the one nearest EV offset 0 "
        "under the brightest lighting, else the auto-exposure frame.",
        [_row(frame) for _, chosen in rows for frame in chosen],
        (max(4.4, 1.1 + 1.12 * columns), 0.4 + 0.8 * len(rows)),
        paint,
    )


def _equal(swept: Sequence[PictureFrame], thumbnail: Thumbnail) -> PaperFigure | LeftOut:
    sets: dict[tuple[str, int], list[PictureFrame]] = defaultdict(list)
    for frame in swept:
        if frame.ev_offset is not None:
            sets[frame.scene, frame.ev_offset].append(frame)
    several = {key: members for key, members in sets.items() if len(members) > 1}
    if not several:
        reason = "no two frames of a scene with the same EV offset whose files are here"
        return LeftOut("B.2", SECTION, _TITLES["B.2"], reason)

    def rank(key: tuple[str, int]) -> tuple[int, int, int]:
        members = several[key]
        return -len({m.lighting for m in members}), -min(len(members), _EQUAL), abs(key[1])

    scene, offset = min(several, key=rank)
    chosen = _spread(several[scene, offset])

    def paint(canvas: Canvas) -> None:
        columns = 2 if len(chosen) > 1 else 1
        grid = canvas.subplots(-(-len(chosen) // columns), columns, squeeze=False)
        for place, axes in enumerate(grid.flat):
            frame = chosen[place] if place < len(chosen) else None
            _show(axes, frame, thumbnail, _WIDE_PX)
            if frame is not None:
                axes.set_title(_settings(frame), loc="right", fontsize=8, fontweight="normal")

    return PaperFigure(
        "B.2",
        "fig-b2-equal-exposure",
        SECTION,
        _TITLES["B.2"],
        f"Scene {scene} at EV offset {signed(offset)}: the same exposure from other triplets"
        + (" and under both lightings." if len({f.lighting for f in chosen}) > 1 else "."),
        [_row(frame) for frame in chosen],
        (6.4, 0.4 + 2.35 * -(-len(chosen) // 2)),
        paint,
    )


def _offsets(swept: Sequence[PictureFrame], thumbnail: Thumbnail) -> PaperFigure | LeftOut:
    strips: dict[tuple[str, str], dict[int, PictureFrame]] = defaultdict(dict)
    for frame in swept:
        if frame.ev_offset is not None:
            strips[frame.scene, frame.lighting].setdefault(frame.ev_offset, frame)
    if not strips or max(map(len, strips.values())) < 2:
        reason = "no scene with frames of several EV offsets whose files are here"
        return LeftOut("B.3", SECTION, _TITLES["B.3"], reason)
    scene, lighting = max(strips, key=lambda key: len(strips[key]))
    strip = dict(sorted(strips[scene, lighting].items()))

    def paint(canvas: Canvas) -> None:
        columns = min(8, len(strip))
        grid = canvas.subplots(-(-len(strip) // columns), columns, squeeze=False)
        shown = list(strip.items())
        for place, axes in enumerate(grid.flat):
            offset, frame = shown[place] if place < len(shown) else (None, None)
            _show(axes, frame, thumbnail, _THUMB_PX)
            if offset is not None:
                axes.set_title(signed(offset), loc="center", fontsize=9)

    return PaperFigure(
        "B.3",
        "fig-b3-ev-offsets",
        SECTION,
        _TITLES["B.3"],
        f"Scene {scene}, {lighting}: one frame of each EV offset. 0 is nearest to what the camera "
        "chose by itself; negative is under-exposed, positive over-exposed.",
        [_row(frame) for frame in strip.values()],
        (max(4.4, 0.3 + 1.35 * min(8, len(strip))), 0.3 + 1.2 * -(-len(strip) // 8)),
        paint,
    )


def _distance_from_reference(frame: PictureFrame) -> tuple[bool, float, int]:
    manual = frame.kind == "manual" and frame.ev_offset is not None
    return not manual, -frame.lux, abs(frame.ev_offset or 0)


def _spread(members: Sequence[PictureFrame]) -> list[PictureFrame]:
    """Up to four frames, lightings in turn, each from its fastest to its slowest shutter."""
    by_lighting: dict[str, list[PictureFrame]] = defaultdict(list)
    for frame in sorted(members, key=lambda one: one.shutter_s or 0):
        by_lighting[frame.lighting].append(frame)
    share = max(1, _EQUAL // len(by_lighting))
    chosen = []
    for frames in by_lighting.values():
        number = min(share, len(frames))
        places = [round(n * (len(frames) - 1) / max(number - 1, 1)) for n in range(number)]
        chosen += [frames[place] for place in places]
    return chosen[:_EQUAL]


def _show(axes: Axes, frame: PictureFrame | None, thumbnail: Thumbnail, width_px: int) -> None:
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    if frame is None:
        return
    data = thumbnail(frame, width_px)
    if data is None:
        axes.text(0.5, 0.5, "unreadable", ha="center", va="center", fontsize=7, color=MUTED)
    else:
        axes.imshow(Image.open(io.BytesIO(data)))


def _settings(frame: PictureFrame) -> str:
    shutter = "" if frame.shutter_s is None else f"{spell_shutter(frame.shutter_s)} s"
    aperture = "" if frame.f_number is None else f"f/{frame.f_number:g}"
    iso = "" if frame.iso is None else f"ISO {frame.iso}"
    return ", ".join(part for part in (shutter, aperture, iso, f"{frame.lux:g} lux") if part)


def _row(frame: PictureFrame) -> dict[str, object]:
    return {
        "scene": frame.scene,
        "category": frame.category,
        "lighting": frame.lighting,
        "lux": frame.lux,
        "kind": frame.kind,
        "ev_offset": frame.ev_offset,
        "shutter_s": frame.shutter_s,
        "iso": frame.iso,
        "f_number": frame.f_number,
        "path": frame.path,
    }
