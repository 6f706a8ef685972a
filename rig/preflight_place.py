"""Checks of the host: room for the frames. Pure."""

from __future__ import annotations

from rig.preflight import Finding, Place, Status, judged

#: Beside the frames: catalog, journals, reports.
_FLOOR_BYTES = 200e6
_MARGIN = 1.2


def check_disk(place: Place, shots: int) -> Finding:
    """Whether the frames of `shots` fit, with a fifth to spare."""
    need = shots * place.frame_bytes * _MARGIN + _FLOOR_BYTES
    how = "measured" if place.measured else "estimated"
    return judged(
        "disk",
        place.free_bytes >= 2 * need,
        f"{place.free_bytes / 1e9:.1f} GB free",
        f"{need / 1e9:.1f} GB for {shots} shots of {place.frame_bytes / 1e6:.1f} MB ({how})",
        "make room on the disk of the workspace",
        Status.FAIL if place.free_bytes < need else Status.WARN,
    )
