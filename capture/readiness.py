"""What must hold before the first shot. The full preflight will stand on top of this."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from capture.verification import snap
from rig.bench import Bench
from rig.errors import Abort, AskOperator, RigError
from rig.protocols import Camera, OfferedSettings
from schemas.exposure import parse_f_number, parse_shutter_s, spell_shutter
from schemas.plan import Lighting, Shot

MANUAL = "Manual"


@dataclass(frozen=True)
class Readiness:
    """What the body offers, and what a person should know before going home."""

    offered: OfferedSettings
    warnings: tuple[str, ...] = ()


def check_readiness(bench: Bench, shots: Iterable[Shot], lighting: Lighting) -> Readiness:
    """Check an open bench against what is to be shot.

    Raises
    ------
    AskOperator
        If the mode dial is not on M.
    Abort
        If the body does not offer a setting.
    """
    require_manual(bench.camera)
    offered = bench.camera.offered()
    missing = not_offered(shots, offered)
    if missing:
        raise Abort(
            f"this body does not offer {', '.join(missing)}",
            "take it out of the plan (`snaprig capture plan --help`), or check lens and zoom",
        )
    return Readiness(offered, tuple(_light_warnings(bench, lighting)))


def require_manual(camera: Camera) -> None:
    """Raise AskOperator unless the mode dial is on M."""
    mode = camera.mode()
    if mode != MANUAL:
        raise AskOperator(
            f"the camera's mode dial is on {mode or 'an unknown mode'}",
            "turn the mode dial to M, then run the command again",
        )


def not_offered(shots: Iterable[Shot], offered: OfferedSettings) -> list[str]:
    """The settings of `shots` that the body lacks, each once, in words."""
    missing: dict[str, None] = {}
    for exposure in (shot.exposure for shot in shots):
        if snap(exposure.shutter_s, offered.shutter, parse_shutter_s) is None:
            missing[f"{spell_shutter(exposure.shutter_s)} s"] = None
        if str(exposure.iso) not in offered.iso:
            missing[f"ISO {exposure.iso}"] = None
        if snap(exposure.f_number, offered.f_number, parse_f_number, 2.0) is None:
            missing[f"f/{exposure.f_number:g}"] = None
    return list(missing)


def _light_warnings(bench: Bench, lighting: Lighting) -> Iterable[str]:
    low, high = lighting.band_lux
    try:
        lux = bench.meter.read().lux
    except RigError as error:
        yield f"WARNING: the light meter gives no reading: {error}"
        return
    if not low <= lux <= high:
        yield (
            f"WARNING: {lux:.4g} lux, but lighting {lighting.name!r} is {lighting.lux:g} lux "
            f"({low:.4g} to {high:.4g}): check the lamps; the frames are labeled with what the "
            "meter reads"
        )
