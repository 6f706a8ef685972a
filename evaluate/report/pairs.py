"""Equal exposure, different triplets: frames of one scene and EV offset side by side."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from PIL import Image

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import MUTED, NONE, RIGHT, WRONG, mark_simulated, signed
from evaluate.report.thumbnails import Thumbnail
from schemas.answer_store import Answer
from schemas.exposure import Exposure, stops_between
from schemas.records import Frame, Outcome, Scene

#: Sets in a report.
MAX_SETS = 8

#: Sets of one scene where there are few scenes.
PER_SCENE = 3

THUMB_PX = 380


@dataclass(frozen=True)
class Shown:
    """One frame of a set, with the answer it got if any."""

    frame: Frame
    exposure: Exposure
    answer: Answer | None


@dataclass(frozen=True)
class EqualSet:
    """Frames of one scene at one EV offset: up to two for each lighting, far apart in settings.

    `right` and `judged` count the answers to all frames of the set, also those not shown.
    """

    scene: Scene
    ev_offset: int
    frames: tuple[Shown, ...]
    size: int
    right: int
    judged: int


def find_sets(
    scene: Scene, frames: Iterable[Frame], answers: Mapping[int, Answer]
) -> list[EqualSet]:
    """The sets of a scene that have two frames to compare, the most telling first.

    Sets with right and wrong answers come first, the evenest split before others; then those
    near EV offset 0.
    """
    by_offset: dict[int, list[Shown]] = {}
    for frame in frames:
        if frame.outcome is Outcome.ACCEPTED and frame.requested and frame.ev_offset is not None:
            answer = answers.get(frame.id) if frame.id is not None else None
            by_offset.setdefault(frame.ev_offset, []).append(Shown(frame, frame.requested, answer))
    sets = [_set(scene, offset, members) for offset, members in by_offset.items()]
    return sorted((found for found in sets if len(found.frames) > 1), key=_telling)


def choose_sets(by_scene: Sequence[Sequence[EqualSet]], limit: int = MAX_SETS) -> list[EqualSet]:
    """The most telling sets of each scene in turn, at most `limit` in all."""
    turns = itertools.zip_longest(*(sets[:PER_SCENE] for sets in by_scene))
    ordered = (sorted((one for one in turn if one is not None), key=_telling) for turn in turns)
    found = list(itertools.islice(itertools.chain.from_iterable(ordered), limit))
    return sorted(found, key=lambda one: (one.scene.name, one.ev_offset))


def _set(scene: Scene, offset: int, members: list[Shown]) -> EqualSet:
    lightings = dict.fromkeys(shown.frame.lighting for shown in members)
    chosen = [
        shown
        for lighting in lightings
        for shown in _far_apart([m for m in members if m.frame.lighting == lighting])
    ]
    judged = [m.answer.soft for m in members if m.answer and m.answer.soft is not None]
    return EqualSet(scene, offset, tuple(chosen), len(members), sum(judged), len(judged))


def _far_apart(members: list[Shown]) -> list[Shown]:
    """The two frames that differ most: in being right if any do, else in settings."""
    if len(members) < 2:
        return members

    def difference(pair: tuple[Shown, Shown]) -> tuple[bool, float]:
        first, second = pair
        truths = {shown.answer.soft for shown in pair if shown.answer}
        return truths == {True, False}, _distance_stops(first.exposure, second.exposure)

    first, second = max(itertools.combinations(members, 2), key=difference)
    return sorted((first, second), key=lambda shown: shown.exposure.iso)


def _distance_stops(first: Exposure, second: Exposure) -> float:
    return (
        abs(stops_between(first.iso, second.iso))
        + abs(stops_between(first.shutter_s, second.shutter_s))
        + abs(stops_between(first.f_number**2, second.f_number**2))
    )


def _telling(found: EqualSet) -> tuple[float, int]:
    share = found.right / found.judged if found.judged else 0.0
    return -min(share, 1 - share), abs(found.ev_offset)


def pairs_plot(
    sets: Sequence[EqualSet], thumbnail: Thumbnail, simulated: Mapping[int, bool]
) -> Drawing:
    """Draw a row a set, up to four frames in it; `simulated` tells it of each run."""
    virtual = [simulated[shown.frame.run_id] for found in sets for shown in found.frames]
    columns = max(len(found.frames) for found in sets)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(len(sets), columns, squeeze=False)
        for row, found in zip(grid, sets, strict=True):
            for axes in row:
                axes.set_axis_off()
            for axes, shown in zip(row, found.frames, strict=False):
                data = thumbnail(shown.frame, THUMB_PX)
                if data is None:
                    axes.text(0.5, 0.5, "unreadable", ha="center", color=MUTED)
                else:
                    axes.imshow(Image.open(io.BytesIO(data)))
                said, color = spell_answer(shown.answer)
                axes.set_title(
                    f"{shown.frame.lighting}: {shown.exposure}",
                    fontsize=8, fontweight="normal",
                )  # fmt: skip
                axes.text(
                    0, -0.02, said, transform=axes.transAxes, va="top", fontsize=8, color=color
                )
            row[0].text(
                0, 1.16,
                f"{found.scene.name}, EV offset {signed(found.ev_offset)}",
                transform=row[0].transAxes, fontsize=9, fontweight="bold",
            )  # fmt: skip
        mark_simulated(figure, any(virtual))

    return draw(
        "equal-exposure-pairs",
        "Frames of equal EV offset from different triplets side by side",
        (2.9 * columns, 0.3 + 2.65 * len(sets)),
        paint,
        ("scene", "category", "ev_offset", "lighting", "shutter_s", "iso", "f_number", "path",
         "answer", "probability", "right", "set_size", "set_right", "set_judged", "simulated"),
        [
            _row(found, shown, simulated[shown.frame.run_id])
            for found in sets
            for shown in found.frames
        ],
    )  # fmt: skip


def spell_answer(answer: Answer | None) -> tuple[str, str]:
    """What the model said, marked right or wrong by sign and color."""
    if answer is None:
        return "not asked", NONE
    if "name" not in answer.parsed:
        return "no answer", NONE
    said = f"{answer.parsed['name']} {answer.parsed['probability']:.0%}"
    if answer.soft is None:
        return f"? {said}", NONE
    return (f"✓ {said}", RIGHT) if answer.soft else (f"✗ {said}", WRONG)


def _row(found: EqualSet, shown: Shown, simulated: bool) -> tuple[object, ...]:
    answer = shown.answer
    parsed = answer.parsed if answer else {}
    return (
        found.scene.name,
        found.scene.category,
        found.ev_offset,
        shown.frame.lighting,
        shown.exposure.shutter_s,
        shown.exposure.iso,
        shown.exposure.f_number,
        shown.frame.path,
        parsed.get("name"),
        parsed.get("probability"),
        None if answer is None or answer.soft is None else int(answer.soft),
        found.size,
        found.right,
        found.judged,
        int(simulated),
    )
