"""Who builds models: each provider is one module, imported when one of its models is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluate.model import Model
    from evaluate.zoo import ModelRow

#: Provider of a row -> module with `load(row, options)`.
LOADERS = {
    "external": "evaluate.providers.external",
    "open_clip": "evaluate.providers.open_clip_models",
    "timm": "evaluate.providers.timm_models",
    "torchvision": "evaluate.providers.torchvision_models",
    "torchvision-detection": "evaluate.providers.torchvision_detection",
    "transformers-classification": "evaluate.providers.transformers_classification",
    "transformers-detection": "evaluate.providers.transformers_detection",
    "transformers-vlm": "evaluate.providers.vlm",
    "transformers-zero-shot": "evaluate.providers.transformers_zero_shot",
    "transformers-zero-shot-detection": "evaluate.providers.zero_shot_detection",
    "ultralytics": "evaluate.providers.ultralytics_detection",
}


@dataclass(frozen=True)
class LoadOptions:
    """How a model is loaded, whatever it is.

    Attributes
    ----------
    device : str
        ``auto`` (a GPU if any), ``cpu``, ``cuda``, ``cuda:1``, …
    dtype : {"float32", "bfloat16", "float16"}
        Of the weights and the arithmetic.
    offline : bool
        Only what lies on this machine; no request leaves it.
    trust_remote_code : bool
        Whether code that comes with a checkpoint may run.
    """

    device: str = "auto"
    dtype: str = "float32"
    offline: bool = False
    trust_remote_code: bool = False


def load_model(row: ModelRow, options: LoadOptions | None = None) -> Model:
    """Build the model of a row with its weights.

    Raises
    ------
    EvaluateError
        If it cannot run here; the message says what is missing.
    """
    from evaluate.runnable import require_runnable

    chosen = LoadOptions() if options is None else options
    require_runnable(row, offline=chosen.offline, trust_remote_code=chosen.trust_remote_code)
    module = import_module(LOADERS[row.provider])
    model: Model = module.load(row, chosen)
    return model
