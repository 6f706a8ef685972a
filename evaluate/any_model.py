"""Models outside the zoo: `timm:NAME`, `hf:ID`, a folder with a checkpoint, and the like.

What a checkpoint is stands in its own `config.json`; nothing of it is executed to find out.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluate.errors import EvaluateError
from evaluate.runnable import hub_cache
from evaluate.zoo import OWN_FILE, ModelRow
from schemas.plan import describe_errors

#: How a model is named that has no row; `hf:` and folders tell by their configuration.
PREFIXES = {
    "timm": ("timm", "classification"),
    "open_clip": ("open_clip", "classification"),
    "torchvision": ("torchvision", "classification"),
    "torchvision-detection": ("torchvision-detection", "detection"),
    "ultralytics": ("ultralytics", "detection"),
}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OWN = "the checkpoint's own"

#: End of a transformers class's name -> provider and task.
_CLASSES = {
    "ForImageClassification": ("transformers-classification", "classification"),
    "OwlViTForObjectDetection": ("transformers-zero-shot-detection", "detection"),
    "Owlv2ForObjectDetection": ("transformers-zero-shot-detection", "detection"),
    "GroundingDinoForObjectDetection": ("transformers-zero-shot-detection", "detection"),
    "ForObjectDetection": ("transformers-detection", "detection"),
    "ForConditionalGeneration": ("transformers-vlm", "vqa"),
    "CLIPModel": ("transformers-zero-shot", "classification"),
    "SiglipModel": ("transformers-zero-shot", "classification"),
    "Siglip2Model": ("transformers-zero-shot", "classification"),
}


def row_of(
    name: str, known: dict[str, ModelRow] | None = None, *, offline: bool = False
) -> ModelRow:
    """The row that a name describes.

    Parameters
    ----------
    name : str
        ``timm:NAME``, ``open_clip:ARCHITECTURE:WEIGHTS``, ``torchvision:NAME[:WEIGHTS]``,
        ``torchvision-detection:NAME[:WEIGHTS]``, ``ultralytics:FILE``, ``hf:ID[@REVISION]``, or a
        folder. An architecture of a hub model is not known before its configuration is read:
        `hf:` reads it from the cache, else asks the hub.

    Raises
    ------
    EvaluateError
        If it is none of these, or no known provider runs it.
    """
    prefix, _, rest = name.partition(":")
    if prefix in PREFIXES and rest:
        provider, task = PREFIXES[prefix]
        return _validated(name=name, provider=provider, task=task, id=rest)
    if prefix == "hf" and rest:
        return _hub_row(name, rest, offline=offline)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _folder_row(folder)
    close = get_close_matches(name, known or {}, n=3)
    hint = f"did you mean {', '.join(close)}? " if close else ""
    raise EvaluateError(
        f"no model called {name!r}: {hint}`snaprig evaluate models --zoo all` lists those there "
        f"are; others are timm:NAME, hf:ID, a folder with a checkpoint, or a row in {OWN_FILE}"
    )


def kind_of(config: dict[str, Any], where: str) -> tuple[str, str]:
    """Provider and task of a checkpoint, from its `config.json`.

    Raises
    ------
    EvaluateError
        If no provider runs such a checkpoint.
    """
    if "architecture" in config:  # timm's way to say it; transformers says it in the plural
        return "timm", "classification"
    names = config.get("architectures") or []
    if len(names) == 1:
        for ending, kind in _CLASSES.items():
            if str(names[0]).endswith(ending):
                return kind
    raise EvaluateError(
        f"{where}: no provider runs a checkpoint of {', '.join(map(str, names)) or 'no class'}; "
        "run it in a process of its own: provider `external`, see docs/models.md"
    )


def _folder_row(folder: Path) -> ModelRow:
    where = folder.resolve()
    if (where / "open_clip_config.json").is_file():
        provider, task = "open_clip", "classification"
        remote = False
    else:
        config = _read_config(where / "config.json")
        provider, task = kind_of(config, str(where))
        remote = "auto_map" in config
    # the folder's name, not its place: the same checkpoint elsewhere is the same observer
    return _validated(
        name=where.name,
        provider=provider,
        task=task,
        id=where.name,
        folder=where,
        remote_code=remote,
    )


def _hub_row(name: str, rest: str, *, offline: bool) -> ModelRow:
    id_, _, revision = rest.partition("@")
    if revision and not _COMMIT.fullmatch(revision):
        raise EvaluateError(f"{name}: a revision is a commit of 40 hex digits, branches move")
    config = _read_config(_hub_config(id_, revision, offline=offline))
    provider, task = kind_of(config, id_)
    if provider == "timm":
        id_ = f"hf-hub:{id_}"
    return _validated(
        name=name,
        provider=provider,
        task=task,
        id=id_,
        revision=revision,
        remote_code="auto_map" in config,
    )


def _hub_config(id_: str, revision: str, *, offline: bool) -> Path:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise EvaluateError(
            "hf: needs the extra `evaluate`: pip install 'snaprig[evaluate]'"
        ) from error
    try:
        return Path(
            hf_hub_download(
                id_,
                "config.json",
                revision=revision or None,
                cache_dir=hub_cache(),
                local_files_only=offline,
            )
        )
    except HFValidationError as error:
        raise EvaluateError(f"{id_!r} is no id of the Hugging Face hub: {error}") from error
    except (HfHubHTTPError, OSError) as error:
        # what is neither in the cache nor to be had arrives as one of these
        reason = str(error).splitlines()[0]
        raise EvaluateError(
            f"{id_}: its config.json is neither in the cache nor to be had ({reason}); without a "
            "network name a local folder instead: --model FOLDER"
        ) from error


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EvaluateError(
            f"{path.parent} holds no checkpoint: neither config.json (timm, transformers) nor "
            "open_clip_config.json"
        ) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise EvaluateError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(config, dict):
        raise EvaluateError(f"{path} is not a JSON object")
    return config


def _validated(**values: Any) -> ModelRow:  # noqa: ANN401 - checked by the model
    try:
        return ModelRow.model_validate({"preprocessing": _OWN, **values})
    except ValidationError as error:
        raise EvaluateError(f"{values['name']}: {describe_errors(error)}") from error
