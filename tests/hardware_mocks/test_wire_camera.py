"""The real libgphoto2 (PyPI wheel) takes the body for a Canon and drives it."""

from __future__ import annotations

import hashlib
import io
import signal
import subprocess
import sys
import time

import gphoto2 as gp
import piexif
import pytest
from PIL import Image

from schemas.exposure import SHUTTER_SPEEDS
from tests.darkroom_process import ROOT, darkroom

pytestmark = pytest.mark.wire


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def exif_triplet(data: bytes) -> tuple[float, int, float]:
    tags = piexif.load(data)["Exif"]
    num, den = tags[piexif.ExifIFD.ExposureTime]
    f_num, f_den = tags[piexif.ExifIFD.FNumber]
    return num / den, tags[piexif.ExifIFD.ISOSpeedRatings], f_num / f_den


def test_body_names_itself_as_a_virtual_t7(room, connect):
    session = connect(room)
    assert session.get("cameramodel") == "Canon EOS Rebel T7"
    assert session.get("manufacturer") == "Canon Inc."
    assert "virtual" in session.get("deviceversion")
    assert session.get("eosserialnumber").startswith("VIRTUAL")
    assert session.get("lensname") == "EF-S18-55mm f/3.5-5.6 III"
    assert session.get("batterylevel") == "100%"
    assert session.get("shuttercounter") == "23229"
    assert session.get("availableshots") == "8277"


def test_body_offers_what_a_t7_offers(room, connect):
    session = connect(room)
    assert session.choices("shutterspeed") == ["bulb", *SHUTTER_SPEEDS["1/3"]]
    assert session.choices("iso") == ["Auto", "100", "200", "400", "800", "1600", "3200", "6400"]
    f_numbers = "4.5 5 5.6 6.3 7.1 8 9 10 11 13 14 16 18 20 22 25 29".split()
    assert session.choices("aperture") == f_numbers
    assert session.choices("reviewtime") == ["None", "2 seconds", "4 seconds", "8 seconds", "Hold"]
    assert len(session.choices("imageformat")) == 10
    assert session.get("autoexposuremode") == "Manual"
    assert session.get("focusmode") == "Manual"


@pytest.mark.parametrize("target", ["Internal RAM", "Memory card"])
@pytest.mark.parametrize("way", ["capture", "trigger"])
def test_a_shot_has_the_commanded_settings_and_the_journals_bytes(room, connect, target, way):
    session = connect(room)
    session.set(capturetarget=target, shutterspeed="1/250", iso="400", aperture="8")
    data = getattr(session, way)()
    assert exif_triplet(data) == pytest.approx((1 / 250, 400, 8.0))
    assert Image.open(io.BytesIO(data)).size == (1920, 1280)
    (entry,) = room.pictures()
    assert entry["sha256"] == sha256(data)
    assert entry["offered"] == [
        {"name": "IMG_0001.JPG", "bytes": len(data), "sha256": sha256(data)}
    ]
    assert (entry["shutter_s"], entry["iso"], entry["f_number"]) == (1 / 250, 400, 8.0)
    assert entry["lux"] == 1000
    assert room.state()["buffer"] == room.state()["card"] == []


def test_more_exposure_makes_a_brighter_frame(room, connect):
    session = connect(room)
    session.set(capturetarget="Internal RAM", iso="100", aperture="8")
    levels = []
    for shutter in ("1/250", "1/60", "1/15"):
        session.set(shutterspeed=shutter)
        picture = Image.open(io.BytesIO(session.capture())).convert("L").resize((1, 1))
        levels.append(picture.getpixel((0, 0)))
    assert levels[0] < levels[1] < levels[2]


def test_no_value_outside_the_list_is_taken(room, connect):
    session = connect(room)
    with pytest.raises(gp.GPhoto2Error):
        session.set(shutterspeed="1/8000")
    assert room.state()["settings"]["shutter"] == "1/125"


def test_dial_changes_what_is_offered_and_the_body_meters(room, connect):
    session = connect(room)
    session.set(capturetarget="Internal RAM", shutterspeed="1/4000")
    room.post("/dial", {"mode": "P"})
    session.next_file(0.05)  # drains the events that tell of the dial
    assert session.get("autoexposuremode") == "P"
    assert session.choices("shutterspeed") == ["auto"]
    with pytest.raises(gp.GPhoto2Error):
        session.set(shutterspeed="1/60")
    for lux in (1000, 10):
        room.post("/lux", {"lux": lux})
        gray = Image.open(io.BytesIO(session.capture())).convert("L")
        histogram = gray.histogram()
        share = 1 / sum(histogram)
        assert sum(histogram[:6]) * share < 0.2, f"black at {lux} lux"
        assert sum(histogram[250:]) * share < 0.2, f"white at {lux} lux"
        assert 60 < sum(i * n for i, n in enumerate(histogram)) * share < 200
    room.post("/dial", {"mode": "M"})
    session.next_file(0.05)
    assert session.get("shutterspeed") == "1/4000"  # the photographer's own value is back


