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


@dataclass
class Hub:
    """Breaks off `failures` times, keeping a file more each time; then has everything."""

    failures: int = 0
    silent: bool = False
    calls: list[dict] = field(default_factory=list)

    def __call__(self, repo_id: str, *, dry_run: bool = False, **wanted: object) -> object:
        if dry_run:
            return [Info(self.failures > 0)]
        self.calls.append({"repo_id": repo_id, **wanted})
        if self.failures:
            self.failures -= 1
            if not self.silent:
                raise ConnectionError("broken off")
        MadeRelease(Path(str(wanted["local_dir"]))).csv_list()
        return wanted["local_dir"]


def test_a_broken_download_goes_on(tmp_path):
    hub = Hub(failures=2)
    assert download(tmp_path / "x", revision="abc", patterns=["annotations/*"], client=hub)
    assert len(hub.calls) == 3
    assert hub.calls[-1] == {
        "repo_id": REPOSITORY,
        "repo_type": "dataset",
        "revision": "abc",
        "local_dir": str(tmp_path / "x"),
        "allow_patterns": ["annotations/*"],
    }


def test_a_folder_that_is_only_half_there_is_not_taken_for_the_whole(tmp_path):
    # the client only warns where the hub cannot be reached and the folder holds something
    with pytest.raises(EvaluateError, match="1 files are missing"):
        download(tmp_path, client=Hub(failures=ATTEMPTS + 1, silent=True))


def test_without_a_network_it_says_how_to_go_on(tmp_path):
    with pytest.raises(EvaluateError, match="run the same command again"):
        download(tmp_path, client=Hub(failures=99))


def test_the_client_takes_what_it_is_given():
    hub = pytest.importorskip("huggingface_hub")
    known = signature(hub.snapshot_download).parameters
    assert {"repo_type", "revision", "local_dir", "allow_patterns", "dry_run"} <= set(known)


def test_the_command_fetches_and_imports(tmp_path, monkeypatch):
    Workspace.create(tmp_path / "lab", "")
    monkeypatch.setattr(module, "_client", Hub)
    result = CliRunner().invoke(snap, ["--download"], obj=tmp_path / "lab")
    assert "frames: 6" in result.output
    assert (tmp_path / "lab/SNAP/annotations/data.csv").is_file()
    assert CliRunner().invoke(snap, [], obj=tmp_path / "lab").exit_code == 2
    missing = CliRunner().invoke(snap, [str(tmp_path / "no")], obj=tmp_path / "lab")
    assert "there is no folder" in missing.output
