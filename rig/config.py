"""`rig.toml`: which devices, which lights."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, ValidationError, field_validator

from rig.errors import Abort
from rig.gphoto_names import complete_port
from rig.power import PowerSwitch
from schemas.plan import FrozenModel, Lighting


class CameraConfig(FrozenModel):
    """`[camera]`: where the body is, and what it is set to for a session.

    Attributes
    ----------
    port : str
        ``usb:``, ``usb:BUS,DEVICE`` or ``ptpip:ADDRESS:PORT:PORT``.
    target : {"Internal RAM", "Memory card"}
        Where a picture waits in the body until it is fetched.
    image_format : str
        A JPEG format by libgphoto2's name; ``S2`` is 1920 x 1280 (``Smaller JPEG`` in older
        versions: any version's name will do).
    white_balance, picture_style : str
        What an automatic one is replaced with for a session; one that is fixed stays.
    mains : bool
        Whether the body runs on a mains adapter.
    lens : str
        Part of the lens's name; empty takes any.
    focal_length_mm : float
        Where the zoom is to stand.
    margin_s : float
        A picture is waited for twice its exposure and so long.
    power_cycle : tuple of str
        Program and arguments that switch the camera off and on; empty where nothing can.
    power_cycle_timeout_s, boot_s : float
        How long that may take, and how long the body takes to answer afterwards.
    """

    port: str = "usb:"
    target: Literal["Internal RAM", "Memory card"] = "Internal RAM"
    image_format: str = "S2"
    white_balance: str = Field(default="Daylight", min_length=1)
    picture_style: str = Field(default="Standard", min_length=1)
    mains: bool = False
    lens: str = ""
    focal_length_mm: float = Field(default=35, gt=0)
    margin_s: float = Field(default=15.0, ge=1)
    power_cycle: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    power_cycle_timeout_s: float = Field(default=60.0, gt=0, le=600)
    boot_s: float = Field(default=10.0, ge=0, le=600)

    @property
    def power_switch(self) -> PowerSwitch:
        """What switches the camera off and on."""
        return PowerSwitch(self.power_cycle, self.power_cycle_timeout_s, self.boot_s)

    @field_validator("port")
    @classmethod
    def _complete(cls, port: str) -> str:
        return complete_port(port)


class MeterConfig(FrozenModel):
    """`[meter]`: ``usb`` or the ``ADDRESS:PORT`` of a hub; a serial number where it has several."""

    hub: str = Field(default="usb", min_length=1)
    serial: str = ""


class PreflightConfig(FrozenModel):
    """`[preflight]`: what the checks before a run hold the rig to.

    Attributes
    ----------
    battery_shots : int
        Shots that a full battery gives.
    shutter_life : int
        Shots that the shutter is trusted for.
    clock_s : float
        Allowed difference of the camera's clock from the host's.
    meter_noise : float
        Allowed standard deviation of the meter, as a share of its mean.
    flicker : float
        Allowed spread of the light over a burst, as a share of its mean; three times that fails.
    frame_mb : float
        Size of a frame in megabytes, until there are some to measure.
    """

    battery_shots: int = Field(default=500, gt=0)
    shutter_life: int = Field(default=100_000, gt=0)
    clock_s: float = Field(default=60, gt=0)
    meter_noise: float = Field(default=0.01, gt=0, lt=1)
    flicker: float = Field(default=0.10, gt=0, lt=1)
    frame_mb: float = Field(default=2.0, gt=0)


class GuardConfig(FrozenModel):
    """`[guard]`: what a run does while its light is wrong.

    Attributes
    ----------
    patience_min : float
        It waits so many minutes, then it ends and can be resumed.
    """

    patience_min: float = Field(default=30.0, gt=0)


class AlertsConfig(FrozenModel):
    """`[alerts]`: how the daemon tells somebody who looks at no page.

    Attributes
    ----------
    webhook : str
        Gets each alert as JSON by POST; empty for none.
    ntfy : str
        A topic of an ntfy server, e.g. ``https://ntfy.example/rig``; gets text.
    command : tuple of str
        Program and arguments; gets the JSON on its standard input.
    repeat_min : float
        Repeated after so many minutes, until somebody acknowledges it.
    timeout_s : float
        A sender that takes longer is given up.
    """

    webhook: str = Field(default="", pattern="^(https?://.+)?$")
    ntfy: str = Field(default="", pattern="^(https?://.+)?$")
    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    repeat_min: float = Field(default=10.0, ge=0.1, le=1440)
    timeout_s: float = Field(default=10.0, gt=0, le=60)


class RigConfig(FrozenModel):
    """A whole `rig.toml`. Every key is optional, no unknown one is accepted."""

    camera: CameraConfig = CameraConfig()
    meter: MeterConfig = MeterConfig()
    preflight: PreflightConfig = PreflightConfig()
    guard: GuardConfig = GuardConfig()
    alerts: AlertsConfig = AlertsConfig()
    lighting: dict[str, Lighting] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a `rig.toml`.

        Raises
        ------
        Abort
            When it is missing or says something it cannot mean; the message names the key, and
            the nearest known one for a misspelled key.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise Abort(f"{path} does not exist.", "Make a workspace: snaprig init DIR.") from error
        except OSError as error:
            raise Abort(f"{path} cannot be read: {error}", "Check its permissions.") from error
        return cls.parse(text, source=str(path))

    @classmethod
    def parse(cls, text: str, source: str = "rig.toml") -> Self:
        """The configuration in `text`; `source` is what errors call it. Raises Abort."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Abort(f"{source} is not valid TOML: {error}", f"Correct {source}.") from error
        lighting = tables.get("lighting")
        if isinstance(lighting, dict):
            tables["lighting"] = {
                name: _named(name, light, source) for name, light in lighting.items()
            }
        try:
            return cls.model_validate(tables)
        except ValidationError as error:
            lines = "; ".join(_explanations(error))
            raise Abort(f"{source}: {lines}.", f"Correct {source}.") from error

    def overridden(self, camera: str | None = None, hub: str | None = None) -> Self:
        """A copy with `--camera PORT` and `--hub HUB` in place of the file's. Raises Abort."""
        changes: dict[str, object] = {}
        if camera is not None:
            changes["camera"] = self.camera.model_copy(update={"port": complete_port(camera)})
        if hub is not None:
            changes["meter"] = self.meter.model_copy(update={"hub": hub})
        return self.model_copy(update=changes)

    def lighting_named(self, name: str) -> Lighting:
        """The `[lighting.NAME]` table. Raises Abort, naming those there are."""
        if name not in self.lighting:
            known = ", ".join(sorted(self.lighting)) or "none"
            raise Abort(
                f"There is no lighting {name!r} in rig.toml (known: {known}).",
                f"Add [lighting.{name}] with lux, tolerance and ev_reference.",
            )
        return self.lighting[name]


