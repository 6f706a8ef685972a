"""What to do after something went wrong: a ladder of ever stronger steps. Pure.

A ladder is data: rungs, each with the waits before its tries. Every failure climbs one try; one
success leads back to the ground; a failure that needs more than a low rung offers starts higher.
The last rung is always the operator. What the rungs do is the runner's (`capture.rescue`).

Device errors and refused pictures climb different ladders. A camera that does not answer is woken
with growing force, and no shot is given up for it. A picture that is not what was asked for has the
shot taken again and, after `--attempts` refusals, given up; but pictures that are refused shot
after shot mean that the rig is ill, not the shot.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rig.errors import Reconnect, RigError


class Rung(StrEnum):
    """A step; also the kind of its event in the catalog.

    ::

        retry ──> rebuild ──> reconnect ──> power_cycle ──> ask
          └─────────┴─────────────┴──────────────┴── a picture: back to the ground
    """

    RETRY = "retry"  # wait, then ask the body until it takes a setting
    REBUILD = "rebuild"  # a new camera object in place of a confused one, at once
    RECONNECT = "reconnect"  # let go of the camera, wait, find it anew
    POWER_CYCLE = "power_cycle"  # run rig.toml's command, wait for the body to start, reconnect
    ASK = "ask"  # only a person can go on


#: Rungs that a dead session makes pointless: reconnecting is what a rebuild would be.
_WITHIN_A_SESSION = frozenset({Rung.RETRY, Rung.REBUILD})


@dataclass(frozen=True)
class Step:
    """One try on a rung: wait so long, then do it."""

    rung: Rung
    wait_s: float = 0.0


#: Kinds of events that stand for an exposure in vain or for a step of a ladder.
COUNTED = frozenset(Rung) | frozenset(
    (
        "undecodable wrong_exif stale_picture stale_time stale_count flash_fired wrong_size zoomed "
        "silent_black doubtful_black withdrawn_black too_dark too_bright bad_reference scene_moved "
        "light_refused"
    ).split()
)

#: For errors that a device raised.
CAMERA_LADDER: tuple[Step, ...] = (
    Step(Rung.RETRY, 0.5),
    Step(Rung.RETRY, 2.0),
    Step(Rung.RETRY, 5.0),
    Step(Rung.REBUILD),
    Step(Rung.RECONNECT, 0.5),
    Step(Rung.RECONNECT, 2.0),
    Step(Rung.RECONNECT, 5.0),
    Step(Rung.POWER_CYCLE),
    Step(Rung.RECONNECT, 5.0),
    Step(Rung.RECONNECT, 10.0),
    Step(Rung.ASK),
)
#: For pictures that were refused, one after the other with none believed between.
PICTURE_LADDER: tuple[Step, ...] = (
    Step(Rung.RETRY),
    Step(Rung.REBUILD),
    Step(Rung.RETRY),
    Step(Rung.RECONNECT, 2.0),
    Step(Rung.RETRY),
    Step(Rung.RETRY),
    Step(Rung.POWER_CYCLE),
    Step(Rung.RETRY),
    Step(Rung.RETRY),
    Step(Rung.ASK),
)


@dataclass(frozen=True)
class Climb:
    """A position on a ladder: on its step number `at`, from 1; 0 is the ground."""

    ladder: tuple[Step, ...]
    at: int = 0
    failures: int = 0

    def next(self, error: RigError | None = None, *, can_power_cycle: bool = False) -> Climb:
        """Where one more failure leads.

        Parameters
        ----------
        error : RigError or None
            A dead session (`Reconnect`) needs the rung ``reconnect`` at least.
        can_power_cycle : bool
            Whether `rig.toml` has a command for that rung. Without one, the tries that follow
            it have nothing to hope for either, and the operator is asked.
        """
        top = len(self.ladder)
        for at in range(self.at + 1, top):
            rung = self.ladder[at - 1].rung
            if rung is Rung.POWER_CYCLE and not can_power_cycle:
                break
            if not (isinstance(error, Reconnect) and rung in _WITHIN_A_SESSION):
                return Climb(self.ladder, at, self.failures + 1)
        return Climb(self.ladder, top, self.failures + 1)

    def success(self) -> Climb:
        """Back to the ground."""
        return Climb(self.ladder)

    @property
    def step(self) -> Step | None:
        """What to do now; None on the ground."""
        return self.ladder[self.at - 1] if self.at else None


def deadline_s(shutter_s: float, margin_s: float) -> float:
    """Seconds to wait for a picture: long-exposure noise reduction takes a dark frame as long.

    Seen in libgphoto2#503 and indi-3rdparty#956.
    """
    return 2.0 * shutter_s + margin_s
