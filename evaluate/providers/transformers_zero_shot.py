"""Zero-shot classifiers of transformers: CLIP and SigLIP."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForZeroShotImageClassification, AutoProcessor

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions
from evaluate.providers.checkpoints import Checkpoint, load_checkpoint
from evaluate.providers.devices import choose_dtype
from evaluate.providers.processor_pictures import processor_pictures
from evaluate.providers.prompts import templates
from evaluate.providers.weights import settings_digest
from evaluate.providers.zero_shot import Towers, ZeroShotClassifier
from evaluate.zoo import ModelRow

#: What a text tower takes; SigLIP's tokenizer names no mask, and SigLIP was trained without.
_INPUTS = ("input_ids", "attention_mask")


def load(row: ModelRow, options: LoadOptions) -> ZeroShotClassifier:
    """Open a checkpoint with an image and a text tower.

    Raises
    ------
    EvaluateError
        If it cannot be loaded whole, or is no such model.
    """
    checkpoint = load_checkpoint(
        row, options, AutoModelForZeroShotImageClassification, AutoProcessor
    )
    prompts = templates(row.arguments.get("templates"))
    towers = _towers(checkpoint)
    pictures = processor_pictures(checkpoint.processor.image_processor)
    spec = checkpoint.describe(
        task=row.task,
        pixels=pictures.spec,
        prompts={"templates": len(prompts), "sha256": settings_digest({"templates": prompts})},
        probability=towers.activation,
    )
    return ZeroShotClassifier(
        towers,
        prompts,
        pictures=pictures,
        spec=spec,
        torch_device=checkpoint.device,
        dtype=choose_dtype(options.dtype),
    )


def _towers(checkpoint: Checkpoint) -> Towers:
    network, tokenizer = checkpoint.network, checkpoint.processor.tokenizer
    if not hasattr(network, "logit_scale"):
        raise EvaluateError(f"{checkpoint.row.id} has no text tower to compare pictures with")
    # SigLIP was trained on texts filled up to its full length; CLIP stops at the end mark
    length = network.config.text_config.max_position_embeddings

    def images(pixels: torch.Tensor) -> torch.Tensor:
        return _features(network.get_image_features(pixel_values=pixels))

    def texts(sentences: list[str]) -> torch.Tensor:
        words = tokenizer(
            sentences, padding="max_length", max_length=length, truncation=True, return_tensors="pt"
        )
        wanted = [key for key in _INPUTS if key in tokenizer.model_input_names]
        placed = {key: words[key].to(checkpoint.device) for key in wanted}
        return _features(network.get_text_features(**placed))

    bias = getattr(network, "logit_bias", None)
    return Towers(
        images,
        texts,
        float(network.logit_scale.detach().float().exp()),
        None if bias is None else float(bias.detach().float()),
    )


def _features(found: Any) -> torch.Tensor:  # noqa: ANN401 - a tensor, or an output that holds it
    features: torch.Tensor = found if isinstance(found, torch.Tensor) else found.pooler_output
    return features
