"""What a run needs to know before its first shot: by the preflight, or by its least part alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rig.bench import Bench
from rig.errors import Abort, AskOperator
from rig.preflight_task import not_offered
from rig.protocols import Camera, OfferedSettings
from schemas.plan import Shot

MANUAL = "Manual"


@dataclass(frozen=True)
class Readiness:
    """What the body offers, and what a run's record says of the checks before it.

    Attributes
    ----------
    offered : OfferedSettings
    warnings : tuple of str
        What a person should know before going home.
    events : tuple of (kind, detail)
        For the run's record.
    forced : bool
        Whether a failed check was overruled.
    """

    offered: OfferedSettings
    warnings: tuple[str, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    forced: bool = False


def check_readiness(bench: Bench, shots: Iterable[Shot]) -> Readiness:
    """Check an open bench against what is to be shot: mode dial and offered settings, no more.

    Raises
    ------
    AskOperator
        If the mode dial is not on M.
    Abort
        If the body does not offer a setting.
    """
    require_manual(bench.camera)
    offered = bench.camera.offered()
    missing = not_offered((shot.exposure for shot in shots), offered)
    if missing:
        raise Abort(
            f"this body does not offer {', '.join(missing)}",
            "take it out of the plan (`snaprig capture plan --help`), or check lens and zoom",
        )
    return Readiness(offered)


def require_manual(camera: Camera) -> None:
    """Raise AskOperator unless the mode dial is on M."""
    mode = camera.mode()
    if mode != MANUAL:
        raise AskOperator(
            f"the camera's mode dial is on {mode or 'an unknown mode'}",
            "turn the mode dial to M, then run the command again",
        )
