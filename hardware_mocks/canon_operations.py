"""Opcode -> what the body does: the table of PTP and Canon EOS operations.

A handler takes the body and the command, and returns the reply. DeviceInfo advertises the keys
of the table, so that host and body never disagree on what is supported.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from enum import IntEnum

from hardware_mocks import ptp
from hardware_mocks.canon_body import FIRMWARE, MODEL, SERIAL, CanonBody
from hardware_mocks.canon_store import DCIM, FOLDER, FOLDER_INFOS, STORAGE, StoredFile
from hardware_mocks.journal import Journal
from hardware_mocks.occasions import Fetch
from hardware_mocks.ptp import Response, array32, u16, u32
from hardware_mocks.ptpip import Command, Dropped, Reply

_log = logging.getLogger(__name__)

Handler = Callable[[CanonBody, Command], Reply]

_CANON_EXTENSION = 0x0000000B
_CARD_BYTES = 64_000_000_000
_BYTES_A_SHOT = 7_000_000
_WHOLE_CARD = 0xFFFFFFFF


class Op(IntEnum):
    """Operations with a handler of their own."""

    GET_DEVICE_INFO = 0x1001
    OPEN_SESSION = 0x1002
    CLOSE_SESSION = 0x1003
    GET_STORAGE_IDS = 0x1004
    GET_STORAGE_INFO = 0x1005
    GET_NUM_OBJECTS = 0x1006
    GET_OBJECT_HANDLES = 0x1007
    GET_OBJECT_INFO = 0x1008
    GET_OBJECT = 0x1009
    GET_THUMB = 0x100A
    DELETE_OBJECT = 0x100B
    GET_PROPERTY_DESCRIPTION = 0x1014
    GET_PROPERTY = 0x1015
    GET_PARTIAL_OBJECT = 0x101B
    EOS_GET_STORAGE_IDS = 0x9101
    EOS_GET_STORAGE_INFO = 0x9102
    EOS_GET_OBJECT_INFO = 0x9103
    EOS_GET_OBJECT = 0x9104
    EOS_DELETE_OBJECT = 0x9105
    EOS_GET_PARTIAL_OBJECT = 0x9107
    EOS_GET_DEVICE_INFO_EX = 0x9108
    EOS_GET_FOLDER = 0x9109
    EOS_GET_THUMB = 0x910A
    EOS_SET_PROPERTY = 0x9110
    EOS_SET_REMOTE_MODE = 0x9114
    EOS_SET_EVENT_MODE = 0x9115
    EOS_GET_EVENT = 0x9116
    EOS_TRANSFER_COMPLETE = 0x9117
    EOS_HOST_CAPACITY = 0x911A
    EOS_REQUEST_PROPERTY = 0x9127
    EOS_RELEASE_ON = 0x9128
    EOS_RELEASE_OFF = 0x9129
    EOS_LIVE_VIEW = 0x9153


#: Accepted without effect here: UI lock, keep awake, null packets, viewfinder zoom, AF drive and
#: cancel, OLC groups.
_ACKNOWLEDGED = (
    *(0x9113, 0x911B, 0x911C, 0x911D, 0x9130, 0x913D),
    *(0x9154, 0x9155, 0x9158, 0x9159, 0x9160),
)


def _ok(data: bytes | None = None, *parameters: int) -> Reply:
    return Reply(Response.OK, parameters, data)


def _refused(code: Response) -> Reply:
    return Reply(code)


def _device_info(_body: CanonBody, _command: Command) -> Reply:
    info = ptp.DeviceInfo(
        vendor_extension=_CANON_EXTENSION,
        operations=tuple(sorted(OPERATIONS)),
        events=(0x4009, 0x4004, 0x4005, 0x4003, 0x4002, 0x4007, 0xC101),
        properties=tuple(_STANDARD_PROPERTIES),
        capture_formats=(0x3801,),
        image_formats=(0x3001, 0x3002, 0x3006, 0x300A, 0x3008, 0x3801, 0xB101, 0xB103),
        manufacturer="Canon Inc.",
        model=MODEL,
        version=FIRMWARE,
        serial=SERIAL.rjust(32, "0"),
    )
    return _ok(info.encode())


def _open_session(body: CanonBody, _command: Command) -> Reply:
    body.session_opened()
    return _ok()


def _close_session(body: CanonBody, _command: Command) -> Reply:
    body.session_closed()
    return _ok()


def _storage_ids(_body: CanonBody, _command: Command) -> Reply:
    return _ok(array32([STORAGE]))


def _storage_info(body: CanonBody, _command: Command) -> Reply:
    free = min(_CARD_BYTES, body.card_free_shots * _BYTES_A_SHOT)
    return _ok(ptp.storage_info(_CARD_BYTES, free))


def _num_objects(body: CanonBody, _command: Command) -> Reply:
    return _ok(None, len(body.store.on_card()) + len(FOLDER_INFOS))


def _object_handles(body: CanonBody, command: Command) -> Reply:
    parent = command.parameter(2)
    files = [f.handle for f in body.store.on_card()]
    inside = {0: [DCIM, FOLDER, *files], _WHOLE_CARD: [DCIM], DCIM: [FOLDER], FOLDER: files}
    return _ok(array32(inside.get(parent, [])))


def _object_info(body: CanonBody, command: Command) -> Reply:
    handle = command.parameter(0)
    file = body.store.get(handle)
    info = FOLDER_INFOS.get(handle) or (file and file.info)
    return _ok(info.encode()) if info else _refused(Response.INVALID_OBJECT)


def _folder(body: CanonBody, command: Command) -> Reply:
    handle = command.parameter(1)
    if handle in (0, _WHOLE_CARD):
        entries = [ptp.folder_entry(DCIM, STORAGE, FOLDER_INFOS[DCIM], 0)]
    elif handle == DCIM:
        entries = [ptp.folder_entry(FOLDER, STORAGE, FOLDER_INFOS[FOLDER], 0)]
    else:
        files = body.store.on_card() if handle == FOLDER else []
        entries = [ptp.folder_entry(f.handle, STORAGE, f.info, f.taken_s) for f in files]
    return _ok(u32(len(entries)) + b"".join(entries))


def _fetched(body: CanonBody, handle: int) -> StoredFile | None:
    """The file that a download asks for, unless a fault cuts the link at this moment."""
    file = body.store.get(handle)
    if file is not None and body.faults is not None:
        fetch = Fetch(file.picture)
        body.faults.meet(fetch)
        if fetch.dropped:
            raise Dropped
    return file


def _object(body: CanonBody, command: Command) -> Reply:
    file = _fetched(body, command.parameter(0))
    return _ok(file.data) if file else _refused(Response.INVALID_OBJECT)


def _partial_object(body: CanonBody, command: Command) -> Reply:
    file = _fetched(body, command.parameter(0))
    if file is None:
        return _refused(Response.INVALID_OBJECT)
    start, size = command.parameter(1), command.parameter(2)
    part = file.data[start : start + size]
    return _ok(part, len(part))


def _thumb(_body: CanonBody, _command: Command) -> Reply:
    return _refused(Response.NO_THUMBNAIL)


def _delete_object(body: CanonBody, command: Command) -> Reply:
    found = body.store.remove(command.parameter(0))
    return _ok() if found else _refused(Response.INVALID_OBJECT)


def _transfer_complete(body: CanonBody, command: Command) -> Reply:
    file = body.store.get(command.parameter(0))
    if file is not None and not file.on_card:
        body.store.remove(file.handle)
    return _ok()


# Standard PTP properties, beside the Canon ones: (data type, writable, value, form).
_STRING, _UINT8, _UINT32 = 0xFFFF, 2, 6
_NO_FORM = b"\0"
_BATTERY_FORM = b"\2" + u16(5) + bytes([100, 0, 75, 0, 50])
_STANDARD_PROPERTIES: dict[int, tuple[int, int, bytes, bytes]] = {
    0xD402: (_STRING, 0, ptp.string(MODEL), _NO_FORM),
    0xD407: (_UINT32, 0, u32(1), _NO_FORM),
    0xD406: (_STRING, 1, ptp.string("Unknown Initiator"), _NO_FORM),
    0xD303: (_UINT8, 0, b"\1", _NO_FORM),
    0x5001: (_UINT8, 0, b"\x64", _BATTERY_FORM),
}


def _property_description(_body: CanonBody, command: Command) -> Reply:
    code = command.parameter(0)
    if code not in _STANDARD_PROPERTIES:
        return _refused(Response.PROPERTY_NOT_SUPPORTED)
    kind, writable, value, form = _STANDARD_PROPERTIES[code]
    return _ok(u16(code) + u16(kind) + bytes([writable]) + value + value + form)


def _property(_body: CanonBody, command: Command) -> Reply:
    code = command.parameter(0)
    if code not in _STANDARD_PROPERTIES:
        return _refused(Response.PROPERTY_NOT_SUPPORTED)
    return _ok(_STANDARD_PROPERTIES[code][2])


def _device_info_ex(body: CanonBody, _command: Command) -> Reply:
    events = range(0xC181, 0xC18C)
    lists = array32(list(events)) + array32(body.properties) + array32([0, 1, 2, 4, 8])
    return _ok(u32(4 + len(lists)) + lists)


def _set_property(body: CanonBody, command: Command) -> Reply:
    if len(command.data) < 8:
        return _refused(Response.INVALID_PARAMETER)
    prop = int.from_bytes(command.data[4:8], "little")
    return _refused(body.set_property(prop, command.data[8:]))


def _event_mode(body: CanonBody, command: Command) -> Reply:
    body.listen(command.parameter(0) == 1)
    return _ok()


def _events(body: CanonBody, _command: Command) -> Reply:
    return _ok(body.take_events())


def _host_capacity(body: CanonBody, _command: Command) -> Reply:
    body.host_has_space()
    return _ok()


def _request_property(body: CanonBody, command: Command) -> Reply:
    known = body.tell(command.parameter(0))
    return _ok() if known else _refused(Response.PROPERTY_NOT_SUPPORTED)


def _release_on(body: CanonBody, command: Command) -> Reply:
    buttons, without_focus = command.parameter(0), command.parameter(1)
    return _refused(
        body.press_button(half=bool(buttons & 1), full=bool(buttons & 2), focus=not without_focus)
    )


def _release_off(body: CanonBody, command: Command) -> Reply:
    buttons = command.parameter(0)
    body.release_button(half=bool(buttons & 1), full=bool(buttons & 2))
    return _ok()


def _live_view(_body: CanonBody, _command: Command) -> Reply:
    """There is no live view: the mirror never comes up, and no picture is ever ready."""
    return _refused(Response.DEVICE_BUSY)


def _acknowledge(_body: CanonBody, _command: Command) -> Reply:
    return _ok()


OPERATIONS: dict[int, Handler] = {
    **dict.fromkeys(_ACKNOWLEDGED, _acknowledge),
    Op.GET_DEVICE_INFO: _device_info,
    Op.OPEN_SESSION: _open_session,
    Op.CLOSE_SESSION: _close_session,
    Op.GET_STORAGE_IDS: _storage_ids,
    Op.GET_STORAGE_INFO: _storage_info,
    Op.GET_NUM_OBJECTS: _num_objects,
    Op.GET_OBJECT_HANDLES: _object_handles,
    Op.GET_OBJECT_INFO: _object_info,
    Op.GET_OBJECT: _object,
    Op.GET_THUMB: _thumb,
    Op.DELETE_OBJECT: _delete_object,
    Op.GET_PROPERTY_DESCRIPTION: _property_description,
    Op.GET_PROPERTY: _property,
    Op.GET_PARTIAL_OBJECT: _partial_object,
    Op.EOS_GET_STORAGE_IDS: _storage_ids,
    Op.EOS_GET_STORAGE_INFO: _storage_info,
    Op.EOS_GET_OBJECT_INFO: _object_info,
    Op.EOS_GET_OBJECT: _object,
    Op.EOS_DELETE_OBJECT: _delete_object,
    Op.EOS_GET_PARTIAL_OBJECT: _partial_object,
    Op.EOS_GET_DEVICE_INFO_EX: _device_info_ex,
    Op.EOS_GET_FOLDER: _folder,
    Op.EOS_GET_THUMB: _thumb,
    Op.EOS_SET_PROPERTY: _set_property,
    Op.EOS_SET_REMOTE_MODE: _acknowledge,
    Op.EOS_SET_EVENT_MODE: _event_mode,
    Op.EOS_GET_EVENT: _events,
    Op.EOS_TRANSFER_COMPLETE: _transfer_complete,
    Op.EOS_HOST_CAPACITY: _host_capacity,
    Op.EOS_REQUEST_PROPERTY: _request_property,
    Op.EOS_RELEASE_ON: _release_on,
    Op.EOS_RELEASE_OFF: _release_off,
    Op.EOS_LIVE_VIEW: _live_view,
}


class CanonResponder:
    """The body as a PTP/IP responder."""

    def __init__(self, body: CanonBody, journal: Journal) -> None:
        self._body = body
        self._journal = journal

    def connected(self) -> None:
        """A client has connected."""
        self._journal.add("connect")

    def execute(self, command: Command) -> Reply:
        """Answer one command."""
        handler = OPERATIONS.get(command.opcode)
        if handler is None:
            return _refused(Response.OPERATION_NOT_SUPPORTED)
        try:
            return handler(self._body, command)
        except (ValueError, struct.error):
            _log.exception("operation %04x failed", command.opcode)
            return _refused(Response.GENERAL_ERROR)

    def disconnected(self) -> None:
        """The client is gone."""
        self._body.session_closed()
        self._journal.add("disconnect")
