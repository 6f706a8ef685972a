"""A checkpoint's folder: a local one as it is, one of the Hugging Face hub from its cache."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from evaluate.errors import EvaluateError

#: What a checkpoint consists of, besides its weights.
_SETTINGS = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")

#: Files of weights: what is read without running anything first, then what `weights_only` reads.
_SAFE, _TENSORS_ONLY = "*.safetensors", "*.bin"

#: Files that decide what a model is shown.
_PREPARING = (
    "*processor_config.json",
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "spiece.model",
)


def checkpoint_folder(name: str, revision: str = "", *, offline: bool = False) -> Path:
    """The folder of a checkpoint, fetched into the cache unless `offline`.

    Parameters
    ----------
    name : str
        A local folder, or an id of the Hugging Face hub.
    revision : str
        Commit of the hub's repository; a local folder has none.

    Raises
    ------
    EvaluateError
        If it is not here and cannot be fetched; the message tells what to do.
    """
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    if local.is_absolute() or name.startswith((".", "~")):
        raise EvaluateError(f"{name} is no folder: give a checkpoint's folder, or an id of a hub")
    folder = _fetch(name, revision, (_SAFE, *_SETTINGS), offline=offline)
    if not list(folder.glob(_SAFE)):
        folder = _fetch(name, revision, (_TENSORS_ONLY, *_SETTINGS), offline=offline)
    return folder


def weight_digests(folder: Path) -> dict[str, str]:
    """Sha256 of each file of weights, by name: the safe ones where there are any.

    Raises
    ------
    EvaluateError
        If the folder has none that may be read.
    """
    files = sorted(folder.glob(_SAFE)) or sorted(folder.glob(_TENSORS_ONLY))
    if not files:
        raise EvaluateError(f"{folder} has no weights: neither {_SAFE} nor {_TENSORS_ONLY}")
    return {path.name: file_digest(path) for path in files}


def preparation_digest(folder: Path) -> str:
    """Sha256 over the files that say how pictures and words are prepared: names and contents."""
    found = {path for pattern in _PREPARING for path in folder.glob(pattern)}
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.name} {file_digest(path)}\n".encode())
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(name: str, revision: str, patterns: tuple[str, ...], *, offline: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    at = f"{name} at {revision[:12]}" if revision else name
    wanted: dict[str, Any] = {
        "revision": revision or None,
        "local_files_only": offline,
        "allow_patterns": list(patterns),
        "ignore_patterns": ["*/*"],
    }
    try:
        return Path(snapshot_download(name, **wanted))
    except GatedRepoError as error:
        raise EvaluateError(
            f"{at} is gated: accept its licence at https://huggingface.co/{name} and sign in with "
            "`hf auth login`"
        ) from error
    except LocalEntryNotFoundError as error:
        where = "is not in the cache" if offline else "cannot be fetched, nor is it in the cache"
        raise EvaluateError(
            f"{at} {where}: fetch it once on a machine that is online with `hf download {name}"
            f"{f' --revision {revision}' if revision else ''}`, or give a local folder"
        ) from error
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EvaluateError(f"{at} cannot be fetched: {reason}") from error
