"""The root command: help, errors, exit statuses."""

import subprocess
import sys
from importlib.metadata import entry_points

import click
import pytest

from rig import cli
from rig.errors import Abort, AskOperator


def snaprig(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rig", *words], capture_output=True, text=True, check=False
    )


def test_every_command_has_its_line_in_the_help():
    text = snaprig("--help").stdout
    for point in entry_points(group="snaprig.commands"):
        name = point.name.partition(".")[0]
        assert f"\n  {name} " in text
        assert cli.HELP[name] in " ".join(text.split())


def test_help_has_examples():
    assert "Examples:" in snaprig("--help").stdout


def test_dotted_entry_points_make_groups():
    assert "frames" in snaprig("export", "--help").stdout


def test_unknown_commands_are_wrong_usage():
    result = snaprig("captur")
    assert result.returncode == cli.WRONG_USAGE
    assert "No such command 'captur'" in result.stderr


def test_a_missing_workspace_is_one_line_and_what_to_do(tmp_path):
    result = snaprig("-w", str(tmp_path), "status")
    assert result.returncode == cli.FAILED
    assert "snaprig init" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Abort("the plan asks for f/1", "change the plan"), cli.FAILED),
        (AskOperator("the dial is on AV", "turn it to M"), cli.RESUMABLE),
        (cli.Resumable("stopped; go on with `snaprig capture resume`"), cli.RESUMABLE),
        (click.UsageError("wrong"), cli.WRONG_USAGE),
        (RuntimeError("unforeseen"), cli.FAILED),
    ],
)
def test_errors_end_with_their_status_and_without_a_traceback(monkeypatch, capsys, error, status):
    def fail(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(cli.snaprig, "main", fail)
    with pytest.raises(SystemExit) as left:
        cli.main(["status"])
    assert left.value.code == status
    shown = capsys.readouterr().err
    assert str(getattr(error, "message", error)) in shown
    assert "Traceback" not in shown
    action = getattr(error, "action", "")
    assert action in shown


def test_debug_shows_the_traceback(monkeypatch):
    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(cli.snaprig, "main", fail)
    with pytest.raises(RuntimeError):
        cli.main(["--debug", "status"])
