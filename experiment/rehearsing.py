"""The practice trials alone, on the real screen; nothing is recorded."""

from __future__ import annotations

from contextlib import ExitStack

from experiment import texts
from experiment.config import ExperimentConfig
from experiment.dialogs import LeftError, read_pages
from experiment.image_preparation import make_mask
from experiment.robot import Robot
from experiment.running import Start, open_screen, rehearsal, self_test
from experiment.trial import TrialRun
from experiment.views import View
from schemas.workspace import Workspace


def rehearse(
    workspace: Workspace, config: ExperimentConfig, tasks: tuple[str, ...], start: Start
) -> int:
    """Show them; how many there were.

    Raises
    ------
    ExperimentError
        If the screen failed its checks, or a picture cannot be read.
    LeftError
        If the participant left.
    """
    trials = config.experiment
    questions = rehearsal(workspace, config, tasks)
    with ExitStack() as stack:
        opened = stack.enter_context(open_screen(config, start))
        robot = None
        if start.robot is not None:
            robot = stack.enter_context(Robot(start.robot, opened.screen.size_px))

        def told(view: View) -> None:
            if robot is not None:
                robot.told(None, view)

        self_test(opened.screen, told)
        read_pages(opened.screen, "Practice", texts.INSTRUCTIONS["questions"], told)
        for number, (question, picture) in enumerate(questions):
            mask = make_mask(trials.mask, trials.shown_px, number)
            run = TrialRun(opened.screen, opened.schedule, question, picture, mask, told)
            if run.run().left:
                raise LeftError
        read_pages(opened.screen, texts.END_TITLE, "The practice is over.", told)
    return len(questions)
