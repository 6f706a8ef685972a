"""Detectors that are told in words what to look for: OWL-ViT, OWLv2, Grounding DINO.

They are asked for COCO's 80 classes in every picture, so that their answers compare with those of
the detectors that were trained on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from transformers import AutoModelForZeroShotObjectDetection, AutoProcessor

from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Pixels
from evaluate.providers import LoadOptions
from evaluate.providers.batches import by_shape
from evaluate.providers.checkpoints import Checkpoint, load_checkpoint, text_digest
from evaluate.providers.coco_labels import COCO_80, label_map
from evaluate.providers.transformers_detection import KEEP_ALL, given, one_picture
from evaluate.zoo import ModelRow
from schemas.answer_store import DETECTION

#: Boxes kept of a picture, likeliest first: Grounding DINO's own evaluation keeps as many, and
#: OWL-ViT gives one for each of up to 3600 patches.
MAX_BOXES = 300

#: OWL-ViT's prompt.
TEMPLATE = "a photo of a {}"

_NAMES = label_map(COCO_80)

_Results = list[dict[str, torch.Tensor]]


class _Outputs(Protocol):
    """What the networks of all families return, boxes as center and size, relative."""

    logits: torch.Tensor
    pred_boxes: torch.Tensor


@dataclass(frozen=True)
class Owl:
    """OWL-ViT and OWLv2: one prompt a class, one class a box."""

    prompts: tuple[str, ...]
    processor: Any
    input_ids: torch.Tensor
    attention_mask: torch.Tensor

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Owl:
        """With the prompts of COCO's classes in the processor's own words."""
        prompts = tuple(TEMPLATE.format(name) for name in COCO_80)
        words = checkpoint.processor(text=[list(prompts)], return_tensors="pt")
        to = checkpoint.device
        return cls(
            prompts,
            checkpoint.processor,
            words["input_ids"].to(to),
            words["attention_mask"].to(to),
        )

    def ask(self, network: Any, pixels: torch.Tensor) -> _Outputs:  # noqa: ANN401
        """Look for all classes in all pictures."""
        found: _Outputs = network(
            pixel_values=pixels,
            input_ids=self.input_ids.repeat(len(pixels), 1),
            attention_mask=self.attention_mask.repeat(len(pixels), 1),
        )
        return found

    def read(self, outputs: _Outputs, sizes_hw_px: list[tuple[int, int]]) -> _Results:
        """The processor's own reading: it knows how it padded."""
        found = self.processor.post_process_grounded_object_detection(
            outputs, threshold=KEEP_ALL, target_sizes=sizes_hw_px
        )
        return [_likeliest(one["scores"], one["labels"], one["boxes"]) for one in found]


@dataclass(frozen=True)
class GroundingDino:
    """Grounding DINO: all classes in one text, scores for its tokens.

    Read as its authors evaluate it on COCO: the score of a class is the mean over its tokens, and
    the 300 likeliest pairs of box and class are kept. The reading that joins whatever tokens are
    likely into a phrase makes classes of its own ("baseball" of bat and glove).

    Attributes
    ----------
    shares : tensor, shape (tokens, 80)
        Part of each token in each class; a column adds up to 1.
    """

    prompts: tuple[str, ...]
    words: dict[str, torch.Tensor]
    shares: torch.Tensor

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> GroundingDino:
        """With one text of all classes, in lower case, each ended by a full stop.

        Raises
        ------
        EvaluateError
            If the text is longer than the network reads.
        """
        text = " ".join(f"{name}." for name in COCO_80)
        words = checkpoint.processor.tokenizer(
            text, return_tensors="pt", return_offsets_mapping=True, truncation=False
        )
        spans = words.pop("offset_mapping")[0].tolist()
        longest = checkpoint.network.config.max_text_len
        if len(spans) > longest:
            raise EvaluateError(
                f"{checkpoint.row.id} reads {longest} tokens, COCO's classes take {len(spans)}"
            )
        shares = token_shares(text, COCO_80, spans)
        to = checkpoint.device
        return cls((text,), {name: value.to(to) for name, value in words.items()}, shares.to(to))

    def ask(self, network: Any, pixels: torch.Tensor) -> _Outputs:  # noqa: ANN401
        """Look for all classes in all pictures."""
        words = {name: value.repeat(len(pixels), 1) for name, value in self.words.items()}
        found: _Outputs = network(pixel_values=pixels, **words)
        return found

    def read(self, outputs: _Outputs, sizes_hw_px: list[tuple[int, int]]) -> _Results:
        """The likeliest pairs of box and class."""
        tokens = outputs.logits.float().sigmoid()[..., : len(self.shares)]
        classes = tokens @ self.shares
        boxes = outputs.pred_boxes.float()
        center, size = boxes[..., :2], boxes[..., 2:]
        corners = torch.cat([center - size / 2, center + size / 2], dim=-1)
        results = []
        for scores, sides, (height, width) in zip(classes, corners, sizes_hw_px, strict=True):
            best = scores.flatten().topk(min(MAX_BOXES, scores.numel()))
            queries = best.indices // scores.shape[1]
            scale = sides.new_tensor([width, height, width, height])
            results.append(
                {
                    "scores": best.values,
                    "labels": best.indices % scores.shape[1],
                    "boxes": sides[queries] * scale,
                }
            )
        return results


