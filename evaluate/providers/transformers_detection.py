"""Detectors of transformers: DETR, RT-DETR, RT-DETRv2 and all that its automatic class opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForObjectDetection

from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Pixels
from evaluate.providers import LoadOptions
from evaluate.providers.batches import by_shape
from evaluate.providers.boxes import detection_payload
from evaluate.providers.checkpoints import Checkpoint, load_checkpoint
from evaluate.providers.coco_labels import LabelMap
from evaluate.zoo import ModelRow
from schemas.answer_store import DETECTION

#: Below any score: the libraries' 0.5 is for drawing, and would halve the recall.
KEEP_ALL = -1.0


@dataclass(frozen=True)
class TransformersDetector:
    """A detector with its own processor before and after."""

    checkpoint: Checkpoint
    names: LabelMap

    tasks = (DETECTION,)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible."""
        return self.checkpoint.describe(
            task=DETECTION,
            missing_classes=list(self.names.missing),
            score_threshold=None,
            max_boxes=getattr(self.checkpoint.network.config, "num_queries", None),
        )

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.checkpoint.device)

    @cached_property
    def transform_key(self) -> str:
        """Equal for detectors whose processors do the same."""
        preparation = self.checkpoint.preparation
        release = self.checkpoint.describe()["versions"]["transformers"]
        return f"{preparation['image_processor']} {preparation['sha256']} transformers {release}"

    def prepare(self, pixels: Pixels) -> torch.Tensor:
        """Resized and normalized, shape (3, height, width)."""
        return one_picture(self.checkpoint.processor, pixels)

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """All boxes of each picture; pictures of one shape are seen together.

        Those of another are not: padded to fit, they would get other boxes than alone.
        """
        return by_shape(batch, self._answer)

    def _answer(self, batch: Sequence[Asked]) -> list[Given]:
        pixels = torch.stack([one.prepared for one in batch])
        pixels = pixels.to(self.checkpoint.device, self.checkpoint.network.dtype)
        with torch.inference_mode():
            outputs = self.checkpoint.network(pixel_values=pixels)
        found = self.checkpoint.processor.post_process_object_detection(
            outputs,
            threshold=KEEP_ALL,
            target_sizes=[(height, width) for width, height in (one.size_px for one in batch)],
        )
        return [given(one, result, self.names) for one, result in zip(batch, found, strict=True)]


def one_picture(processor: Any, pixels: Pixels) -> torch.Tensor:  # noqa: ANN401 - one of many
    """A frame through a processor, shape (3, height, width).

    Raises
    ------
    EvaluateError
        If the processor pads a picture that stands alone: the network would have to be told where.
    """
    made = processor(images=Image.fromarray(pixels), return_tensors="pt")
    if "pixel_mask" in made and not bool(made["pixel_mask"].all()):
        raise EvaluateError("the processor pads single pictures; set `pad_size` to null in it")
    return made["pixel_values"][0]  # type: ignore[no-any-return]


def given(asked: Asked, result: dict[str, torch.Tensor], names: LabelMap) -> Given:
    """The answer of a picture from labels, scores and corners in pixels as tensors."""
    return Given(
        None,
        detection_payload(
            result["labels"].tolist(),
            result["scores"].float().tolist(),
            result["boxes"].float().tolist(),
            asked.size_px,
            names,
        ),
    )


def load(row: ModelRow, options: LoadOptions) -> TransformersDetector:
    """Open a detector whose label list has names.

    Raises
    ------
    EvaluateError
        If it cannot be loaded whole, or its label list has no names.
    """
    checkpoint = load_checkpoint(row, options, AutoModelForObjectDetection, AutoImageProcessor)
    return TransformersDetector(checkpoint, LabelMap.of(checkpoint.network.config.id2label))
