"""One libgphoto2 session: the only module that imports gphoto2.

A thin layer: fresh widgets, one poll of the event queue, errors of ours. What to set and when
to fire is `rig.gphoto_camera`'s.

libgphoto2 releases Python's lock in init, configuration, trigger, event and download calls,
but not in `file_delete`, `exit` and `autodetect`: those stop every thread of the process for as
long as they last (2.5 s and more each with a dead PTP/IP peer).
"""

from __future__ import annotations

import enum
import logging
import os
import socket
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gphoto2 as gp

from rig.errors import Abort, Reconnect, Retry, RigError
from rig.gphoto_errors import GENERIC, translate

_log = logging.getLogger(__name__)

_PTPIP_MODEL = "PTP/IP Camera"


class EventKind(enum.Enum):
    """What one look at the camera's event queue gave."""

    NOTHING = enum.auto()
    PICTURE = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True)
class Event:
    """One event; `folder` and `name` are those of a new picture, `text` what else it says."""

    kind: EventKind
    folder: str = ""
    name: str = ""
    text: str = ""


@dataclass(frozen=True)
class Setting:
    """A configuration widget, fetched just now. Use it once: libgphoto2 caches what it sends."""

    session: Session = field(repr=False)
    name: str
    value: str
    choices: tuple[str, ...]
    _widget: Any = field(repr=False)

    def set(self, value: str) -> None:
        """Send `value`, always by its string: "8" as an index would be another speed.

        Success says that the camera answered OK, not that it obeyed: libgphoto2 remembers the
        request and reads it back from its own memory.
        """
        with self.session.errors(f"set {self.name} to {value}"):
            self._widget.set_value(value)
            self._widget.set_changed(1)  # the value in libgphoto2's memory may be a lie
            self.session.camera.set_single_config(self.name, self._widget)


class _Errors:
    """Turns gphoto2's errors into ours around one call, telling what was being done."""

    def __init__(self, session: Session, doing: str) -> None:
        self._session = session
        self._doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, gp.GPhoto2Error):
            raise self._session.explain(error, self._doing) from error


class Session:
    """A claimed camera.

    Parameters
    ----------
    port : str
        As `rig.gphoto_names.complete_port` writes it. ``usb:`` takes the only USB camera.

    Raises
    ------
    Reconnect
        When nothing answers there.
    AskOperator
        When another program holds the camera.
    Abort
        When `port` fits several cameras, or none of this kind exists on this machine.
    """

    def __init__(self, port: str) -> None:
        model, self.port = (_PTPIP_MODEL, port) if port.startswith("ptpip:") else _find_usb(port)
        self.camera = gp.Camera()
        self.dead = False  # nobody answers any more
        self._unread: deque[tuple[int, Any]] = deque()  # events met while asking who is there
        try:
            ports = gp.PortInfoList()
            ports.load()
            self.camera.set_port_info(ports[ports.lookup_path(self.port)])
            models = gp.CameraAbilitiesList()
            models.load()
            self.camera.set_abilities(models[models.lookup_model(model)])
            with _standard_input_kept():
                self.camera.init()
        except gp.GPhoto2Error as error:
            fault = translate(error.code, error.string, f"open the camera at {self.port}")
            if error.code == GENERIC:  # nobody to tell it apart from: nothing is open yet
                fault = Reconnect(str(fault), "Check the port in rig.toml and the camera.")
            raise fault from error

    def errors(self, doing: str) -> _Errors:
        """A context that translates gphoto2's errors; `doing` completes "Could not …"."""
        return _Errors(self, doing)

    def explain(self, error: gp.GPhoto2Error, doing: str) -> RigError:
        """Our error for gphoto2's, asking the camera once where the code alone is ambiguous.

        -1 is also what the first call after a dropped connection gives; the next one that goes
        over the wire shows whether anybody is still there. Looking for events does, once
        libgphoto2 has no old ones in store; `poll` gives those later.
        """
        fault = translate(error.code, error.string, doing)
        self.dead = self.dead or isinstance(fault, Reconnect)
        if error.code != GENERIC:
            return fault
        try:
            while (event := self.camera.wait_for_event(0))[0] != gp.GP_EVENT_TIMEOUT:
                self._unread.append(event)
        except gp.GPhoto2Error as silence:
            self.dead = True
            return Reconnect(
                f"The camera stopped answering ({doing}: {error.string} [{error.code}], then "
                f"{silence.string} [{silence.code}]).",
                "Check that the camera is switched on and connected.",
            )
        return fault

    def setting(self, name: str) -> Setting | None:
        """A fresh widget, or None where this body has none of that name."""
        try:
            with self.errors(f"read {name}"):
                widget = self.camera.get_single_config(name)
                chosen = widget.get_type() in (gp.GP_WIDGET_RADIO, gp.GP_WIDGET_MENU)
                choices = tuple(widget.get_choices()) if chosen else ()
                return Setting(self, name, str(widget.get_value() or ""), choices, widget)
        except Retry as error:
            if isinstance(error.__cause__, gp.GPhoto2Error) and error.__cause__.code in (
                gp.GP_ERROR_BAD_PARAMETERS,
                gp.GP_ERROR_NOT_SUPPORTED,
            ):
                return None
            raise

    def value(self, name: str) -> str:
        """The value of a widget, empty where there is none."""
        setting = self.setting(name)
        return setting.value if setting else ""

    def values(self) -> list[tuple[str, str]]:
        """Every widget with its value, in the library's order.

        A name may come twice: ``batterylevel`` is the standard one first, Canon's own second.
        """
        with self.errors("read the settings"):
            return list(_leaves(self.camera.get_config()))

    def poll(self) -> Event:
        """Look once whether the camera has something to say; never waits for it.

        A picture in the camera's memory is transferred by this call already (libgphoto2 does
        so when it meets the announcement) and can then be fetched by `download` at no cost.
        """
        if self._unread:
            kind, data = self._unread.popleft()
        else:
            with self.errors("ask the camera for events"):
                kind, data = self.camera.wait_for_event(0)
        if kind == gp.GP_EVENT_TIMEOUT:
            return Event(EventKind.NOTHING)
        if kind == gp.GP_EVENT_FILE_ADDED:
            return Event(EventKind.PICTURE, folder=data.folder, name=data.name)
        return Event(EventKind.OTHER, text=data if isinstance(data, str) else "")

    def trigger(self) -> None:
        """Press and let go of the shutter button the library's own way (half press first)."""
        with self.errors("release the shutter"):
            self.camera.trigger_capture()

    def download(self, folder: str, name: str) -> bytes:
        """The file, byte for byte."""
        with self.errors(f"download {name}"):
            file = self.camera.file_get(folder, name, gp.GP_FILE_TYPE_NORMAL)
            return memoryview(file.get_data_and_size()).tobytes()

    def delete(self, folder: str, name: str) -> None:
        """Remove a file from the camera, or from libgphoto2's memory of the camera's memory."""
        with self.errors(f"delete {name}"):
            self.camera.file_delete(folder, name)

    def exit(self) -> None:
        """Let the camera go. Never raises: there is nobody to tell any more.

        A dead network session is hung up first. Without that, libgphoto2 waits 2.5 s for each of
        its farewells, with all of this process's threads stopped.
        """
        if self.dead:
            _hang_up(self.port)
        try:
            with _standard_input_kept():
                self.camera.exit()
        except gp.GPhoto2Error as error:
            _log.info("the camera did not say goodbye: %s", error)


