"""The image processor of a transformers checkpoint as a classifier's preprocessing."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import torch
from PIL import Image

from evaluate.providers.pictures import Preprocessing


def processor_pictures(processor: Any) -> Preprocessing:  # noqa: ANN401 - one of many classes
    """Preprocessing that runs a processor as its library wrote it."""
    settings = {"class": type(processor).__name__, **json.loads(processor.to_json_string())}

    def pipeline(image: Image.Image) -> torch.Tensor:
        made = processor(images=image, return_tensors="pt")
        pixels: torch.Tensor = made["pixel_values"][0]
        return pixels

    return Preprocessing(pipeline, settings, f"transformers {version('transformers')}", steps=None)
