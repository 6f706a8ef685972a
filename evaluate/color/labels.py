"""Which label counts for a frame, and how far labelers agree. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluate.color.groups import Color, Group, group_of
from schemas.color_store import KINDS, SCENE, ColorFrame, ColorLabel


@dataclass(frozen=True)
class Colors:
    """The colors that count for a frame, and where they come from.

    Attributes
    ----------
    foreground, background : Color or None
        None where no label says anything of that side.
    kind : str
        Of the label; where the two sides have labels of different kinds, the lesser one.
    """

    foreground: Color | None
    background: Color | None
    kind: str

    @property
    def group(self) -> Group | None:
        """Color discrimination of the pair; None where a side is unknown."""
        if self.foreground is None or self.background is None:
            return None
        return group_of(self.background, self.foreground)


def best_labels(
    frames: Iterable[ColorFrame], labels: Iterable[ColorLabel], *, apparent: bool = False
) -> dict[int, Colors]:
    """The label that counts for each frame that has one, side by side.

    People win over measurements, adjudicated labels over both. A label of the scene counts for
    all its frames, unless people labeled the frame itself. A label that says nothing of a side
    leaves it to the next best one: CIFAR-B has backgrounds only.

    Parameters
    ----------
    apparent : bool
        Use the colors as they appear in each frame, where they were measured, instead of the
        object's own.
    """
    frames = list(frames)
    scenes = {frame.frame_id: frame.scene_id for frame in frames}
    known = [label for label in labels if label.frame_id in scenes]
    sides = [_best_sides(frames, scenes, known, side, apparent) for side in _SIDES]
    found = {}
    for frame in frames:
        best = [side.get(frame.frame_id) for side in sides]
        kinds = [label.kind for label in best if label is not None]
        if kinds:
            foreground, background = best
            found[frame.frame_id] = Colors(
                None if foreground is None else Color(foreground.foreground),
                None if background is None else Color(background.background),
                max(kinds, key=KINDS.index),
            )
    return found


_SIDES = ("foreground", "background")


def _best_sides(
    frames: Sequence[ColorFrame],
    scenes: Mapping[int, int],
    labels: Iterable[ColorLabel],
    side: str,
    apparent: bool,
) -> dict[int, ColorLabel]:
    """The label that counts for one side of each frame."""
    by_frame: dict[int, ColorLabel] = {}
    by_scene: dict[int, ColorLabel] = {}
    measured: dict[int, ColorLabel] = {}
    for label in labels:
        if not getattr(label, side):
            continue
        if label.scope == SCENE:
            scene = scenes[label.frame_id]
            by_scene[scene] = _better(by_scene.get(scene), label)
        elif label.kind == KINDS[-1]:
            measured[label.frame_id] = label
        else:
            by_frame[label.frame_id] = _better(by_frame.get(label.frame_id), label)
    if apparent:
        return measured
    found = {}
    for frame in frames:
        own = by_frame.get(frame.frame_id, by_scene.get(frame.scene_id))
        best = measured.get(frame.frame_id) if own is None else own
        if best is not None:
            found[frame.frame_id] = best
    return found


def _better(old: ColorLabel | None, new: ColorLabel) -> ColorLabel:
    """The one that counts more; among equals the later round, then the later label."""
    if old is None:
        return new
    rank = KINDS.index(new.kind) - KINDS.index(old.kind)
    return new if rank < 0 or (rank == 0 and new.round >= old.round) else old


@dataclass(frozen=True)
class Agreement:
    """How far two labelers agree on the frames that both labeled.

    Attributes
    ----------
    n : int
        Frames.
    percent : float
        Share of equal labels, 0 to 100; NaN without frames.
    kappa : float
        Cohen's kappa: agreement beyond what the labelers' habits give by chance. NaN where
        chance alone gives 1.
    """

    n: int
    percent: float
    kappa: float


def agreement(first: Sequence[str], second: Sequence[str]) -> Agreement:
    """Agreement of two lists of labels of the same frames.

    ``kappa = (p_o - p_e) / (1 - p_e)`` with the share of equal labels p_o and the share p_e
    expected of independent labelers (J. Cohen, 1960).

    Raises
    ------
    ValueError
        If the lists differ in length.
    """
    pairs = list(zip(first, second, strict=True))
    n = len(pairs)
    if n == 0:
        return Agreement(0, math.nan, math.nan)
    observed = sum(a == b for a, b in pairs) / n
    names = set(first) | set(second)
    expected = sum(first.count(name) * second.count(name) for name in names) / n**2
    kappa = math.nan if expected == 1 else (observed - expected) / (1 - expected)
    return Agreement(n, 100 * observed, kappa)
