"""Detectors of torchvision: RetinaNet, Faster R-CNN, SSD and the like, COCO's classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torchvision.models import get_model, get_model_weights

from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Pixels
from evaluate.providers import LoadOptions
from evaluate.providers.batches import by_shape
from evaluate.providers.coco_labels import LabelMap, label_map
from evaluate.providers.devices import choose_device
from evaluate.providers.hub import file_digest
from evaluate.providers.transformers_detection import given
from evaluate.providers.weights import fill, read_tensors
from evaluate.zoo import ModelRow
from schemas.answer_store import DETECTION

#: Limits of its own that each architecture keeps to, recorded because they cut.
_LIMITS = ("score_thresh", "nms_thresh", "detections_per_img")


@dataclass(frozen=True)
class TorchvisionDetector:
    """A detector that resizes and normalizes within the network."""

    row: ModelRow
    network: Any
    names: LabelMap
    device_used: torch.device
    weights: Path

    tasks = (DETECTION,)

    #: `prepare` does nothing: there is nothing to share.
    transform_key = None

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What makes its answers reproducible."""
        transform = self.network.transform
        parts = (self.network, getattr(self.network, "roi_heads", None))
        return {
            "provider": self.row.provider,
            "id": self.row.id,
            "task": DETECTION,
            "weights": {self.weights.name: file_digest(self.weights)},
            "preprocessing": {
                "shortest_px": list(transform.min_size),
                "longest_px": transform.max_size,
                "fixed_px": list(transform.fixed_size or ()),
                "mean": [float(value) for value in transform.image_mean],
                "std": [float(value) for value in transform.image_std],
            },
            "limits": {
                name: getattr(part, name)
                for part in parts
                for name in _LIMITS
                if hasattr(part, name)
            },
            "dtype": "float32",
            "missing_classes": list(self.names.missing),
            "versions": {name: version(name) for name in ("torch", "torchvision")},
        }

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.device_used)

    def prepare(self, pixels: Pixels) -> Pixels:
        """The frame as it is: the network resizes it on its device."""
        return pixels

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """All boxes that the architecture's own defaults leave."""
        return by_shape(batch, self._answer)

    def _answer(self, batch: Sequence[Asked]) -> list[Given]:
        pictures = [
            torch.tensor(one.prepared, device=self.device_used).permute(2, 0, 1).float() / 255
            for one in batch
        ]
        with torch.inference_mode():
            found = self.network(pictures)
        return [given(one, result, self.names) for one, result in zip(batch, found, strict=True)]


def load(row: ModelRow, options: LoadOptions) -> TorchvisionDetector:
    """Build the architecture and fill in its weights, every key accounted for.

    The id is ``ARCHITECTURE:WEIGHTS``, as ``retinanet_resnet50_fpn:COCO_V1``; a row with a `file`
    takes its weights from there.

    Raises
    ------
    EvaluateError
        For an unknown id, weights that are missing or foreign, or another dtype than float32.
    """
    if options.dtype != "float32":
        raise EvaluateError(f"{row.name}: torchvision's detectors compute in float32 only")
    architecture, _, chosen = row.id.partition(":")
    try:
        known = get_model_weights(architecture)
        entry = known[chosen] if chosen else next(iter(known))
    except (ValueError, KeyError) as error:
        raise EvaluateError(
            f"torchvision has no {row.id!r}: give ARCHITECTURE:WEIGHTS, such as "
            "retinanet_resnet50_fpn:COCO_V1"
        ) from error
    categories = entry.meta["categories"]
    weights = row.file or _published(entry.url, offline=options.offline)
    network = get_model(
        architecture,
        weights=None,
        weights_backbone=None,
        num_classes=len(categories),
        **row.arguments,
    )
    fill(network, read_tensors(weights), weights)
    device = choose_device(options.device)
    return TorchvisionDetector(
        row, network.eval().to(device), label_map(categories), device, weights
    )


def _published(url: str, *, offline: bool) -> Path:
    """The file that torchvision publishes, from its cache; its name holds its digest."""
    path = Path(torch.hub.get_dir(), "checkpoints", url.rpartition("/")[2])
    if not path.is_file():
        if offline:
            raise EvaluateError(
                f"{path} is missing: fetch {url} once on a machine that is online and put it there"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.hub.download_url_to_file(url, str(path))
        except OSError as error:
            raise EvaluateError(f"cannot fetch {url}: {error}; or put it at {path}") from error
    promised = path.stem.rpartition("-")[2]
    if not file_digest(path).startswith(promised):
        raise EvaluateError(f"{path} is not the file that was published: delete it and try again")
    return path
