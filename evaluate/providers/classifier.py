"""A network with a head of the 1000 ImageNet classes, whoever built it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_name, class_synsets, find_classes
from evaluate.model import Asked, Given, Label, top5_payload
from evaluate.providers.pictures import SeesPictures

TOP_K = 5
CLASSES = 1000

#: So many names of a head may be spelled otherwise than in ILSVRC's list.
_STRANGE_NAMES = 50


@dataclass(frozen=True)
class ImageNetClassifier(SeesPictures):
    """A 1000-way classifier with its own preprocessing.

    Attributes
    ----------
    logits : callable
        From pixels of shape (N, 3, H, W) to logits of shape (N, 1000).
    """

    logits: Callable[[torch.Tensor], torch.Tensor]

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can be asked."""
        return ("classification",)

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """The five likeliest classes of each frame, likeliest first."""
        with torch.inference_mode():
            likely = self.logits(self.seen(batch)).float().softmax(dim=1).topk(TOP_K, dim=1)
        return [
            Given(None, top5_payload([Label(i, class_name(i), p) for i, p in pairs]))
            for pairs in _pairs(likely)
        ]


def check_head(classes: int, where: str, names: Mapping[int, str] | None = None) -> None:
    """See that a head is the one of the 1000 ImageNet classes, in their order.

    Parameters
    ----------
    names : mapping, optional
        The checkpoint's own class names by index, if it has any.

    Raises
    ------
    EvaluateError
        If it has another width (no head at all, 21 thousand classes, a background class) or
        other names: its indices would be read as classes that they are not.
    """
    if classes != CLASSES:
        what = "no classifier head" if classes == 0 else f"a head of {classes} classes"
        raise EvaluateError(f"{where} has {what}, not the {CLASSES} classes of ImageNet")
    if not names:
        return
    if len(names) != CLASSES or str(names.get(0, "")).startswith("LABEL_"):
        raise EvaluateError(f"{where} does not name its {CLASSES} classes: which are they?")
    strange = [i for i, name in names.items() if not _is_named(int(i), str(name))]
    if len(strange) > _STRANGE_NAMES:
        raise EvaluateError(
            f"{where} names {len(strange)} classes otherwise than ImageNet, such as "
            f"{strange[0]} {names[strange[0]]!r}: its order is another"
        )


def _is_named(index: int, name: str) -> bool:
    return name == class_synsets()[index] or any(
        index in find_classes(part) for part in name.split(",")
    )


def _pairs(likely: Any) -> list[list[tuple[int, float]]]:  # noqa: ANN401 - torch.return_types.topk
    rows = zip(likely.indices.tolist(), likely.values.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in rows]
