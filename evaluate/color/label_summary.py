"""What the labels of a catalog amount to: counts by color and group, and who agrees with whom."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from evaluate.color.groups import Color, Group, group_of
from evaluate.color.labels import Agreement, agreement, best_labels
from schemas.color_store import KINDS, SCENE, ColorFrame, ColorLabel

MEASURED = KINDS[-1]


@dataclass(frozen=True)
class Pairing:
    """Two labelers, and how far they agree on one thing.

    Attributes
    ----------
    what : {"foreground", "background", "both", "group"}
    """

    first: str
    second: str
    what: str
    found: Agreement

    def as_json(self) -> dict[str, Any]:
        """As the commands print it."""
        kappa = self.found.kappa
        return {
            "first": self.first,
            "second": self.second,
            "what": self.what,
            "n": self.found.n,
            "percent": round(self.found.percent, 2),
            "kappa": None if math.isnan(kappa) else round(kappa, 4),
        }


def agreements(frames: Iterable[ColorFrame], labels: Iterable[ColorLabel]) -> list[Pairing]:
    """Agreement of every two labelers that labeled the same things.

    People are told apart by pseudonym and round, imports by file; all measurements are one
    labeler. Labels of scenes are compared with labels of scenes, those of frames with those of
    frames.
    """
    scene_of = {frame.frame_id: frame.scene_id for frame in frames}
    by_labeler: dict[str, dict[tuple[str, int], ColorLabel]] = defaultdict(dict)
    for label in labels:
        if label.frame_id in scene_of:
            at = scene_of[label.frame_id] if label.scope == SCENE else label.frame_id
            by_labeler[_name(label)][label.scope, at] = label
    found = []
    for first, second in combinations(sorted(by_labeler, key=_measured_last), 2):
        one, other = by_labeler[first], by_labeler[second]
        pairs = [(one[key], other[key]) for key in sorted(one.keys() & other.keys())]
        for what in ("foreground", "background", "both", "group"):
            sides = [(_said(a, what), _said(b, what)) for a, b in pairs]
            known = [(a, b) for a, b in sides if a and b]
            if known:
                got = agreement([a for a, _ in known], [b for _, b in known])
                found.append(Pairing(first, second, what, got))
    return found


def count_labels(frames: Sequence[ColorFrame], labels: Sequence[ColorLabel]) -> dict[str, Any]:
    """Frames by color and group: of the labels that count, and as the frames appear."""
    return {
        "frames": len(frames),
        "own": _counts(frames, labels, apparent=False),
        "apparent": _counts(frames, labels, apparent=True),
    }


def _counts(
    frames: Sequence[ColorFrame], labels: Sequence[ColorLabel], *, apparent: bool
) -> dict[str, Any]:
    found = best_labels(frames, labels, apparent=apparent).values()
    groups = Counter(one.group for one in found)
    foregrounds = Counter(one.foreground for one in found)
    backgrounds = Counter(one.background for one in found)
    return {
        "labeled": len(found),
        "by_kind": dict(Counter(one.kind for one in found).most_common()),
        "group": {str(group): groups[group] for group in Group},
        "foreground": {str(color): foregrounds[color] for color in Color},
        "background": {str(color): backgrounds[color] for color in Color},
    }


def _name(label: ColorLabel) -> str:
    if label.kind == MEASURED:
        return MEASURED
    name = label.labeler if label.kind != "adjudicated" else f"{label.labeler} (adjudicated)"
    return f"{name}, round {label.round}" if label.round > 1 else name


def _measured_last(name: str) -> tuple[bool, str]:
    return name == MEASURED, name


def _said(label: ColorLabel, what: str) -> str:
    """What a label says, as text; empty if it says nothing of it."""
    if what == "foreground":
        return label.foreground
    if what == "background":
        return label.background
    if not (label.foreground and label.background):
        return ""
    if what == "both":
        return f"{label.foreground} on {label.background}"
    return str(group_of(Color(label.background), Color(label.foreground)))
