"""Which label counts for a frame, and how far labelers agree. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluate.color.groups import Color, Group, group_of
from schemas.color_store import FRAME, KINDS, SCENE, ColorFrame, ColorLabel


@dataclass(frozen=True)
class Colors:
    """The colors that count for a frame, and where they come from."""

    foreground: Color
    background: Color
    kind: str

    @property
    def group(self) -> Group:
        """Color discrimination of the pair."""
        return group_of(self.background, self.foreground)


def best_labels(
    frames: Iterable[ColorFrame], labels: Iterable[ColorLabel], *, apparent: bool = False
) -> dict[int, Colors]:
    """The label that counts for each frame that has one.

    People win over measurements, adjudicated labels over both. A label of the scene counts for
    all its frames, unless a frame has one of its own.

    Parameters
    ----------
    apparent : bool
        Use the colors as they appear in each frame, where they were measured, instead of the
        object's own.
    """
    by_frame: dict[int, ColorLabel] = {}
    by_scene: dict[int, ColorLabel] = {}
    measured: dict[int, ColorLabel] = {}
    frames = list(frames)
    scenes = {frame.frame_id: frame.scene_id for frame in frames}
    for label in labels:
        scene = scenes.get(label.frame_id)
        if scene is None:
            continue
        if label.scope == SCENE:
            by_scene[scene] = _better(by_scene.get(scene), label)
        elif label.kind == KINDS[-1]:
            measured[label.frame_id] = label
        elif label.scope == FRAME:
            by_frame[label.frame_id] = _better(by_frame.get(label.frame_id), label)
    found = {}
    for frame in frames:
        own = measured.get(frame.frame_id)
        best = by_frame.get(frame.frame_id, by_scene.get(frame.scene_id, own))
        counted = own if apparent else best
        if counted is not None:
            colors = Color(counted.foreground), Color(counted.background)
            found[frame.frame_id] = Colors(*colors, counted.kind)
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
