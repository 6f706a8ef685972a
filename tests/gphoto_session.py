"""A plain session over the real libgphoto2: the least that shoots a frame, for tests."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import gphoto2 as gp


@contextlib.contextmanager
def spare_stdin() -> Iterator[None]:
    """Put file descriptor 0 back after a call that ends a PTP/IP link.

    libgphoto2 (2.5.34, and 2.5.30) closes descriptor 0 there: the socket of Fuji's third
    connection, which other cameras never open, is 0 in its parameters. The next file or pipe
    that the program opens then becomes 0, and the next exit closes it under its owner's feet.
    """
    spare = os.dup(0)
    try:
        yield
    finally:
        os.dup2(spare, 0)
        os.close(spare)


_NO_FAREWELL = (gp.GP_ERROR_IO, gp.GP_ERROR, gp.GP_ERROR_IO_READ, gp.GP_ERROR_CAMERA_BUSY)


class GphotoSession:
    """One connected camera at a PTP/IP port."""

    def __init__(self, port: str) -> None:
        ports, models = gp.PortInfoList(), gp.CameraAbilitiesList()
        ports.load()
        models.load()
        self.camera = gp.Camera()
        self.camera.set_port_info(ports[ports.lookup_path(port)])
        self.camera.set_abilities(models[models.lookup_model("PTP/IP Camera")])
        with spare_stdin():
            self.camera.init()
        self._open = True

    def close(self) -> None:
        """End the session; a dead link and a busy body are no errors here."""
        if self._open:
            self._open = False
            try:
                with spare_stdin():
                    self.camera.exit()
            except gp.GPhoto2Error as error:
                if error.code not in _NO_FAREWELL:
                    raise

    def get(self, name: str) -> str:
        """Value of a setting."""
        return self.camera.get_single_config(name).get_value()

    def choices(self, name: str) -> list[str]:
        """What a setting offers."""
        return list(self.camera.get_single_config(name).get_choices())

    def set(self, **values: str) -> None:
        """Set settings one by one."""
        for name, value in values.items():
            widget = self.camera.get_single_config(name)
            widget.set_value(value)
            self.camera.set_single_config(name, widget)

    def capture(self) -> bytes:
        """Expose with the one-call capture, download and delete."""
        return self.fetch(self.camera.capture(gp.GP_CAPTURE_IMAGE))

    def trigger(self, timeout_s: float = 10.0) -> bytes | None:
        """Trigger, wait for the file, download and delete; None where none was announced."""
        self.camera.trigger_capture()
        path = self.next_file(timeout_s)
        return None if path is None else self.fetch(path)

    def next_file(self, timeout_s: float) -> Any:
        """Path of the next announced file, or None after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while (left_s := deadline - time.monotonic()) > 0:
            kind, what = self.camera.wait_for_event(max(1, int(1000 * left_s)))
            if kind == gp.GP_EVENT_FILE_ADDED:
                return what
        return None

    def fetch(self, path: Any) -> bytes:
        """Download a file and delete it."""
        file = self.camera.file_get(path.folder, path.name, gp.GP_FILE_TYPE_NORMAL)
        data = bytes(file.get_data_and_size())
        self.camera.file_delete(path.folder, path.name)
        return data
