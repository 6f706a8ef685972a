"""Each scripted fault does what it says, as the real libraries see it."""

from __future__ import annotations

import hashlib
import io
import time

import gphoto2 as gp
import piexif
import pytest
from PIL import Image

from tests.darkroom_process import darkroom

pytestmark = pytest.mark.wire


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def iso_of(data: bytes) -> int:
    return piexif.load(data)["Exif"][piexif.ExifIFD.ISOSpeedRatings]


def f_number_of(data: bytes) -> float:
    numerator, denominator = piexif.load(data)["Exif"][piexif.ExifIFD.FNumber]
    return numerator / denominator


def brightest(data: bytes) -> int:
    return Image.open(io.BytesIO(data)).convert("L").getextrema()[1]


@pytest.fixture(scope="module")
def shared(photo):
    with darkroom(photo) as running:
        yield running


@pytest.fixture
def faulty(shared, connect):
    """Scripts one fault at the second picture, and opens a session."""

    def start(name: str, at: int = 2, **keys):
        room = shared.afresh()
        room.script(name, at, **keys)
        session = connect(room)
        session.set(capturetarget="Internal RAM", shutterspeed="1/125", iso="100", aperture="8")
        return room, session

    return start


def struck(room) -> list[str]:
    return [entry["name"] for entry in room.log() if entry["kind"] == "fault"]


def test_set_ignored_answers_ok_and_keeps_the_old_value(faulty):
    room, session = faulty("set_ignored", setting="iso")
    session.capture()
    session.set(shutterspeed="1/60", iso="800")
    assert session.get("iso") == "800", "libgphoto2 believes its own cache"
    data = session.capture()
    assert iso_of(data) == 100, "the Exif is the truth"
    assert room.pictures()[1]["shutter_s"] == 1 / 60
    session.set(iso="800")
    assert iso_of(session.capture()) == 800
    assert struck(room) == ["set_ignored"]


def test_busy_on_set_refuses_once(faulty):
    room, session = faulty("busy_on_set")
    session.capture()
    with pytest.raises(gp.GPhoto2Error) as refused:
        session.set(iso="800")
    assert refused.value.code == gp.GP_ERROR_CAMERA_BUSY
    session.set(iso="800")
    assert iso_of(session.capture()) == 800
    assert struck(room) == ["busy_on_set"]


def test_busy_on_release_exposes_nothing(faulty):
    room, session = faulty("busy_on_release", times=2)
    session.capture()
    for _ in range(2):
        with pytest.raises(gp.GPhoto2Error) as refused:
            session.capture()
        assert refused.value.code == gp.GP_ERROR_CAMERA_BUSY
    session.capture()
    assert len(room.pictures()) == 2
    assert struck(room) == ["busy_on_release"] * 2


@pytest.mark.parametrize("name", ["truncated_jpeg", "corrupt_jpeg"])
def test_damaged_file_does_not_decode_and_the_next_one_does(faulty, name):
    room, session = faulty(name)
    session.capture()
    data = session.capture()
    with pytest.raises(OSError, match=r"truncated|broken"):
        Image.open(io.BytesIO(data)).load()
    entry = room.pictures()[1]
    assert entry["faults"] == [name]
    assert entry["offered"][0]["sha256"] == sha256(data) != entry["sha256"]
    Image.open(io.BytesIO(session.capture())).load()


def test_no_object_exposes_and_announces_nothing(faulty):
    room, session = faulty("no_object")
    session.capture()
    assert session.trigger(timeout_s=1.0) is None
    assert room.pictures()[1]["offered"] == []
    assert session.trigger() is not None


def test_stale_frame_repeats_the_bytes_before(faulty):
    room, session = faulty("stale_frame")
    first = session.capture()
    session.set(iso="800")
    assert session.capture() == first
    assert session.capture() != first
    assert room.pictures()[1]["iso"] == 800


