"""Classifiers with an ImageNet head that transformers builds."""

from __future__ import annotations

import torch
from transformers import AutoImageProcessor, AutoModelForImageClassification

from evaluate.providers import LoadOptions
from evaluate.providers.checkpoints import load_checkpoint
from evaluate.providers.classifier import ImageNetClassifier, check_head
from evaluate.providers.devices import choose_dtype
from evaluate.providers.processor_pictures import processor_pictures
from evaluate.zoo import ModelRow


def load(row: ModelRow, options: LoadOptions) -> ImageNetClassifier:
    """Open a checkpoint whose head is the one of the 1000 ImageNet classes.

    Raises
    ------
    EvaluateError
        If it cannot be loaded whole, or its classes are others.
    """
    checkpoint = load_checkpoint(row, options, AutoModelForImageClassification, AutoImageProcessor)
    config = checkpoint.network.config
    check_head(config.num_labels, row.name, config.id2label)
    pictures = processor_pictures(checkpoint.processor)

    def logits(pixels: torch.Tensor) -> torch.Tensor:
        head: torch.Tensor = checkpoint.network(pixel_values=pixels).logits
        return head

    spec = checkpoint.describe(task=row.task, pixels=pictures.spec)
    return ImageNetClassifier(
        logits,
        pictures=pictures,
        spec=spec,
        torch_device=checkpoint.device,
        dtype=choose_dtype(options.dtype),
    )
