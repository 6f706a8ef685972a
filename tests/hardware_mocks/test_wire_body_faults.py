"""Faults of the body and its power, as the real libgphoto2 sees them."""

from __future__ import annotations

import io
import json
import time
import urllib.error

import gphoto2 as gp
import piexif
import pytest
from PIL import Image

from tests.darkroom_process import darkroom

pytestmark = pytest.mark.wire


def exif_of(data: bytes) -> dict:
    return piexif.load(data)["Exif"]


@pytest.fixture(scope="module")
def shared(photo):
    with darkroom(photo) as running:
        yield running


@pytest.fixture
def faulty(shared, connect):
    """Scripts one fault at the second picture, and opens a session."""

    def start(name: str, at: int = 2, target: str = "Internal RAM", **keys):
        room = shared.afresh()
        room.script(name, at, **keys)
        session = connect(room)
        session.set(capturetarget=target, shutterspeed="1/125", iso="100", aperture="8")
        return room, session

    return start


def is_busy(session) -> bool:
    with pytest.raises(gp.GPhoto2Error) as refused:
        session.set(iso="800")
    return refused.value.code == gp.GP_ERROR_CAMERA_BUSY


@pytest.mark.parametrize("until", ["session", "power"])
def test_busy_after_many_lasts_until_its_remedy(faulty, connect, until):
    room, session = faulty("busy_after_many", until=until)
    session.capture()
    with pytest.raises(gp.GPhoto2Error) as refused:
        session.capture()
    assert refused.value.code == gp.GP_ERROR_CAMERA_BUSY
    assert is_busy(session)
    session.close()
    if until == "power":
        again = connect(room)
        assert is_busy(again)
        again.close()
        room.post("/power", {"on": False})
        room.post("/power", {"on": True})
    again = connect(room)
    again.set(capturetarget="Internal RAM", iso="800")
    assert exif_of(again.capture())[piexif.ExifIFD.ISOSpeedRatings] == 800
    assert len(room.pictures()) == 2


def test_dead_battery_refuses_until_it_is_changed(faulty, connect):
    room, session = faulty("battery_dies")
    session.capture()
    with pytest.raises(gp.GPhoto2Error):
        session.capture()
    session.close()
    with pytest.raises(gp.GPhoto2Error):
        connect(room)
    room.post("/power", {"on": False})  # switched off to change the battery
    room.post("/power", {"on": True})
    connect(room).capture()
    assert [e["on"] for e in room.log() if e["kind"] == "power"] == [False, False, True]
    assert len(room.pictures()) == 2


def test_reboot_forgets_what_was_set(faulty, connect):
    room, session = faulty("reboot_with_defaults", boot_s=0.3)
    session.capture()
    with pytest.raises(gp.GPhoto2Error):
        session.capture()
    session.close()
    deadline = time.monotonic() + 20
    while [e["on"] for e in room.log() if e["kind"] == "power"] != [False, True]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    again = connect(room)
    found = {name: again.get(name) for name in ("iso", "imageformat", "reviewtime", "focusmode")}
    assert found == {
        "iso": "Auto",
        "imageformat": "L",
        "reviewtime": "2 seconds",
        "focusmode": "Manual",
    }
    assert again.get("autoexposuremode") == "Manual", "dial and lens switch are mechanical"
    assert (again.get("whitebalance"), again.get("picturestyle")) == ("Auto", "Auto")


def test_full_card_refuses_and_another_one_helps(faulty):
    room, session = faulty("card_full", target="Memory card")
    session.capture()
    with pytest.raises(gp.GPhoto2Error) as refused:
        session.capture()
    assert refused.value.code == gp.GP_ERROR
    session.next_file(0.05)
    assert session.get("availableshots") == "0"
    room.post("/card", {})
    session.next_file(0.05)
    assert int(session.get("availableshots")) > 8000
    session.capture()
    assert len(room.pictures()) == 2


def test_full_card_does_not_strike_pictures_for_the_host(faulty):
    room, session = faulty("card_full")
    session.capture()
    session.capture()
    assert len(room.state()["faults"]) == 1


def test_auto_iso_lets_the_body_choose(faulty):
    room, session = faulty("auto_iso")
    session.set(shutterspeed="1/4000")
    session.capture()
    assert exif_of(session.capture())[piexif.ExifIFD.ISOSpeedRatings] > 100
    session.next_file(0.05)
    assert session.get("iso") == "Auto"
    assert [p["shutter_s"] for p in room.pictures()] == [1 / 4000, 1 / 4000]


def test_autofocus_hunts_and_a_press_without_focus_fires(faulty):
    room, session = faulty("autofocus_hunt")
    session.capture()
    session.capture()  # the button was down when the switch was moved
    with pytest.raises(gp.GPhoto2Error) as refused:
        session.capture()
    assert refused.value.code == gp.GP_ERROR
    assert session.get("focusmode") == "One Shot"
    assert len(room.pictures()) == 2
    session.set(eosremoterelease="Press Full MF")
    assert session.next_file(10) is not None
    session.set(eosremoterelease="Release Full")
    assert len(room.pictures()) == 3


def test_clock_jumps(faulty):
    _, session = faulty("clock_wrong", offset_s=-7200)
    first, second = (exif_of(session.capture())[piexif.ExifIFD.DateTimeOriginal] for _ in "12")
    assert second < first


def test_raw_plus_jpeg_gives_two_files_of_full_size(faulty):
    room, session = faulty("raw_plus_jpeg")
    session.capture()
    session.camera.trigger_capture()
    paths = [session.next_file(20), session.next_file(20)]
    files = {path.name.rpartition(".")[2].lower(): session.fetch(path) for path in paths}
    assert files.keys() == {"cr2", "jpg"}
    assert Image.open(io.BytesIO(files["jpg"])).size == (6000, 4000)
    assert len(room.pictures()[1]["offered"]) == 2


@pytest.mark.parametrize("target", ["Internal RAM", "Memory card"])
def test_double_event_offers_one_picture_twice(faulty, target):
    room, session = faulty("double_event", target=target)
    session.capture()
    session.camera.trigger_capture()
    first = session.next_file(10)
    data = session.fetch(first)
    again = session.next_file(2)
    if again is not None:
        with_again = session.fetch(again)
        assert with_again == data
    assert len(room.pictures()) == 2
    assert target == "Memory card" or again is not None
    assert session.capture() != data


def test_flash_says_so_and_adds_light(faulty):
    room, session = faulty("flash_fired", lux=3000)
    plain, flashed = session.capture(), session.capture()
    assert [exif_of(d)[piexif.ExifIFD.Flash] & 1 for d in (plain, flashed)] == [0, 1]
    means = [
        sum(Image.open(io.BytesIO(d)).convert("L").resize((1, 1)).getdata())
        for d in (plain, flashed)
    ]
    assert means[1] > means[0] + 20
    assert [p["flash_fired"] for p in room.pictures()] == [False, True]
    assert room.pictures()[1]["lux"] == 1000, "the meter's light"


def test_unknown_requests_are_refused(shared):
    with pytest.raises(urllib.error.HTTPError) as refused:
        shared.post("/power", {"off": True})
    assert refused.value.code == 400
    assert "on" in json.load(refused.value)["error"]
