"""One start of a session on the real screen: preflight, robot, log, session."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from PIL import Image

from experiment import texts
from experiment.config import ExperimentConfig
from experiment.demographics import Person, write_person
from experiment.dialogs import LeftError, read_pages, wait_for_click
from experiment.errors import ExperimentError
from experiment.image_preparation import make_mask, open_picture
from experiment.practice import load_pictures, practice_questions, tasks_of
from experiment.preflight import Check, check_screen, failures, visual_angle
from experiment.records import ParticipantPlan, Trial
from experiment.robot import Robot, RobotOptions
from experiment.screen import PsychoPyScreen, ScreenFacts
from experiment.session import DeclinedError, Opening, Session
from experiment.timing import Refresh, Schedule, judge_refresh
from experiment.trial_log import End, Event, Header, LogWriter, Record
from experiment.views import View
from schemas.workspace import Workspace

#: A screen that is just waking up is measured again, so often in all.
PROBES = 3


@dataclass(frozen=True)
class Start:
    """What one start is asked to do.

    Attributes
    ----------
    proof_needed : bool
        Refuse a screen whose timing cannot be proven.
    robot : RobotOptions or None
        None: a person.
    practice : bool
    said : callable
        Is told each finding of the preflight.
    progressed : callable
        Is called with the number of trials done.
    """

    proof_needed: bool
    robot: RobotOptions | None = None
    practice: bool = True
    said: Callable[[Check], None] = lambda _check: None
    progressed: Callable[[int], None] = lambda _done: None


@dataclass(frozen=True)
class OpenScreen:
    """A screen that passed its checks, with what is known of it."""

    screen: PsychoPyScreen
    facts: ScreenFacts
    refresh: Refresh
    schedule: Schedule
    config: ExperimentConfig

    def display(self) -> dict[str, Any]:
        """For the log's header."""
        display = self.config.display
        return {
            "size_px": self.facts.window_px,
            "width_cm": display.width_cm,
            "distance_cm": display.distance_cm,
            "shown_px": self.config.experiment.shown_px,
            "degrees": visual_angle(self.facts, self.config),
            "refresh": asdict(self.refresh),
            "system": asdict(self.facts),
        }


@contextmanager
def open_screen(config: ExperimentConfig, start: Start) -> Iterator[OpenScreen]:
    """A screen that passed its checks.

    Raises
    ------
    ExperimentError
        If it did not; the message names every failed check.
    """
    trials, display = config.experiment, config.display
    with PsychoPyScreen(
        trials.shown_px, display.screen, trials.font, display.gamma, trials.photodiode
    ) as screen:
        for _ in range(PROBES):
            refresh = judge_refresh(screen.probe(), display.refresh_hz)
            if refresh.proven:
                break
        facts = screen.facts()
        checks = check_screen(
            facts, refresh, config, proof_needed=start.proof_needed, robot=start.robot is not None
        )
        for check in checks:
            start.said(check)
        if why := failures(checks):
            raise ExperimentError(why)
        schedule = Schedule.on(refresh, trials.fixation_s, trials.image_s, trials.mask_s)
        yield OpenScreen(screen, facts, refresh, schedule, config)


def run_session(
    workspace: Workspace,
    plan: ParticipantPlan,
    path: Path,
    earlier: list[Record],
    config: ExperimentConfig,
    start: Start,
) -> End:
    """Show what the log at `path` still lacks of a plan.

    Raises
    ------
    ExperimentError
        If the screen failed its checks, or another session of the participant is running.
    """
    trials = config.experiment
    with ExitStack() as stack:
        stack.enter_context(_only_one(path.parent, plan.participant))
        opening = make_opening(workspace, plan, config, start)
        opened = stack.enter_context(open_screen(config, start))
        screen = opened.screen
        told: Callable[[Trial | None, View], None] = _nobody
        if start.robot is not None:
            robot = stack.enter_context(Robot(start.robot, screen.size_px, plan))
            told = robot.told
        log = stack.enter_context(LogWriter(path))
        log.append(_header(plan, opened, earlier, start))
        session = Session(
            screen,
            plan,
            opened.schedule,
            log,
            earlier,
            opening,
            picture_of=lambda trial: _picture(workspace, trial, trials.shown_px),
            mask_of=lambda number: make_mask(trials.mask, trials.shown_px, number),
            told=told,
            person=lambda said: write_person(workspace, plan.participant, parse_person(said)),
            progressed=start.progressed,
        )
        try:
            self_test(screen, lambda view: told(None, view))
            screen.alerts()  # while it opened, the window came and went
            log.append(Event("self_test", {"keyboard": "ok", "mouse": "ok"}))
            return session.run()
        except (LeftError, DeclinedError):
            log.append(End("left", 0))
            raise


