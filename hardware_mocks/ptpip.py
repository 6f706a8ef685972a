"""PTP/IP (CIPA DC-005): packets on two TCP connections, one for commands, one for events.

`PtpIpServer` serves one client at a time, as a body does: a second one is refused while the
first holds the session. It knows no opcode: each command goes to a `Responder`.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from hardware_mocks.listener import Listener
from hardware_mocks.ptp import u16, u32, u64

_log = logging.getLogger(__name__)

#: Data goes out in packets of this size.
_BLOCK = 1 << 18
#: Nothing that a host sends a body in one packet is longer.
_LONGEST_PACKET = 1 << 24
#: How long a newcomer waits for a vanished client's connection to be noticed.
_TAKEOVER_S = 1.0
_GUID = b"SNAPRIG-VIRTUAL\0"
_PROTOCOL_VERSION = 0x00010000


class Packet(IntEnum):
    """PTP/IP packet types."""

    INIT_COMMAND_REQUEST = 1
    INIT_COMMAND_ACK = 2
    INIT_EVENT_REQUEST = 3
    INIT_EVENT_ACK = 4
    INIT_FAIL = 5
    COMMAND = 6
    RESPONSE = 7
    EVENT = 8
    START_DATA = 9
    DATA = 10
    CANCEL = 11
    END_DATA = 12
    PING = 13
    PONG = 14


class Dropped(Exception):  # noqa: N818 - not an error of ours: the link is cut on purpose
    """A responder raises this to cut both connections without an answer."""


@dataclass(frozen=True)
class Command:
    """One operation request: opcode, parameters, and the data phase if there was one."""

    opcode: int
    parameters: tuple[int, ...] = ()
    data: bytes = b""

    def parameter(self, index: int) -> int:
        """The parameter, or 0 where the host sent fewer."""
        return self.parameters[index] if index < len(self.parameters) else 0


@dataclass(frozen=True)
class Reply:
    """The answer: response code, parameters, and a data phase unless `data` is None."""

    code: int
    parameters: tuple[int, ...] = ()
    data: bytes | None = None


class Responder(Protocol):
    """What answers commands. Must answer within 2.5 s: libgphoto2 gives up after that."""

    def connected(self) -> None:
        """A client has connected."""
        ...

    def execute(self, command: Command) -> Reply:
        """Answer one command; raises Dropped to cut the link."""
        ...

    def disconnected(self) -> None:
        """The client is gone, orderly or not."""
        ...


def encode_packet(kind: int, body: bytes) -> bytes:
    """Length, type, body."""
    return u32(8 + len(body)) + u32(kind) + body


def decode_command(body: bytes) -> tuple[int, int, Command]:
    """Data phase (1 none or in, 2 out), transaction and command of a COMMAND packet's body."""
    phase, opcode, transaction = struct.unpack_from("<IHI", body)
    parameters = struct.unpack_from(f"<{(len(body) - 10) // 4}I", body, 10)
    return phase, transaction, Command(opcode, tuple(parameters))


