"""The moments at which a scripted fault can change what happens.

The body meets each of these with its `FaultScript` before it acts; a fault edits the occasion,
and the body does what the edited occasion says. `picture` counts the exposures since the dark
room started, from 1: the one that is being set up, exposed or fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hardware_mocks.canon_properties import Destination
from schemas.exposure import Exposure


@dataclass
class Occasion:
    """Something is about to happen in the dark room."""

    picture: int


@dataclass
class Setting(Occasion):
    """The host sets a property. `refusal` is a response code; `ignored` answers OK and keeps."""

    prop: int
    value: int | None
    refusal: int | None = None
    ignored: bool = False


@dataclass
class Release(Occasion):
    """The host presses the release button fully. `refusal` is a response code."""

    destination: Destination
    refusal: int | None = None


@dataclass
class Fetch(Occasion):
    """The host downloads from picture `picture`."""

    dropped: bool = False


@dataclass
class ShutterOpens(Occasion):
    """An exposure begins; light and meter may change with it.

    Attributes
    ----------
    open_s : float
        How long the shutter is going to be open.
    blocked : bool
        The curtains do not open: no light reaches the sensor.
    flash_lux : float
        What a flash adds to the light on the scene; above 0 it fires.
    dark_frame : bool
        The body takes as long again for long-exposure noise reduction.
    """

    exposure: Exposure
    open_s: float = 0.0
    blocked: bool = False
    flash_lux: float = 0.0
    dark_frame: bool = False


@dataclass
class PictureMade(Occasion):
    """A file is about to be announced.

    Attributes
    ----------
    files : list of bytes
        What the body will announce, in order: one file unless a fault changes it.
    previous : bytes
        The file announced before this one; empty for the first.
    announcements : int
        How often the body tells of each file.
    another : callable
        Makes a picture with other settings, as one left in the buffer by someone else.
    """

    exposure: Exposure
    files: list[bytes]
    previous: bytes
    another: Callable[[], bytes]
    announcements: int = 1
