"""`snaprig experiment run` and `experiment practice`: a participant before the screen."""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from experiment.design_cli import plain_errors
from experiment.errors import ExperimentError
from experiment.records import ParticipantPlan, Study
from schemas.workspace import Workspace

if TYPE_CHECKING:  # numpy and Pillow would make every `--help` wait
    from rich.progress import Progress

    from experiment.config import ExperimentConfig
    from experiment.preflight import Check
    from experiment.running import Start
    from experiment.trial_log import Record

_TIMING = click.option(
    "--timing",
    type=click.Choice(["proven", "unproven"]),
    help="proven: refuse a screen whose refresh cannot be proven. unproven: keep durations by a "
    "clock, and mark every trial (default: as experiment.toml says; unproven for a robot).",
)
_ROBOT = click.option(
    "--robot",
    "accuracy",
    type=click.FloatRange(0, 1),
    metavar="ACCURACY",
    help="No person: real keys and clicks of another process, right as often as this.",
)
_FIXATION = click.option(
    "--fixation-s",
    type=click.FloatRange(0.05, 10),
    help="Fixation in seconds (default: as experiment.toml says, 1 s). The log records it.",
)


class Stopped(click.ClickException):
    """Stopped on purpose and resumable: exit status 3."""

    exit_code = 3


@click.command()
@click.option("--participant", required=True, help="Pseudonym: letters, digits, _ and -.")
@click.option(
    "--task",
    "study",
    type=click.Choice(get_args(Study)),
    default="questions",
    show_default=True,
    help="The masked photographs with questions, or three classes by key within 2.5 s.",
)
@click.option("--resume", is_flag=True, help="Go on with a session that was stopped or killed.")
@_ROBOT
@_TIMING
@_FIXATION
@click.option("--no-practice", is_flag=True, help="Leave the practice trials out.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def run(
    root: Path,
    *,
    participant: str,
    study: Study,
    resume: bool,
    accuracy: float | None,
    timing: str | None,
    fixation_s: float | None,
    no_practice: bool,
    as_json: bool,
) -> None:
    """Run a participant's session on this screen.

    Checks the screen and all pictures first, then shows consent, instructions, practice and the
    participant's blocks. Each answer is on the disk before the next trial; Esc asks before it
    leaves; whatever ends the session, --resume goes on with the same plan.

    \b
    Examples:
      snaprig -w lab experiment run --participant P07
      snaprig -w lab experiment run --participant P07 --resume
      snaprig -w lab experiment run --participant P07 --task rt3
      xvfb-run -a snaprig -w lab experiment run --participant T1 --robot 0.9 --json
    """  # noqa: D301
    with plain_errors():
        workspace = Workspace.open(root)
        config = _config(workspace, timing, fixation_s, robot=accuracy is not None)
        with workspace.catalog() as catalog:
            from experiment.design_files import load_participant

            plan = load_participant(workspace, catalog, participant, study)
        from experiment.trial_log import log_path, read_log

        path = log_path(workspace, participant, study)
        earlier = read_log(path)
        if _finished(plan, earlier):
            click.echo(f"{participant} has finished this session already", err=True)
        else:
            _refuse_unfinished(participant, study, plan, earlier, resume=resume)
            _refuse_mixing(participant, earlier, robot=accuracy is not None)
            _run(workspace, plan, path, earlier, config, accuracy, practice=not no_practice)
        from experiment.results import summarize

        document = summarize(workspace, plan, path, score=accuracy is not None or as_json)
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        _say(document)
    if not document["finished"]:
        raise Stopped(_how_to_resume(participant, study, document["trials"], len(plan.trials)))


@click.command()
@click.option(
    "--group",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="1: counting by options, class in words. 2: the other way round.",
)
@_ROBOT
@_TIMING
@_FIXATION
@click.pass_obj
def practice(
    root: Path,
    *,
    group: int,
    accuracy: float | None,
    timing: str | None,
    fixation_s: float | None,
) -> None:
    """Show the practice trials alone; nothing is recorded.

    Their pictures come from the folder that experiment.toml names under practice_pictures, named
    like 2_umbrella.jpg or in a folder a class; without one, shapes are drawn.

    \b
    Examples:
      snaprig -w lab experiment practice
      snaprig -w lab experiment practice --group 2 --timing unproven
    """  # noqa: D301
    tasks = ("q4", "q1") if group == 1 else ("q2", "q3")
    with plain_errors():
        workspace = Workspace.open(root)
        config = _config(workspace, timing, fixation_s, robot=accuracy is not None)
        from experiment.dialogs import LeftError
        from experiment.rehearsing import rehearse

        try:
            done = rehearse(workspace, config, tasks, _start(config, accuracy, "practice"))
        except LeftError as error:
            raise Stopped("the practice was left; it can be started again at any time") from error
    click.echo(f"{done} practice trials shown, none recorded")


