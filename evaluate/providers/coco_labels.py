"""COCO's 80 classes, and what each library's label ids mean among them: by name, never by number.

Libraries number them 0 to 79, 1 to 90 with gaps, or with a background class in front; an id that
is read in another library's numbering is another class without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluate.errors import EvaluateError

#: In the order of COCO's own ids, as its `instances_val2017.json` writes them.
COCO_80 = tuple(
    name.strip()
    for name in (
        "person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, "
        "fire hydrant, stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, "
        "elephant, bear, zebra, giraffe, backpack, umbrella, handbag, tie, suitcase, frisbee, "
        "skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard, "
        "tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, "
        "sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, "
        "potted plant, bed, dining table, toilet, tv, laptop, mouse, remote, keyboard, "
        "cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors, "
        "teddy bear, hair drier, toothbrush"
    ).split(",")
)

#: Other spellings of the same classes, as darknet's list and its descendants have them.
_SPELLINGS = {
    "motorbike": "motorcycle",
    "aeroplane": "airplane",
    "sofa": "couch",
    "pottedplant": "potted plant",
    "diningtable": "dining table",
    "tvmonitor": "tv",
    "television": "tv",
    "tv monitor": "tv",
    "doughnut": "donut",
    "hair dryer": "hair drier",
    "mobile phone": "cell phone",
}

#: Entries of label maps that stand for no class: gaps in the numbering, and the background.
_NO_CLASS = frozenset({"n/a", "", "background", "__background__", "no object", "no-object"})


@dataclass(frozen=True)
class LabelMap:
    """What the ids that a detector gives stand for.

    Attributes
    ----------
    names : dict
        Class name by id; None for an id that its makers declare to be no class.
    """

    names: Mapping[int, str | None]

    @classmethod
    def of(cls, labels: Mapping[int, str]) -> LabelMap:
        """The map of a model from its own list, COCO's classes under COCO's names.

        Classes that COCO lacks keep the model's name, so that a detector of other things takes
        part under its own words.

        Raises
        ------
        EvaluateError
            If the list has no names, or two ids of one name.
        """
        names = {int(key): _canonical(name) for key, name in labels.items()}
        known = [name for name in names.values() if name is not None]
        if not known or all(re.fullmatch(r"label \d+", name) for name in known):
            raise EvaluateError(
                "the detector's label list has no names (LABEL_0, …): write its classes into "
                "`id2label` of its config.json"
            )
        twice = sorted({name for name in known if known.count(name) > 1})
        if twice:
            raise EvaluateError(f"the detector's label list names {', '.join(twice)} twice")
        return cls(names)

    @property
    def missing(self) -> tuple[str, ...]:
        """Classes of COCO that the detector does not know."""
        known = set(self.names.values())
        return tuple(name for name in COCO_80 if name not in known)

    def name(self, label: int) -> str | None:
        """The class of an id; None where it is declared to be none.

        Raises
        ------
        EvaluateError
            For an id outside the list: dropped, it would only lower the score.
        """
        try:
            return self.names[label]
        except KeyError:
            raise EvaluateError(f"the detector gave label {label}, its list has none") from None


def label_map(categories: Iterable[str]) -> LabelMap:
    """The map of a library that numbers its classes by their place in a list."""
    return LabelMap.of(dict(enumerate(categories)))


def _canonical(name: str) -> str | None:
    """A class under COCO's name if it is one of COCO's, None if it is no class."""
    plain = " ".join(name.replace("_", " ").split()).casefold()
    if plain in _NO_CLASS or name.strip().casefold() in _NO_CLASS:
        return None
    return _SPELLINGS.get(plain, plain)
