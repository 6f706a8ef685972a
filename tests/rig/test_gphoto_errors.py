import pytest

from rig.errors import AskOperator, Reconnect, Retry
from rig.gphoto_errors import Busy, holders, translate


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-110, Busy),
        (-1, Retry),
        (-2, Retry),
        (-7, Reconnect),
        (-10, Reconnect),
        (-52, Reconnect),
        (-105, Reconnect),
        (-53, AskOperator),
    ],
)
def test_a_code_says_what_to_do_next(code, kind):
    error = translate(code, "words of the library", "set iso to 400")

    assert type(error) is kind
    assert str(code) in str(error)
    assert error.action


def test_programs_that_hold_a_camera_are_named(tmp_path):
    def process(pid: int, name: str, *opens: str) -> None:
        folder = tmp_path / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(name + "\n")
        for number, target in enumerate(opens):
            (folder / "fd" / str(number)).symlink_to(target)

    process(10, "gvfs-gphoto2-vol")
    process(11, "tether", "/dev/null", "/dev/bus/usb/001/004")
    process(12, "editor", "/tmp/a file")  # noqa: S108
    (tmp_path / "13").mkdir()  # ended while we looked

    assert holders(tmp_path) == ["gvfs-gphoto2-vol (process 10)", "tether (process 11)"]
