"""Who labels what: the picture at hand, what was said of it, undo, and what is left.

Each answer of a person is stored at once, by itself; what is left follows from what is stored.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from evaluate.color.groups import SRGB, Color
from evaluate.color.label_page.items import ADJUDICATED, HUMAN, SIDES, Collection, is_whole
from evaluate.color.label_summary import agreements
from evaluate.errors import EvaluateError
from schemas.catalog import Catalog
from schemas.color_store import (
    SCENE,
    ColorFrame,
    ColorLabel,
    delete_color_label,
    list_color_frames,
    list_color_labels,
    put_color_labels,
)

#: Pictures that the page may fetch before they are at hand.
_AHEAD = 2


class StaleError(Exception):
    """The page shows something else than what is at hand by now."""


class UnknownPictureError(Exception):
    """No picture by that id is to be labeled here."""


@dataclass(frozen=True)
class Task:
    """What a person is going to do.

    Attributes
    ----------
    labeler : str
        A pseudonym.
    round : int
        From 1; pictures of the second are those finished in the first.
    adjudicate : bool
        Decide where labels of people differ, seeing them.
    sample : int or None
        Pictures at most.
    """

    labeler: str
    round: int = 1
    adjudicate: bool = False
    sample: int | None = None

    @property
    def kind(self) -> str:
        """Of the labels that come out."""
        return ADJUDICATED if self.adjudicate else HUMAN


class Desk:
    """A person's work on a catalog. Safe to call from several threads.

    Raises
    ------
    EvaluateError
        If there is no picture for that task.
    """

    def __init__(self, catalog: Catalog, task: Task) -> None:
        self.task = task
        self._catalog = catalog
        self._lock = threading.Lock()
        collection = Collection(list_color_frames(catalog), list_color_labels(catalog), task.sample)
        if task.adjudicate:
            self._items = collection.to_adjudicate(task.labeler)
        else:
            self._items = collection.to_label(task.labeler, task.round)
        if not self._items:
            raise EvaluateError(_nothing(task))
        given = collection.given(task.kind, task.labeler, task.round)
        self._labels = {scene: one for scene, one in given.items() if scene in self._items}
        self._said = [
            (scene, side)
            for scene, label in self._labels.items()
            for side in SIDES
            if getattr(label, side) and self._items[scene].is_asked(side)
        ]
        self._left = deque(scene for scene in self._items if not self._is_done(scene))
        self._later: set[int] = set()

    def frame(self, scene: int) -> ColorFrame:
        """The frame that is shown of a scene. Raises UnknownPictureError."""
        try:
            return self._items[scene].frame
        except KeyError:
            raise UnknownPictureError("there is no such picture to label") from None

    def state(self) -> dict[str, Any]:
        """What the page shows."""
        with self._lock:
            return self._state()

    def label(self, scene: int, side: str, color: Color) -> dict[str, Any]:
        """Store one side of the picture at hand; the state after.

        Raises
        ------
        StaleError
            If another picture or side is at hand.
        """
        with self._lock:
            if scene != self._current or side != self._side(scene):
                raise StaleError("another picture is at hand by now")
            item = self._items[scene]
            known = self._labels.get(scene) or ColorLabel(
                item.frame.frame_id,
                SCENE,
                self.task.kind,
                *item.settled,
                self.task.labeler,
                self.task.round,
            )
            self._put(scene, _changed(known, side, str(color)))
            self._said.append((scene, side))
            if self._is_done(scene):
                self._left.popleft()
                self._later.discard(scene)
            return self._state()

    def undo(self) -> dict[str, Any]:
        """Take back what was said last, and ask for it again; the state after."""
        with self._lock:
            if not self._said:
                raise StaleError("there is nothing to take back")
            scene, side = self._said.pop()
            label = _changed(self._labels[scene], side, "")
            asked = [one for one in SIDES if self._items[scene].is_asked(one)]
            if any(getattr(label, one) for one in asked):
                self._put(scene, label)
            else:
                delete_color_label(self._catalog, label)
                del self._labels[scene]
            if scene in self._left:
                self._left.remove(scene)
            self._left.appendleft(scene)
            return self._state()

    def skip(self, scene: int) -> dict[str, Any]:
        """Put the picture at hand behind all others; the state after. Raises StaleError."""
        with self._lock:
            if scene != self._current:
                raise StaleError("another picture is at hand by now")
            self._later.add(scene)
            self._left.rotate(-1)
            return self._state()

    def summary(self) -> dict[str, Any]:
        """How far people agree so far, and of how many pictures their labels differ."""
        frames, labels = list_color_frames(self._catalog), list_color_labels(self._catalog)
        people = [one for one in labels if one.kind == HUMAN]
        return {
            "agreement": [one.as_json() for one in agreements(frames, people)],
            # Nobody is called "": whatever anybody has adjudicated counts as decided.
            "differ": len(Collection(frames, labels).to_adjudicate("")),
        }

    def progress(self) -> dict[str, int]:
        """Pictures in all, done, and put off."""
        with self._lock:
            return self._progress()

    @property
    def _current(self) -> int | None:
        return self._left[0] if self._left else None

    def _is_done(self, scene: int) -> bool:
        return scene in self._labels and is_whole(self._labels[scene])

    def _side(self, scene: int) -> str:
        """The side to label next."""
        label = self._labels.get(scene)
        for side in SIDES:
            if self._items[scene].is_asked(side) and not (label and getattr(label, side)):
                return side
        return ""

    def _put(self, scene: int, label: ColorLabel) -> None:
        put_color_labels(self._catalog, [label])
        self._labels[scene] = label

    def _progress(self) -> dict[str, int]:
        return {
            "total": len(self._items),
            "done": len(self._items) - len(self._left),
            "later": len(self._later),
        }

    def _state(self) -> dict[str, Any]:
        scene = self._current
        return {
            "labeler": self.task.labeler,
            "round": self.task.round,
            "adjudicate": self.task.adjudicate,
            "colors": [
                {"key": str(key), "name": str(color), "srgb": SRGB.get(color)}
                for key, color in enumerate(Color, 1)
            ],
            **self._progress(),
            "can_undo": bool(self._said),
            "picture": None if scene is None else self._picture(scene),
            "ahead": list(self._left)[1 : 1 + _AHEAD],
        }

    def _picture(self, scene: int) -> dict[str, Any]:
        item = self._items[scene]
        label = self._labels.get(scene)
        said = item.settled if label is None else (label.foreground, label.background)
        return {
            "id": scene,
            "category": item.frame.category,
            "side": self._side(scene),
            **dict(zip(SIDES, said, strict=True)),
            "opinions": [_opinion(one) for one in item.opinions],
        }


def _changed(label: ColorLabel, side: str, color: str) -> ColorLabel:
    if side == "foreground":
        return label._replace(foreground=color)
    return label._replace(background=color)


def _opinion(label: ColorLabel) -> dict[str, str]:
    who = label.labeler if label.round == 1 else f"{label.labeler}, round {label.round}"
    return {"who": who, "foreground": label.foreground, "background": label.background}


def _nothing(task: Task) -> str:
    if task.adjudicate:
        return "nothing to decide: no two people's labels of a picture differ"
    if task.round > 1:
        return (
            f"{task.labeler} has finished no picture of round {task.round - 1}: "
            "label without --round first"
        )
    return (
        "no picture to label: the catalog holds no accepted frame with its file; "
        "`snaprig import images FOLDER` takes in pictures"
    )
