"""Detectors of ultralytics: YOLO11, YOLO12, RT-DETR. Optional, for its license is AGPL-3.0.

Whoever gives others a service or a program with ultralytics in it has to offer its whole source
under that license, or to buy another. snaprig does not depend on it and ships nothing of it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given, Pixels
from evaluate.providers import LoadOptions
from evaluate.providers.batches import by_shape
from evaluate.providers.coco_labels import LabelMap
from evaluate.providers.devices import choose_device
from evaluate.providers.hub import file_digest
from evaluate.providers.transformers_detection import given
from evaluate.zoo import ModelRow
from schemas.answer_store import DETECTION

INSTALL = "needs ultralytics, whose license is AGPL-3.0: pip install ultralytics"

#: Its own evaluation on COCO keeps boxes from this score on; its 0.25 is for drawing.
_LOWEST_SCORE = 0.001

#: As its evaluation has them.
_LIMITS = {"conf": _LOWEST_SCORE, "iou": 0.7, "max_det": 300}


@dataclass(frozen=True)
class UltralyticsDetector:
    """A detector with ultralytics' own resizing and non-maximum suppression."""

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
        return {
            "provider": self.row.provider,
            "id": self.row.id,
            "task": DETECTION,
            "weights": {self.weights.name: file_digest(self.weights)},
            "preprocessing": {"letterbox_px": self.row.input_px or 640},
            "limits": dict(_LIMITS),
            "dtype": "float32",
            "missing_classes": list(self.names.missing),
            "versions": {name: version(name) for name in ("torch", "ultralytics")},
        }

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.device_used)

    def prepare(self, pixels: Pixels) -> Pixels:
        """The frame as it is: the library resizes it."""
        return pixels

    def answer(self, batch: Sequence[Asked]) -> list[Given]:
        """All boxes down to the lowest score of its own evaluation."""
        return by_shape(batch, self._answer)

    def _answer(self, batch: Sequence[Asked]) -> list[Given]:
        # as Pillow's pictures: it takes arrays for blue, green, red
        pictures = [Image.fromarray(one.prepared) for one in batch]
        results = self.network.predict(
            pictures,
            imgsz=self.row.input_px or 640,
            device=self.device,
            verbose=False,
            save=False,
            **_LIMITS,
        )
        return [
            given(
                one,
                {
                    "labels": result.boxes.cls.long(),
                    "scores": result.boxes.conf,
                    "boxes": result.boxes.xyxy,
                },
                self.names,
            )
            for one, result in zip(batch, results, strict=True)
        ]


def load(row: ModelRow, options: LoadOptions) -> UltralyticsDetector:
    """Open a file of ultralytics' weights.

    Raises
    ------
    EvaluateError
        If ultralytics is not installed, the file is not here, or the user did not allow it: such
        a file is a pickle, which may run any code.
    """
    if not options.trust_remote_code:
        raise EvaluateError(
            f"{row.name}: ultralytics' weights are pickles, which can run code: if you trust where "
            "they come from, run with --trust-remote-code"
        )
    if options.dtype != "float32":
        raise EvaluateError(f"{row.name}: ultralytics' detectors run in float32 here")
    weights = row.file or Path(row.id)
    if not weights.is_file():
        raise EvaluateError(
            f"{row.name}: {weights} is not here: fetch it from "
            "https://github.com/ultralytics/assets/releases and give its path as `file` of the row"
        )
    # or importing it writes into the home folder
    os.environ.setdefault("YOLO_CONFIG_DIR", tempfile.gettempdir())
    os.environ.setdefault("YOLO_OFFLINE", "true")
    try:
        ultralytics = import_module("ultralytics")
    except ImportError as error:
        raise EvaluateError(f"{row.name} {INSTALL}") from error
    device = choose_device(options.device)
    build = ultralytics.RTDETR if weights.stem.startswith("rtdetr") else ultralytics.YOLO
    try:
        network = build(str(weights))
    except Exception as error:  # its own errors have no common class but this
        raise EvaluateError(f"{weights} is no model of ultralytics: {error}") from error
    return UltralyticsDetector(row, network, LabelMap.of(network.names), device, weights)