def _leaves(widget: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - a CameraWidget
    if widget.get_type() in (gp.GP_WIDGET_WINDOW, gp.GP_WIDGET_SECTION):
        for child in widget.get_children():
            yield from _leaves(child)
    elif widget.get_type() != gp.GP_WIDGET_BUTTON:
        value = widget.get_value()
        yield widget.get_name(), "" if value is None else str(value)


@contextmanager
def _standard_input_kept() -> Iterator[None]:
    """Put file descriptor 0 back after a call that ends a PTP/IP connection.

    libgphoto2 (2.5.30 and 2.5.34) closes descriptor 0 there: its number for a third connection,
    which only Fuji cameras have, is never set. The file that this process opens next (a catalog,
    say) would become 0, and the end of the next session would close it under its owner's feet.
    """
    try:
        spare = os.dup(0)
    except OSError:  # no standard input: occupy its place before a file of ours does
        os.open(os.devnull, os.O_RDONLY)
        spare = os.dup(0)
    try:
        yield
    finally:
        try:
            now = os.fstat(0)
        except OSError:
            os.dup2(spare, 0)
        else:
            if not os.path.samestat(now, os.fstat(spare)):
                _log.error("libgphoto2 closed file descriptor 0, and another file has it now")
        os.close(spare)


def _hang_up(port: str) -> None:
    """Shut down this process's connections to a ``ptpip:`` camera, under libgphoto2's feet."""
    kind, _, rest = port.partition(":")
    if kind != "ptpip":
        return
    address, *ports = rest.split(":")
    for descriptor in map(int, os.listdir("/dev/fd")):
        try:
            # Of anything but a socket, `fromfd` would leave its duplicate open for ever.
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as line:
                peer = line.getpeername()
                # a socket of another family names its peer otherwise: an event loop's own has ""
                if isinstance(peer, tuple) and peer[0] == address and str(peer[1]) in ports:
                    line.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue  # not connected, or closed meanwhile


def _find_usb(port: str) -> tuple[str, str]:
    """Model and exact port of the USB camera at `port`."""
    try:
        listed = gp.Camera.autodetect()
        found = [(listed.get_name(i), listed.get_value(i)) for i in range(listed.count())]
    except gp.GPhoto2Error as error:
        raise translate(error.code, error.string, "look for USB cameras") from error
    cameras = [(model, at) for model, at in found if at.startswith("usb:")]
    fitting = [(model, at) for model, at in cameras if port in ("usb:", at)]
    if not fitting:
        others = ", ".join(f"{model} at {at}" for model, at in cameras)
        raise Reconnect(
            f"No camera at {port}" + (f", only {others}." if others else "."),
            "Switch the camera on, wake it with a half press, check the cable.",
        )
    if len(fitting) > 1:
        several = ", ".join(f"{model} at {at}" for model, at in fitting)
        raise Abort(
            f"There are several cameras: {several}.",
            f'Name one in rig.toml, e.g. port = "{fitting[0][1]}" under [camera].',
        )
    return fitting[0]