def test_settings_are_refused_while_exposing_and_the_link_stays_quick(photo, connect):
    with darkroom(photo, timescale=1.0) as room:
        session = connect(room)
        session.set(capturetarget="Internal RAM", shutterspeed="2")
        session.camera.trigger_capture()
        assert room.state()["busy"]
        with pytest.raises(gp.GPhoto2Error) as refused:
            session.set(iso="800")
        assert refused.value.code == gp.GP_ERROR_CAMERA_BUSY
        assert session.next_file(10) is not None
        (entry,) = room.pictures()
        assert entry["ended_monotonic_s"] - entry["started_monotonic_s"] == pytest.approx(2.0)


def test_light_that_changes_during_the_exposure_is_averaged(photo, connect):
    with darkroom(photo, timescale=1.0) as room:
        session = connect(room)
        session.set(capturetarget="Internal RAM", shutterspeed="1", iso="100", aperture="22")
        session.camera.trigger_capture()
        room.post("/lux", {"lux": 100})
        assert session.next_file(10) is not None
        (entry,) = room.pictures()
        assert entry["lux_min"] == 100
        assert entry["lux_max"] == 1000
        assert 100 < entry["lux"] < 1000


def test_sessions_share_settings_and_counts_and_repeat_pixels(photo, connect):
    with darkroom(photo, clock="2024-05-01T12:00:00") as room:
        pixels, numbers = [], []
        for _ in range(2):
            session = connect(room)
            session.set(capturetarget="Internal RAM", shutterspeed="1/30", iso="1600")
            data = session.capture()
            pixels.append(Image.open(io.BytesIO(data)).tobytes())
            session.close()
        numbers = [p["image_number"] for p in room.pictures()]
        assert numbers == [1, 2]
        assert pixels[0] == pixels[1]
        assert room.state()["shutter_counter"] == 23231
        assert connect(room).get("iso") == "1600"


def test_frozen_clock_makes_repeatable_bytes(photo, connect):
    taken = []
    for _ in range(2):
        with darkroom(photo, clock="2024-05-01T12:00:00", seed=3) as room:
            session = connect(room)
            session.set(capturetarget="Internal RAM", iso="200")
            taken.append([sha256(session.capture()) for _ in range(2)])
            session.close()
    assert taken[0] == taken[1]
    assert taken[0][0] != taken[0][1]


_VICTIM = """
import sys
from tests.gphoto_session import GphotoSession
session = GphotoSession(sys.argv[1])
session.set(capturetarget="Internal RAM", shutterspeed="0.5")
session.camera.trigger_capture()
print("exposing", flush=True)
sys.stdin.read()
"""


def test_killed_client_leaves_the_body_usable_and_its_picture_pending(photo, connect):
    with darkroom(photo, timescale=1.0) as room:
        command = [sys.executable, "-c", _VICTIM, room.camera]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as victim:
            assert victim.stdout.readline() == b"exposing\n"
            victim.send_signal(signal.SIGKILL)
        session = connect(room)
        session.set(capturetarget="Internal RAM")
        deadline = time.monotonic() + 20
        while not room.state()["buffer"]:  # the exposure goes on without the client
            assert time.monotonic() < deadline
            time.sleep(0.02)
        left = session.next_file(5)
        assert left is not None, "the next session hears of the picture left behind"
        assert sha256(session.fetch(left)) == room.pictures()[0]["sha256"]
        session.set(shutterspeed="1/60")
        assert sha256(session.capture()) == room.pictures()[1]["sha256"]
        assert room.state()["settings"]["shutter"] == "1/60"


def test_second_client_is_refused_while_the_first_holds_the_body(room, connect):
    first = connect(room)
    with pytest.raises(gp.GPhoto2Error):
        connect(room)
    assert first.get("iso") == "100"


def test_raw_plus_jpeg_makes_two_files(room, connect):
    session = connect(room)
    formats = session.choices("imageformat")
    session.set(capturetarget="Memory card", imageformat=formats[8])
    session.camera.trigger_capture()
    names = {session.next_file(10).name, session.next_file(10).name}
    assert names == {"IMG_0001.CR2", "IMG_0001.JPG"}
