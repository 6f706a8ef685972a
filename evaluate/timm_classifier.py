"""Classifiers built by timm: the only module that imports timm, and torch with it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import timm
import torch
from PIL import Image
from timm.data.config import resolve_data_config
from timm.data.transforms_factory import create_transform

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_name
from evaluate.model import Asked, Given, Label, Pixels, top5_payload
from evaluate.runnable import checked_weights
from evaluate.zoo import ModelRow

TOP_K = 5

#: Layers outside the blocks: name in EfficientNet-Lite-PyTorch, name in timm.
_TRUNK = {
    "_conv_stem": "conv_stem",
    "_bn0": "bn1",
    "_conv_head": "conv_head",
    "_bn1": "bn2",
    "_fc": "classifier",
}
#: Layers of a block that widens first, and of one that does not.
_WIDENING = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}
_NOT_WIDENING = {
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn1",
    "_project_conv": "conv_pw",
    "_bn2": "bn2",
}


@dataclass(frozen=True)
class TimmClassifier:
    """A 1000-way ImageNet classifier with the preprocessing that timm names for it."""

    row: ModelRow
    network: torch.nn.Module
    transform: Any
    config: dict[str, Any]
    torch_device: torch.device

    @classmethod
    def load(cls, row: ModelRow, device: str = "auto") -> TimmClassifier:
        """Build the network and fill in its weights, every key accounted for.

        Raises
        ------
        EvaluateError
            If the weights are missing or foreign, or the device is not there.
        """
        chosen = choose_device(device)
        path = checked_weights(row)
        network = timm.create_model(row.id, pretrained=False)
        state = torch.load(path, map_location="cpu", weights_only=True)
        if row.weights.key_names:
            state = rename_lite_keys(state, network)
        try:
            network.load_state_dict(state, strict=True)
        except RuntimeError as error:
            raise EvaluateError(f"{path} does not fit {row.id}: {error}") from error
        config = resolve_data_config({}, model=network)  # type: ignore[no-untyped-call]  # timm's
        if config["input_size"] != (3, row.input_px, row.input_px):
            raise EvaluateError(
                f"this timm prepares {row.id} at {config['input_size']}, the zoo says "
                f"{row.input_px} px: install the versions in constraints.txt"
            )
        transform = create_transform(**config, is_training=False)
        return cls(row, network.eval().to(chosen), transform, config, chosen)

    @property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible, as the catalog keeps it."""
        return {
            "task": self.row.task,
            "provider": self.row.provider,
            "id": self.row.id,
            "weights": {
                "distribution": self.row.weights.distribution,
                "file": self.row.weights.file,
                "sha256": self.row.weights.sha256,
            },
            "preprocessing": {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in sorted(self.config.items())
            },
            "dtype": "float32",
            "versions": {"torch": torch.__version__, "timm": version("timm")},
        }

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can be asked."""
        return (self.row.task,)

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.torch_device)

    @property
    def transform_key(self) -> str | None:
        """Names resize, crop and normalization with their parameters."""
        return f"timm {version('timm')} {json.dumps(self.spec['preprocessing'])}"

    def prepare(self, pixels: Pixels) -> npt.NDArray[np.float32]:
        """Resize, crop and normalize one picture to a float32 array of shape (3, H, W)."""
        tensor: torch.Tensor = self.transform(Image.fromarray(pixels))
        return tensor.numpy()

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """The five likeliest classes of each prepared picture, likeliest first."""
        pixels = torch.from_numpy(np.stack([asked.prepared for asked in batch]))
        with torch.inference_mode():
            likely = self.network(pixels.to(self.torch_device)).softmax(dim=1).topk(TOP_K, dim=1)
        rows = zip(likely.indices.tolist(), likely.values.tolist(), strict=True)
        return [
            Given(
                None,
                top5_payload(
                    [Label(index, class_name(index), p) for index, p in zip(*row, strict=True)]
                ),
            )
            for row in rows
        ]


def choose_device(name: str) -> torch.device:
    """A torch device by name; ``auto`` takes a CUDA device if there is one.

    Raises
    ------
    EvaluateError
        If there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise EvaluateError(f"no device {name!r} here ({reason}); try `--device cpu`") from error


def set_up_torch(readers: int) -> None:
    """Make results repeatable, and leave `readers` of the CPUs to those who decode."""
    cpus = len(os.sched_getaffinity(0))
    torch.set_num_threads(max(1, cpus - readers))
    # cuBLAS repeats itself only with a workspace of fixed size
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False


def rename_lite_keys(
    state: dict[str, torch.Tensor], network: torch.nn.Module
) -> dict[str, torch.Tensor]:
    """Tensors of an EfficientNet-Lite-PyTorch file under timm's names.

    That library numbers the blocks through, timm by stage.

    Raises
    ------
    EvaluateError
        For a name that follows neither scheme.
    """
    blocks = [
        f"blocks.{stage}.{place}"
        for stage, sequence in enumerate(network.blocks)  # type: ignore[arg-type]  # a Sequential
        for place in range(len(sequence))
    ]
    widening = {key.split(".")[1] for key in state if "._expand_conv." in key}
    return {_timm_key(key, blocks, widening): tensor for key, tensor in state.items()}


def _timm_key(key: str, blocks: list[str], widening: set[str]) -> str:
    in_block = re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", key)
    try:
        if in_block is not None:
            number, layer, what = in_block.groups()
            names = _WIDENING if number in widening else _NOT_WIDENING
            return f"{blocks[int(number)]}.{names[layer]}.{what}"
        layer, what = key.split(".")
        return f"{_TRUNK[layer]}.{what}"
    except (KeyError, IndexError, ValueError) as error:
        raise EvaluateError(f"unknown tensor {key!r} in an EfficientNet-Lite file") from error
