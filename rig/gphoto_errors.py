"""What a libgphoto2 error code means for a run, and who else holds a camera.

Free of the library itself: codes are libgphoto2's, which never change.
"""

from __future__ import annotations

from pathlib import Path

from rig.errors import AskOperator, Reconnect, Retry, RigError

GENERIC = -1
BAD_PARAMETERS = -2
IO = -7
TIMEOUT = -10
USB_FIND = -52
USB_CLAIM = -53
MODEL_NOT_FOUND = -105
BUSY = -110

#: Codes after which the session does not answer any more: lost pipe, lost device, no answer.
_DEAD = frozenset(
    {IO, TIMEOUT, -31, -34, -35, -37, -51, USB_FIND, -70, MODEL_NOT_FOUND, -113, -114}
)


class Busy(Retry):
    """The body is busy with something else; nothing is known to be wrong."""


_CABLE = "Check that the camera is switched on, awake and connected (cable or Wi-Fi)."


def translate(code: int, text: str, doing: str) -> RigError:
    """The error to raise for a libgphoto2 error while `doing` something.

    Parameters
    ----------
    code : int
        libgphoto2's error code, negative.
    text : str
        libgphoto2's own words for it.
    doing : str
        Completes "Could not …", e.g. ``set iso to 400``.

    Notes
    -----
    -1 is ambiguous: a value that is not offered, a lost focus, a full store and the first call
    after a dropped connection all end in it. It is a Retry here; whoever knows more (a fresh
    list of choices, a second call that ends in -7) decides.
    """
    what = f"Could not {doing}: {text} [{code}]."
    if code == BUSY:
        return Busy(
            f"Could not {doing}: the camera is busy [{code}].",
            "Wait and try again. If it stays busy, set the lens to MF, then switch the camera "
            "off and on.",
        )
    if code == USB_CLAIM:
        names = ", ".join(holders())
        return AskOperator(
            f"Another program holds the camera: {names or 'unknown'} [{code}].",
            f"Close {names or 'every program that shows photographs or tethers cameras'} "
            "(on GNOME: `gio mount -s gphoto2` or log out of the desktop), then resume.",
        )
    if code in _DEAD:
        return Reconnect(what, _CABLE)
    return Retry(what, "Try again; if it happens again, reconnect the camera.")


def holders(proc: Path = Path("/proc")) -> list[str]:
    """Names of the other programs that have a USB device node open, or are known to take cameras.

    Reads `proc` (Linux); programs of other users are found by name only. Empty where nothing
    is known.
    """
    known = ("gvfs-gphoto2", "gvfsd-gphoto2", "gphoto2", "entangle", "darktable", "digikam")
    found: set[str] = set()
    for folder in proc.glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            if folder.name == _own_pid():
                continue
            if name.startswith(known) or _opens_usb(folder / "fd"):
                found.add(f"{name} (process {folder.name})")
        except OSError:
            continue  # it ended, or it belongs to another user
    return sorted(found)


def _opens_usb(descriptors: Path) -> bool:
    return any(str(fd.readlink()).startswith("/dev/bus/usb/") for fd in descriptors.iterdir())


def _own_pid() -> str:
    return Path("/proc/self").resolve().name
