"""Fetching the release: a stand-in for the hub's client, since tests have no network."""

from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluate.errors import EvaluateError
from evaluate.import_cli import snap
from evaluate.release import download as module
from evaluate.release.download import ATTEMPTS, REPOSITORY, download
from schemas.workspace import Workspace
from tests.evaluate.made_release import MadeRelease


@dataclass(frozen=True)
class Info:
    will_download: bool
    filename: str = "annotations/data.csv"
    commit_hash: str = "c0ffee"


@dataclass(frozen=True)
class Verification:
    mismatches: list[dict]


class RevisionNotFoundError(Exception):
    """As the hub's client names it."""


@dataclass
class StubHub:
    """Breaks off `failures` times, then has everything, `broken` times with wrong bytes."""

    failures: int = 0
    silent: bool = False
    broken: int = 0
    error: Exception = field(default_factory=lambda: ConnectionError("broken off"))
    calls: list[dict] = field(default_factory=list)
    verified: list[dict] = field(default_factory=list)

    def snapshot_download(self, repo_id: str, *, dry_run: bool = False, **wanted: object) -> object:
        if dry_run:
            return [Info(self.failures > 0)]
        self.calls.append({"repo_id": repo_id, **wanted})
        if self.failures:
            self.failures -= 1
            if not self.silent:
                raise self.error
        file = Path(str(wanted["local_dir"])) / "annotations/data.csv"
        if not file.is_file():  # what is there is kept, whatever its bytes
            MadeRelease(Path(str(wanted["local_dir"]))).csv_list()
            if self.broken:
                file.write_bytes(b"x" * file.stat().st_size)
        return wanted["local_dir"]

    def verify_repo_checksums(self, repo_id: str, **wanted: object) -> Verification:
        self.verified.append({"repo_id": repo_id, **wanted})
        self.broken -= 1
        path = {"path": "annotations/data.csv"}
        return Verification([path] if self.broken >= 0 else [{"path": "not/wanted.jpg"}])


def test_a_broken_download_goes_on(tmp_path):
    hub = StubHub(failures=2)
    assert download(tmp_path / "x", revision="abc", patterns=["annotations/*"], hub=hub)
    assert len(hub.calls) == 3
    assert hub.calls[-1] == {
        "repo_id": REPOSITORY,
        "repo_type": "dataset",
        "revision": "abc",
        "local_dir": str(tmp_path / "x"),
        "allow_patterns": ["annotations/*"],
    }


def test_a_file_with_other_bytes_of_the_same_number_is_fetched_again(tmp_path):
    hub = StubHub(broken=1)
    assert download(tmp_path, hub=hub) == tmp_path
    assert (tmp_path / "annotations/data.csv").read_text().startswith("Path,")
    assert len(hub.calls) == len(hub.verified) == 2
    assert hub.verified[0] == {
        "repo_id": REPOSITORY,
        "repo_type": "dataset",
        "revision": "c0ffee",
        "local_dir": str(tmp_path),
    }
    with pytest.raises(EvaluateError, match=r"1 files differ .*data\.csv"):
        download(tmp_path / "never", hub=StubHub(broken=99))


def test_a_folder_that_is_only_half_there_is_not_taken_for_the_whole(tmp_path):
    # the client only warns where the hub cannot be reached and the folder holds something
    with pytest.raises(EvaluateError, match="1 files are missing"):
        download(tmp_path, hub=StubHub(failures=ATTEMPTS + 1, silent=True))


def test_without_a_network_it_says_how_to_go_on(tmp_path):
    with pytest.raises(EvaluateError, match="run the same command again"):
        download(tmp_path, hub=StubHub(failures=99))


def test_what_no_attempt_changes_is_not_tried_again(tmp_path):
    hub = StubHub(failures=99, error=RevisionNotFoundError("no such commit"))
    with pytest.raises(EvaluateError, match="check --revision"):
        download(tmp_path, hub=hub)
    assert len(hub.calls) == 1


def test_the_client_takes_what_it_is_given():
    hub = pytest.importorskip("huggingface_hub")
    known = signature(hub.HfApi.snapshot_download).parameters
    assert {"repo_type", "revision", "local_dir", "allow_patterns", "dry_run"} <= set(known)
    known = signature(hub.HfApi.verify_repo_checksums).parameters
    assert {"repo_type", "revision", "local_dir"} <= set(known)
    assert {"will_download", "filename", "commit_hash"} <= set(
        hub.DryRunFileInfo.__dataclass_fields__
    )
    for name in ("RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"):
        assert issubclass(getattr(hub.errors, name), Exception)


def test_the_command_fetches_and_imports(tmp_path, monkeypatch):
    Workspace.create(tmp_path / "lab", "")
    monkeypatch.setattr(module, "_client", StubHub)
    result = CliRunner().invoke(snap, ["--download"], obj=tmp_path / "lab")
    assert "frames: 6" in result.output
    assert (tmp_path / "lab/SNAP/annotations/data.csv").is_file()
    assert CliRunner().invoke(snap, [], obj=tmp_path / "lab").exit_code == 2
    missing = CliRunner().invoke(snap, [str(tmp_path / "no")], obj=tmp_path / "lab")
    assert "there is no folder" in missing.output
