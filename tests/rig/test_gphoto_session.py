"""The thin layer over the real library: ports, peers that do not answer, and its side effects."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from PIL import Image

from rig.errors import Reconnect
from rig.gphoto_session import Session, _hang_up


def test_nobody_at_a_port_is_reconnect_and_leaves_standard_input_alone():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    before = os.fstat(0)

    with pytest.raises(Reconnect, match=str(port)) as caught:
        Session(f"ptpip:127.0.0.1:{port}:{port}")

    assert caught.value.action
    assert os.path.samestat(os.fstat(0), before)


def test_a_peer_that_accepts_and_never_answers_is_reconnect():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Reconnect):
            Session(f"ptpip:127.0.0.1:{port}:{port}")


def test_no_usb_camera_is_reconnect_with_what_to_look_at():
    with pytest.raises(Reconnect, match="usb:099,099") as caught:
        Session("usb:099,099")
    assert "cable" in caught.value.action


def test_the_only_usb_camera_is_found_by_its_model(tmp_path):
    """libgphoto2's own pretended USB camera: not a Canon, but a real autodetection."""
    Image.new("RGB", (32, 32)).save(tmp_path / "one.jpg")
    script = textwrap.dedent(
        """
        from rig.gphoto_camera import GphotoCamera
        from rig.gphoto_session import Session
        session = Session("usb:")
        print(session.port, session.value("autoexposuremode") == "", session.value("batterylevel"))
        session.exit()
        try:
            GphotoCamera("usb:").open()
        except Exception as error:
            print(type(error).__name__, error)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "VCAMERADIR": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert first == "usb:001,001 True 50%"
    assert second.startswith("AskOperator")  # it has none of a Canon's remote control


def test_hanging_up_leaves_sockets_of_other_kinds_alone():
    # an event loop in this process has such a pair, whose peers have no name
    first, second = socket.socketpair()
    with first, second, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as line:
            _hang_up(f"ptpip:127.0.0.1:{port}:{port}")
            assert line.recv(1) == b""
        first.sendall(b"x")
        assert second.recv(1) == b"x"
