"""What a person labels: one picture a scene, in an order that tells nothing. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from schemas.color_store import SCENE, ColorFrame, ColorLabel

HUMAN: Final = "human"
ADJUDICATED: Final = "adjudicated"
SIDES: Final = ("foreground", "background")


@dataclass(frozen=True)
class Item:
    """A scene, and the frame that shows its colors best.

    Attributes
    ----------
    settled : tuple of str
        Foreground and background where nobody is asked, since all labelers say the same of it;
        empty where a person decides.
    opinions : tuple of ColorLabel
        Labels of people that differ; none where a person is to label without seeing any.
    """

    frame: ColorFrame
    settled: tuple[str, str] = ("", "")
    opinions: tuple[ColorLabel, ...] = ()

    def is_asked(self, side: str) -> bool:
        """Whether a person decides about that side."""
        return not self.settled[SIDES.index(side)]


def is_whole(label: ColorLabel) -> bool:
    """Whether both sides are labeled."""
    return bool(label.foreground and label.background)


class Collection:
    """The scenes of a catalog that can be shown, and their labels.

    An imported picture is a scene of its own.

    Parameters
    ----------
    sample : int, optional
        Take so many scenes at random, always the same ones: several labelers get one sample.
    """

    def __init__(
        self,
        frames: Iterable[ColorFrame],
        labels: Iterable[ColorLabel],
        sample: int | None = None,
    ) -> None:
        frames = list(frames)
        scene_of = {frame.frame_id: frame.scene_id for frame in frames}
        best: dict[int, ColorFrame] = {}
        for frame in sorted(frames, key=lambda one: (abs(one.ev_offset or 0), one.frame_id)):
            if frame.path:
                best.setdefault(frame.scene_id, frame)
        self._frames = _shuffled(best.values(), 1)[:sample]
        self._in_order = [
            (scene_of[label.frame_id], label)
            for label in labels
            if label.scope == SCENE and label.frame_id in scene_of
        ]
        self._labels: dict[int, list[ColorLabel]] = defaultdict(list)
        for scene, label in self._in_order:
            self._labels[scene].append(label)

    def to_label(self, labeler: str, round_: int) -> dict[int, Item]:
        """All scenes by id; in later rounds those that the labeler finished in the one before."""
        chosen = [
            frame
            for frame in self._frames
            if round_ == 1
            or any(
                one.labeler == labeler and one.round == round_ - 1
                for one in self._of_people(frame.scene_id)
            )
        ]
        return {one.scene_id: Item(one) for one in _shuffled(chosen, round_)}

    def to_adjudicate(self, labeler: str) -> dict[int, Item]:
        """Scenes of which two labels of people differ, and that nobody else has adjudicated."""
        found = {}
        for frame in self._frames:
            said = self._of_people(frame.scene_id)
            colors = [{getattr(one, side) for one in said} for side in SIDES]
            if all(len(side) < 2 for side in colors) or self._is_settled(frame.scene_id, labeler):
                continue
            agreed = [side.pop() if len(side) == 1 else "" for side in colors]
            found[frame.scene_id] = Item(frame, (agreed[0], agreed[1]), tuple(said))
        return found

    def given(self, kind: str, labeler: str, round_: int) -> dict[int, ColorLabel]:
        """The labels of one labeler by scene, in the order that they were begun."""
        return {
            scene: one
            for scene, one in self._in_order
            if (one.kind, one.labeler, one.round) == (kind, labeler, round_)
        }

    def _of_people(self, scene: int) -> list[ColorLabel]:
        return [one for one in self._labels[scene] if one.kind == HUMAN and is_whole(one)]

    def _is_settled(self, scene: int, labeler: str) -> bool:
        return any(
            one.kind == ADJUDICATED and one.labeler != labeler and is_whole(one)
            for one in self._labels[scene]
        )


def _shuffled(frames: Iterable[ColorFrame], round_: int) -> list[ColorFrame]:
    """The frames in an order of each round's own, the same in every catalog.

    Pictures of one class follow each other in most collections, and colors go with classes: in
    that order a person would label out of habit.
    """
    return sorted(frames, key=lambda one: hashlib.sha256(f"{round_}/{one.scene}".encode()).digest())
