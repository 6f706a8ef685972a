"""Many presentations on the real screen, and many keys from another process: how exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiment.image_preparation import make_mask
from experiment.inputs import Key, KeyPress
from experiment.robot import Robot
from experiment.timing import Evidence, Mode, Refresh, Schedule
from experiment.trial import POLL_S, REDRAW_S, AnswerKind, Question, TrialRun
from experiment.views import Page, Screen

#: Pictures that the presentations take in turn.
PICTURES = 4

#: After the last key was sent, so long is waited for those that are still on their way.
PATIENCE_S = 2.0


@dataclass(frozen=True)
class BurnIn:
    """What was measured.

    Attributes
    ----------
    evidence : tuple of Evidence
        One a presentation.
    stamp_errors_s : tuple of float
        Of each key: stamped minus sent, through the window system; not through a keyboard.
    keys_sent, keys_lost : int
    """

    refresh: Refresh
    schedule: Schedule
    evidence: tuple[Evidence, ...]
    stamp_errors_s: tuple[float, ...] = ()
    keys_sent: int = 0
    keys_lost: int = 0


def present(
    screen: Screen,
    schedule: Schedule,
    shown_px: tuple[int, int],
    trials: int,
    progressed: Callable[[], None] = lambda: None,
) -> tuple[Evidence, ...]:
    """Show fixation, picture, mask and a question, so often, exactly as a session does."""
    pictures = [make_mask("noise", shown_px, 1000 + number) for number in range(PICTURES)]
    mask = make_mask("noise", shown_px, 0)
    question = Question("Burn-in", AnswerKind.TEXT)
    found = []
    for number in range(trials):
        run = TrialRun(screen, schedule, question, pictures[number % PICTURES], mask)
        found.append(run.present())
        progressed()
    return tuple(found)


def stamp_keys(screen: Screen, robot: Robot, count: int) -> tuple[tuple[float, ...], int]:
    """Errors of stamped keys in seconds, and how many were lost.

    The screen stands still, as it does while a question is visible. Keys that were lost cannot
    be told from those that came: with a loss, no errors are given.
    """
    page = Page("Keys", "Another program is pressing the space bar.")
    screen.inputs()
    screen.draw(page)
    drawn_s = screen.flip()
    robot.send({"view": "stamps", "count": count})
    stamped: list[float] = []
    quiet_s = screen.now_s()
    while len(stamped) < count and screen.now_s() - quiet_s < PATIENCE_S:
        for event in screen.inputs():
            if isinstance(event, KeyPress) and event.key is Key.SPACE:
                stamped.append(event.at_s)
                quiet_s = screen.now_s()
        if screen.now_s() - drawn_s >= REDRAW_S:
            screen.draw(page)
            drawn_s = screen.flip()
        screen.wait_until(screen.now_s() + POLL_S)
    sent = [report["down_s"] for report in robot.answers()]
    lost = len(sent) - len(stamped)
    errors = () if lost else tuple(at - down for at, down in zip(stamped, sent, strict=True))
    return errors, lost


def verdict(found: BurnIn) -> str:
    """Whether this screen can be trusted, in one sentence."""
    good = sum(one.verdict == "proven" for one in found.evidence)
    dropped = sum(one.dropped for one in found.evidence)
    schedule, trials = found.schedule, len(found.evidence)
    if schedule.mode is Mode.CLOCK:
        return (
            f"Unproven: {found.refresh.fault}; {trials} presentations were kept by a clock, and "
            "nobody can tell when they were visible."
        )
    frames = schedule.frames(schedule.image_s)
    said = (
        f"{good} of {trials} presentations lasted {frames} refreshes of {schedule.refresh_hz:.2f} "
        f"Hz ({schedule.achievable_s(schedule.image_s) * 1e3:.1f} ms for "
        f"{schedule.image_s * 1e3:g} ms wanted), {dropped} refreshes were dropped"
    )
    if good == trials:
        return f"Proven by the times of flips: {said}; a photodiode would tell the light itself."
    return f"Not good enough: {said}; end other programs, switch the compositor off."
