"""Each check of the body's settings, ok, warn and fail, on what a body might say."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from rig.config import CameraConfig, PreflightConfig
from rig.gphoto_names import IMAGE_FORMATS, same_format
from rig.preflight import CameraSeen, Status, Task, worst_first
from rig.preflight_camera import check_settings, open_questions, uses_gray_card
from rig.preflight_task import check_focal_length, check_task, not_offered
from rig.protocols import CameraInfo, OfferedSettings
from schemas.exposure import Exposure
from schemas.plan import SweepPlan
from tests.devices import READY_BODY, InMemoryCamera

NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
BODY = CameraInfo("Canon EOS Rebel T7", "012345", "3-1.1.0", "EF-S18-55mm f/3.5-5.6", "usb:", False)
READY = {
    **READY_BODY,
    "autoexposuremode": "Manual",
    "iso": "100",
    "reviewtime": "None",
    "datetimeutc": str(int(NOW.timestamp())),
}
FULL = tuple(shot.exposure for shot in SweepPlan())


def offered() -> OfferedSettings:
    camera = InMemoryCamera()
    camera.open()
    return camera.offered()


def seen(info=BODY, offers=None, leftovers=0, **changed):
    settings = {k: v for k, v in {**READY, **changed}.items() if v is not None}
    return CameraSeen(info, settings, offers or offered(), leftovers, NOW)


def renamed(**changed):
    return CameraInfo(**{**BODY.__dict__, **changed})


def findings(what, camera=None, limits=None, exposures=FULL):
    camera = camera or CameraConfig()
    task = Task(exposures)
    found = [
        *check_settings(what, camera),
        *check_task(what, task, camera, limits or PreflightConfig()),
    ]
    return {finding.check: finding for finding in found}


def test_a_body_made_ready_passes_and_everything_is_told():
    found = findings(seen(), CameraConfig(mains=True))
    assert {f.status for f in found.values()} == {Status.OK}
    assert set(found) == {
        *("model", "serial", "mode_dial", "autofocus", "drive", "review", "auto_iso"),
        *("auto_power_off", "image_format", "capture_target", "white_balance", "picture_style"),
        *("long_exposure_noise_reduction", "high_iso_noise_reduction", "highlight_tone_priority"),
        *("plan", "lens", "battery", "shutter", "shots_left", "clock", "buffer"),
    }
    assert all(f.found and f.wanted and not f.action for f in found.values())


@pytest.mark.parametrize(
    ("check", "status", "changed"),
    [
        ("mode_dial", "fail", {"autoexposuremode": "P"}),
        ("mode_dial", "fail", {"autoexposuremode": None}),
        ("autofocus", "fail", {"focusmode": "One Shot"}),
        ("autofocus", "ok", {"focusmode": "Manual"}),
        ("drive", "fail", {"drivemode": "Continuous"}),
        ("drive", "ok", {"drivemode": None}),
        ("review", "warn", {"reviewtime": "2 seconds"}),
        ("auto_iso", "warn", {"iso": "Auto"}),
        ("auto_power_off", "warn", {"autopoweroff": "240"}),
        ("auto_power_off", "ok", {"autopoweroff": None}),
        ("image_format", "fail", {"imageformat": "RAW + Large Fine JPEG"}),
        ("image_format", "fail", {"imageformat": "RAW"}),
        ("image_format", "fail", {"imageformat": "L"}),
        ("image_format", "fail", {"imageformatsd": "L"}),
        ("image_format", "fail", {"imageformat": None}),
        ("image_format", "ok", {"imageformatsd": None}),
        ("image_format", "ok", {"imageformat": "Smaller JPEG", "imageformatsd": "S2"}),
        ("capture_target", "fail", {"capturetarget": "Memory card"}),
        ("white_balance", "fail", {"whitebalance": "Auto"}),
        ("white_balance", "fail", {"whitebalance": "AWB White"}),
        ("white_balance", "fail", {"whitebalance": "Unknown value 0017"}),
        ("white_balance", "fail", {"whitebalance": None}),
        ("white_balance", "ok", {"whitebalance": "Manual"}),
        ("picture_style", "fail", {"picturestyle": "Auto"}),
        ("picture_style", "ok", {"picturestyle": "Neutral"}),
        ("flash", "fail", {"strobofiring": "Enable"}),
        ("flash", "ok", {"strobofiring": "Disable"}),
        ("long_exposure_noise_reduction", "fail", {"customfuncex": "20,1,1,14,1,201,1,2,"}),
        ("high_iso_noise_reduction", "warn", {"customfuncex": "20,1,2,14,1,202,1,2,"}),
        ("high_iso_noise_reduction", "ok", {"customfuncex": "20,1,2,14,1,202,1,3,"}),
        ("highlight_tone_priority", "fail", {"customfuncex": "20,1,2,14,1,203,1,1,"}),
        ("battery", "warn", {"batterylevel": "100%"}),  # 630 shots, 500 to a full battery
        ("battery", "warn", {"batterylevel": "25%"}),
        ("battery", "warn", {"batterylevel": None}),
        ("battery", "warn", {"batterylevel": "Unknown value"}),
        ("battery", "fail", {"batterylevel": "Low"}),
        ("battery", "fail", {"batterylevel": "0%"}),
        ("shutter", "warn", {"shuttercounter": "99500"}),
        ("shutter", "warn", {"shuttercounter": None}),
        ("shots_left", "warn", {"availableshots": None}),
        ("clock", "warn", {"datetimeutc": "1000000000"}),
        ("clock", "warn", {"datetimeutc": None}),
    ],
)
def test_each_setting(check, status, changed):
    finding = findings(seen(**changed))[check]
    assert finding.status == status
    assert bool(finding.action) == (status != "ok")


def test_iso_that_only_the_body_chooses_is_a_failure():
    auto = OfferedSettings(offered().shutter, ("Auto",), offered().f_number)
    found = findings(seen(offers=auto, iso="Auto"))["auto_iso"]
    assert found.status == "fail"


@pytest.mark.parametrize(
    ("model", "status"),
    [
        ("Canon EOS Rebel T7", "ok"),
        ("Canon EOS 2000D", "ok"),
        ("Canon EOS 1500D", "ok"),
        ("Canon EOS Rebel T7i", "warn"),
        ("Canon EOS 5D", "warn"),
        ("", "warn"),
    ],
)
def test_the_family_of_the_body(model, status):
    assert findings(seen(renamed(model=model)))["model"].status == status


def test_a_serial_number_of_zeros_is_none():
    assert findings(seen(renamed(serial="0000")))["serial"].status == "warn"


@pytest.mark.parametrize("generation", [0, 1])
def test_formats_of_both_generations_of_libgphoto2_are_the_same_format(generation):
    for number, names in enumerate(IMAGE_FORMATS):
        assert len(names) == 2
        for other, others in enumerate(IMAGE_FORMATS):
            assert same_format(names[generation], others[1 - generation]) == (number == other)
    assert not same_format("S2", "RAW")


def test_another_jpeg_size_that_was_asked_for_is_only_warned_of():
    what = seen(imageformat="Large Fine JPEG", imageformatsd="L")
    assert findings(what, CameraConfig(image_format="L"))["image_format"].status == "warn"


# ---- what is asked


def test_a_flash_that_tells_a_bare_number_is_asked_about():
    """A T7 reports its StroboFiring property as 0, and no library names the values."""
    told = open_questions(seen(strobofiring="0"))
    assert "flash" in {question.check for question in told}


def test_only_what_the_body_does_not_tell_is_asked():
    told = seen(strobofiring="Disable")
    asked = [q.check for q in open_questions(told)]
    assert asked == ["auto_lighting_optimizer", "peripheral_correction"]
    # libgphoto2 2.5.34 cannot read the custom functions of any body
    silent = seen(customfuncex="bad length")
    assert [q.check for q in open_questions(silent)] == [
        *("flash", "auto_lighting_optimizer", "peripheral_correction"),
        *("long_exposure_noise_reduction", "high_iso_noise_reduction", "highlight_tone_priority"),
    ]


def test_a_high_iso_reduction_of_0_is_asked_since_bodies_differ_on_it():
    what = seen(customfuncex="20,1,2,14,1,202,1,0,")
    assert "high_iso_noise_reduction" in [q.check for q in open_questions(what)]
    assert "high_iso_noise_reduction" not in findings(what)


def test_a_custom_white_balance_wants_its_gray_card():
    assert uses_gray_card(seen(whitebalance="Manual"))
    assert not uses_gray_card(seen())


# ---- plan, lens, zoom


def test_a_setting_that_is_not_offered_is_named_once():
    lists = offered()
    narrow = OfferedSettings(
        tuple(s for s in lists.shutter if s != "1/4000"), lists.iso[:-1], lists.f_number[2:]
    )
    missing = not_offered(FULL, narrow)
    assert sorted(missing) == ["1/4000 s", "ISO 6400", "f/5.6"]
    found = findings(seen(offers=narrow))["plan"]
    assert found.status == "fail"
    assert "f/5.6" in found.found


def test_spellings_of_the_body_count_as_the_settings_they_name():
    lists = OfferedSettings(("bulb", "10.3", "0.3"), ("Auto", "100"), ("5.6",))
    exposures = (Exposure(10.0, 100, 5.6), Exposure(0.3, 100, 5.6))
    assert not_offered(exposures, lists) == []


def test_a_body_that_offers_nothing_leaves_the_plan_open():
    found = findings(seen(offers=OfferedSettings((), ("Auto",), ()), autoexposuremode="P"))
    assert (found["plan"].status, found["mode_dial"].status) == ("warn", "fail")


@pytest.mark.parametrize(
    ("lens", "config", "status"),
    [
        ("", {}, "fail"),
        ("EF-S18-55mm f/3.5-5.6 III", {}, "ok"),
        ("EF50mm f/1.8 STM", {}, "fail"),
        ("EF50mm f/1.8 STM", {"focal_length_mm": 50}, "ok"),
        ("EF-S18-55mm f/3.5-5.6 III", {"lens": "18-55mm"}, "ok"),
        ("EF-S18-55mm f/3.5-5.6 III", {"lens": "55-250mm"}, "fail"),
        ("a lens of no maker", {}, "ok"),
    ],
)
def test_the_lens(lens, config, status):
    found = findings(seen(renamed(lens=lens), lensname=lens), CameraConfig(**config))["lens"]
    assert found.status == status


@pytest.mark.parametrize(
    ("lens", "measured_mm", "wanted_mm", "status"),
    [
        (BODY.lens, 35.0, 35, "ok"),
        (BODY.lens, 55.0, 35, "fail"),
        (BODY.lens, None, 35, "warn"),
        ("EF50mm f/1.8 STM", None, 50, "ok"),
        ("EF50mm f/1.8 STM", None, 35, "fail"),
    ],
)
def test_the_focal_length(lens, measured_mm, wanted_mm, status):
    camera = CameraConfig(focal_length_mm=wanted_mm)
    found = check_focal_length(seen(renamed(lens=lens)), camera, measured_mm, NOW)
    assert found.status == status


# ---- tonight


def test_a_battery_is_held_against_the_length_of_the_plan():
    assert findings(seen(), exposures=FULL[:400])["battery"].status == "ok"
    half = findings(seen(batterylevel="50%"), exposures=FULL[:400])["battery"]
    assert (half.status, "good for 250 shots" in half.found) == ("warn", True)
    mains = findings(seen(batterylevel="Low"), CameraConfig(mains=True))["battery"]
    assert mains.status == "ok"


def test_the_shutter_is_told_what_the_plan_adds():
    assert "23859 after this plan" in findings(seen())["shutter"].found
    limits = PreflightConfig(shutter_life=23_500)
    assert findings(seen(), limits=limits)["shutter"].status == "warn"


def test_few_shots_left_matter_on_a_card_only():
    card = CameraConfig(target="Memory card")
    few = {"availableshots": "5", "capturetarget": "Memory card"}
    assert findings(seen(**few), card)["shots_left"].status == "warn"
    assert findings(seen(**few), card, exposures=FULL[:4])["shots_left"].status == "ok"
    assert findings(seen(availableshots="5"))["shots_left"].status == "ok"


def test_no_shots_left_refuse_a_run_only_where_pictures_go_to_the_card():
    """A body without a card tells 0, and takes pictures to the computer's memory all the same."""
    none = {"availableshots": "0"}
    card = findings(seen(**none, capturetarget="Memory card"), CameraConfig(target="Memory card"))
    assert (card["shots_left"].status, card["shots_left"].found) == ("fail", "0")
    memory = findings(seen(**none))["shots_left"]
    assert (memory.status, "computer's memory" in memory.found) == ("warn", True)
    assert "card" in memory.action