def _config(
    workspace: Workspace, timing: str | None, fixation_s: float | None, *, robot: bool
) -> ExperimentConfig:
    """The workspace's settings, with those of the command line over them."""
    from experiment.config import ExperimentConfig

    config = ExperimentConfig.load(workspace.root)
    changes: dict[str, object] = {}
    if timing is not None or robot:
        changes["timing"] = timing or "unproven"
    if fixation_s is not None:
        changes["fixation_s"] = fixation_s
    trials = config.experiment.model_copy(update=changes)
    return config.model_copy(update={"experiment": trials})


def _start(
    config: ExperimentConfig,
    accuracy: float | None,
    seed_text: str,
    *,
    practice: bool = False,
    journal: Path | None = None,
) -> Start:
    from experiment.robot import RobotOptions
    from experiment.running import Start

    robot = None
    if accuracy is not None:
        robot = RobotOptions(accuracy, zlib.crc32(seed_text.encode()), journal)
    return Start(
        proof_needed=config.experiment.timing == "proven",
        robot=robot,
        practice=practice,
        said=_say_check,
    )


def _run(
    workspace: Workspace,
    plan: ParticipantPlan,
    path: Path,
    earlier: list[Record],
    config: ExperimentConfig,
    accuracy: float | None,
    *,
    practice: bool,
) -> None:
    from dataclasses import replace

    from experiment.dialogs import LeftError
    from experiment.preflight import check_pictures
    from experiment.running import run_session
    from experiment.session import DeclinedError

    seed_text = f"{plan.participant} {len(earlier)}"
    journal = path.with_suffix(".robot")  # what it really did, for the tests
    start = _start(config, accuracy, seed_text, practice=practice, journal=journal)
    if accuracy is not None:
        click.echo("a robot answers: no consent of a person, no practice", err=True)
    elif not config.experiment.consent:
        click.echo("no consent text is configured ([experiment] consent): none is shown", err=True)
    with _progress() as bar:
        task = bar.add_task("pictures", total=len(plan.trials))
        files = check_pictures(
            workspace, plan, config.experiment.shown_px, lambda: bar.advance(task)
        )
        click.echo(f"pictures: {files} opened and hashed", err=True)
        if accuracy is None:  # the bar would be drawn beside a person's trials
            bar.remove_task(task)
        else:
            bar.reset(task, description="trials", total=len(plan.trials))
            start = replace(start, progressed=lambda done: bar.update(task, completed=done))
        try:
            run_session(workspace, plan, path, earlier, config, start)
        except LeftError:
            click.echo("left before the first trial", err=True)
        except DeclinedError as error:
            raise Stopped(f"{plan.participant} did not consent: nothing was shown") from error


def _finished(plan: ParticipantPlan, earlier: list[Record]) -> bool:
    from experiment.trial_log import End, finished_trials

    finished_trials(plan, earlier)  # refuses a log of another participant or design
    return any(isinstance(one, End) and one.status == "done" for one in earlier)


def _refuse_unfinished(
    participant: str,
    study: Study,
    plan: ParticipantPlan,
    earlier: list[Record],
    *,
    resume: bool,
) -> None:
    from experiment.trial_log import finished_trials

    if earlier and not resume:
        done = len(finished_trials(plan, earlier))
        raise Stopped(_how_to_resume(participant, study, done, len(plan.trials)))
    if resume and not earlier:
        click.echo(f"{participant} has no session to go on with: this is the first", err=True)


def _refuse_mixing(participant: str, earlier: list[Record], *, robot: bool) -> None:
    from experiment.trial_log import Header

    if any(isinstance(one, Header) and one.robot != robot for one in earlier):
        whose, other = ("a person's", "robot") if robot else ("a robot's", "person")
        raise ExperimentError(
            f"{participant}'s session is {whose}: no {other} may go on with it; take another "
            "pseudonym"
        )


def _how_to_resume(participant: str, study: Study, done: int, planned: int) -> str:
    task = "" if study == "questions" else f" --task {study}"
    return (
        f"{participant}'s session is unfinished ({done} of {planned} trials): go on with "
        f"`snaprig experiment run --participant {participant}{task} --resume`"
    )


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


def _say_check(check: Check) -> None:
    click.echo(f"{check.name} [{check.level}] {check.text}", err=True)


def _say(document: dict[str, Any]) -> None:
    status = ", ".join(f"{n} {name}" for name, n in document["timing"]["status"].items())
    click.echo(
        f"{document['participant']}: {document['trials']} of {document['planned']} trials, "
        f"{document['lost']} lost, {document['repeated']} shown again; timing: {status or 'none'}"
    )
    if document.get("accuracy") is not None:
        click.echo(f"accuracy {document['accuracy']:.3f} of {document['scored']} answers")
    click.echo(f"log: {document['log']}")
