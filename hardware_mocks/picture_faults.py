"""Faults of pictures: what the shutter and the body's memory make of an exposure."""

from __future__ import annotations

from hardware_mocks.faults import FaultRegistry, Parameters, Room
from hardware_mocks.occasions import PictureMade, Release, ShutterOpens

PICTURE = FaultRegistry("camera")
#: Place of "RAW + L" in the body's quality menu.
_RAW_AND_LARGE = 8


@PICTURE.fault(PictureMade, report="libgphoto2#265", keys={"keep": 0.6})
def truncated_jpeg(_room: Room, made: PictureMade, parameters: Parameters) -> bool:
    """The file ends early, after the share `keep` of its bytes."""
    made.files = [file[: int(len(file) * parameters["keep"])] for file in made.files]
    return True


@PICTURE.fault(PictureMade, report="libgphoto2#265, libgphoto2#487")
def corrupt_jpeg(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The file has its size and both ends, and a broken marker amid its image data."""
    made.files = [_broken(file) for file in made.files]
    return True


@PICTURE.fault(PictureMade, report="libgphoto2#503, gphoto2#253")
def no_object(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The shutter fires and no picture is ever announced."""
    made.files = []
    return True


@PICTURE.fault(PictureMade, report="gphoto2#126, gphoto2#199")
def double_event(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """One picture is announced twice, and can be fetched twice from the body's memory."""
    made.announcements = 2
    return True


@PICTURE.fault(PictureMade, report="gphoto2#486, libgphoto2#181")
def stale_frame(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """The bytes of the picture before come again in place of the new one."""
    if not made.previous:
        return False
    made.files = [made.previous]
    return True


@PICTURE.fault(PictureMade, report="libgphoto2#1124")
def leftover_in_buffer(_room: Room, made: PictureMade, _parameters: Parameters) -> bool:
    """A picture that someone else left in the buffer is announced before the new one."""
    made.files.insert(0, made.another())
    return True


@PICTURE.fault(Release, report="libgphoto2#156, python-gphoto2#51, python-gphoto2#72")
def raw_plus_jpeg(room: Room, _release: Release, _parameters: Parameters) -> bool:
    """The image quality is on RAW + L from now on: two large files for one exposure."""
    room.body.hands.set("format", _RAW_AND_LARGE)
    return True


@PICTURE.fault(ShutterOpens, report="libgphoto2#440, Err 70")
def silent_black(_room: Room, opens: ShutterOpens, _parameters: Parameters) -> bool:
    """The curtains do not open: a black frame with the right Exif."""
    opens.blocked = True
    return True


@PICTURE.fault(ShutterOpens, report="spreads#76: its mode came back", keys={"lux": 400.0})
def flash_fired(_room: Room, opens: ShutterOpens, parameters: Parameters) -> bool:
    """The flash fires and adds `lux`; the Exif says so, the light meter is too slow for it."""
    opens.flash_lux = parameters["lux"]
    return True


@PICTURE.fault(ShutterOpens, report="libgphoto2#503, libgphoto2#94, indi-3rdparty#956")
def slow_long_exposure(_room: Room, opens: ShutterOpens, _parameters: Parameters) -> bool:
    """Long-exposure noise reduction keeps the body busy for the exposure time again."""
    opens.dark_frame = True
    return True


def _broken(file: bytes) -> bytes:
    """A JPEG with an impossible Huffman table written over the middle of its scan."""
    middle = len(file) // 2
    marker = b"\xff\xc4\x00\x02\xff\xc4\x00\x13\x1f" + b"\xff\xc4\x00\x00" * 16
    return file[:middle] + marker + file[middle + len(marker) :]