@pytest.mark.parametrize(
    ("off", "status", "action"),
    [
        (timedelta(seconds=59), "ok", ""),
        (timedelta(seconds=-61), "warn", "date and time"),
        (timedelta(hours=1), "warn", "time zone"),
        (timedelta(hours=-5, seconds=30), "warn", "time zone"),
        (timedelta(days=400), "warn", "date and time"),
    ],
)
def test_the_clock(off, status, action):
    text = str(int((NOW + off).timestamp()))
    found = findings(seen(datetimeutc=text))["clock"]
    assert found.status == status
    assert action in found.action


def test_leftovers_of_another_program_are_told():
    found = findings(seen(leftovers=2))["buffer"]
    assert (found.status, "2 leftover" in found.found) == ("warn", True)


def test_the_worst_comes_first():
    found = findings(seen(focusmode="One Shot", autopoweroff="240")).values()
    assert [f.status for f in worst_first(found)] == sorted(
        (f.status for f in found), key=["fail", "warn", "ok"].index
    )


def test_the_body_of_the_released_dump_would_have_been_refused(snaprig_data):
    """The public SNAP release has the settings of its T7, as gphoto2 listed them."""
    text = (snaprig_data / "snap/scripts/camera/config.txt").read_text()
    names = re.findall(r"^/main/\w+/(.+)$", text, re.MULTILINE)
    values = re.findall(r"^Current: ?(.*)$", text, re.MULTILINE)
    settings = dict(zip(names, values, strict=True))
    info = renamed(model=settings["cameramodel"], lens=settings["lensname"])
    what = CameraSeen(info, settings, OfferedSettings((), ("Auto", "100"), ()), 0, NOW)
    found = findings(what)
    bad = {check for check, finding in found.items() if finding.status == "fail"}
    assert bad == {"mode_dial", "autofocus", "image_format", "white_balance", "picture_style"}
    assert found["model"].status == found["lens"].status == found["auto_iso"].status == "ok"
    assert found["battery"].found.startswith("100%")
    assert found["long_exposure_noise_reduction"].status == "ok"
    assert found["highlight_tone_priority"].status == "ok"
    assert "high_iso_noise_reduction" in [q.check for q in open_questions(what)]
