"""`snaprig experiment design`: who sees which picture with which question."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from experiment.errors import ExperimentError
from experiment.records import Study
from schemas.catalog import Catalog
from schemas.workspace import Workspace

if TYPE_CHECKING:  # numpy would make every `--help` wait
    from experiment.candidates import Candidates
    from experiment.design import Request
    from experiment.design_report import DesignReport
    from experiment.records import Design


class OffsetRange(click.ParamType[tuple[int, ...]]):
    """``LOW:HIGH`` in whole stops, both included."""

    name = "LOW:HIGH"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[int, ...]:
        """All offsets of the range."""
        low, _, high = str(value).partition(":")
        try:
            found = tuple(range(int(low), int(high) + 1))
        except ValueError:
            found = ()
        if not found:
            self.fail(f"{value!r} is no range of EV offsets; write e.g. -5:8", param, ctx)
        return found


@click.command()
@click.option("--participants", type=click.IntRange(1), help="How many places to make.")
@click.option("--seed", type=click.IntRange(0), help="Of everything that is drawn; keep it.")
@click.option(
    "--trials-per-question",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Scenes that each participant sees, once with each of two questions.",
)
@click.option(
    "--ev-offsets",
    type=OffsetRange(),
    help="EV offsets that take part, e.g. --ev-offsets=-5:8 (default: those that at least a "
    "tenth of the scenes have).",
)
@click.option(
    "--task",
    "study",
    type=click.Choice(get_args(Study)),
    default="questions",
    show_default=True,
    help="questions: the published experiment. rt3: three classes by key, against the clock.",
)
@click.option(
    "--classes",
    metavar="A,B,C",
    help="Categories of rt3 in the order of their keys (default: the paper's three).",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    help="Trials of each participant in rt3 (default: all that balance allows).",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Put it to use although participants have places in another; they keep theirs.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Print the balance of every condition; without --participants, that of the design in "
    "use, held against the catalog.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def design(
    root: Path,
    *,
    participants: int | None,
    seed: int | None,
    trials_per_question: int,
    ev_offsets: tuple[int, ...] | None,
    study: Study,
    classes: str | None,
    trials: int | None,
    replace: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Make a balanced design from the accepted frames of the catalog.

    Odd participants count by multiple choice and name the class in their own words, even ones
    the other way round. Each scene comes once with each question, its two pictures at least 4
    stops apart. EV offsets, categories and lightings come as equally often as the frames allow,
    and no picture is shown again while there is another.

    \b
    Examples:
      snaprig -w lab experiment design --participants 43 --seed 1
      snaprig -w lab experiment design --participants 20 --seed 1 --trials-per-question 50
      snaprig -w lab experiment design --check
      snaprig -w lab experiment design --task rt3 --participants 4 --seed 1
    """  # noqa: D301
    if (participants is None) != (seed is None) or (participants is None and not check):
        raise click.UsageError("name --participants and --seed, or --check the design in use")
    if study == "rt3" and ev_offsets is not None:
        raise click.UsageError("--ev-offsets belongs to the questions, not to rt3")
    if study == "questions" and (classes is not None or trials is not None):
        raise click.UsageError("--classes and --trials belong to --task rt3")
    workspace = Workspace.open(root)
    with plain_errors():
        if participants is None or seed is None:
            report, notes = _stored(workspace, study)
            done: dict[str, Any] = {"path": str(_path(workspace, study))}
        else:
            if study == "rt3":
                made, report, notes = _make_rt3(workspace, participants, seed, classes, trials)
            else:
                from experiment.design import Request

                request = Request(participants, seed, trials_per_question, ev_offsets)
                made, report, notes = _make(root, workspace, request)
            _refuse_violations(report)
            done = {"path": str(_write(workspace, made, replace=replace))}
    if as_json:
        document = {**report.as_json(), **done}
        document["notes"] = [*report.notes, *notes]
        click.echo(json.dumps(document, indent=2))
    else:
        _say(report, done["path"], table=check)
        for note in (*report.notes, *notes):
            click.echo(f"note: {note}", err=True)
    if report.violations:
        raise click.ClickException(f"{len(report.violations)} constraints are violated")