def test_leftover_in_buffer_shifts_what_follows(faulty):
    room, session = faulty("leftover_in_buffer")
    first = session.capture()
    left = session.trigger()
    assert sha256(left) not in {p["sha256"] for p in room.pictures()}
    assert left != first
    own = session.fetch(session.next_file(5))
    assert sha256(own) == room.pictures()[1]["sha256"]


def test_connection_drop_kills_the_session_and_a_new_one_gets_the_picture(faulty, connect):
    room, session = faulty("connection_drop")
    session.capture()
    with pytest.raises(gp.GPhoto2Error):
        session.capture()
    with pytest.raises(gp.GPhoto2Error):
        session.set(iso="800")
    session.close()
    again = connect(room)
    again.set(capturetarget="Internal RAM")
    left = again.next_file(5)
    assert sha256(again.fetch(left)) == room.pictures()[1]["sha256"]
    assert sha256(again.capture()) == room.pictures()[2]["sha256"]


def test_meter_unplugged_comes_back(faulty):
    room, session = faulty("meter_unplugged", for_s=0.3)
    session.capture()
    assert room.state()["meter"]["plugged"]
    session.capture()
    deadline = time.monotonic() + 20
    while len([e for e in room.log() if e["kind"] == "meter"]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert [e["plugged"] for e in room.log() if e["kind"] == "meter"] == [False, True]


def test_lux_step_changes_the_light_for_sensor_and_meter(faulty):
    room, session = faulty("lux_step_mid_exposure", lux=50)
    session.capture()
    session.capture()
    assert [p["lux"] for p in room.pictures()] == [1000, 50]
    assert room.state()["lux"] == 50


def test_lux_drift_goes_on_after_the_shot(faulty):
    room, session = faulty("lux_drift", at=1, lux=10, over_s=0.2)
    session.capture()
    deadline = time.monotonic() + 20
    while room.state()["lux"] != 10:
        assert time.monotonic() < deadline


def test_dial_moved_exposes_as_the_body_likes(faulty):
    room, session = faulty("dial_moved")
    session.set(shutterspeed="1/4000")
    session.capture()
    session.capture()
    first, second = room.pictures()
    assert (first["mode"], first["shutter_s"]) == ("M", 1 / 4000)
    assert second["mode"] == "P"
    assert second["shutter_s"] > 1 / 200
    assert session.get("autoexposuremode") == "P"


def test_lens_zoomed_takes_apertures_away(faulty):
    _, session = faulty("lens_zoomed")
    session.set(aperture="4.5")
    session.capture()
    assert f_number_of(session.capture()) == 5.6
    session.next_file(0.05)
    assert session.choices("aperture")[0] == "5.6"


def test_silent_black_has_the_right_exif(faulty):
    room, session = faulty("silent_black")
    session.set(shutterspeed="0.5", iso="200")
    assert brightest(session.capture()) == 255
    black = session.capture()
    assert brightest(black) == 0
    assert iso_of(black) == 200
    assert room.pictures()[1]["lux"] == 1000


def test_slow_long_exposure_takes_twice_as_long(photo, connect):
    faults = [{"name": "slow_long_exposure", "at": 1}]
    with darkroom(photo, timescale=1.0, faults=faults) as room:
        session = connect(room)
        session.set(capturetarget="Internal RAM", shutterspeed="0.5")
        session.camera.trigger_capture()
        assert session.next_file(10) is not None
        (entry,) = room.pictures()
        assert entry["ended_monotonic_s"] - entry["started_monotonic_s"] == pytest.approx(0.5)
        assert entry["monotonic_s"] - entry["started_monotonic_s"] > 1.0


def test_script_file_is_read(photo, connect, tmp_path):
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\nname = "lux_step_mid_exposure"\nat = 1\nlux = 7\n')
    with darkroom(photo, faults=script) as room:
        connect(room).capture()
        assert room.pictures()[0]["lux"] == 7
