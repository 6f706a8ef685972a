"""Zero-shot classifiers of open_clip: the only module that imports it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import open_clip
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions
from evaluate.providers.devices import choose_device, choose_dtype
from evaluate.providers.hub import checkpoint_folder, file_digest
from evaluate.providers.pictures import Preprocessing
from evaluate.providers.prompts import templates
from evaluate.providers.weights import does_not_fit, refused_pickle, settings_digest
from evaluate.providers.zero_shot import Towers, ZeroShotClassifier
from evaluate.zoo import ModelRow

_CONFIG = "open_clip_config.json"

#: Files of a folder, the likeliest first: repositories also hold the same for other libraries.
_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
_PATTERNS = ("*.safetensors", "open_clip_pytorch_model.bin", "*.bin", "*.pt", "*.pth")


def load(row: ModelRow, options: LoadOptions) -> ZeroShotClassifier:
    """Build both towers and fill in their weights, every key accounted for.

    Raises
    ------
    EvaluateError
        If open_clip has no such model, its weights are not to be had, do not fit, or belong to
        another activation than the architecture's.
    """
    device, dtype = choose_device(options.device), choose_dtype(options.dtype)
    network, tokenizer, path = _network(row, options)
    prompts = templates(row.arguments.get("templates"))
    pictures = preprocessing_of(network)
    towers = _towers(network, tokenizer, device)  # scale and bias before they are rounded
    network.eval().to(device=device, dtype=dtype)
    spec = {
        "task": row.task,
        "provider": row.provider,
        "id": row.id,
        "weights": {"files": {path.name: file_digest(path)}},
        "preprocessing": pictures.spec,
        "prompts": {"templates": len(prompts), "sha256": settings_digest({"templates": prompts})},
        "probability": towers.activation,
        "dtype": options.dtype,
        "versions": {"torch": torch.__version__, "open_clip": version("open_clip_torch")},
    }
    return ZeroShotClassifier(
        towers, prompts, pictures=pictures, spec=spec, torch_device=device, dtype=dtype
    )


def preprocessing_of(network: Any) -> Preprocessing:  # noqa: ANN401 - open_clip is untyped
    """What open_clip prepares pictures with for a checkpoint."""
    config = PreprocessCfg(**network.visual.preprocess_cfg)
    pipeline: Any = image_transform_v2(config, is_train=False)
    # frames are RGB already; without that step the rest can run on tensors
    steps = [one for one in pipeline.transforms if type(one).__name__ != "MaybeConvertMode"]
    settings = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in sorted(vars(config).items())
    }
    return Preprocessing.of_transforms(
        pipeline, steps, settings, f"open_clip {version('open_clip_torch')}"
    )


def _network(row: ModelRow, options: LoadOptions) -> tuple[Any, Any, Path]:
    if row.folder is not None and (row.folder / _CONFIG).is_file():
        where = f"local-dir:{row.folder}"
        return _built(where, where, _weights_in(row.folder))
    name, tag = _known(row.id)
    config = open_clip.get_pretrained_cfg(name, tag)
    quick = bool(config.get("quick_gelu", False))
    if quick != bool(open_clip.get_model_config(name).get("quick_gelu", False)):
        other = f"{name}-quickgelu" if quick else name.removesuffix("-quickgelu")
        raise EvaluateError(
            f"{row.id}: these weights were trained with the activation of {other}, and give other "
            f"answers under {name}; ask for {other}:{tag}"
        )
    path = row.file or _weights_in(row.folder or _hub_folder(row, config, options))
    words = f"local-dir:{path.parent}" if (path.parent / _CONFIG).is_file() else name
    if words == name and "hf_tokenizer_name" in open_clip.get_model_config(name)["text_cfg"]:
        raise EvaluateError(
            f"{path.parent} lacks the tokenizer of {name}: it belongs beside {_CONFIG}; name the "
            "whole `folder`"
        )
    keys = ("mean", "std", "interpolation", "resize_mode")
    wanted = {key: config[key] for key in keys if key in config}
    return _built(name, words, path, pretrained=str(path), force_preprocess_cfg=wanted)


def _built(name: str, words: str, path: Path, **how: Any) -> tuple[Any, Any, Path]:  # noqa: ANN401
    try:
        network = open_clip.create_model(name, weights_only=True, require_pretrained=True, **how)
        return network, open_clip.get_tokenizer(words), path
    except UnpicklingError as error:
        raise EvaluateError(refused_pickle(path)) from error
    except (RuntimeError, ValueError, KeyError, TypeError, OSError) as error:
        raise EvaluateError(does_not_fit(path, error)) from error


def _known(id_: str) -> tuple[str, str]:
    name, _, tag = id_.partition(":")
    tags = open_clip.list_pretrained_tags_by_model(name)
    if tag not in tags:
        has = f"it has {', '.join(tags)}" if tags else "nor any weights of that architecture"
        raise EvaluateError(f"open_clip has no weights {id_!r} (ARCHITECTURE:WEIGHTS); {has}")
    return name, tag


def _hub_folder(row: ModelRow, config: dict[str, Any], options: LoadOptions) -> Path:
    repository = str(config.get("hf_hub", "")).rstrip("/")
    if not repository:
        raise EvaluateError(
            f"open_clip fetches {row.id} from no hub: fetch {config.get('url')}, and name it as "
            "`file` in models.toml"
        )
    return checkpoint_folder(repository, row.revision, offline=options.offline)


def _weights_in(folder: Path) -> Path:
    named = [folder / name for name in _FILES if (folder / name).is_file()]
    found = named or [path for pattern in _PATTERNS for path in sorted(folder.glob(pattern))]
    if not found:
        raise EvaluateError(f"{folder} has no weights of open_clip")
    return found[0]


def _towers(network: Any, tokenizer: Any, device: torch.device) -> Towers:  # noqa: ANN401
    def images(pixels: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = network.encode_image(pixels)
        return features

    def texts(sentences: list[str]) -> torch.Tensor:
        features: torch.Tensor = network.encode_text(tokenizer(sentences).to(device))
        return features

    bias = getattr(network, "logit_bias", None)
    return Towers(
        images,
        texts,
        float(network.logit_scale.detach().float().exp()),
        None if bias is None else float(bias.detach().float()),
    )
