"""`--sweep guided` and `--audit` on the command line."""

import json

import click
import pytest
from click.testing import CliRunner

from capture.guidance import Guidance
from capture.options import read_guidance
from capture.plan_cli import plan
from rig.errors import Abort
from schemas.plan import SweepPlan


def show(root, *arguments):
    result = CliRunner().invoke(plan, [*map(str, arguments), "--json"], obj=root)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.output)


@pytest.mark.parametrize(
    ("sweep", "audit", "before", "expected"),
    [
        (None, None, None, None),
        ("exhaustive", None, None, None),
        ("guided", None, None, Guidance(0.0)),
        ("guided", 0.05, None, Guidance(0.05)),
        (None, None, Guidance(0.1), Guidance(0.1)),  # a resume goes on as it began
        (None, 0.2, Guidance(0.1), Guidance(0.2)),
        ("guided", None, Guidance(0.1), Guidance(0.1)),
        ("exhaustive", None, Guidance(0.1), None),
    ],
)
def test_how_a_sweep_is_guided(sweep, audit, before, expected):
    assert read_guidance(sweep, audit, before) == expected


@pytest.mark.parametrize("sweep", [None, "exhaustive"])
def test_an_audit_of_an_exhaustive_sweep_is_wrong_usage(sweep):
    with pytest.raises(click.UsageError, match="--sweep guided"):
        read_guidance(sweep, 0.05)


def test_a_plan_says_that_a_guided_sweep_has_only_an_upper_bound(tmp_path):
    exhaustive, guided = show(tmp_path), show(tmp_path, "--sweep", "guided")
    assert (exhaustive["sweep"], exhaustive["upper_bound"]) == ("exhaustive", False)
    assert (guided["sweep"], guided["upper_bound"]) == ("guided", True)
    assert guided["shots"] == exhaustive["shots"] == 630
    said = CliRunner().invoke(plan, ["--sweep", "guided"], obj=tmp_path).output
    assert "at most 630" in said
    assert "known only while it runs" in " ".join(said.split())


def test_what_is_left_of_a_guided_sweep_shrinks_with_its_witnesses(lab):
    lab.camera.lux = 20_000.0
    grid = SweepPlan(shutter=("1", "1/15", "1/250", "1/4000"), iso=(6400,), f_number=(5.6, 22))
    lab.sweep(grid.subset(f_number=(5.6,)))
    path = lab.workspace.root / "grid.toml"
    path.write_text(grid.to_toml())
    named = ("--scene", "cups", "--lighting", "bright", "--plan", path)
    everything = show(lab.workspace.root, *named)["remaining"]
    assert everything == 4
    assert show(lab.workspace.root, *named, "--sweep", "guided")["remaining"] < everything


def test_a_plan_of_another_rule_cannot_be_guided(tmp_path):
    path = tmp_path / "mean.toml"
    path.write_text('acceptance = "mean"\n')
    with pytest.raises(Abort, match="pixels95"):
        show(tmp_path, "--plan", path, "--sweep", "guided")
