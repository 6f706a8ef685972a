"""Names of the 1000 ImageNet classes (ILSVRC 2012), by index.

`imagenet.csv` holds index, WordNet synset and WordNet's names of each class, in the order of
the models' outputs.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path


@cache
def class_names() -> tuple[tuple[str, ...], ...]:
    """All names of each class, the usual one first; position is the class index."""
    with Path(__file__).with_name("imagenet.csv").open(encoding="utf-8", newline="") as file:
        return tuple(tuple(row["names"].split(";")) for row in csv.DictReader(file))


@cache
def class_synsets() -> tuple[str, ...]:
    """WordNet synset of each class (`n01440764`); position is the class index."""
    with Path(__file__).with_name("imagenet.csv").open(encoding="utf-8", newline="") as file:
        return tuple(row["wnid"] for row in csv.DictReader(file))


def class_name(index: int) -> str:
    """The usual name of a class."""
    return class_names()[index][0]


def find_classes(name: str) -> tuple[int, ...]:
    """Indices of the classes that bear exactly this name, ignoring case, `_` and `-`.

    Two classes are called crane (a bird, a machine) and two maillot: then both are returned.
    """
    wanted = _plain(name)
    return tuple(
        index
        for index, names in enumerate(class_names())
        if wanted in {_plain(known) for known in names}
    )


def _plain(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").casefold().strip()
