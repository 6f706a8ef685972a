"""Fetch the release through the hub's own client: resumable, verified, restricted to what is asked.

The client (huggingface_hub) continues broken files, verifies sizes and digests against the
repository, and skips what is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evaluate.errors import EvaluateError

REPOSITORY = "ykotseruba/SNAP"

#: A retry continues where the last one broke off, so a few of them cost little.
ATTEMPTS = 5


#: `huggingface_hub.snapshot_download`, or what takes its place in a test.
Client = Callable[..., Any]


def download(
    target: Path,
    *,
    revision: str | None = None,
    patterns: Sequence[str] = (),
    client: Client | None = None,
) -> Path:
    """Fetch the release into a folder; run again, it fetches what is missing.

    Parameters
    ----------
    revision : str or None
        Commit of the repository; its newest state by default.
    patterns : sequence of str
        Only files that match one of them, e.g. ``annotations/*``; all by default.
    client : callable or None
        Takes the place of the hub's client.

    Raises
    ------
    EvaluateError
        If the client is not installed, or files are missing after several attempts.
    """
    fetch = client or _client()
    wanted: dict[str, Any] = {
        "repo_type": "dataset",
        "revision": revision,
        "local_dir": str(target),
        "allow_patterns": list(patterns) or None,
    }
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            fetch(REPOSITORY, **wanted)
            # without a network the client is content with what lies in the folder: ask again
            missing = [
                one for one in fetch(REPOSITORY, dry_run=True, **wanted) if one.will_download
            ]
        except Exception as error:  # the client raises the errors of its network library, too
            problem = f"{type(error).__name__}: {error}"
            continue
        if not missing:
            return target
        problem = f"{len(missing)} files are missing"
    raise EvaluateError(
        f"{REPOSITORY} could not be fetched in {ATTEMPTS} attempts ({problem}); what has come is "
        f"in {target}: run the same command again to go on"
    )


def _client() -> Client:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise EvaluateError(
            "huggingface_hub is not installed; --download needs the extra `evaluate`: "
            "pip install 'snaprig[evaluate]'"
        ) from error
    return snapshot_download
