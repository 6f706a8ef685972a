"""What the engine asks of a model. Providers implement it; the engine knows no library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

#: A decoded frame: upright RGB, uint8, shape (height, width, 3), C order. Shared: read only.
Pixels = npt.NDArray[np.uint8]


class Label(NamedTuple):
    """One class of an answer: its ImageNet index, its name, the model's probability."""

    class_index: int
    name: str
    probability: float


#: Probabilities are kept to this many digits: float32 noise of batch shapes lies below.
DIGITS = 6


def top5_payload(labels: Sequence[Label]) -> dict[str, Any]:
    """The payload of a classification, likeliest label first."""
    return {"top5": [[index, name, round(p, DIGITS)] for index, name, p in labels]}


class Asked(NamedTuple):
    """One stimulus as a model sees it.

    Attributes
    ----------
    prepared : object
        What the model's own `prepare` made of the frame. Shared between models and tasks: read
        only.
    task : str
        ``classification``, ``detection``, ``choice`` (zero-shot: one of the options) or ``q1`` to
        ``q4``.
    options : tuple of str
        As the stimulus stores them, in the order in which people are shown them. For ``choice``
        the names of categories.
    size_px : tuple of int
        Width and height of the frame; boxes refer to it.
    """

    prepared: Any
    task: str
    options: tuple[str, ...]
    size_px: tuple[int, int]


class Given(NamedTuple):
    """A model's answer.

    Attributes
    ----------
    text : str or None
        Raw text, whole and untouched (``q1`` to ``q4``); the option chosen (``choice``); None for
        the other tasks.
    payload : dict
        JSON values. classification: ``{"top5": [[index, name, probability], ...]}``, likeliest
        first (`top5_payload`). detection: ``{"labels", "scores", "boxes_xywh_px", "size_px"}`` as
        `evaluate.detections` describes, thresholds untouched. choice: ``{"scores": {option: p}}``.
        q1 to q4: e.g. ``{"finish": "stop" | "length"}``.
    """

    text: str | None
    payload: dict[str, Any]


class Model(Protocol):
    """A loaded model.

    `prepare` runs in several threads, also while `answer` runs; `answer` runs in one. Either may
    raise EvaluateError for an item that it cannot take (a batch that fails is asked again one by
    one, then the item is a recorded failure). Any other exception is a defect: it ends this
    model's work, and what it was asked stays pending. An out-of-memory error makes the engine
    halve the batch.
    """

    @property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible: JSON values only.

        provider, id, digests of weights and preprocessing, dtype, versions of libraries. Equal in
        every process that loads the same model, or a run could not be resumed.
        """
        ...

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can be asked."""
        ...

    @property
    def device(self) -> str:
        """Where it computes: ``cpu``, ``cuda:0``, ``external``."""
        ...

    @property
    def transform_key(self) -> str | None:
        """Names what `prepare` does, parameters and library included; None: not shareable.

        Models with the same key share what one of them prepared, and an array of uint8 may come
        from a file of an earlier run: so the key must tell apart whatever makes a difference.
        """
        ...

    def prepare(self, pixels: Pixels) -> Any:  # noqa: ANN401 - the provider's own
        """One frame as the model's input, for all tasks.

        With a key, the cheapest is an array of uint8 after resize and crop; normalization then
        belongs into `answer`.
        """
        ...

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """Answers in the order of the batch; tasks may be mixed."""
        ...
