"""Resize and crop a decoded frame on a tensor of uint8, as a torchvision pipeline says.

A tenth of Pillow's time; a pixel differs from Pillow's by one gray level at most. Normalization
is left to the model, so that models with other means share the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torchvision
from torchvision.transforms import CenterCrop, Normalize, Resize
from torchvision.transforms.v2 import functional

from evaluate.model import Pixels

Steps = tuple[Resize | CenterCrop, ...]


def tensor_steps(steps: Sequence[Callable[[Any], Any]]) -> Steps | None:
    """The resizing and cropping steps of a pipeline, if it has no others before the tensor.

    None for a pipeline that must run as it is, on a Pillow image.
    """
    kept = []
    for step in steps:
        if type(step) not in (Resize, CenterCrop):
            break
        kept.append(step)
    rest = [type(step).__name__ for step in steps[len(kept) :]]
    plain = rest[:1] in (["ToTensor"], ["MaybeToTensor"]) and rest[1:] in ([], ["Normalize"])
    return tuple(kept) if plain else None


def steps_key(steps: Steps) -> str:
    """Names what `resize_crop` does with these steps, library included."""
    return f"uint8 torchvision {torchvision.__version__} {steps!r}"


def resize_crop(pixels: Pixels, steps: Steps) -> npt.NDArray[np.uint8]:
    """Apply the steps; the result is an array of shape (3, H, W)."""
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)
    for step in steps:
        if isinstance(step, Resize):
            tensor = functional.resize(
                tensor, step.size, step.interpolation, step.max_size, antialias=True
            )
        else:
            tensor = functional.center_crop(tensor, list(step.size))
    return tensor.contiguous().numpy()


def normalization(steps: Sequence[Callable[[Any], Any]]) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of a pipeline's last step; of [0, 1] pixels."""
    for step in steps:
        if isinstance(step, Normalize):
            mean, std = torch.as_tensor(step.mean), torch.as_tensor(step.std)
            return mean.tolist(), std.tolist()
    return [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
