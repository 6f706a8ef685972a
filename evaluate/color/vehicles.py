"""The land vehicles of ImageNet: the paper's subset where a mistake is dangerous."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from evaluate.errors import EvaluateError
from evaluate.vocabulary import Vocabulary


@cache
def land_vehicles() -> dict[int, tuple[str, str]]:
    """Synset and name of each of the 49 classes, by class index (appendix B of the paper).

    Of the two classes called crane it is the machine.
    """
    text = files("evaluate.color").joinpath("land_vehicles.csv").read_text("utf-8")
    return {
        int(row["index"]): (row["wnid"], row["name"]) for row in csv.DictReader(text.splitlines())
    }


def vehicle_categories(vocabulary: Vocabulary, categories: Iterable[str]) -> frozenset[str]:
    """Those categories whose accepted classes are all land vehicles, or that are their synsets."""
    synsets = {wnid for wnid, _ in land_vehicles().values()}
    return frozenset(
        category
        for category in categories
        if category in synsets or _are_vehicles(vocabulary, category)
    )


def _are_vehicles(vocabulary: Vocabulary, category: str) -> bool:
    try:
        return vocabulary.accepted_classes(category) <= land_vehicles().keys()
    except EvaluateError:
        return False  # of no class of ImageNet
