"""Where and how torch computes."""

from __future__ import annotations

import os

import torch

from evaluate.errors import EvaluateError

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(name: str) -> torch.device:
    """A torch device by name; ``auto`` takes a CUDA device if there is one.

    Raises
    ------
    EvaluateError
        If there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise EvaluateError(f"no device {name!r} here ({reason}); try `--device cpu`") from error


def choose_dtype(name: str) -> torch.dtype:
    """A torch dtype by its name in `LoadOptions`.

    Raises
    ------
    EvaluateError
        For another name.
    """
    try:
        return _DTYPES[name]
    except KeyError as error:
        raise EvaluateError(f"no dtype {name!r}; known: {', '.join(_DTYPES)}") from error


def set_up_torch(readers: int) -> None:
    """Make results repeatable, and leave `readers` of the CPUs to those who decode."""
    cpus = len(os.sched_getaffinity(0))
    torch.set_num_threads(max(1, cpus - readers))
    # cuBLAS repeats itself only with a workspace of fixed size
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
