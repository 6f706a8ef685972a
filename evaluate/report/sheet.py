"""The contact sheet: one frame of each scene, lighting and EV offset."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from PIL import Image

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import (
    INK,
    MUTED,
    NONE,
    OUTCOMES,
    PAPER,
    RIGHT,
    WRONG,
    mark_simulated,
    signed,
)
from evaluate.report.thumbnails import Thumbnail
from schemas.answer_store import Answer
from schemas.records import Frame, Outcome, Scene

#: Scenes on the sheet: with two lightings and 16 offsets 384 thumbnails, some 2 MB.
MAX_SCENES = 12

THUMB_PX = 176


@dataclass(frozen=True)
class Cell:
    """All frames of one EV offset, and the one that is shown for them.

    Attributes
    ----------
    frame : Frame or None
        None where no frame was accepted.
    accepted : int
    rejected : str
        In words, e.g. ``4 black``; empty if none was.
    right, judged : int
        Answers of the observer whose marks the sheet carries.
    """

    ev_offset: int
    frame: Frame | None
    accepted: int
    rejected: str
    right: int
    judged: int


@dataclass(frozen=True)
class Strip:
    """One scene under one lighting, a cell for each EV offset of the sheet."""

    scene: Scene
    lighting: str
    simulated: bool
    cells: tuple[Cell | None, ...]


def choose_scenes(scenes: Sequence[Scene], limit: int = MAX_SCENES) -> list[Scene]:
    """At most `limit` scenes, in their order, taken evenly from the categories."""
    by_category: dict[str, list[Scene]] = {}
    for scene in scenes:
        by_category.setdefault(scene.category, []).append(scene)
    turns = [
        (turn, place, scene)
        for place, members in enumerate(by_category.values())
        for turn, scene in enumerate(members)
    ]
    chosen = {scene for _, _, scene in sorted(turns, key=lambda item: item[:2])[:limit]}
    return [scene for scene in scenes if scene in chosen]


def make_strip(
    scene: Scene,
    lighting: str,
    frames: Iterable[Frame],
    offsets: Sequence[int],
    answers: Mapping[int, Answer],
    simulated: bool,
) -> Strip:
    """Sort the frames of a scene under a lighting into cells."""
    by_offset: dict[int, list[Frame]] = {}
    for frame in frames:
        if frame.ev_offset is not None:
            by_offset.setdefault(frame.ev_offset, []).append(frame)
    cells = (
        _cell(offset, by_offset[offset], answers) if offset in by_offset else None
        for offset in offsets
    )
    return Strip(scene, lighting, simulated, tuple(cells))


def _cell(offset: int, frames: list[Frame], answers: Mapping[int, Answer]) -> Cell:
    accepted = [frame for frame in frames if frame.outcome is Outcome.ACCEPTED]
    others: Counter[Outcome] = Counter(
        frame.outcome for frame in frames if frame.outcome is not Outcome.ACCEPTED
    )
    words = (
        f"{others[outcome]} {outcome.removeprefix('rejected_')}"
        for outcome in Outcome
        if others[outcome]
    )
    given = [answers[f.id] for f in accepted if f.id is not None and f.id in answers]
    judged = [answer.soft for answer in given if answer.soft is not None]
    return Cell(
        offset, _middle(accepted), len(accepted), ", ".join(words), sum(judged), len(judged)
    )


def _middle(frames: list[Frame]) -> Frame | None:
    """The frame in the middle by ISO: neither the cleanest nor the noisiest."""
    ordered = sorted(frames, key=lambda f: (f.requested.iso, f.setting) if f.requested else (0, ""))
    return ordered[len(ordered) // 2] if ordered else None


def sheet_plot(
    strips: Sequence[Strip], offsets: Sequence[int], thumbnail: Thumbnail, observer: str | None
) -> Drawing:
    """Draw the sheet: a row a strip, a column an EV offset."""
    width_in = 1.15
    ratio = 2 / 3
    simulated = any(strip.simulated for strip in strips)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(len(strips), len(offsets), squeeze=False)
        for row, strip in enumerate(strips):
            for column, cell in enumerate(strip.cells):
                axes = grid[row, column]
                axes.set(xticks=[], yticks=[], xlim=(0, 1), ylim=(0, 1))
                axes.set_box_aspect(ratio)
                axes.grid(visible=False)
                axes.spines[:].set_visible(cell is not None)
                if row == 0:
                    axes.set_title(signed(offsets[column]), loc="center", fontsize=9)
                if cell is None:
                    continue
                data = None if cell.frame is None else thumbnail(cell.frame, THUMB_PX)
                if data is not None:
                    axes.imshow(Image.open(io.BytesIO(data)), extent=(0, 1, 0, 1), aspect="auto")
                else:
                    words = cell.rejected.replace(", ", "\n") or "unreadable"
                    fill, ink = _rejected_look(cell.rejected)
                    axes.set_facecolor(fill)
                    axes.text(0.5, 0.5, words, ha="center", va="center", fontsize=7, color=ink)
                note, color = _note(cell)
                axes.set_xlabel(note, fontsize=7, color=color, labelpad=2)
            label = f"{strip.scene.name}\n{strip.lighting}"
            grid[row, 0].set_ylabel(
                label, rotation=0, ha="right", va="center", fontsize=8, color=INK
            )
        figure.suptitle("EV offset in stops", fontsize=9, color=INK)
        mark_simulated(figure, simulated)

    return draw(
        "contact-sheet",
        "One frame of each scene, lighting and EV offset",
        (1.6 + width_in * len(offsets), 0.7 + (width_in * ratio + 0.28) * len(strips)),
        paint,
        ("scene", "category", "lighting", "ev_offset", "shown", "accepted", "rejected", "observer",
         "right", "judged", "simulated"),
        [
            (strip.scene.name, strip.scene.category, strip.lighting, cell.ev_offset,
             cell.frame.path if cell.frame else "", cell.accepted, cell.rejected, observer,
             cell.right, cell.judged, int(strip.simulated))
            for strip in strips
            for cell in strip.cells
            if cell is not None
        ],
    )  # fmt: skip


def _note(cell: Cell) -> tuple[str, str]:
    if cell.judged:
        share = cell.right / cell.judged
        color = RIGHT if share == 1 else WRONG if share == 0 else INK
        return f"{cell.right}/{cell.judged} right", color
    return (f"{cell.accepted} frames" if cell.accepted else ""), NONE


def _rejected_look(rejected: str) -> tuple[str, str]:
    """Fill and ink of a cell without a frame, by what its shots were."""
    if "black" in rejected:
        return OUTCOMES[Outcome.REJECTED_BLACK][0], "#d6d9de"
    if "white" in rejected:
        return OUTCOMES[Outcome.REJECTED_WHITE][0], "#4c4528"
    return PAPER, MUTED