def token_shares(text: str, names: Sequence[str], spans: Sequence[Sequence[int]]) -> torch.Tensor:
    """Part of each token in each class, shape (tokens, classes); a column adds up to 1.

    Parameters
    ----------
    text : str
        The names in their order, each ended by a full stop.
    spans : sequence of (start, end)
        Of each token in the text; empty for special tokens.

    Raises
    ------
    EvaluateError
        If a name has no token of its own.
    """
    shares = torch.zeros(len(spans), len(names))
    at = 0
    for column, name in enumerate(names):
        start = text.index(f"{name}.", at)
        at = start + len(name)
        inside = [row for row, (low, high) in enumerate(spans) if start <= low < high <= at]
        if not inside:
            raise EvaluateError(f"the tokenizer has no token for {name!r} in {text[:60]!r}…")
        shares[inside, column] = 1 / len(inside)
    return shares


_FAMILIES: dict[str, type[Owl] | type[GroundingDino]] = {
    "owlvit": Owl,
    "owlv2": Owl,
    "grounding-dino": GroundingDino,
    "mm-grounding-dino": GroundingDino,
}


@dataclass(frozen=True)
class ZeroShotDetector:
    """A detector that looks for COCO's classes by their names."""

    checkpoint: Checkpoint
    family: Owl | GroundingDino

    tasks = (DETECTION,)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible, the words included."""
        return self.checkpoint.describe(
            task=DETECTION,
            prompts_sha256=text_digest(self.family.prompts),
            first_prompt=self.family.prompts[0][:60],
            score_threshold=None,
            max_boxes=MAX_BOXES,
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
        return one_picture(self.checkpoint.processor.image_processor, pixels)

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """The likeliest boxes of each picture; pictures of one shape are seen together."""
        return by_shape(batch, self._answer)

    def _answer(self, batch: Sequence[Asked]) -> list[Given]:
        pixels = torch.stack([one.prepared for one in batch])
        pixels = pixels.to(self.checkpoint.device, self.checkpoint.network.dtype)
        sizes_hw_px = [(height, width) for width, height in (one.size_px for one in batch)]
        with torch.inference_mode():
            outputs = self.family.ask(self.checkpoint.network, pixels)
            found = self.family.read(outputs, sizes_hw_px)
        return [given(one, result, _NAMES) for one, result in zip(batch, found, strict=True)]


def load(row: ModelRow, options: LoadOptions) -> ZeroShotDetector:
    """Open a detector and put COCO's classes into its words.

    Raises
    ------
    EvaluateError
        If it cannot be loaded whole, or is of a family whose answers are not known here.
    """
    checkpoint = load_checkpoint(row, options, AutoModelForZeroShotObjectDetection, AutoProcessor)
    kind = str(checkpoint.network.config.model_type)
    if kind not in _FAMILIES:
        raise EvaluateError(f"{row.id} is of kind {kind}; known are {', '.join(_FAMILIES)}")
    return ZeroShotDetector(checkpoint, _FAMILIES[kind].of(checkpoint))


def _likeliest(scores: torch.Tensor, labels: torch.Tensor, boxes: torch.Tensor) -> dict[str, Any]:
    best = scores.topk(min(MAX_BOXES, len(scores))).indices
    return {"scores": scores[best], "labels": labels[best], "boxes": boxes[best]}
