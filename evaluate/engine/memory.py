"""Memory of this process and of its GPU. Torch is asked only where a provider has loaded it."""

from __future__ import annotations

import gc
import resource
import sys


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out, on the host or on a GPU."""
    if isinstance(error, MemoryError):
        return True
    # torch.OutOfMemoryError is a RuntimeError; cuDNN and the CPU allocator raise plain ones
    said = str(error).lower()
    return isinstance(error, RuntimeError) and (
        type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in said
        or "can't allocate memory" in said
    )


def free_memory() -> None:
    """Give back what nobody holds any more, also on the GPU."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def peak_memory_bytes() -> int:
    """Largest resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_gpu_memory_bytes() -> int:
    """Most that torch held on any one GPU in this process; 0 without one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0
    return max(
        int(torch.cuda.max_memory_allocated(place)) for place in range(torch.cuda.device_count())
    )
