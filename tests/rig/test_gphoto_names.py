import pytest

from rig.errors import Abort
from rig.gphoto_names import complete_port, pick


@pytest.mark.parametrize(
    ("written", "complete"),
    [
        ("usb", "usb:"),
        ("usb:", "usb:"),
        ("usb:001,004", "usb:001,004"),
        ("ptpip:192.168.1.20", "ptpip:192.168.1.20:15740:15740"),
        ("ptpip:127.0.0.1:15803", "ptpip:127.0.0.1:15803:15803"),
        ("ptpip:127.0.0.1:15803:15804", "ptpip:127.0.0.1:15803:15804"),
    ],
)
def test_a_port_has_nothing_left_to_defaults(written, complete):
    assert complete_port(written) == complete
    assert complete_port(complete) == complete


@pytest.mark.parametrize(
    "port",
    [
        "",
        "serial:/dev/tty",
        "ptpip:",
        "ptpip:camera.local",
        "ptpip:1.2.3.4:x",
        "ptpip:1.2.3.4:1:2:3",
        "ptpip:1.2.3.4:",
        "ptpip:1.2.3.4:0",
        "ptpip:1.2.3.4:65536",
    ],
)
def test_what_libgphoto2_cannot_reach_is_refused(port):
    with pytest.raises(Abort) as caught:
        complete_port(port)

    assert "ptpip:" in caught.value.action


def test_a_format_is_found_under_the_name_of_any_version():
    old, new = ("Large Fine JPEG", "Smaller JPEG", "RAW"), ("L", "S2", "RAW")

    assert pick("S2", new) == pick("Smaller JPEG", new) == "S2"
    assert pick("S2", old) == pick("Smaller JPEG", old) == "Smaller JPEG"
    assert pick("S3", old) is None
    assert pick("Single", ("Single", "Continuous")) == "Single"
