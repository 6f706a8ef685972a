"""Spellings that differ between libgphoto2 versions, and ports as people write them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from rig.errors import Abort

#: What each setting is called, newest libgphoto2 first. A T7's 1920 x 1280 JPEG is "S2" since
#: 2.5.32 and "Smaller JPEG" before; the rest of its formats for rigs that want another one.
IMAGE_FORMATS: tuple[tuple[str, ...], ...] = (
    ("L", "Large Fine JPEG"),
    ("cL", "Large Normal JPEG"),
    ("M", "Medium Fine JPEG"),
    ("cM", "Medium Normal JPEG"),
    ("S1", "Small Fine JPEG"),
    ("cS1", "Small Normal JPEG"),
    ("S2", "Smaller JPEG"),
    ("S3", "Tiny JPEG"),
)

#: White balances that follow the picture; the second one's name came with 2.5.24 or so.
AUTO_WHITE_BALANCE = frozenset({"Auto", "AWB White", "Unknown value 0017"})
#: The white balance made from a picture of a gray card.
CUSTOM_WHITE_BALANCE = frozenset({"Manual", "Custom"})
#: The picture style that follows the scene.
AUTO_PICTURE_STYLE = frozenset({"Auto"})
#: How the body spells a focus switch on MF.
MANUAL_FOCUS = frozenset({"Manual", "MF"})

TARGETS = ("Internal RAM", "Memory card")

#: Press and release of the shutter button that asks nothing of the autofocus; the names of
#: the release changed in 2.5.34.
PRESS_WITHOUT_FOCUS = "Press Full MF"
LET_GO: tuple[str, ...] = ("Release", "Release Full")

_PTPIP_PORT = 15740


def same_format(one: str, other: str) -> bool:
    """Whether two spellings name one image format."""
    return pick(one, (other,)) is not None


def pick(wanted: str, offered: Iterable[str]) -> str | None:
    """`wanted` as the body spells it (any alias of an image format), or None if not offered."""
    names = tuple(offered)
    aliases = next((group for group in IMAGE_FORMATS if wanted in group), (wanted,))
    return next((name for name in (wanted, *aliases) if name in names), None)


def complete_port(port: str) -> str:
    """A gPhoto2 port with nothing left to defaults.

    libgphoto2 sends commands and events to two ports that default to 15740 independently, so
    that ``ptpip:10.0.0.5:15803`` waits for its events at a port where nobody listens. Here the
    event port follows the command port, and both are always written out.

    Raises
    ------
    Abort
        For anything but ``usb:``, ``usb:BUS,DEVICE`` and ``ptpip:IPv4[:COMMAND[:EVENT]]``.
    """
    if port == "usb" or port.startswith("usb:"):
        return port if ":" in port else "usb:"
    kind, _, rest = port.partition(":")
    address, *ports = rest.split(":")
    if kind != "ptpip" or len(ports) > 2 or not all(map(_is_port, ports)):
        raise Abort(
            f"{port!r} is not a camera port.",
            'Write "usb:" or "ptpip:ADDRESS:PORT:PORT" under [camera] in rig.toml (or --camera).',
        )
    try:
        ipaddress.IPv4Address(address)  # libgphoto2 looks no names up
    except ValueError as error:
        raise Abort(
            f"{address!r} in the camera port {port!r} is not an IPv4 address.",
            "Write the camera's address in numbers, e.g. ptpip:192.168.1.20:15740:15740.",
        ) from error
    command = ports[0] if ports else str(_PTPIP_PORT)
    event = ports[1] if len(ports) == 2 else command
    return f"ptpip:{address}:{command}:{event}"


def _is_port(text: str) -> bool:
    return text.isdigit() and 0 < int(text) < 65536