def self_test(screen: PsychoPyScreen, told: Callable[[View], None]) -> None:
    """Have the participant press the space bar and click: both must arrive. Raises LeftError."""
    read_pages(screen, texts.KEYBOARD_TITLE, texts.KEYBOARD_BODY, told, hint="")
    wait_for_click(screen, texts.MOUSE_QUESTION, texts.MOUSE_LABEL, told)


def make_opening(
    workspace: Workspace, plan: ParticipantPlan, config: ExperimentConfig, start: Start
) -> Opening:
    """Consent, instructions and practice as configured; a robot is not taught."""
    trials = config.experiment
    instructions = _text(workspace, trials.instructions) or texts.INSTRUCTIONS[plan.study]
    consent = _text(workspace, trials.consent)
    if start.robot is not None:
        return Opening(instructions, consent)
    practice: tuple[Any, ...] = ()
    if start.practice:
        practice = rehearsal(workspace, config, tasks_of(plan))
    return Opening(instructions, consent, trials.ask_person, practice)


def rehearsal(
    workspace: Workspace, config: ExperimentConfig, tasks: tuple[str, ...]
) -> tuple[Any, ...]:
    """Practice trials of the tasks, half and half."""
    trials = config.experiment
    folder = workspace.root / trials.practice_pictures if trials.practice_pictures else None
    if folder is not None and not folder.is_dir():
        raise ExperimentError(f"{folder} is no folder ([experiment] practice_pictures)")
    pictures = load_pictures(folder, trials.shown_px, trials.practice_trials)
    return practice_questions(pictures, tasks, trials.practice_trials)


def parse_person(said: dict[str, str]) -> Person:
    """Age and sex as typed; an age that is none is not kept."""
    age = said.get("age", "").strip()
    years = int(age) if age.isascii() and age.isdigit() and 0 < int(age) < 130 else None
    return Person(years, said.get("sex", "")[:40])


def _text(workspace: Workspace, relative: str) -> str:
    if not relative:
        return ""
    path = workspace.root / relative
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(
            f"{path} cannot be read ([experiment] in experiment.toml): {error}"
        ) from error


def _picture(workspace: Workspace, trial: Trial, shown_px: tuple[int, int]) -> Image.Image:
    prepared = open_picture(workspace.resolve(trial.path), shown_px, fit=trial.task == "choice")
    if prepared.sha256 != trial.sha256:
        raise ExperimentError(f"{trial.path} has changed since the session began")
    return prepared.image


def _header(
    plan: ParticipantPlan, opened: OpenScreen, earlier: list[Record], start: Start
) -> Header:
    names = ("snaprig", "numpy", "pillow")
    settings = opened.config.experiment.model_dump(mode="json")
    if start.robot is not None:
        settings["robot_accuracy"] = start.robot.accuracy
    return Header(
        participant=plan.participant,
        study=plan.study,
        group=plan.group,
        design_digest=plan.design_digest,
        start=1 + sum(isinstance(record, Header) for record in earlier),
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in names},
            **opened.facts.versions,
        },
        display=opened.display(),
        timing_mode=opened.schedule.mode.value,
        settings=settings,
        robot=start.robot is not None,
    )


@contextmanager
def _only_one(folder: Path, participant: str) -> Iterator[None]:
    """Two sessions of one participant would show the same trials twice."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ExperimentError(f"another session of {participant} is running") from error
    else:
        yield
    finally:
        os.close(handle)


def _nobody(_trial: Trial | None, _view: View) -> None:
    """A person needs not be told what is visible."""