def default_rig_toml(camera: str | None = None, hub: str | None = None) -> str:
    """The `rig.toml` that `snaprig init` writes, with comments; USB devices unless told."""
    port = complete_port(camera or "usb:")
    return f"""\
# The devices and lights of this workspace. --camera and --hub override the first two.

[camera]
port = "{port}"                 # or "ptpip:ADDRESS:PORT:PORT" over Wi-Fi
target = "Internal RAM"       # or "Memory card", if the body has one and RAM gives trouble
image_format = "S2"           # 1920 x 1280 JPEG on a T7
mains = false                 # true: it runs on a mains adapter, not on a battery
# power_cycle = ["uhubctl", "-a", "cycle", "-p", "2"]   # switches a camera that hangs off and on

[meter]
hub = "{hub or "usb"}"                   # or "ADDRESS:PORT" of a VirtualHub
# serial = "LIGHTMK3-012345"  # where the hub has several

[guard]
patience_min = 30             # how long a run waits for its light before it ends, resumable

[lighting.bright]
lux = 1000
tolerance = 0.10              # share of lux
ev_reference = 11             # the EV that exposes well: EV offset 0
# hysteresis = 0.2            # once wrong, the light is back when nearer than that to the target:
# settle_s = 2.0              # within (1 - hysteresis) of the tolerance, for settle_s seconds

[lighting.dim]
lux = 10
tolerance = 0.10
ev_reference = 5
"""


def _named(name: str, light: object, source: str) -> object:
    if not isinstance(light, dict):
        return light
    if "name" in light:
        raise Abort(
            f"{source}: [lighting.{name}] has a key 'name'; its name is that of the table.",
            "Remove the key.",
        )
    return {**light, "name": name}


def _explanations(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False):
        path = [str(part) for part in fault["loc"]]
        where = ".".join(path)
        if fault["type"] != "extra_forbidden":
            yield f"{where}: {fault['msg']}"
            continue
        known = _known_keys(path[:-1])
        near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        yield f"unknown key {where!r} ({hint})"


def _known_keys(path: list[str]) -> list[str]:
    models: Mapping[tuple[str, ...], type[BaseModel]] = {
        (): RigConfig,
        ("camera",): CameraConfig,
        ("meter",): MeterConfig,
        ("preflight",): PreflightConfig,
        ("guard",): GuardConfig,
        ("alerts",): AlertsConfig,
    }
    model = Lighting if path[:1] == ["lighting"] else models[tuple(path)]
    return [key for key in model.model_fields if not (model is Lighting and key == "name")]
