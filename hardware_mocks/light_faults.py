"""Faults of the light, and of the meter and the hub that watch it."""

from __future__ import annotations

from hardware_mocks.faults import FaultRegistry, Parameters, Room
from hardware_mocks.occasions import ShutterOpens

LIGHT = FaultRegistry("light")
#: Seconds until things are right again; 0: until somebody sees to it.
_FOR_A_WHILE = {"for_s": 3.0}


@LIGHT.fault(
    ShutterOpens,
    report="the paper's rule: illuminance is held",
    keys={"lux": float, "for_s": 0.0},
)
def lux_step_mid_exposure(room: Room, opens: ShutterOpens, parameters: Parameters) -> bool:
    """Half-way through the exposure the light steps to `lux`, for `for_s` seconds or for good."""
    before, after_s = room.light.lux, opens.open_s / 2
    room.light.set(parameters["lux"], after_s=after_s)
    if parameters["for_s"] > 0:
        room.light.set(before, after_s=after_s + parameters["for_s"])
    return True


@LIGHT.fault(
    ShutterOpens,
    report="lamps that warm up",
    keys={"lux": float, "over_s": 10.0, "for_s": 0.0},
)
def lux_drift(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light drifts to `lux` over `over_s` seconds, and back after `for_s` more unless 0."""
    before, over_s = room.light.lux, parameters["over_s"]
    room.light.set(parameters["lux"], over_s)
    if parameters["for_s"] > 0:
        room.light.set(before, over_s, after_s=over_s + parameters["for_s"])
    return True


@LIGHT.fault(ShutterOpens, report="Yoctopuce manuals, Error handling", keys=_FOR_A_WHILE)
def meter_unplugged(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The meter loses its cable as the shutter opens, for `for_s` seconds or for good."""
    room.meter.unplug(parameters["for_s"] or None)
    return True


@LIGHT.fault(ShutterOpens, report="Yoctopuce, Polling vs. callback", keys=_FOR_A_WHILE)
def meter_frozen(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """Value and clock of the meter stand still, for `for_s` seconds or until it is unplugged."""
    room.meter.freeze(parameters["for_s"] or None)
    return True


@LIGHT.fault(ShutterOpens, report="artisan#750", keys=_FOR_A_WHILE)
def hub_restart(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The hub program crashes and is started again on the same port after `for_s` seconds."""
    room.hub.restart(parameters["for_s"])
    return True


@LIGHT.fault(ShutterOpens, report="artisan#750, artisan#1724", keys=_FOR_A_WHILE)
def hub_hangs(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The hub accepts connections and answers nothing for `for_s` seconds."""
    room.hub.hang(parameters["for_s"])
    return True
