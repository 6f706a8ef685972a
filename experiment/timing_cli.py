"""`snaprig experiment timing`: a burn-in of this screen and its keys."""

from __future__ import annotations

import json
from pathlib import Path

import click

from experiment.design_cli import plain_errors
from schemas.workspace import Workspace, write_atomically


@click.command()
@click.option(
    "--trials",
    type=click.IntRange(2, 10000),
    default=100,
    show_default=True,
    help="Presentations of picture and mask.",
)
@click.option(
    "--keys",
    type=click.IntRange(0, 10000),
    default=200,
    show_default=True,
    help="Keys that another process presses; 0 leaves the stamping out.",
)
@click.option(
    "--fixation-s",
    type=click.FloatRange(0.05, 10),
    default=0.2,
    show_default=True,
    help="Before each presentation, in seconds.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="HTML file (default: reports/timing.html in the workspace).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def timing(
    root: Path, *, trials: int, keys: int, fixation_s: float, out: Path | None, as_json: bool
) -> None:
    """Measure how exactly this screen shows pictures, and how exactly keys are stamped.

    Shows pictures and masks as a session does, has another process press keys, and says in one
    sentence whether the timing is proven. Nothing is recorded in the catalog. Leave the keyboard
    and the mouse alone meanwhile.

    \b
    Examples:
      snaprig -w lab experiment timing
      snaprig -w lab experiment timing --trials 1000 --json
      xvfb-run -a snaprig -w lab experiment timing --trials 20
    """  # noqa: D301
    with plain_errors():
        workspace = Workspace.open(root)
        from experiment.burn_in import BurnIn, present, stamp_keys
        from experiment.config import ExperimentConfig
        from experiment.preflight import Check
        from experiment.robot import Robot, RobotOptions
        from experiment.running import Start, open_screen
        from experiment.timing_report import timing_document, timing_page

        config = ExperimentConfig.load(workspace.root)
        changed = config.experiment.model_copy(update={"fixation_s": fixation_s})
        config = config.model_copy(update={"experiment": changed})
        checks: list[Check] = []
        options = RobotOptions(1.0)
        start = Start(proof_needed=False, robot=options, said=checks.append)
        errors: tuple[float, ...] = ()
        lost = 0
        with open_screen(config, start) as opened:
            screen, schedule = opened.screen, opened.schedule
            evidence = present(screen, schedule, config.experiment.shown_px, trials)
            if keys:
                with Robot(options, screen.size_px) as robot:
                    errors, lost = stamp_keys(screen, robot, keys)
        found = BurnIn(opened.refresh, schedule, evidence, errors, keys, lost)
        path = out or workspace.reports / "timing.html"
        page = timing_page(found, checks, "Timing of the screen")
        write_atomically(path, page.encode())
        document = {**timing_document(found, checks), "report": str(path)}
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(document["verdict"])
    for name in ("image_ms", "mask_ms", "flip_interval_ms", "key_stamping_ms"):
        if (numbers := document[name]) is not None:
            click.echo(
                f"{name.removesuffix('_ms').replace('_', ' ')}: mean {numbers['mean']:.2f} ms, "
                f"SD {numbers['sd']:.2f}, {numbers['min']:.2f} to {numbers['max']:.2f}"
            )
    click.echo(f"report: {path}")