def encode_reply(transaction: int, reply: Reply) -> bytes:
    """Every packet of an answer, data phase first."""
    packets = []
    if reply.data is not None:
        packets.append(encode_packet(Packet.START_DATA, u32(transaction) + u64(len(reply.data))))
        last = max(0, (len(reply.data) - 1) // _BLOCK)
        for block in range(last + 1):
            kind = Packet.END_DATA if block == last else Packet.DATA
            chunk = reply.data[block * _BLOCK : (block + 1) * _BLOCK]
            packets.append(encode_packet(kind, u32(transaction) + chunk))
    tail = u16(reply.code) + u32(transaction) + b"".join(map(u32, reply.parameters))
    return b"".join(packets) + encode_packet(Packet.RESPONSE, tail)


class Link:
    """Packets over one connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def receive(self) -> tuple[int, bytes]:
        """The next packet's type and body; ConnectionError at the end of the stream."""
        length, kind = struct.unpack("<II", self._exactly(8))
        if not 8 <= length <= _LONGEST_PACKET:
            raise ConnectionError(f"not PTP/IP: a packet of {length} bytes")
        return kind, self._exactly(length - 8)

    def send(self, data: bytes) -> None:
        """Send encoded packets."""
        self._socket.sendall(data)

    def close(self) -> None:
        """Cut the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(size - len(received))
            # libgphoto2 sends request, StartData and EndData as three small writes without
            # TCP_NODELAY; a delayed acknowledgment would cost 40 ms for each set.
            if hasattr(socket, "TCP_QUICKACK"):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            if not chunk:
                raise ConnectionError("closed by the client")
            received += chunk
        return bytes(received)


class PtpIpServer:
    """Listens on loopback; `start` returns at once, `close` ends every connection."""

    def __init__(self, responder: Responder, name: str, port: int = 0) -> None:
        self._responder = responder
        self._name = name
        self._listener = Listener(self._serve, "ptpip", port)
        self.port = self._listener.port
        self._lock = threading.Lock()
        self._links: set[Link] = set()
        self._session = threading.Lock()  # held while a client is served

    def start(self) -> None:
        """Accept clients from now on, also again after `shut`."""
        self._listener.open()

    def drop(self) -> None:
        """Cut every connection, as a body that loses power or network does."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()

    def shut(self) -> None:
        """Refuse clients and cut every connection, as a body without power does."""
        self._listener.shut()
        self.drop()

    def close(self) -> None:
        """Give up the port and cut every connection."""
        self._listener.close()
        self.drop()

    def _serve(self, sock: socket.socket) -> None:
        link = Link(sock)
        with self._lock:
            self._links.add(link)
        try:
            kind, _ = link.receive()
            if kind == Packet.INIT_COMMAND_REQUEST:
                self._commands(link)
            elif kind == Packet.INIT_EVENT_REQUEST:
                link.send(encode_packet(Packet.INIT_EVENT_ACK, b""))
                while True:
                    link.receive()  # an EOS body announces by GetEvent only; wait for the end
        except Dropped:
            self.drop()
        except (OSError, struct.error) as error:
            _log.debug("connection ended: %s", error)
        finally:
            link.close()
            with self._lock:
                self._links.discard(link)

    def _commands(self, link: Link) -> None:
        if not self._session.acquire(timeout=_TAKEOVER_S):
            link.send(encode_packet(Packet.INIT_FAIL, u32(1)))  # 1: rejected initiator
            return
        try:
            name = (self._name + "\0").encode("utf-16-le")
            ack = u32(1) + _GUID + name + u32(_PROTOCOL_VERSION)
            self._responder.connected()
            link.send(encode_packet(Packet.INIT_COMMAND_ACK, ack))
            while True:
                transaction, command = self._next_command(link)
                started_s = time.monotonic()
                reply = self._responder.execute(command)
                link.send(encode_reply(transaction, reply))
                _log.debug(
                    "%04x %s in=%d -> %04x out=%s %.1f ms",
                    command.opcode,
                    [hex(p) for p in command.parameters],
                    len(command.data),
                    reply.code,
                    "-" if reply.data is None else len(reply.data),
                    1000 * (time.monotonic() - started_s),
                )
        finally:
            self._responder.disconnected()
            self._session.release()

    @staticmethod
    def _next_command(link: Link) -> tuple[int, Command]:
        while True:
            kind, body = link.receive()
            if kind == Packet.PING:
                link.send(encode_packet(Packet.PONG, b""))
            if kind == Packet.COMMAND:
                break
        phase, transaction, command = decode_command(body)
        if phase != 2:
            return transaction, command
        data = bytearray()
        while kind != Packet.END_DATA:
            kind, body = link.receive()
            if kind in (Packet.DATA, Packet.END_DATA):
                data += body[4:]
        return transaction, Command(command.opcode, command.parameters, bytes(data))
