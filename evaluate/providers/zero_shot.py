"""Zero-shot classification: an image tower, a text tower, and prompts for the classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_name
from evaluate.model import DIGITS, Asked, Given, Label, top5_payload
from evaluate.providers.pictures import SeesPictures
from evaluate.providers.prompts import imagenet_names, words_of
from schemas.answer_store import CHOICE, CLASSIFICATION

TOP_K = 5

#: Texts that the text tower sees at once.
_TEXTS = 256


@dataclass(frozen=True)
class Towers:
    """What a provider gives for zero-shot classification.

    Attributes
    ----------
    images : callable
        From pixels of shape (N, 3, H, W) to features of shape (N, D).
    texts : callable
        From N texts to features of shape (N, D).
    scale : float
        Factor of the cosine similarities.
    bias : float or None
        Of sigmoid models (SigLIP), whose classes are judged one by one; None for softmax models.
    """

    images: Callable[[torch.Tensor], torch.Tensor]
    texts: Callable[[list[str]], torch.Tensor]
    scale: float
    bias: float | None

    @property
    def activation(self) -> str:
        """How logits become probabilities."""
        return "softmax" if self.bias is None else "sigmoid"


@dataclass(frozen=True)
class ZeroShotClassifier(SeesPictures):
    """Answers the 1000 ImageNet classes, and a choice among any categories.

    A class is the mean of its prompts' features (Radford et al. 2021, section 3.1.4). Texts are
    encoded when they are first asked for, and kept.
    """

    towers: Towers
    prompts: tuple[str, ...]
    _classes: dict[tuple[str, ...], torch.Tensor] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can be asked."""
        return (CLASSIFICATION, CHOICE)

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """Top five of 1000 classes, or one of the options with the probability of each."""
        with torch.inference_mode():
            seen = _unit(self.towers.images(self.seen(batch)))
            return [
                self._choice(features, asked.options)
                if asked.task == CHOICE
                else self._top5(features)
                for features, asked in zip(seen, batch, strict=True)
            ]

    def _top5(self, features: torch.Tensor) -> Given:
        # Two pairs of classes bear one name: their columns would be equal, and fill two places.
        names = imagenet_names()
        distinct = tuple(dict.fromkeys(names))
        likely = self._probabilities(features, distinct).topk(TOP_K)
        indices = [names.index(distinct[place]) for place in likely.indices.tolist()]
        labels = [
            Label(index, class_name(index), p)
            for index, p in zip(indices, likely.values.tolist(), strict=True)
        ]
        return Given(None, top5_payload(labels))

    def _choice(self, features: torch.Tensor, options: tuple[str, ...]) -> Given:
        if not options:
            raise EvaluateError("a choice among no options")
        values = self._probabilities(features, tuple(map(words_of, options))).tolist()
        scores = dict(zip(options, values, strict=True))
        best = max(options, key=scores.__getitem__)
        return Given(best, {"scores": {name: round(p, DIGITS) for name, p in scores.items()}})

    def _probabilities(self, features: torch.Tensor, names: tuple[str, ...]) -> torch.Tensor:
        logits = self.towers.scale * (self._features(names) @ features)
        if self.towers.bias is None:
            return logits.softmax(dim=0)
        return (logits + self.towers.bias).sigmoid()

    def _features(self, names: tuple[str, ...]) -> torch.Tensor:
        """One unit vector a class, shape (C, D)."""
        if names not in self._classes:
            texts = [prompt.replace("{}", name) for name in names for prompt in self.prompts]
            parts = [
                _unit(self.towers.texts(texts[at : at + _TEXTS]))
                for at in range(0, len(texts), _TEXTS)
            ]
            by_class = torch.cat(parts).view(len(names), len(self.prompts), -1)
            self._classes[names] = _unit(by_class.mean(dim=1))
        return self._classes[names]


def _unit(features: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(features.float(), dim=-1)
