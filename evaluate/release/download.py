"""Fetch the release through the hub's own client: resumable, verified, restricted to what is asked.

The client (huggingface_hub) continues broken files and skips what is there already, but compares
sizes only while it downloads. The digests of all files are compared with the repository's
afterwards; a file that differs is fetched again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from evaluate.errors import EvaluateError

REPOSITORY = "ykotseruba/SNAP"

#: A retry continues where the last one broke off, so a few of them cost little.
ATTEMPTS = 5

#: Errors of the client that no further attempt changes.
_FINAL = {"RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"}


class Hub(Protocol):
    """The two calls of the hub's client that are needed, as `huggingface_hub` has them."""

    @property
    def snapshot_download(self) -> Callable[..., Any]:
        """Fetch files; with `dry_run` say of each whether it would be."""

    @property
    def verify_repo_checksums(self) -> Callable[..., Any]:
        """Compare the digests of files in a folder with the repository's."""


class _Wrong(Exception):  # noqa: N818 - not an error of ours: why the next attempt is needed
    """Files are missing or differ."""


def download(
    target: Path,
    *,
    revision: str | None = None,
    patterns: Sequence[str] = (),
    hub: Hub | None = None,
) -> Path:
    """Fetch the release into a folder; run again, it fetches what is missing.

    Parameters
    ----------
    revision : str or None
        Commit of the repository; its newest state by default.
    patterns : sequence of str
        Only files that match one of them, e.g. ``annotations/*``; all by default.
    hub : Hub or None
        Takes the place of the hub's client.

    Raises
    ------
    EvaluateError
        If the client is not installed, the repository or revision is not there for us, or files
        are missing or differ after several attempts.
    """
    client = hub or _client()
    wanted: dict[str, Any] = {
        "repo_type": "dataset",
        "revision": revision,
        "local_dir": str(target),
        "allow_patterns": list(patterns) or None,
    }
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            client.snapshot_download(REPOSITORY, **wanted)
            _verify(client, target, wanted)
        except _Wrong as error:
            problem = str(error)
        except Exception as error:  # the client raises the errors of its network library, too
            problem = f"{type(error).__name__}: {error}"
            if type(error).__name__ in _FINAL:
                raise EvaluateError(
                    f"{REPOSITORY} cannot be fetched: {problem}; check --revision, and whether "
                    "the repository needs a login (`hf auth login`)"
                ) from error
        else:
            return target
    raise EvaluateError(
        f"{REPOSITORY} could not be fetched in {ATTEMPTS} attempts ({problem}); what has come is "
        f"in {target}: run the same command again to go on"
    )


def _verify(client: Hub, target: Path, wanted: dict[str, Any]) -> None:
    """Raise `_Wrong` unless all wanted files are there with the repository's digests."""
    # without a network the client is content with what lies in the folder: ask again
    listed = client.snapshot_download(REPOSITORY, dry_run=True, **wanted)
    missing = [one for one in listed if one.will_download]
    if missing:
        raise _Wrong(f"{len(missing)} files are missing")
    if not listed:
        raise _Wrong("no file of the repository is wanted: do the patterns match any?")
    names = {one.filename for one in listed}
    found = client.verify_repo_checksums(
        REPOSITORY,
        repo_type="dataset",
        revision=listed[0].commit_hash,  # that of the files, should the newest have moved on
        local_dir=str(target),
    )
    different = [one["path"] for one in found.mismatches if one["path"] in names]
    for name in different:
        (target / name).unlink()  # else the client would keep it: its size is right
    if different:
        raise _Wrong(f"{len(different)} files differ from the repository, such as {different[0]}")


def _client() -> Hub:
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise EvaluateError(
            "huggingface_hub is not installed; --download needs the extra `evaluate`: "
            "pip install 'snaprig[evaluate]'"
        ) from error
    return HfApi()
