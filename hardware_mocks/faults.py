"""Faults as scripts: what went wrong in public reports, at a stated picture, never by dice.

A fault is one small function, registered under its name for one kind of occasion
(`hardware_mocks.occasions`); all of them stand in `hardware_mocks.named_faults`. It edits the
occasion, or acts on the room's light, meter and body, and returns whether it struck. A script is
a TOML file::

    [[fault]]
    name = "lux_step_mid_exposure"
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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hardware_mocks.occasions import Occasion

if TYPE_CHECKING:  # a list of the faults is printed without numpy and Pillow
    from hardware_mocks.canon_body import CanonBody
    from hardware_mocks.light import Light
    from hardware_mocks.light_meter import VirtualLightMeter
    from hardware_mocks.yocto_hub import YoctoHub

Parameters = Mapping[str, Any]
OccasionT = TypeVar("OccasionT", bound=Occasion)


class Room(Protocol):
    """What a fault can act on."""

    @property
    def body(self) -> CanonBody:
        """The camera body."""
        ...

    @property
    def light(self) -> Light:
        """The one light."""
        ...

    @property
    def meter(self) -> VirtualLightMeter:
        """The light meter."""
        ...

    @property
    def hub(self) -> YoctoHub:
        """What the meter hangs on."""
        ...

    def switch_camera(self, *, on: bool) -> None:
        """Give the camera power, or take it."""
        ...

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something after a while, unless the room is closed before."""
        ...


class UnknownFaultError(ValueError):
    """A fault script names a fault or a key that does not exist."""


@dataclass(frozen=True)
class Fault:
    """A registered fault.

    Attributes
    ----------
    part : str
        What it befalls: camera, light or host.
    keys : dict
        Key -> default value (its type is the key's type), or a type where the key is required.
    """

    name: str
    description: str
    report: str
    part: str
    occasion: type[Occasion]
    keys: Mapping[str, Any]
    strike: Callable[[Room, Any, Parameters], bool]


class FaultRegistry(dict[str, Fault]):
    """Faults of one part by name, filled by decorated functions."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self._part = part

    def fault(
        self,
        occasion: type[OccasionT],
        *,
        report: str,
        keys: Mapping[str, Any] | None = None,
    ) -> Callable[[Callable[[Room, OccasionT, Parameters], bool]], Callable[..., bool]]:
        """Register a function under its own name; its docstring is the one-line description."""

        def register(strike: Callable[[Room, OccasionT, Parameters], bool]) -> Callable[..., bool]:
            name = strike.__name__
            description = " ".join((strike.__doc__ or "").split())
            self[name] = Fault(
                name, description, report, self._part, occasion, dict(keys or {}), strike
            )
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
    def parse(cls, entry: Mapping[str, Any], registry: Mapping[str, Fault]) -> Scripted:
        """An entry of a script; raises UnknownFaultError with what would have been right."""
        extra = dict(entry)
        name, at, times = extra.pop("name", None), extra.pop("at", None), extra.pop("times", 1)
        if name not in registry:
            raise UnknownFaultError(f"no fault {name!r}; known: {', '.join(sorted(registry))}")
        for key, number in (("at", at), ("times", times)):
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise UnknownFaultError(f"{name}: {key} must be a whole number from 1")
        known = registry[name].keys
        if unknown := sorted(set(extra) - set(known)):
            allowed = ", ".join(["at", "times", *known])
            raise UnknownFaultError(f"{name} has no {', '.join(unknown)}; keys: {allowed}")
        values = {key: _value(name, key, known[key], extra) for key in known}
        return cls(registry[name], at, times, values)


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


def load_script(path: Path, registry: Mapping[str, Fault]) -> list[Scripted]:
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
    return [Scripted.parse(entry, registry) for entry in entries]


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

    def clear(self) -> None:
        """Nothing more goes wrong."""
        with self._lock:
            self._faults.clear()

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
