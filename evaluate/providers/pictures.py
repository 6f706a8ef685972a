"""What a classifier does to a frame before its network: a pipeline of torchvision transforms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from evaluate.model import Asked, Pixels
from evaluate.providers.weights import settings_digest
from evaluate.tensor_transform import Steps, normalization, resize_crop, steps_key, tensor_steps


@dataclass(frozen=True)
class Preprocessing:
    """Resize, crop and normalization of a model.

    A pipeline of plain resizing and cropping runs on uint8 tensors, and its result is shared with
    every model that does the same; normalization follows on the device. Any other pipeline runs as
    its library wrote it, on a Pillow image.

    Attributes
    ----------
    pipeline : callable
        From a Pillow image to a float32 tensor of shape (3, H, W).
    settings : mapping
        JSON values that describe the pipeline; they go into the catalog.
    library : str
        Who made the pipeline, with its version.
    steps : tuple or None
        The uint8 steps; None if the pipeline must run as it is.
    mean, std : tuple of float
        Of [0, 1] pixels; used with `steps` only.
    """

    pipeline: Callable[[Image.Image], torch.Tensor]
    settings: Mapping[str, Any]
    library: str
    steps: Steps | None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @classmethod
    def of_transforms(
        cls,
        pipeline: Callable[[Image.Image], torch.Tensor],
        transforms: Sequence[Callable[[Any], Any]],
        settings: Mapping[str, Any],
        library: str,
    ) -> Preprocessing:
        """A pipeline that applies these transforms one after another."""
        mean, std = normalization(transforms)
        steps = tensor_steps(transforms)
        return cls(pipeline, settings, library, steps, tuple(mean), tuple(std))

    @property
    def key(self) -> str:
        """Names what `prepare` does; models with equal keys share its result."""
        if self.steps is not None:
            return steps_key(self.steps)
        return f"{self.library} {json.dumps(dict(self.settings), sort_keys=True)}"

    @property
    def spec(self) -> dict[str, Any]:
        """Settings and their digest, as the catalog keeps them."""
        return {**self.settings, "sha256": settings_digest(self.settings)}

    def prepare(self, pixels: Pixels) -> npt.NDArray[Any]:
        """One frame: uint8 before normalization, or float32 after it; shape (3, H, W)."""
        if self.steps is not None:
            return resize_crop(pixels, self.steps)
        return self.pipeline(Image.fromarray(pixels)).numpy()

    def batch(
        self, prepared: Sequence[npt.NDArray[Any]], device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor:
        """What the network sees of prepared frames, shape (N, 3, H, W)."""
        pixels = torch.from_numpy(np.stack(prepared)).to(device).to(torch.float32)
        if self.steps is not None:
            mean = torch.tensor(self.mean, device=device).view(3, 1, 1)
            std = torch.tensor(self.std, device=device).view(3, 1, 1)
            pixels = (pixels / 255 - mean) / std
        return pixels.to(dtype)


@dataclass(frozen=True, kw_only=True)
class SeesPictures:
    """What models with a `Preprocessing` of their own have in common."""

    pictures: Preprocessing
    spec: dict[str, Any]
    torch_device: torch.device
    dtype: torch.dtype

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.torch_device)

    @property
    def transform_key(self) -> str:
        """Names what `prepare` does."""
        return self.pictures.key

    def prepare(self, pixels: Pixels) -> npt.NDArray[Any]:
        """One frame, resized and cropped."""
        return self.pictures.prepare(pixels)

    def seen(self, batch: Sequence[Asked]) -> torch.Tensor:
        """What the network sees of a batch, shape (N, 3, H, W)."""
        return self.pictures.batch(
            [asked.prepared for asked in batch], self.torch_device, self.dtype
        )
