"""What is checked before a participant sits down: the screen, the pictures, the keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from experiment.config import ExperimentConfig
from experiment.errors import ExperimentError
from experiment.image_preparation import open_picture
from experiment.records import ParticipantPlan
from experiment.screen import ScreenFacts
from experiment.timing import Refresh, Schedule, degrees
from schemas.workspace import Workspace

#: Questions with four columns of options, and pages, need so much room.
LEAST_PX = (1200, 760)


class Level(StrEnum):
    """What a finding means for the session."""

    OK = "ok"
    NOTE = "note"
    FAIL = "fail"


@dataclass(frozen=True)
class Check:
    """One finding, in words for the experimenter."""

    name: str
    level: Level
    text: str


def check_screen(
    facts: ScreenFacts,
    refresh: Refresh,
    config: ExperimentConfig,
    *,
    proof_needed: bool,
    robot: bool,
) -> list[Check]:
    """Findings about the screen, the worst of each kind.

    Parameters
    ----------
    proof_needed : bool
        Refuse a screen whose timing cannot be proven, rather than mark its trials.
    robot : bool
        No person: what only a person's eyes need is noted, not refused.
    """
    unproven = Level.FAIL if proof_needed else Level.NOTE
    for_eyes = Level.NOTE if robot else Level.FAIL
    return [
        _size(facts, config),
        _refresh(refresh, unproven),
        _session_type(facts, unproven),
        _compositor(facts),
        _durations(Schedule.on(refresh, **_durations_s(config))),
        _screens(facts, config),
        _renderer(facts),
        _gamma(facts, for_eyes),
        _angle(facts, config, for_eyes),
        _priority(facts),
    ]


def visual_angle(facts: ScreenFacts, config: ExperimentConfig) -> tuple[float, float] | None:
    """Degrees of the picture's width and height; None where the screen's width is unknown.

    Pixels are taken to be square.
    """
    width_cm, distance_cm = config.display.width_cm, config.display.distance_cm
    if width_cm is None:
        return None
    screen_px = facts.window_px[0]
    wide, high = (
        degrees(side, screen_px, width_cm, distance_cm) for side in config.experiment.shown_px
    )
    return round(wide, 3), round(high, 3)


def check_pictures(
    workspace: Workspace,
    plan: ParticipantPlan,
    shown_px: tuple[int, int],
    progressed: Callable[[], None] = lambda: None,
) -> int:
    """Open and hash every picture of a plan; how many files there are.

    Raises
    ------
    ExperimentError
        For the first that is missing, damaged, changed, or of another size.
    """
    seen = set()
    for trial in plan.trials:
        if trial.path not in seen:
            seen.add(trial.path)
            prepared = open_picture(
                workspace.resolve(trial.path), shown_px, fit=trial.task == "choice"
            )
            if prepared.sha256 != trial.sha256:
                raise ExperimentError(
                    f"{trial.path} is not the file that the catalog knows: `snaprig check`"
                )
        progressed()
    return len(seen)


def failures(checks: list[Check]) -> str:
    """The failed checks as one line; empty if there is none."""
    return "; ".join(check.text for check in checks if check.level is Level.FAIL)


def _size(facts: ScreenFacts, config: ExperimentConfig) -> Check:
    window, buffer, screen = facts.window_px, facts.frame_buffer_px, facts.screen_px
    least = tuple(map(max, LEAST_PX, config.experiment.shown_px))
    if window != screen:
        text = f"the window has {_px(window)}, the screen {_px(screen)}: it does not fill it"
    elif buffer != window:
        text = (
            f"the system scales the window of {_px(window)} to {_px(buffer)}: set the scaling of "
            "this screen to 100 %"
        )
    elif window[0] < least[0] or window[1] < least[1]:
        text = f"the screen has {_px(window)}, at least {_px((least[0], least[1]))} are needed"
    else:
        return Check("size", Level.OK, f"{_px(window)}, full screen, not scaled")
    return Check("size", Level.FAIL, text)


def _refresh(refresh: Refresh, unproven: Level) -> Check:
    if refresh.proven:
        text = f"{refresh.measured_hz:.2f} Hz, SD {refresh.sd_s * 1e3:.2f} ms"
        return Check("refresh", Level.OK, text)
    hint = "" if unproven is Level.NOTE else " (`--timing unproven` marks the trials instead)"
    return Check("refresh", unproven, refresh.fault + hint)


def _session_type(facts: ScreenFacts, unproven: Level) -> Check:
    if facts.session_type == "wayland":
        text = "the desktop runs on Wayland, which says nothing about when a flip is visible: log "
        return Check("desktop", unproven, text + "in to an X11 session")
    return Check("desktop", Level.OK, facts.session_type or "no desktop session")


def _compositor(facts: ScreenFacts) -> Check:
    if facts.compositor:
        text = (
            "a compositor is running: it may delay every flip by a refresh; switch it off, or "
            "measure the delay with the photodiode square"
        )
        return Check("compositor", Level.NOTE, text)
    return Check("compositor", Level.OK, "none")


def _durations(schedule: Schedule) -> Check:
    said = ", ".join(
        f"{name} {wish * 1e3:g} ms: {schedule.frames(wish)} refreshes, "
        f"{schedule.achievable_s(wish) * 1e3:.1f} ms"
        for name, wish in (("image", schedule.image_s), ("mask", schedule.mask_s))
    )
    return Check("durations", Level.OK, f"{said} ({schedule.mode})")


def _screens(facts: ScreenFacts, config: ExperimentConfig) -> Check:
    if facts.screens > 1:
        text = (
            f"{facts.screens} screens; this is number {config.display.screen}. Only one should be "
            "on: screens of different refresh disturb each other"
        )
        return Check("screens", Level.NOTE, text)
    return Check("screens", Level.OK, "one")


def _renderer(facts: ScreenFacts) -> Check:
    slow = any(name in facts.renderer.lower() for name in ("llvmpipe", "softpipe", "swrast"))
    text = f"{facts.renderer}" + (": drawn by the processor, not by a graphics card" * slow)
    return Check("graphics", Level.NOTE if slow else Level.OK, text)


def _gamma(facts: ScreenFacts, for_eyes: Level) -> Check:
    wanted, problem = facts.gamma.get("wanted"), facts.gamma.get("problem", "")
    if wanted is not None and not facts.gamma.get("applied"):
        text = f"[display] gamma = {wanted:g} could not be set: {str(problem)[:120]}"
        return Check("gamma", for_eyes, text)
    if problem:
        return Check("gamma", Level.NOTE, "left as it is; the system does not tell it")
    return Check("gamma", Level.OK, "left as it is" if wanted is None else f"set to {wanted:g}")


def _angle(facts: ScreenFacts, config: ExperimentConfig, for_eyes: Level) -> Check:
    angle = visual_angle(facts, config)
    if angle is None:
        text = "the width of the screen is not known: put `width_cm` under [display] into "
        return Check("angle", for_eyes, text + "experiment.toml")
    text = f"{angle[0]:.1f} x {angle[1]:.1f} degrees at {config.display.distance_cm:g} cm"
    return Check("angle", Level.OK, text)


def _priority(facts: ScreenFacts) -> Check:
    if facts.high_priority:
        return Check("priority", Level.OK, "raised")
    text = "not raised (the system allows it to root only): end other programs"
    return Check("priority", Level.NOTE, text)


def _durations_s(config: ExperimentConfig) -> dict[str, float]:
    trials = config.experiment
    return {
        "fixation_s": trials.fixation_s,
        "image_s": trials.image_s,
        "mask_s": trials.mask_s,
    }


def _px(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} px"
