"""The documentation names every command and setting, and its links and examples hold."""

import re
import shlex
from pathlib import Path

import click
import pytest

from docs.make_commands import PAGE, page, walk
from experiment.config import DisplayConfig, TrialsConfig
from rig.cli import snaprig
from rig.config import AlertsConfig, CameraConfig, MeterConfig, PreflightConfig
from schemas.plan import Lighting, SweepPlan

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMANDS = dict(walk(snaprig, "snaprig"))


def test_the_command_reference_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_help(path):
    command = COMMANDS[path]
    assert command.help, path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts}"


@pytest.mark.parametrize("path", [p for p, c in COMMANDS.items() if not isinstance(c, click.Group)])
def test_every_command_shows_an_example(path):
    assert "Examples:" in (COMMANDS[path].help or ""), path


@pytest.mark.parametrize(
    "model",
    [
        AlertsConfig,
        CameraConfig,
        MeterConfig,
        PreflightConfig,
        Lighting,
        SweepPlan,
        DisplayConfig,
        TrialsConfig,
    ],
)
def test_every_setting_is_documented(model):
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for key in set(model.model_fields) - {"name"}:
        assert re.search(rf"`(\[[\w.]+\] )?{key}`", text), key


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_call_commands_and_options_that_exist(path):
    for line in re.findall(r"^\$ (snaprig .*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        words = shlex.split(line, comments=True)
        words = words[: words.index("&&")] if "&&" in words else words
        known = "snaprig"
        rest = list(words[1:])
        while rest:
            word = rest.pop(0)
            if word == "-w":
                rest.pop(0)
            elif f"{known} {word}" in COMMANDS:
                known = f"{known} {word}"
            elif word.startswith("-"):
                options = {o for p in COMMANDS[known].params for o in p.opts} | {"--help"}
                assert word in options, line
        assert not isinstance(COMMANDS[known], click.Group) or known == "snaprig", line
