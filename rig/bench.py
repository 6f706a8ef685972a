"""The devices of a configuration, opened together and always released."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rig.config import CameraConfig, MeterConfig, RigConfig
from rig.protocols import Camera, CameraInfo, LightMeter, MeterInfo


@dataclass(frozen=True)
class Bench:
    """An open camera and an open light meter, and who they are."""

    camera: Camera
    camera_info: CameraInfo
    meter: LightMeter
    meter_info: MeterInfo


def camera_of(config: CameraConfig) -> Camera:
    """The configured camera, not yet opened. Loads libgphoto2."""
    from rig.gphoto_camera import GphotoCamera  # loads a C library

    return GphotoCamera(
        config.port,
        target=config.target,
        image_format=config.image_format,
        white_balance=config.white_balance,
        picture_style=config.picture_style,
    )


def meter_of(config: MeterConfig) -> LightMeter:
    """The configured light meter, not yet opened."""
    from rig.yocto_meter import YoctoMeter  # loads a C library

    return YoctoMeter(config.hub, serial=config.serial)


@contextmanager
def open_bench(config: RigConfig) -> Iterator[Bench]:
    """Open meter and camera; afterwards both are released, the camera as it was found.

    Raises
    ------
    RigError
        As their `open` does; what was opened already is released.
    """
    meter, camera = meter_of(config.meter), camera_of(config.camera)
    try:
        meter_info = meter.open()
        camera_info = camera.open()
        yield Bench(camera, camera_info, meter, meter_info)
    finally:
        camera.close()
        meter.close()