def _make(
    root: Path, workspace: Workspace, request: Request
) -> tuple[Design, DesignReport, list[str]]:
    from experiment.design import make_design
    from experiment.design_report import report_design

    with workspace.catalog() as catalog:
        candidates = _with_questions(root, catalog, request.seed)
    made = make_design(candidates.pictures, request)
    return made, report_design(made, candidates.by_offset()), _notes(candidates)


def _with_questions(root: Path, catalog: Catalog, seed: int) -> Candidates:
    """Candidates; frames that lack their questions get them from `snaprig questions make`."""
    from experiment.candidates import load_candidates

    candidates = load_candidates(catalog)
    if not candidates.without_questions:
        return candidates
    words = ["questions", "make", "--seed", str(seed)]
    click.echo(f"snaprig {' '.join(words)}", err=True)
    command = [sys.executable, "-m", "rig", "-w", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    click.echo(f"{done.stdout}{done.stderr}", err=True, nl=False)
    if done.returncode:
        raise ExperimentError(f"`snaprig {' '.join(words)}` failed; see above")
    return load_candidates(catalog)


def _notes(candidates: Candidates) -> list[str]:
    notes = []
    if candidates.left_out:
        notes.append(f"{candidates.left_out} frames were left out: their files are not here")
    if not candidates.files_here:
        notes.append("no frame has its file here: import the pictures before the first session")
    if candidates.without_options:
        notes.append(
            f"{candidates.without_options} frames came without the order of their options in Q3 "
            "or Q4: those questions are not asked about them"
        )
    return notes


def _make_rt3(
    workspace: Workspace, participants: int, seed: int, classes: str | None, trials: int | None
) -> tuple[Design, DesignReport, list[str]]:
    from experiment.design_report import report_design
    from experiment.rt3 import find_categories, make_rt3_design
    from schemas.answer_store import CHOICE, add_stimuli
    from schemas.design_store import list_shown_frames
    from schemas.records import Stimulus

    with workspace.catalog() as catalog:
        pictures = [one for one in list_shown_frames(catalog, "picture") if one.path]
        wanted = tuple(name.strip() for name in (classes or "").split(",") if name.strip())
        options = find_categories((one.category for one in pictures), wanted)
        shown = [one for one in pictures if one.category in options]
        made = make_rt3_design(shown, options, participants, seed, trials)
        add_stimuli(catalog, (Stimulus(one.id, "original", CHOICE, options) for one in shown))
    return made, report_design(made), []


def _stored(workspace: Workspace, study: Study) -> tuple[DesignReport, list[str]]:
    from experiment.candidates import load_candidates, stale_trials
    from experiment.design_files import list_places, read_design
    from experiment.design_report import report_design

    stored = read_design(workspace, study)
    with workspace.catalog() as catalog:
        report = report_design(stored, load_candidates(catalog).by_offset())
        report.violations.extend(stale_trials(catalog, stored))
    taken = sum(place.digest == stored.digest for place in list_places(workspace, study))
    return report, [f"{taken} of {len(stored.slots)} places are taken"]


def _path(workspace: Workspace, study: Study) -> Path:
    from experiment.design_files import design_path

    return design_path(workspace, study)


def _write(workspace: Workspace, made: Design, *, replace: bool) -> Path:
    from experiment.design_files import write_design

    return write_design(workspace, made, replace=replace)


def _refuse_violations(report: DesignReport) -> None:
    if report.violations:
        raise ExperimentError(f"not written, it violates its constraints: {report.violations[0]}")


def _say(report: DesignReport, path: str, *, table: bool) -> None:
    apart = "" if report.min_stops_apart is None else f", {report.min_stops_apart} stops apart"
    click.echo(
        f"{len(report.design.slots)} participants x {report.trials_each} trials{apart}; "
        f"{report.distinct_images} different pictures, each shown at most "
        f"{report.most_showings} times"
    )
    for name, balance in report.by.items():
        title = name.replace("_", " ").replace("ev", "EV")
        click.echo(f"by {title}: {min(balance.counts.values())} to {max(balance.counts.values())}")
        if table:
            for value, count in balance.counts.items():
                click.echo(f"  {value:>12}  {count}")
    for violation in report.violations:
        click.echo(f"violated: {violation}")
    click.echo(f"design {report.design.digest[:12]}, seed {report.design.seed}: {path}")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors that a person can act on become one line and exit status 1."""
    try:
        yield
    except ExperimentError as error:
        raise click.ClickException(str(error)) from error
