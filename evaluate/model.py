"""What the engine asks of a classifier. Providers implement it; the engine knows no library."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

Prepared = npt.NDArray[np.float32]


class Label(NamedTuple):
    """One class of an answer: its ImageNet index, its name, the model's probability."""

    class_index: int
    name: str
    probability: float


class Classifier(Protocol):
    """A loaded model. `prepare` may run in other threads than `predict`."""

    @property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible: JSON values only."""
        ...

    def prepare(self, image: Image.Image) -> Prepared:
        """One upright RGB picture as the network's input, shape (3, H, W)."""
        ...

    def predict(self, batch: list[Prepared]) -> list[list[Label]]:
        """Top-k labels of each input, likeliest first, in the order of the batch."""
        ...
