"""A TCP port on loopback that can be shut and opened again without losing its number."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Listener:
    """Hands every new connection to `serve`, in a thread of its own.

    Parameters
    ----------
    serve : callable
        Gets the connected socket; closes it.
    name : str
        Of the accepting thread.
    port : int
        0 takes a free one.
    """

    def __init__(self, serve: Callable[[socket.socket], None], name: str, port: int = 0) -> None:
        self._serve, self._name = serve, name
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        self._is_open = False

    def open(self) -> None:
        """Accept connections from now on; no effect where it does so already."""
        if self._is_open:
            return
        self._is_open = True
        self._socket.listen(64)
        threading.Thread(target=self._accept, name=self._name, daemon=True).start()

    def shut(self) -> None:
        """Refuse connections from now on, and keep the port.

        Linux turns a listening socket back into a bound one here, which can listen again.
        """
        if not self._is_open:
            return  # a second shutdown would mark the socket for good
        self._is_open = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the port back."""
        self.shut()
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # shut
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()


def _bound(port: int) -> socket.socket:
    """A socket bound to a port by its number: one that was bound to "any" loses it when shut."""
    while port == 0:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            free: int = probe.getsockname()[1]
        with contextlib.suppress(OSError):  # somebody was quicker: another one
            return _bound(free)
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
    except OSError:
        bound.close()
        raise
    return bound
