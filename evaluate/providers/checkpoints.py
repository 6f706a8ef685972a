"""Checkpoints of transformers: loaded whole or not at all, and described for the catalog."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import constants
from transformers import CONFIG_MAPPING
from transformers.utils import logging as transformers_logging

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions
from evaluate.providers.devices import choose_device, choose_dtype
from evaluate.providers.hub import checkpoint_folder, preparation_digest, weight_digests
from evaluate.zoo import ModelRow

#: Buffers that older checkpoints hold and newer code computes, or counts and never reads.
_NO_WEIGHTS = ("num_batches_tracked", "position_ids", "inv_freq")

#: transformers' own set of reasons why a folder is no checkpoint of a class.
_NO_CHECKPOINT = (
    OSError,
    ValueError,
    RuntimeError,
    KeyError,
    AttributeError,
    ImportError,
    TypeError,
    pickle.UnpicklingError,
)

_LIBRARIES = ("torch", "torchvision", "transformers", "tokenizers")


@dataclass(frozen=True)
class Checkpoint:
    """A network in evaluation mode with the processor that its makers saved beside it."""

    row: ModelRow
    folder: Path
    network: Any
    processor: Any
    device: torch.device

    @property
    def dtype(self) -> str:
        """Of the weights as loaded: ``float32``, ``bfloat16``."""
        return str(self.network.dtype).removeprefix("torch.")

    @property
    def preparation(self) -> dict[str, Any]:
        """Who prepares pictures and words, and the digest of how."""
        pictures = getattr(self.processor, "image_processor", self.processor)
        return {
            "processor": type(self.processor).__name__,
            "image_processor": type(pictures).__name__,
            "sha256": preparation_digest(self.folder),
        }

    @property
    def _commit(self) -> str:
        """Of the hub's cache, which names its folders so; a local folder has none."""
        return self.folder.name if self.folder.parent.name == "snapshots" else ""

    def describe(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
        """The specification of an observer; `more` is what its task adds."""
        return {
            "provider": self.row.provider,
            "id": self.row.id,
            "revision": self.row.revision or self._commit,
            "architecture": type(self.network).__name__,
            "weights": weight_digests(self.folder),
            "preprocessing": self.preparation,
            "dtype": self.dtype,
            "versions": {name: version(name) for name in _LIBRARIES},
            **more,
        }


def load_checkpoint(
    row: ModelRow,
    options: LoadOptions,
    network_class: Any,  # noqa: ANN401
    processor_class: Any,  # noqa: ANN401
) -> Checkpoint:
    """Open a checkpoint with two of transformers' automatic classes.

    Code of a checkpoint runs only if the user allowed it, and pickles never.

    Raises
    ------
    EvaluateError
        If it is not here, does not fit the code, or lacks weights: a part that is missing would
        be filled with random numbers.
    """
    device = choose_device(options.device)
    folder = checkpoint_folder(
        str(row.folder or row.id), "" if row.folder else row.revision, offline=options.offline
    )
    weight_digests(folder)
    # the engine shows one bar for each model; a bar for each file would tear it apart
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    shared = {"trust_remote_code": options.trust_remote_code, "local_files_only": True}
    try:
        with _without_requests(offline=options.offline):
            network, report = network_class.from_pretrained(
                folder,
                config=_config_with_backbone(folder),
                dtype=choose_dtype(options.dtype),
                weights_only=True,
                output_loading_info=True,
                # named and refused below: its own refusal names nothing
                ignore_mismatched_sizes=True,
                **shared,
            )
            processor = processor_class.from_pretrained(folder, **shared)
    except _NO_CHECKPOINT as error:
        reason = " ".join(str(error).split())[:300]
        hint = ": it brings code, which --trust-remote-code runs" if "custom code" in reason else ""
        raise EvaluateError(f"{row.id} cannot be loaded{hint} ({reason})") from error
    _check_complete(row.id, report)
    return Checkpoint(row, folder, network.eval().to(device), processor, device)


def _config_with_backbone(folder: Path) -> Any:  # noqa: ANN401 - transformers' configuration
    """The configuration, if it names a backbone of timm by a word; None for all others.

    transformers would ask the hub whether the word is a repository there, also of a checkpoint
    that lies here whole.
    """
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    name, kind = settings.get("backbone"), settings.get("model_type")
    if not isinstance(name, str) or settings.get("backbone_config") or kind not in CONFIG_MAPPING:
        return None
    # null would be read as a mapping; left out, the architecture's defaults take its place
    more = settings.pop("backbone_kwargs", None)
    if more and "/" not in name:
        backbone = {"model_type": "timm_backbone", "backbone": name, **more}
        settings |= {"backbone": None, "backbone_config": backbone}
    return CONFIG_MAPPING[kind].from_dict(settings)


@contextmanager
def _without_requests(*, offline: bool) -> Iterator[None]:
    """Hold the hub's library to `--offline` while a folder is opened, whatever is in it."""
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline or before
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _check_complete(name: str, report: Any) -> None:  # noqa: ANN401 - transformers' report
    for kind in ("missing", "unexpected", "mismatched"):
        keys = [_key(key) for key in _of(report, f"{kind}_keys")]
        wrong = sorted(key for key in keys if not key.endswith(_NO_WEIGHTS))
        if wrong:
            raise EvaluateError(
                f"the weights of {name} do not fit its architecture: {len(wrong)} {kind} keys, "
                f"such as {', '.join(wrong[:3])}"
            )


def _of(report: Any, name: str) -> Iterable[Any]:  # noqa: ANN401
    found = report[name] if isinstance(report, dict) else getattr(report, name)
    return found or ()


def _key(key: Any) -> str:  # noqa: ANN401 - a name, or a tuple that begins with one
    return str(key[0] if isinstance(key, tuple) else key)


def text_digest(texts: Iterable[str]) -> str:
    """Sha256 over texts, each kept apart from the next."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()
